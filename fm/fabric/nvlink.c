/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_nvlink: what the state of a host's NVLinks means for the fabric.
 *
 * A GPU that loses its NVLinks relays nothing within its host any more: what stayed on one rail goes over the spines, to seven other
 * adapters that the usual numbering puts behind one and the same spine index. So a host without peer-to-peer is dealt over the slots by
 * rail (ROUTE_CROSSRAIL) and counted for more; a dead one is expected to be silent and dealt last (ROUTE_IDLE). The table of states is the
 * configuration's (fm/nvswitch/policy.h). Only compute adapters are dealt otherwise, nobody else's entries move, and every host stays reachable.
 *
 * What is believed and operators' words are in state_dir/nvswitch, `HOST BELIEVED OVERRIDE`, so that a restart moves nothing; what each host
 * showed and what happened to it in state_dir/nvlink, so that a restart heals nothing.
 *
 * NVLink switches of the fifth generation look like InfiniBand switches from within their own subnet, which another manager runs. A port into
 * one is refused: nothing is programmed there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "fm/fabric/own.h"
#include "fm/nvswitch/evidence.h"
#include "fm/nvswitch/policy.h"
#include "topology/mem.h"

#define STALE_INTERVALS 3 /* without an answer: nothing is known */
#define LIMIT_MAX_MS	600000

/* ---- Policy -------------------------------------------------------------------------------------- */

uint8_t *fabric_nvlink_states(const struct fabric *f, const struct topo *t)
{
	uint8_t *states = mem_alloc(t->nhosts + 1, 1);

	for (uint32_t h = 0; h < t->nhosts; h++)
		states[h] = (uint8_t)nvswitch_routed(f->nvswitch, t->hosts[h].name);
	return states;
}

void fabric_nvlink_treat(const struct fabric *f, const struct topo *t, const uint8_t *assumed,
			 struct fabric_policy *policy)
{
	const struct nvswitch_policy treatments = nvswitch_policy(&f->conf);
	uint8_t *states = NULL;

	if (!assumed && !nvswitch_has_ill(f->nvswitch))
		return;
	if (!assumed)
		assumed = states = fabric_nvlink_states(f, t);
	nvswitch_policy_apply(&treatments, t, assumed, &policy->classes, &policy->weights);
	free(states);
}

int fabric_assume(const struct fabric *f, const char *text, uint8_t **states, char *err,
		  size_t err_size)
{
	if (!*states)
		*states = fabric_nvlink_states(f, f->topo);
	return nvswitch_policy_assume(f->topo, text, *states, err, err_size);
}

json_t *fabric_trial(const struct fabric *f, const struct topo *variant, const uint8_t *states,
		     const struct tables *tables)
{
	const struct nvswitch_policy policy = nvswitch_policy(&f->conf);
	uint8_t *classes = fabric_classes_by_name(f, f->topo);
	uint8_t *now = fabric_nvlink_states(f, f->topo);
	const struct nvswitch_trial trial = { .policy = &policy,
					      .lids = f->lids,
					      .classes = classes,
					      .now = { f->topo, &f->tables, now },
					      .then = { variant, tables, states } };
	json_t *rows = nvswitch_trial_json(&trial);

	free(classes);
	free(now);
	return rows;
}

uint8_t *fabric_aside(const struct fabric *f, const uint8_t *states)
{
	const struct nvswitch_policy policy = nvswitch_policy(&f->conf);
	uint8_t *now = fabric_nvlink_states(f, f->topo);
	uint8_t *aside = nvswitch_policy_aside(&policy, f->topo, now, states);

	free(now);
	return aside;
}

/* ---- The state file ------------------------------------------------------------------------------ */

static unsigned read_states(void *arg, FILE *in)
{
	struct fabric *f = arg;
	char line[512], host[256], believed[32], word[32], rest;

	for (unsigned number = 1; fgets(line, sizeof(line), in); number++) {
		int state, override = NVSWITCH_UNKNOWN;

		if (line[strspn(line, " \t\n")] == '\0' || line[0] == '#')
			continue;
		if (sscanf(line, "%255s %31s %31s %c", host, believed, word, &rest) != 3)
			return number;
		state = nvswitch_state_parse(believed);
		if (strcmp(word, "-"))
			override = nvswitch_state_parse(word);
		if (state < 0 || state == NVSWITCH_UNKNOWN || override < 0)
			return number;
		nvswitch_remember(f->nvswitch, host, (enum nvswitch_state)state,
				  (enum nvswitch_state) override);
	}
	return 0;
}

static void forget_one(void *arg, const char *host, enum nvswitch_state believed,
		       enum nvswitch_state override)
{
	nvswitch_remember(arg, host, NVSWITCH_HEALTHY, NVSWITCH_UNKNOWN);
}

static void forget_states(void *arg)
{
	struct fabric *f = arg;

	nvswitch_each(f->nvswitch, forget_one, f->nvswitch);
}

static void write_one(void *arg, const char *host, enum nvswitch_state believed,
		      enum nvswitch_state override)
{
	fprintf(arg, "%s %s %s\n", host, nvswitch_state_name(believed),
		override == NVSWITCH_UNKNOWN ? "-" : nvswitch_state_name(override));
}

static void write_states(const void *arg, FILE *out)
{
	const struct fabric *f = arg;

	nvswitch_each(f->nvswitch, write_one, out);
}

static const struct state_file states_file = {
	.name = "nvswitch",
	.form = "`HOST STATE STATE`, the last may be -",
	.read = read_states,
	.forget = forget_states,
	.write = write_states,
};

/* What is remembered of each host beside that: written by hand by nobody. */
static unsigned read_memory(void *arg, FILE *in)
{
	struct fabric *f = arg;
	char line[1024];

	for (unsigned number = 1; fgets(line, sizeof(line), in); number++)
		if (line[strspn(line, " \t\n")] && line[0] != '#' &&
		    !nvswitch_memory_read(f->nvswitch, line))
			return number;
	return 0;
}

static void forget_memory(void *arg)
{
	struct fabric *f = arg;

	nvswitch_memory_forget(f->nvswitch);
}

static void write_memory(const void *arg, FILE *out)
{
	const struct fabric *f = arg;

	nvswitch_memory_write(f->nvswitch, out);
}

static const struct state_file memory_file = {
	.name = "nvlink",
	.form = "`KIND HOST WORD=VALUE..`",
	.read = read_memory,
	.forget = forget_memory,
	.write = write_memory,
	.gather_us = 2000000,
	.gather_max_us = 10000000,
};

/* ---- What the monitor says ----------------------------------------------------------------------- */

static void event_cb(void *arg, enum log_level level, const char *kind, json_t *details,
		     const char *text)
{
	struct fabric *f = arg;

	event_log_add(f->events, level, kind, details, "%s", text);
}

static void reroute_cb(void *arg)
{
	struct fabric *f = arg;

	fabric_request_reroute(f, "NVLink states changed");
	if (f->fault.open)
		return;
	f->fault = (struct fault){ .open = true, .detected_us = loop_now_us(f->loop) };
	snprintf(f->fault.what, sizeof(f->fault.what),
		 "nvswitch: routing recalculated (NVLink state changed)");
}

static void keep_cb(void *arg)
{
	fabric_state_changed(arg, &states_file);
}

static void remember_cb(void *arg)
{
	fabric_state_changed(arg, &memory_file);
}

static void trouble_cb(void *arg, const char *what, const char *error)
{
	fabric_trouble(arg, what, error);
}

static const struct nvswitch_ops monitor_ops = { event_cb, reroute_cb, keep_cb, remember_cb,
						 trouble_cb };

/* ---- The fabric's hosts -------------------------------------------------------------------------- */

void fabric_nvlink_present(struct fabric *f)
{
	const char **names = mem_alloc(f->topo->nhosts + 1, sizeof(*names));

	for (uint32_t h = 0; h < f->topo->nhosts; h++)
		names[h] = f->topo->hosts[h].name;
	nvswitch_present(f->nvswitch, names, f->topo->nhosts);
	free(names);
}

/* "MF0;gb-nvl-087-switch03:N5110_LD/U1", "MF0;sw06:N5400_LD/U1": whatever the generation. */
static bool is_nvlink_switch(const char *desc)
{
	for (const char *model = desc; (model = strstr(model, ":N")); model += 2) {
		size_t digits = strspn(model + 2, "0123456789");

		if (digits && !strncmp(model + 2 + digits, "_LD/", 4))
			return true;
	}
	return false;
}

/* "GB100 Nvidia Technologies": a GPU's own ports are nodes of that subnet. */
static bool is_gpu(const char *desc)
{
	size_t letters = strspn(desc, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
	size_t digits = strspn(desc + letters, "0123456789");

	return *desc == 'G' && letters <= 3 && digits >= 2 && digits <= 4 &&
	       !strcasecmp(desc + letters + digits, " Nvidia Technologies");
}

/* The first such node, whichever port leads there. NULL = none. */
static const char *find_nvlink_node(const struct topo *t)
{
	for (uint32_t n = 0; n < t->nnodes; n++) {
		const char *desc = t->nodes[n].desc;

		if (n < t->nswitches ? is_nvlink_switch(desc) : is_gpu(desc))
			return desc;
	}
	return NULL;
}

bool fabric_nvlink_refuses(struct fabric *f, const struct topo *t)
{
	const char *desc = find_nvlink_node(t);

	if (desc && !f->nvlink_refused)
		event_log_add(
			f->events, LOG_ERR, "nvlink-subnet", NULL,
			"%s: an NVLink switch or GPU: this port leads into an NVLink subnet, "
			"which its own manager runs; nothing is programmed. Choose the compute "
			"fabric's port (guid in fmd.conf)",
			desc);
	f->nvlink_refused = desc != NULL;
	return desc != NULL;
}

/* ---- Operators ----------------------------------------------------------------------------------- */

struct health_act {
	struct fabric *f;
	char host[128], state[32]; /* state "" = taken back */
	uint64_t asked_us, blocks_before;
	bool rerouted;
};

static json_t *health_result(void *data)
{
	const struct health_act *act = data;
	const struct fabric *f = act->f;

	return json_pack("{ss ss* sb sI sI sf}", "host", act->host, "state",
			 *act->state ? act->state : NULL, "rerouted", act->rerouted,
			 "lft_entries_changed",
			 (json_int_t)(act->rerouted ? f->figures.programmed.entries : 0),
			 "lft_blocks_written",
			 (json_int_t)(program_blocks_written(f->program) - act->blocks_before),
			 "took_ms", (loop_now_us(f->loop) - act->asked_us) / 1e3);
}

static const struct fabric_operation_ops health_ops = { .file = "nvswitch",
							.result = health_result,
							.free = free };

void fabric_nvswitch_set(struct fabric *f, const char *host, const char *state, fabric_done_fn *fn,
			 void *arg)
{
	struct health_act *act = mem_alloc(1, sizeof(*act));
	int wanted = state ? nvswitch_state_parse(state) : NVSWITCH_UNKNOWN;
	char err[256] = "";

	*act = (struct health_act){ .f = f,
				    .asked_us = loop_now_us(f->loop),
				    .blocks_before = program_blocks_written(f->program) };
	snprintf(act->host, sizeof(act->host), "%s", host);
	if (state && (wanted < 0 || wanted == NVSWITCH_UNKNOWN))
		snprintf(err, sizeof(err), "no state %s: HEALTHY, DEGRADED_LINK, NO_P2P or FATAL",
			 state);
	else
		nvswitch_set(f->nvswitch, host, (enum nvswitch_state)wanted, err, sizeof(err));
	if (state && wanted >= 0)
		snprintf(act->state, sizeof(act->state), "%s",
			 nvswitch_state_name((enum nvswitch_state)wanted));
	act->rerouted = !*err && f->requests.reroute;
	if (act->rerouted) {
		fabric_operation_start(f, &health_ops, act, fn, arg);
		return;
	}
	if (*err) {
		fn(arg, NULL, err);
		free(act);
		return;
	}
	fabric_operation_done(f, &health_ops, act, fn, arg);
}

json_t *fabric_health_report(struct fabric *f, const char *source, const char *host,
			     const char *state, const char *reason, double ttl_s, char *err,
			     size_t err_size)
{
	const struct nvswitch_said report = { source, host, state, reason, ttl_s };

	if (nvswitch_hear_report(f->nvswitch, &report, err, err_size))
		return NULL;
	return json_pack("{ss ss ss sf}", "host", host, "source", source, "state",
			 nvswitch_state_name((enum nvswitch_state)nvswitch_state_parse(state)),
			 "ttl_s", ttl_s);
}

json_t *fabric_nvswitch(const struct fabric *f)
{
	return nvswitch_json(f->nvswitch);
}

/* ---- Life ---------------------------------------------------------------------------------------- */

/* There is always one. */
static unsigned limit_ms(int configured)
{
	return configured ? (unsigned)configured : LIMIT_MAX_MS;
}

/* Whose word alone is enough. */
static enum nvswitch_trust trust_needed(const char *word)
{
	if (!strcmp(word, "never"))
		return NVSWITCH_ANYONE;
	return strcmp(word, "pushed") ? NVSWITCH_PROVEN : NVSWITCH_ASKED;
}

static enum fm_progress progress_of(const char *word)
{
	if (!strcmp(word, "normal"))
		return FM_PROGRESS_NORMAL;
	return strcmp(word, "failed") ? FM_PROGRESS_DEGRADED : FM_PROGRESS_FAILED;
}

static struct nvswitch_conf monitor_conf(const struct conf *c)
{
	const struct nvswitch_policy policy = nvswitch_policy(c);
	bool asks = c->nvswitch_poll_interval_ms > 0;
	struct nvswitch_conf conf = {
		.url = asks ? c->nvswitch_url : "",
		.hosts_file = asks ? c->nvswitch_hosts_file : "",
		.alias_file = c->nvswitch_alias_file,
		.ca_file = c->nvswitch_ca_file,
		.syslog_listen = c->syslog_listen,
		.syslog_allow = c->syslog_allow,
		.log_socket = c->log_socket,
		.kmsg = c->kmsg,
		.hook = c->nvswitch_hook,
		.system = (enum nvswitch_system)nvswitch_system_parse(c->nvswitch_system),
		.interval_us = c->nvswitch_poll_interval_ms * 1000ull,
		.timeout_ms = limit_ms(c->nvswitch_timeout_ms),
		.hook_timeout_ms = limit_ms(c->nvswitch_hook_timeout_ms),
		.body_max = (size_t)c->nvswitch_body_limit << 10,
		.link_window_us = c->nvswitch_link_window_ms * 1000ull,
		.retry_us = c->retry_interval_ms * 1000ull,
		.fm_in_progress = progress_of(c->nvswitch_fm_in_progress),
		.health = { .worsen_us = c->nvswitch_worsen_hold_ms * 1000ull,
			    .recover_us = c->nvswitch_recover_hold_ms * 1000ull,
			    .interval_us = c->nvswitch_reroute_interval_ms * 1000ull,
			    .stale_us = c->nvswitch_poll_interval_ms * 1000ull * STALE_INTERVALS,
			    .sure = trust_needed(c->nvswitch_second_source),
			    .guard_percent = (unsigned)c->nvswitch_guard },
	};

	nvswitch_policy_number(&policy, conf.health.treatment);
	return conf;
}

void fabric_nvlink_configure(struct fabric *f)
{
	const struct nvswitch_conf conf = monitor_conf(&f->conf);
	char err[512] = "";

	if (nvswitch_configure(f->nvswitch, &conf, err, sizeof(err)))
		event_log_add(f->events, LOG_ERR, "nvswitch-conf", NULL,
			      "nvswitch: exporters and logs stay as they were: %s", err);
}

int fabric_check_conf(const struct conf *conf, char *err, size_t err_size)
{
	const struct nvswitch_conf monitor = monitor_conf(conf);

	return nvswitch_check(&monitor, err, err_size);
}

void fabric_nvlink_load(struct fabric *f)
{
	fabric_state_read(f, &states_file);
	fabric_state_read(f, &memory_file);
	fabric_nvlink_configure(f);
}

void fabric_nvlink_init(struct fabric *f)
{
	f->nvswitch = nvswitch_new(f->loop, &monitor_ops, f);
}

void fabric_nvlink_fini(struct fabric *f)
{
	nvswitch_free(f->nvswitch);
}
