/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <fnmatch.h>
#include "fm/conf/lists.h"
#include "fm/fabric/host_verdict.h"
#include "fm/loop/child.h"
#include "fm/nvswitch/intake_sources.h"
#include "fm/nvswitch/module.h"
#include "fm/os/helper.h"
#include "topology/graph/cutoff.h"

#define RATED_MOST 8 /* hosts; more at once are an outage, whose rates are nobody's question */

struct nvlink_room {
	struct fabric *fabric;
	struct fabric_services services;
	struct nvswitch *nvswitch;
	bool refused; /* the own port leads into an NVLink subnet, and that was logged */
	/* Hosts that have become NO_P2P, whose rates are computed beside the loop. */
	struct children *children;
	struct loop_timer *rates_timer;
	struct child *child;
	json_t *rated; /* by their names; those that are under way no more */
	struct bytes answer;
};

/* "MF0;gb-nvl-087-switch03:N5110_LD/U1", "MF0;sw06:N5400_LD/U1": whatever the generation. */
#define NVLINK_SWITCH "*:N[0-9]*_LD/*"
/* "GB100 Nvidia Technologies": a GPU's own ports are nodes of that subnet. */
#define NVLINK_GPU "G*[0-9][0-9] Nvidia Technologies"

#define LIMIT_MAX_MS 600000

/* Of times that are 0 = none, those that somebody waits for end some day. */
static struct conf_nvswitch keys_of(const struct conf *conf)
{
	struct conf_nvswitch keys = conf->nvswitch;

	keys.timeout_ms = keys.timeout_ms ? keys.timeout_ms : LIMIT_MAX_MS;
	keys.hook_timeout_ms = keys.hook_timeout_ms ? keys.hook_timeout_ms : LIMIT_MAX_MS;
	if (!keys.poll_interval_ms) /* exporters are not asked */
		*keys.url = *keys.hosts_file = *keys.prometheus_url = 0;
	return keys;
}

/* enum nvswitch_state by host of a snapshot; the caller frees it. */
static uint8_t *nvlink_states(const struct nvlink_room *r, const struct topo *t)
{
	uint8_t *states = mem_alloc(t->nhosts + 1, 1);

	for (uint32_t h = 0; h < t->nhosts; h++)
		states[h] =
			(uint8_t)nvswitch_believed(nvswitch_host(r->nvswitch, t->hosts[h].name));
	return states;
}

/* Operators' commands about hosts' NVLinks, and what-if. */

static struct nvlink_room *room_of(const struct fabric *fabric)
{
	return fabric_room(fabric, &nvlink_module);
}

/* ---- What is known --------------------------------------------------------------------------- */

json_t *nvlink_hosts(const struct fabric *f)
{
	return nvswitch_json(room_of(f)->nvswitch);
}

json_t *nvlink_hear_report(struct fabric *f, const struct health_report *report, char *err)
{
	if (source_report_hear(&room_of(f)->nvswitch->home, report, err))
		return NULL;
	return json_pack("{ss ss ss sf}", "host", report->host, "source", report->source, "state",
			 nvswitch_states[nvswitch_state_parse(report->state)], "ttl_s",
			 report->ttl_s);
}

/* ---- Overrides ------------------------------------------------------------------------------- */

void nvlink_set(struct fabric *f, const char *host, const char *state, int gpus, waiter_fn *fn,
		void *arg)
{
	char err[NVSWITCH_ERROR];
	json_t *doc;

	if (nvswitch_set(room_of(f)->nvswitch, host, state, gpus, err)) {
		fn(arg, NULL, err);
		return;
	}
	/* Routing is the same for all states, so nothing moves. */
	doc = gpus >= 0 ? json_pack("{ss si}", "host", host, "gpus_declared", gpus)
			: json_pack("{ss ss* sb si si}", "host", host, "state",
				    state ? nvswitch_states[nvswitch_state_parse(state)] : NULL,
				    "rerouted", false, "lft_entries_changed", 0,
				    "lft_blocks_written", 0);
	json_object_set_new(doc, "took_ms", json_real(0));
	fabric_operation_done(f, doc, fn, arg);
}

/* ---- What if --------------------------------------------------------------------------------- */

int nvlink_assume(const struct fabric *f, const char *text, uint8_t **states, char *err)
{
	const struct topo *now = fabric_view(f).topo;

	if (!*states)
		*states = nvlink_states(room_of(f), now);
	return nvswitch_policy_assume(now, text, *states, err);
}

json_t *nvlink_trial(const struct fabric *f, const struct topo *variant, const uint8_t *states,
		     const struct tables *tables)
{
	const struct fabric_view view = fabric_view(f);
	struct fabric_policy policy = fabric_policy(f, view.topo, NULL);
	uint8_t *now = nvlink_states(room_of(f), view.topo);
	const struct nvswitch_trial trial = { .lids = view.lids,
					      .classes = policy.classes,
					      .now = { view.topo, view.tables, now },
					      .then = { variant, tables, states } };
	json_t *rows = nvswitch_trial_json(&trial);

	fabric_policy_fini(&policy);
	free(now);
	return rows;
}

/*
 * What the state of a host's NVLinks means for the fabric.
 *
 * A GPU that loses its NVLinks relays nothing within its host any more: what stayed on one rail
 * goes over the spines. Its seven flows leave one adapter, whose port is as fast as the uplink that
 * they share, so they lose nothing by sharing it: no other tables gain the host 5 percent on 1, 2
 * and 4 units (tests/unit/routing/report/test_rates.c), and they cost others. So routing is kept,
 * and what was computed is reported: an event when a host becomes NO_P2P, and an alert where its
 * traffic takes more than a percent of the others'.
 *
 * NVLink switches of the fifth generation look like InfiniBand switches from within their own
 * subnet, which another manager runs. A port into one is refused: nothing is programmed there.
 */

/* ---- Rates of hosts without P2P ------------------------------------------------------------- */

#define RATES_SOON_US 10000 /* what is lost together is shown by the same tables */
#define CROWDS	      0.99  /* of what the others would get: below that an alert is raised */

/* Beside the loop: a list of documents. */
static int write_rates(void *arg, FILE *out)
{
	struct nvlink_room *r = arg;
	const struct fabric_view view = fabric_view(r->fabric);
	struct fabric_policy policy = fabric_policy(r->fabric, view.topo, NULL);
	const struct nvswitch_trial trial = { .lids = view.lids,
					      .classes = policy.classes,
					      .now = { view.topo, view.tables, NULL } };
	json_t *rows = json_array();

	for (uint32_t h = 0; h < view.topo->nhosts; h++) {
		const char *host = view.topo->hosts[h].name;

		if (!json_object_get(r->rated, host))
			continue;

		json_t *row = nvswitch_rates_json(&trial, &trial.now, h);

		json_object_set_new(row, "host", json_string(host));
		json_array_append_new(rows, row);
	}
	json_dumpf(rows, out, 0);
	json_decref(rows);
	fabric_policy_fini(&policy);
	return 0;
}

static void take_rates(void *arg, const char *data, size_t len)
{
	bytes_add(&((struct nvlink_room *)arg)->answer, data, len);
}

static void rates_end(void *arg, bool whole)
{
	struct nvlink_room *r = arg;
	json_t *rows = whole ? json_loadb(r->answer.data, r->answer.end, 0, NULL) : NULL;

	r->child = NULL;
	r->answer.end = 0;
	JSON_EACH (row, rows) {
		double own, others, alone;
		int adapters, flows;
		struct event_subject subject = { 0 };

		json_unpack(row, "{ss sf si sf si sf}", "host", &subject.host, "rate", &own,
			    "rate_of", &adapters, "others_rate", &others, "others_flows", &flows,
			    "others_alone", &alone);
		if (!adapters)
			continue;
		event_log_add(r->services.events, LOG_NOTICE, "nvswitch-rates", &subject,
			      json_incref(row),
			      "nvswitch: %s: routing kept: %.2f of %d as it is; the others %.1f of "
			      "%d, %.1f without its traffic",
			      subject.host, own, adapters, others, flows, alone);
		if (others < CROWDS * alone)
			alert_raise(r->services.alerts, "nvlink-crowding", &subject,
				    "%s: NO_P2P: its GPUs' traffic over InfiniBand takes %.1f %% "
				    "of what the other hosts' get of the uplinks of its leaves",
				    subject.host, 100 - 100 * others / alone);
	}
	json_decref(rows);
	if (json_object_size(r->rated))
		loop_timer_set(r->rates_timer, 0);
}

/* In a simulated loop there are no processes: it is computed at once. */
static void begin_rates(void *arg)
{
	static const struct child_ops ops = { write_rates, take_rates, rates_end };
	struct nvlink_room *r = arg;
	bool simulated = loop_is_simulated(r->services.loop);
	char text[RATED_MOST * 512];
	FILE *out;

	if (!fabric_view(r->fabric).tables || r->child)
		return;
	if (!simulated) {
		r->child = child_start(r->children, &ops, r, -1);
	} else if ((out = fmemopen(text, sizeof(text), "w"))) {
		write_rates(r, out);
		fclose(out);
		take_rates(r, text, strlen(text));
	}
	json_object_clear(r->rated);
	if (!r->child)
		rates_end(r, simulated);
}

static void changed_cb(void *arg, const char *host, enum nvswitch_state state)
{
	struct nvlink_room *r = arg;
	const struct event_subject subject = { .host = host };

	if (state != NVSWITCH_NO_P2P && state != NVSWITCH_UNKNOWN)
		alert_end(r->services.alerts, "nvlink-crowding", &subject);
	if (state != NVSWITCH_NO_P2P || json_object_size(r->rated) == RATED_MOST)
		return;
	json_object_set_new(r->rated, host, json_true());
	loop_timer_set(r->rates_timer, RATES_SOON_US);
}

/* Alerts about hosts: in which state, why, and what mends it; the guard; hooks that failed. */
static void raise_alerts(struct nvlink_room *r)
{
	const struct health *health = &r->nvswitch->health;
	struct alerts *alerts = r->services.alerts;
	struct name_list fatal = { 0 }, no_p2p = { 0 }, failing = { 0 };
	const char *host;

	ARRAY_EACH (it, health->hosts, fabric_view(r->fabric).topo ? health->nhosts : 0) {
		enum nvswitch_state state = nvswitch_believed(it);
		const char *reason = health_reason(it);
		bool by_hand = it->override != NVSWITCH_UNKNOWN;
		char text[200];

		if (state < NVSWITCH_NO_P2P)
			continue;
		array_printf(text, by_hand || !*reason ? "%s" : "%s (%s; %s)", it->name, reason,
			     nvswitch_remedies[health_remedy(it)]);
		name_list_add(state == NVSWITCH_FATAL ? &fatal : &no_p2p, text);
	}
	name_list_alert(alerts, "hosts-fatal", &fatal, "host FATAL", "hosts FATAL");
	name_list_alert(alerts, "hosts-no-p2p", &no_p2p, "host NO_P2P", "hosts NO_P2P");
	for (unsigned n = 0; (host = hook_failing(r->nvswitch->hook, n)); n++)
		name_list_add(&failing, host);
	name_list_alert(alerts, "nvswitch-hook", &failing, "host's nvswitch_hook failed",
			"hosts' nvswitch_hook failed");
	alert_set(alerts, health->guarded, "nvswitch-guard", NULL,
		  "more than %d %% of the hosts look unhealthy at once (nvswitch_guard): "
		  "their sources are suspect%s",
		  r->services.conf->nvswitch.guard,
		  r->services.conf->nvswitch.guard_hooks ? ", hooks are held" : "");
}

static void states_cb(void *arg)
{
	raise_alerts(arg);
	fabric_report_hosts_changed(((struct nvlink_room *)arg)->fabric);
}

static void keep_cb(void *arg, bool memories)
{
	struct nvlink_room *r = arg;

	state_changed(r->services.state, memories ? &nvswitch_memory_kind : &nvswitch_states_kind,
		      r->nvswitch);
}

static const struct nvswitch_ops monitor_ops = { changed_cb, keep_cb, states_cb };

/* ---- Updates --------------------------------------------------------------------------------- */

static const char *admit(void *room, const struct topo *next)
{
	struct nvlink_room *r = room;
	uint32_t n = 0; /* a node of an NVLink subnet; behind all: the snapshot has none */

	if (!next)
		return NULL;
	while (n < next->nnodes && fnmatch(n < next->nswitches ? NVLINK_SWITCH : NVLINK_GPU,
					   next->nodes[n].desc, FNM_CASEFOLD))
		n++;
	if (n < next->nnodes && !r->refused) {
		struct event_subject subject = event_subject_node(next, n);

		event_log_add(
			r->services.events, LOG_ERR, "nvlink-subnet", &subject, NULL,
			"%s: an NVLink switch or GPU: this port leads into an NVLink subnet, "
			"which its own manager runs; nothing is programmed. Choose the compute "
			"fabric's port (guid in fmd.conf)",
			next->nodes[n].desc);
	}
	r->refused = n < next->nnodes;
	return r->refused ? "this port leads into an NVLink subnet; see fmctl events" : NULL;
}

static void published(void *room, enum fabric_update_step step, const struct topo *before)
{
	struct nvlink_room *r = room;
	const struct topo *t = fabric_view(r->fabric).topo;
	const struct inv_node *local = r->services.inventory->local;

	if (step != FABRIC_PUBLISHED)
		return;

	const char **names = mem_array(names, t->nhosts + 1);

	for (uint32_t h = 0; h < t->nhosts; h++)
		names[h] = t->hosts[h].name;
	nvswitch_present(r->nvswitch, names, t->nhosts);
	free(names);

	uint8_t *fates = cutoff_fates(t, local ? topo_find(t, local->guid) : TOPO_NONE);

	for (uint32_t h = 0; h < t->nhosts; h++) {
		unsigned met = 0; /* enum cutoff_fate, by bit */

		ARRAY_EACH (ca, t->host_cas + t->hosts[h].first, t->hosts[h].ncas)
			met |= 1u << fates[*ca];
		if (met >> CUTOFF_REACHED)
			nvswitch_note_ports(r->nvswitch, t->hosts[h].name,
					    met & 1u << CUTOFF_REACHED	 ? PORTS_UP
					    : met & 1u << CUTOFF_CUT_OFF ? PORTS_CUT_OFF
									 : PORTS_OFF);
	}
	free(fates);
}

/* ---- Reports --------------------------------------------------------------------------------- */

static void settled(void *room, enum fabric_settle_step step)
{
	if (step == FABRIC_REVIEWED)
		raise_alerts(room);
}

/* A host that no source watches has no NVLink part in its verdict. */
void nvlink_judge_host(const struct fabric *fabric, uint32_t host, struct host_verdict *verdict)
{
	static const enum host_state host_states[NVSWITCH_STATES] = {
		[NVSWITCH_HEALTHY] = HOST_HEALTHY, [NVSWITCH_DEGRADED_LINK] = HOST_DEGRADED,
		[NVSWITCH_NO_P2P] = HOST_NO_P2P,   [NVSWITCH_FATAL] = HOST_FATAL,
		[NVSWITCH_UNKNOWN] = HOST_UNKNOWN,
	};
	const struct nvlink_room *r = room_of(fabric);
	const struct conf_routing *conf = &r->services.conf->routing;
	const struct topo *t = fabric_view(r->fabric).topo;
	const char *name = t->hosts[host].name;
	const char *desc = t->nodes[t->host_cas[t->hosts[host].first]].desc;
	const struct health_host *known = nvswitch_host(r->nvswitch, name);
	const char *reason = known ? health_reason(known) : "";

	/* Nobody expects NVLinks of storage and management hosts. */
	if (!known || known->state == NVSWITCH_HEALTHY ||
	    (known->state == NVSWITCH_UNKNOWN &&
	     (!known->nsources || name_patterns_match(conf->storage_nodes, desc, name) ||
	      name_patterns_match(conf->management_nodes, desc, name))))
		return;
	host_verdict_add(verdict, host_states[known->state], "NVLinks %s%s%s",
			 nvswitch_states[known->state], *reason ? ": " : "", reason);
}

static void status(const void *room, json_t *doc)
{
	const struct nvlink_room *r = room;

	json_object_set_new(doc, "nvswitch", nvswitch_summary(r->nvswitch));
}

/* ---- Life ------------------------------------------------------------------------------------ */

static int check(const struct conf *conf, char *err, size_t err_size)
{
	const struct conf_nvswitch keys = keys_of(conf);
	char why[NVSWITCH_ERROR];
	int status = nvswitch_check(&keys, why);

	if (status)
		snprintf(err, err_size, "%s", why);
	return status;
}

static void configure(void *room)
{
	struct nvlink_room *r = room;
	const struct conf *conf = r->services.conf;
	const struct conf_nvswitch keys = keys_of(conf);
	char err[NVSWITCH_ERROR] = "";

	if (nvswitch_configure(r->nvswitch, &keys, conf->retry_interval_ms * 1000ull, err))
		event_log_add(r->services.events, LOG_ERR, "nvswitch-conf", NULL, NULL,
			      "nvswitch: previous exporters and logs kept: %s", err);
}

static void load(void *room, enum fabric_load_step step)
{
	struct nvlink_room *r = room;

	if (step != FABRIC_LOAD)
		return;
	state_read(r->services.state, &nvswitch_states_kind, r->nvswitch);
	state_read(r->services.state, &nvswitch_memory_kind, r->nvswitch);
	configure(r);
}

static void *init(struct fabric *fabric)
{
	struct nvlink_room *r = ROOM_NEW(r, fabric);

	r->nvswitch = nvswitch_new(r->services.loop, r->services.alerts, r->services.events,
				   &monitor_ops, r);
	r->rated = json_object();
	r->children = children_new(r->services.loop);
	r->rates_timer = loop_timer_new(r->services.loop, begin_rates, r);
	return r;
}

static void fini(void *room)
{
	struct nvlink_room *r = room;

	child_kill(r->child);
	children_free(r->children);
	loop_timer_free(r->rates_timer);
	json_decref(r->rated);
	free(r->answer.data);
	nvswitch_free(r->nvswitch);
	free(r);
}

const struct fabric_module nvlink_module = { .name = "nvlink",
					     .check = check,
					     .init = init,
					     .fini = fini,
					     .load = load,
					     .configure = configure,
					     .admit = admit,
					     .published = published,
					     .status = status,
					     .settled = settled };
