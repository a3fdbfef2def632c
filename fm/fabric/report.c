/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * report: the pipe's state as the documents of the outside contract. Rooms add theirs by status().
 */
#include <unistd.h>
#include "fm/fabric/pipe.h"
#include "routing/ftree/route.h"
#include "routing/report/report.h"
#include "topology/base/mem.h"
#include "topology/graph/risk.h"
#include "topology/base/text.h"

struct follower { /* of events */
	struct follower *next;
	fabric_event_fn *fn;
	void *arg;
};

/* By enum fabric_state. */
static const char *const state_names[] = { "starting", "bringup", "up", "changing", "refused" };

/*
 * Why a link carries no transit: an operator cordoned it, it is unhealthy, or it cannot be worked
 * with.
 */
enum drain { BY_OPERATOR, QUARANTINED, ISOLATED };

static bool is_drained(const struct topo_port *port, enum drain why)
{
	enum drain is = port->isolated ? ISOLATED : port->quarantined ? QUARANTINED : BY_OPERATOR;

	return port->cordoned && is == why;
}

static int drained(const struct topo *t, enum drain why)
{
	int count = 0;

	TOPO_CABLES (t, port, peer)
		count += is_drained(port, why) || is_drained(peer, why);
	return count;
}

static void put_topo(const struct fabric *f, json_t *doc)
{
	const struct topo *t = f->now.topo;
	const int down = t ? topo_links_down(t) : 0;

	json_put(doc, "{si si si si si si si si si si si si}", "switches",
		 t ? (int)t->nswitches : 0, "hcas", t ? (int)t->ncas : 0, "aggregation_nodes",
		 t ? (int)t->nspecials : 0, "links_special", t ? (int)t->nlinks_special : 0,
		 "links", t ? (int)topo_links(t) : 0, "links_down", down, "links_missing", down,
		 "links_cordoned", t ? drained(t, BY_OPERATOR) : 0, "links_quarantined",
		 t ? drained(t, QUARANTINED) : 0, "links_isolated", t ? drained(t, ISOLATED) : 0,
		 "levels", t ? (int)t->nlevels : 0, "lids",
		 f->now.lids ? (int)f->now.lids->top : 0);
}

static void put_cutoff(const struct fabric *f, json_t *doc)
{
	struct cutoff c = { 0 };
	char text[256] = "";

	if (f->now.topo) {
		fabric_cutoff(f, &c);
		cutoff_describe(f->now.topo, &c, text, sizeof(text));
	}
	json_put(doc, "{si si so so?}", "hcas_cut_off", c.hcas, "hcas_off", c.off, "cut_off",
		 c.hcas ? json_string(text) : json_null(), "lost",
		 f->now.topo ? lost_json(NULL, f->now.topo, fabric_own_node(f)) : NULL);
}

static void put_smp(const struct fabric *f, json_t *doc)
{
	struct mad_stats s = mad_stats(f->mad);

	json_put(doc, "{sI sI sI sI sI sI sI si}", "smps_sent", (json_int_t)s.sent,
		 "smps_timed_out", (json_int_t)s.timed_out, "smps_retried", (json_int_t)s.retried,
		 "mads_dropped",
		 (json_int_t)(s.dropped_short + s.dropped_late + s.dropped_mismatch),
		 "mads_malformed", (json_int_t)s.dropped_malformed, "mads_unsolicited",
		 (json_int_t)s.unsolicited, "mads_refused", (json_int_t)s.refused, "smp_window",
		 s.window);
}

/* Of the lives of this process before, which a change of role ended: what counts from its start. */
static json_t *add_totals(json_t *doc, json_t *before)
{
	static const struct {
		const char *part, *names[8];
	} parts[] = {
		{ NULL, { "lft_blocks_written", "reroutes", "polls" } },
		{ "traps", { "received", "repeated", "not_repressed", "errors", "forged" } },
		{ "audit", { "blocks", "repaired" } },
		{ "sa",
		  { "requests", "ignored", "answered", "busy", "bad", "unsupported",
		    "reports_unanswered" } },
		{ "m_keys", { "expired" } },
		{ "multicast", { "mft_blocks_written" } },
	};

	for (unsigned i = 0; before && i < ARRAY_SIZE(parts); i++) {
		const char *part = parts[i].part;
		json_t *now = part ? json_object_get(doc, part) : doc;
		json_t *then = part ? json_object_get(before, part) : before;

		for (const char *const *name = parts[i].names; *name; name++) {
			json_int_t count = json_number(then, *name);

			if (count)
				json_object_set_new(now, *name,
						    json_integer(count + json_number(now, *name)));
		}
	}
	return doc;
}

/*
 * Degraded: HCAs are cut off, pairs have no path, or uplinks are missing. HCAs that are off do not
 * count.
 */
static const char *headline(const json_t *doc)
{
	const json_t *lost = json_object_get(doc, "lost"), *proof = json_object_get(doc, "proof");
	const json_t *counts[] = {
		json_object_get(doc, "hcas_cut_off"),
		json_object_get(json_object_get(doc, "in_force"), "pairs_waiting"),
		json_object_get(proof, "unreachable"),
		json_object_get(proof, "loops"),
		json_object_get(proof, "credit_cycles"),
	};
	bool degraded = json_array_size(json_object_get(lost, "redundancy"));

	for (unsigned i = 0; i < ARRAY_SIZE(counts); i++)
		degraded |= json_integer_value(counts[i]) > 0;
	if (!json_is_true(json_object_get(doc, "fabric_up")))
		return !strcmp(json_text(doc, "state") ?: "", "standby") ? "STANDBY" : "DOWN";
	return degraded ? "UP (DEGRADED)" : "UP";
}

json_t *fabric_status(const struct fabric *f)
{
	const struct loop_held longest = loop_longest(f->loop);
	/* Where the loop's own time went in the latest update, and behind it. */
	json_t *stages = fabric_update_stages(f), *settle = fabric_settle_stages(f);
	json_t *doc = json_pack(
		"{ss sb ss si}", "state", state_names[f->progress.state], "fabric_up",
		f->progress.state == FABRIC_UP || f->progress.state == FABRIC_CHANGING, "engine",
		f->now.routed.engine ? f->now.routed.engine
				     : route_engine_name(f->conf.routing.engine),
		"sm_lid", f->now.sm_lid);

	json_object_update(stages, settle);
	json_decref(settle);
	put_cutoff(f, doc);
	put_topo(f, doc);
	json_put(doc, "{sf sf sf sf sf sI si si si sI so sb}", "sweep_ms", f->figures->sweep_ms,
		 "route_ms", f->figures->route_ms, "check_ms", f->figures->check_ms, "program_ms",
		 f->figures->program_ms, "bringup_ms", f->figures->bringup_ms, "lft_blocks_written",
		 (json_int_t)program_blocks_written(f->program), "lft_blocks_unread",
		 program_unread(f->program), "silent", f->figures->silent, "reroutes",
		 f->figures->reroutes, "polls", (json_int_t)f->figures->polls, "stages_ms", stages,
		 "check_whole", f->figures->check_whole);
	put_smp(f, doc);
	/* What happened since this manager began; seconds since tables were changed last. */
	json_put(doc, "{so so si s{si sf}}", "events_by_level", event_log_counts(f->events),
		 "reroute_age_s",
		 f->figures->rerouted_us
			 ? json_real((loop_now_us(f->loop) - f->figures->rerouted_us) / 1e6)
			 : json_null(),
		 "lft_blocks_failed", f->figures->programmed.failed, "drained", "lids",
		 f->figures->drained.lids, "ms", f->figures->drained.ms);
	fabric_faults_status(f, doc);

	/* Resident set, from the second field of /proc/self/statm (pages). */
	long pages = 0;
	FILE *in = fopen("/proc/self/statm", "r");

	if (in && fscanf(in, "%*d %ld", &pages) != 1)
		pages = 0;
	if (in)
		fclose(in);
	json_put(doc, "{ss* so? so so so sI sI ss? sI}", "engine_why",
		 f->now.routed.why[0] ? f->now.routed.why : NULL, "at_risk",
		 f->now.topo ? risk_json(f->now.topo) : NULL, "alerts", alerts_json(f->alerts),
		 "troubles", troubles_json(f->alerts), "proof", report_proof(&f->now.proof),
		 "uptime_s",
		 (json_int_t)((loop_now_us(f->loop) - f->progress.started_us) / 1000000),
		 "loop_longest_us", (json_int_t)longest.us, "loop_longest_step", longest.what,
		 "rss_kb", (json_int_t)(pages * (sysconf(_SC_PAGESIZE) / 1024)));
	MODULES_CALL(f->kept.modules, status, doc);
	json_object_set_new(doc, "headline", json_string(headline(doc)));
	return add_totals(doc, f->kept.totals);
}

void fabric_trouble(struct fabric *f, const char *what, const char *error)
{
	trouble_set(f->alerts, what, error);
}

json_t *fabric_alerts(const struct fabric *f)
{
	return alerts_json(f->alerts);
}

json_t *fabric_events(const struct fabric *f, unsigned count)
{
	return event_log_json(f->events, count);
}

json_t *fabric_find_events(const struct fabric *f, const struct event_query *query, unsigned count)
{
	return event_log_find(f->events, query, count);
}

/* ---- Followers ------------------------------------------------------------------------------- */

void fabric_report_event(void *arg, const json_t *event)
{
	const struct fabric *f = arg;

	if (f->kept.events)
		event_rows_added(f->kept.events);
	for (const struct follower *it = f->clients.followers; it; it = it->next)
		it->fn(it->arg, event);
}

void fabric_follow(struct fabric *f, fabric_event_fn *fn, void *arg)
{
	struct follower *follower = mem_new(follower);

	*follower = (struct follower){ .next = f->clients.followers, .fn = fn, .arg = arg };
	f->clients.followers = follower;
}

void fabric_unfollow(struct fabric *f, void *arg)
{
	struct follower **link = &f->clients.followers;

	while (*link) {
		struct follower *it = *link;

		if (arg && it->arg != arg) {
			link = &it->next;
			continue;
		}
		*link = it->next;
		free(it);
	}
}
