/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Operators' commands about hosts' NVLinks, and what-if. */
#include <stdio.h>
#include <stdlib.h>
#include "fm/fabric/operation.h"
#include "fm/fabric/view.h"
#include "fm/nvswitch/module_own.h"
#include "fm/nvswitch/policy.h"
#include "topology/mem.h"

static struct nvlink_room *room_of(const struct fabric *fabric)
{
	return fabric_room(fabric, &nvlink_module);
}

/* ---- What is known --------------------------------------------------------------------------- */

json_t *nvlink_hosts(const struct fabric *f)
{
	return nvswitch_json(room_of(f)->nvswitch);
}

json_t *nvlink_hear_report(struct fabric *f, const char *source, const char *host,
			   const char *state, const char *reason, double ttl_s, char *err,
			   size_t err_size)
{
	const struct nvswitch_said report = { source, host, state, reason, ttl_s };

	if (nvswitch_hear_report(room_of(f)->nvswitch, &report, err, err_size))
		return NULL;
	return json_pack("{ss ss ss sf}", "host", host, "source", source, "state",
			 nvswitch_state_name((enum nvswitch_state)nvswitch_state_parse(state)),
			 "ttl_s", ttl_s);
}

/* ---- Overrides ------------------------------------------------------------------------------- */

struct override {
	const struct nvlink_room *room;
	char host[128], state[32]; /* state "" = taken back */
	uint64_t asked_us, blocks_before;
	bool rerouted;
};

static json_t *result(void *data)
{
	const struct override *o = data;
	const struct fabric_written written = fabric_written(o->room->fabric);

	return json_pack("{ss ss* sb sI sI sf}", "host", o->host, "state",
			 *o->state ? o->state : NULL, "rerouted", o->rerouted,
			 "lft_entries_changed", (json_int_t)(o->rerouted ? written.entries : 0),
			 "lft_blocks_written", (json_int_t)(written.blocks - o->blocks_before),
			 "took_ms", (loop_now_us(o->room->services.loop) - o->asked_us) / 1e3);
}

static const struct fabric_operation_ops override_ops = { .file = NVLINK_STATES_FILE,
							  .result = result,
							  .free = free };

/* 0, or -1 with the reason in err. state NULL = taken back. */
static int set(struct nvlink_room *r, struct override *o, const char *state, char *err,
	       size_t err_size)
{
	int wanted = state ? nvswitch_state_parse(state) : NVSWITCH_UNKNOWN;

	if (state && (wanted < 0 || wanted == NVSWITCH_UNKNOWN)) {
		snprintf(err, err_size, "unknown state %s: HEALTHY, DEGRADED_LINK, NO_P2P or FATAL",
			 state);
		return -1;
	}
	if (state)
		snprintf(o->state, sizeof(o->state), "%s",
			 nvswitch_state_name((enum nvswitch_state)wanted));
	r->requested = false;
	if (nvswitch_set(r->nvswitch, o->host, (enum nvswitch_state)wanted, err, err_size))
		return -1;
	o->rerouted = r->requested;
	return 0;
}

void nvlink_set(struct fabric *f, const char *host, const char *state, waiter_fn *fn, void *arg)
{
	struct nvlink_room *r = room_of(f);
	struct override *o = mem_alloc(1, sizeof(*o));
	char err[256];

	*o = (struct override){ .room = r,
				.asked_us = loop_now_us(r->services.loop),
				.blocks_before = fabric_written(f).blocks };
	snprintf(o->host, sizeof(o->host), "%s", host);
	if (set(r, o, state, err, sizeof(err))) {
		fn(arg, NULL, err);
		free(o);
	} else if (o->rerouted) {
		fabric_operation_start(f, &override_ops, o, fn, arg);
	} else {
		fabric_operation_done(f, &override_ops, o, fn, arg);
	}
}

/* ---- What if --------------------------------------------------------------------------------- */

int nvlink_assume(const struct fabric *f, const char *text, uint8_t **states, char *err,
		  size_t err_size)
{
	const struct topo *now = fabric_view(f).topo;

	if (!*states)
		*states = nvlink_states(room_of(f), now);
	return nvswitch_policy_assume(now, text, *states, err, err_size);
}

struct fabric_policy nvlink_policy(const struct fabric *f, const struct topo *variant,
				   const uint8_t *states)
{
	struct fabric_policy policy = fabric_policy(f, variant, &nvlink_module);

	nvlink_treat(room_of(f), variant, states, &policy);
	return policy;
}

json_t *nvlink_trial(const struct fabric *f, const struct topo *variant, const uint8_t *states,
		     const struct tables *tables)
{
	const struct nvlink_room *r = room_of(f);
	const struct fabric_view view = fabric_view(f);
	const struct nvswitch_policy treatments = nvswitch_policy(r->services.conf);
	struct fabric_policy without = fabric_policy(f, view.topo, &nvlink_module);
	uint8_t *now = nvlink_states(r, view.topo);
	const struct nvswitch_trial trial = { .policy = &treatments,
					      .lids = view.lids,
					      .classes = without.classes,
					      .now = { view.topo, view.tables, now },
					      .then = { variant, tables, states } };
	json_t *rows = nvswitch_trial_json(&trial);

	fabric_policy_fini(&without);
	free(now);
	return rows;
}

uint8_t *nvlink_aside(const struct fabric *f, const uint8_t *states)
{
	const struct nvlink_room *r = room_of(f);
	const struct topo *t = fabric_view(f).topo;
	const struct nvswitch_policy treatments = nvswitch_policy(r->services.conf);
	uint8_t *now = nvlink_states(r, t);
	uint8_t *aside = nvswitch_policy_aside(&treatments, t, now, states);

	free(now);
	return aside;
}
