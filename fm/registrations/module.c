/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: when the master's SA is queried, and the events and alerts about that.
 *
 * A standby queries each mirror_interval while the mirror has no copy, and sooner after a failure.
 * The room runs through all changes of role. It never marks the copy as complete
 * (state_store_set_copied()): what hosts registered in the last interval is not in it, so a
 * take-over asks hosts to register anew, and until they do only registrations of that interval are
 * missing.
 */
#include "fm/registrations/module.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "fm/registrations/pass.h"
#include "fm/state/state_copy.h"
#include "topology/mem.h"

#define FIRST_US 500000	  /* from the beginning of standing by */
#define AGAIN_US 5000000  /* from a try that came to nothing, at most */
#define LATE	 2	  /* intervals and.. */
#define LATE_US	 15000000 /* ..this without a copy are an alert */

struct registrations {
	struct fabric *fabric;
	struct fabric_services services; /* those of the present life */
	struct pass *pass;
	struct loop_timer *timer;
	guid_t master;	   /* who is asked, by port GUID; 0 = nobody */
	guid_t copied;	   /* whose registrations state_dir has; 0 = nobody's */
	uint64_t whole_us; /* they are of then, or nobody's since then */
	struct pass_figures figures;
	char error[160]; /* of the latest try, "" = none */
};

static uint64_t interval_us(const struct registrations *r)
{
	return (uint64_t)r->services.conf->mirror.interval_ms * 1000;
}

static void next(struct registrations *r, uint64_t us)
{
	uint64_t interval = interval_us(r);

	if (r->master && interval)
		loop_timer_set(r->timer, us < interval ? us : interval);
	else
		loop_timer_stop(r->timer);
}

static void warn_if_late(struct registrations *r)
{
	uint64_t age = loop_now_us(r->services.loop) - r->whole_us;

	if (age > LATE * interval_us(r) + LATE_US)
		alert_raise(r->services.alerts, "registrations", "",
			    "this standby has no current registrations of the master's SA: %s",
			    r->error);
}

static void report_first(struct registrations *r)
{
	if (r->copied == r->master)
		return;
	r->copied = r->master;
	event_log_add(r->services.events, LOG_NOTICE, "registrations", NULL,
		      "fabric: group members, services and subscriptions were read from the SA of "
		      "port GUID 0x%016" PRIx64 "",
		      r->master);
}

static void passed(void *arg, const char *error, const struct pass_figures *figures)
{
	struct registrations *r = arg;

	snprintf(r->error, sizeof(r->error), "%s", error ? error : "");
	if (error) {
		warn_if_late(r);
		next(r, AGAIN_US);
		return;
	}
	if (!state_store_is_copied(r->services.state))
		report_first(r);
	r->figures = *figures;
	state_store_set_read(r->services.state, true);
	r->whole_us = loop_now_us(r->services.loop);
	alert_end(r->services.alerts, "registrations", "");
	next(r, UINT64_MAX);
}

/* What peers have sent is all of it, and newer. */
static void due(void *arg)
{
	struct registrations *r = arg;

	if (state_store_is_copied(r->services.state)) {
		pass_forget(r->pass);
		r->copied = 0;
		r->whole_us = loop_now_us(r->services.loop);
		alert_end(r->services.alerts, "registrations", "");
		next(r, UINT64_MAX);
		return;
	}
	pass_begin(r->pass, &r->services);
}

/* ---- Hooks ----------------------------------------------------------------------------------- */

static void follow(struct registrations *r, guid_t master)
{
	pass_stop(r->pass);
	if (master != r->master) {
		r->whole_us = loop_now_us(r->services.loop);
		r->error[0] = '\0';
		alert_end(r->services.alerts, "registrations", "");
	}
	r->master = master;
	next(r, FIRST_US);
}

static void role(void *room, enum fabric_role now)
{
	struct registrations *r = room;

	pass_stop(r->pass);
	r->services = fabric_services(r->fabric);
	follow(r, now == FABRIC_ROLE_STANDBY ? fabric_master(r->fabric) : 0);
	if (now != FABRIC_ROLE_MASTER)
		return;
	pass_forget(r->pass);
	r->copied = 0;
}

static void configure(void *room)
{
	struct registrations *r = room;

	if (!interval_us(r)) {
		pass_stop(r->pass);
		alert_end(r->services.alerts, "registrations", "");
	}
	if (!pass_is_under_way(r->pass))
		next(r, FIRST_US);
}

static void status(const void *room, json_t *doc)
{
	const struct registrations *r = room;
	const struct pass_figures *f = &r->figures;
	uint64_t age = loop_now_us(r->services.loop) - r->whole_us;
	bool known = r->master && r->copied == r->master;

	if (!r->master || !interval_us(r) || state_store_is_copied(r->services.state))
		return;
	json_object_set_new(doc, "registrations",
			    json_pack("{ss so sf sb sI si si si sI sf so}", "source",
				      "queries of the master's SA", "port_guid",
				      json_sprintf("0x%016" PRIx64, r->master), "interval_s",
				      (double)interval_us(r) / 1e6, "whole", known, "age_ms",
				      (json_int_t)(age / 1000), "members",
				      (int)f->rows[TABLE_MEMBERS], "services",
				      (int)f->rows[TABLE_SERVICES], "subscriptions",
				      (int)f->rows[TABLE_SUBSCRIPTIONS], "bytes",
				      (json_int_t)f->bytes, "took_ms", (double)f->took_us / 1e3,
				      "error", r->error[0] ? json_string(r->error) : json_null()));
}

static void *init(struct fabric *fabric)
{
	struct registrations *r = mem_alloc(1, sizeof(*r));

	r->fabric = fabric;
	r->services = fabric_services(fabric);
	r->pass = pass_new(passed, r);
	r->timer = loop_timer_new(r->services.loop, due, r);
	return r;
}

static void fini(void *room)
{
	struct registrations *r = room;

	pass_free(r->pass);
	loop_timer_free(r->timer);
	free(r);
}

const struct fabric_module registrations_module = { .name = "registrations",
						    .lasts = true,
						    .init = init,
						    .fini = fini,
						    .configure = configure,
						    .role = role,
						    .report.status = status };
