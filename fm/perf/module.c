/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <math.h>
#include <time.h>
#include "fm/conf/lists.h"
#include "fm/fabric/host_verdict.h"
#include "fm/history/history.h"
#include "fm/loop/job.h"
#include "fm/links_out/module.h"
#include "fm/perf/fec_modes.h"
#include "fm/perf/judge.h"
#include "fm/perf/module.h"
#include "fm/perf/perf.h"
#include "fm/registers/module.h"
#include "fm/sweep/sweep.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/text.h"
#include "topology/files/dump.h"

struct slow_link {   /* a link that runs below what both ends can */
	guid_t node; /* the end with the lower GUID */
	uint8_t port, lanes, best_lanes;
	enum topo_speed speed, best_speed;
};

struct link_health {
	struct fabric *fabric;
	struct fabric_services services;
	struct waiters waiters; /* for the end of a pass */
	struct waiters due;	/* for what follows from the one that has ended */
	struct job *behind;	/* which is that */
	unsigned interval_ms;	/* of passes; 0 = counters are read on demand alone */
	unsigned late, in_time; /* passes in a row that did not keep to it, that did */
	struct perf *perf;
	struct history *history; /* NULL: there is no state_dir */
	unsigned warned, sick;	 /* ports */
	unsigned over;		 /* ports whose error rate is over a limit */
	struct slow_link *slow;	 /* by GUID and port */
	unsigned nslow;
	struct slow_search *search; /* for those; NULL = none runs */
	struct fec_modes *fec;
	bool fec_stale; /* something was published since all ports were asked */
};

/* "symbol BER 3.2e-13 in 12 min (limit 1e-14)" */
struct ber_text {
	char text[128];
};

/* ---- Links that run below what they can ------------------------------------------------------ */

/*
 * A link that runs narrower or slower than both its ports support (PortInfo) is reported, once,
 * behind the pass that finds it. Where most links of a fabric run so (split ports, a simulator),
 * that is taken for its design, and only links below the usual width and speed are reported.
 *
 * All links are looked at in pieces, in the order of GUIDs and ports.
 */

#define LANES_MAX	  12
#define LOGGED_ONE_BY_ONE 20   /* links below what they can, of one pass */
#define PORTS_A_PIECE	  2048 /* looked at */

static uint8_t highest_bit(unsigned mask)
{
	return mask ? (uint8_t)(1u << (31 - __builtin_clz(mask))) : 0;
}

/*
 * The link at a port with its lower GUID's end; false when nothing is known of it, or it is not
 * Active.
 */
static bool link_at(const struct inv_node *node, uint8_t num, struct slow_link *out)
{
	const struct inv_port *a = &node->ports[num], *b;
	struct wire_port_info x, y, best;

	if (!a->link_up || !a->known || !a->peer || a->peer->guid < node->guid)
		return false;
	b = &a->peer->ports[a->peer_port];
	if (!b->known || a->state != TOPO_ACTIVE)
		return false;
	wire_port_info_decode(a->info, &x);
	wire_port_info_decode(b->info, &y);
	/* Of what both support. 2x has the highest bit of the widths and stands below 4x. */
	unsigned widths = x.width_supported & y.width_supported;

	best = (struct wire_port_info){
		.width_active = highest_bit(widths & 0xe ? widths & 0xe : widths),
		.speed_active = highest_bit(x.speed_supported & y.speed_supported),
		.speed_ext_active = highest_bit(x.speed_ext_supported & y.speed_ext_supported),
		.speed_ext2_active = highest_bit(x.speed_ext2_supported & y.speed_ext2_supported),
	};
	*out = (struct slow_link){ .node = node->guid,
				   .port = num,
				   .lanes = a->lanes,
				   .speed = a->speed,
				   .best_lanes = wire_port_info_lanes(&best),
				   .best_speed = wire_port_info_speed(&best) };
	return true;
}

/* All links, and the usual: what most of them run at. */
struct paces {
	unsigned links, slow;
	unsigned count[TOPO_XDR + 1][LANES_MAX + 1];
	uint8_t lanes;
	enum topo_speed speed;
};

SORT_BY(by_place, struct slow_link, sort_order(a->node, b->node) ?: a->port - b->port)

struct slow_search {
	guid_t next; /* the node to go on with */
	struct paces paces;
	struct slow_link *list; /* that run below what their ends can */
	unsigned found;
};

static void search_free(struct slow_search *search)
{
	if (search)
		free(search->list);
	free(search);
}

/* ---- Error rates of links over minutes and hours --------------------------------------------- */

/*
 * What is over a limit is asked for a hold, reading by reading, where the configuration says so:
 * whether it is held, and how long, is decided where the other links that carry no transit are
 * known (fm/links_out/module.c).
 */

static struct ber_conf link_health_ber_conf(const struct conf_ber *c)
{
	return (struct ber_conf){
		.window_us = { c->window_ms * 1000ull, c->long_window_ms * 1000ull },
		.limit = { c->limit, c->long_limit },
	};
}

/* Of the window and kind that are the worst. */
static struct ber_text link_health_ber_why(const struct link_health *h,
					   const struct perf_port *port)
{
	const struct ber_conf conf = link_health_ber_conf(&h->services.conf->ber);
	enum ber_kind kind = port->ber->kind;
	enum ber_window window = port->ber->window;
	double seconds = (double)conf.window_us[window] / 1e6;
	bool hours = seconds >= 7200; /* as a person says it */
	struct ber_text why;

	array_printf(why.text, "%s BER %.2g%s in %.3g %s (limit %.2g)", ber_kind_name(kind),
		     ber_share(port->ber, &conf, kind, window, port->bits_s),
		     kind == BER_EFFECTIVE && port->ber->measured ? " by the port's register" : "",
		     seconds / (hours ? 3600 : 60), hours ? "h" : "min", conf.limit[window]);
	return why;
}

/* As perf_ops.ber. */
static void link_health_ber(void *health, const struct perf_port *port, bool changed)
{
	struct link_health *h = health;
	const struct conf_perf *conf = &h->services.conf->perf;
	const struct inventory *inv = h->services.inventory;
	struct ber_text why = link_health_ber_why(h, port);
	bool over = ber_is_over(port->ber);
	int action = port->ber->kind == BER_SYMBOL ? conf->action : conf->fec_action;
	const struct event_subject subject = inventory_link_subject(inv, port->node, port->num);

	if (changed) {
		h->over += over ? 1 : -1u;
		event_log_add(h->services.events, over ? LOG_WARNING : LOG_NOTICE,
			      over ? "link-errors" : "link-errors-over", &subject, NULL, "%s: %s",
			      inventory_link_name(inv, port->node, port->num).text,
			      over ? why.text : "bit error rate within its limits again");
		fabric_report_hosts_changed(h->fabric);
	}
	if (over && action == CONF_QUARANTINE)
		links_out_ask(h->fabric, &(struct out_ask){ .cause = OUT_HOLD,
							    .node = port->node,
							    .port = port->num,
							    .why = why.text });
}

/* Of one end; UINT64_MAX: nothing is read there. */
static uint64_t end_clean_us(const struct link_health *h, guid_t node, uint8_t num)
{
	struct perf_port port;

	return perf_find(h->perf, node, num, &port) ? ber_clean_for_us(port.ber) : UINT64_MAX;
}

/*
 * Microseconds for which the error rates at both ports of a link have been read and were below
 * their limits; 0 = they are above a limit, or were not read.
 */
static uint64_t clean_us(const struct link_health *h, guid_t node, uint8_t num)
{
	const struct inv_node *it = inventory_find(h->services.inventory, node);
	const struct inv_port *port = it && num <= it->nports ? &it->ports[num] : NULL;
	uint64_t near = end_clean_us(h, node, num), far;

	if (!port || !port->link_up || !port->peer)
		return 0;
	far = end_clean_us(h, port->peer->guid, port->peer_port);
	if (near == UINT64_MAX && far == UINT64_MAX)
		return 0;
	return near < far ? near : far;
}

static void note_history(struct link_health *h, guid_t guid, uint8_t num,
			 const struct port_counters *counters, uint32_t watched_s)
{
	const struct inv_node *node = inventory_find(h->services.inventory, guid);
	const struct inv_port *port = node && num <= node->nports ? &node->ports[num] : NULL;
	struct history_reading reading = { .node = guid, .port = num, .watched_s = watched_s };

	if (!h->history || !port || !port->peer)
		return;
	reading.peer = port->peer->guid;
	reading.peer_port = port->peer_port;
	reading.speed = port->speed;
	reading.lanes = port->lanes;
	for (unsigned way = 0; way < 2; way++)
		reading.bytes_s[way] = counters_rated(counters, PERF_XMIT_DATA + way)
					       ? counters->rate[PERF_XMIT_DATA + way]
					       : NAN;
	for (unsigned i = 0; i < PERF_ERRORS; i++)
		if (counters_rated(counters, i))
			reading.added[i] =
				lround(counters->rate[i] * counters->span_ms[COUNTERS_LINK] / 1e3);
	history_take(h->history, &reading);
}

void link_health_watch(struct fabric *fabric, guid_t node, uint8_t num, unsigned step_s)
{
	const struct link_health *h = fabric_room(fabric, &link_health_module);

	if (step_s < HISTORY_STEP_S)
		perf_watch(h->perf, node, num);
}

json_t *link_health_history(const struct fabric *fabric, guid_t guid, uint8_t num, unsigned step_s)
{
	const struct link_health *h = fabric_room(fabric, &link_health_module);
	const struct inv_node *node = inventory_find(h->services.inventory, guid);
	const struct inv_port *port = node && num <= node->nports ? &node->ports[num] : NULL;
	guid_t peer = port && port->peer ? port->peer->guid : 0;

	return h->history ? history_rows(h->history, guid, num, peer, peer ? port->peer_port : 0,
					 step_s, time(NULL))
			  : json_array();
}

/* As perf_ops.read. */
static void link_health_read_port(void *health, guid_t node, uint8_t num,
				  const struct port_counters *counters, bool watched)
{
	struct link_health *h = health;
	uint64_t *clean = links_out_clean_us(h->fabric, node, num);

	if (clean && !watched)
		*clean = clean_us(h, node, num);
	note_history(h, node, num, counters, watched ? time(NULL) : 0);
}

static uint64_t link_health_measured(void *health, guid_t node, uint8_t num, bool again,
				     uint64_t *errors)
{
	const struct link_health *h = health;

	return link_effective_errors(h->fabric, node, num, again, errors);
}

/* As perf_ops.trained: both ends are read by a sweep, and its update shares links again. */
static void link_health_trained(void *health, struct inv_node *node, uint8_t num)
{
	struct link_health *h = health;
	const struct inv_port *port = &node->ports[num];

	sweep_port(node, num)->must_read = sweep_port(port->peer, port->peer_port)->must_read =
		true;
	fabric_request_refresh(h->fabric, node->guid, "width or speed");
	fabric_request_refresh(h->fabric, port->peer->guid, "width or speed");
}

/* ---- Limits of counters, as configured, and why a port is over one --------------------------- */

#define CONFIRM 2  /* readings in a row over a limit: sick */
#define RECOVER 10 /* under half of all: well */

static struct judge_limits link_health_limits(const struct conf_perf *c)
{
	return (struct judge_limits){ .limit = { [JUDGE_SYMBOL] = c->symbol_errors,
						 [JUDGE_RCV] = c->rcv_errors,
						 [JUDGE_INTEGRITY] = c->integrity_errors,
						 [JUDGE_RECOVERED] = c->link_recoveries,
						 [JUDGE_DOWNED] = c->link_losses,
						 [JUDGE_FEC_UNCORRECTED] = c->fec_uncorrected,
						 [JUDGE_FEC_CORRECTED] = c->fec_corrected,
						 [JUDGE_FEC_SYMBOLS] = c->fec_symbols,
						 [JUDGE_DISCARDS] = c->discards,
						 [JUDGE_WAIT] = c->wait_percent },
				      .confirm = CONFIRM,
				      .recover = RECOVER };
}

/* Why a port is not well, in words; the caller's. */
static json_t *link_health_why(const struct link_health *h, const struct judge_port *judged)
{
	struct judge_limits limits = link_health_limits(&h->services.conf->perf);

	return json_sprintf("%.4g %s (limit %.4g)", judged->rate[judged->why],
			    judge_name(judged->why), limits.limit[judged->why]);
}

/* ---- What they come to for a host: a link is as ill as its worse end ------------------------- */

static void add_end(const struct link_health *h, const struct topo *t, const struct topo_port *end,
		    const char *hca, struct host_verdict *v)
{
	guid_t node = t->nodes[end->node].guid;
	const struct slow_link here = { .node = node, .port = end->num }, *slow = NULL;
	struct perf_port port;

	if (h->nslow)
		slow = bsearch(&here, h->slow, h->nslow, sizeof(here), by_place);
	if (slow)
		host_verdict_add(v, HOST_DEGRADED, "%.60s: runs at %ux %s, supports %ux %s", hca,
				 slow->lanes, topo_speed_name(slow->speed), slow->best_lanes,
				 topo_speed_name(slow->best_speed));
	if ((!h->sick && !h->over) || !perf_find(h->perf, node, end->num, &port))
		return;
	if (ber_is_over(port.ber))
		host_verdict_add(v, HOST_DEGRADED, "%.40s: %s", hca,
				 link_health_ber_why(h, &port).text);
	if (port.judged->state != JUDGE_SICK)
		return;

	json_t *why = link_health_why(h, port.judged);

	host_verdict_add(v, HOST_DEGRADED, "%.60s: link unhealthy: %s", hca,
			 json_string_value(why));
	json_decref(why);
}

void link_health_judge_host(const struct fabric *fabric, uint32_t host, struct host_verdict *v)
{
	const struct link_health *h = fabric_room(fabric, &link_health_module);
	const struct topo *t = fabric_view(h->fabric).topo;
	const struct topo_host *it = &t->hosts[host];

	if (!h->sick && !h->nslow && !h->over)
		return;
	for (uint32_t i = 0; i < it->ncas; i++) {
		uint32_t ca = t->host_cas[it->first + i];

		TOPO_LINKS (t, ca, port, peer) {
			if (!port->link_up)
				continue;
			add_end(h, t, port, host_device(t, ca), v);
			add_end(h, t, peer, host_device(t, ca), v);
		}
	}
}

/* ---- Error correction ------------------------------------------------------------------------ */

/*
 * Which error correction links use (fec_modes.h). Ports are asked when all that was published is
 * programmed and brought up, so nothing waits for them.
 */

static bool may_ask(void *arg)
{
	return fabric_is_quiet(((const struct link_health *)arg)->fabric);
}

static void link_health_published(void *room, enum fabric_update_step step,
				  const struct topo *before)
{
	if (step == FABRIC_PUBLISHED || step == FABRIC_SHOWN)
		((struct link_health *)room)->fec_stale = true;
}

static const struct job_step steps[];

/* Behind a pass, and when what was published is in force: links that run below what they can. */
static void search_start(struct link_health *h)
{
	search_free(h->search);
	h->search = mem_new(h->search);
	job_start(h->behind, steps, NULL);
}

static void link_health_settled(void *room, enum fabric_settle_step step)
{
	struct link_health *h = room;

	if (step != FABRIC_SETTLED || !h->fec_stale)
		return;
	h->fec_stale = false;
	fec_modes_ask(h->fec);
	if (h->nslow || fabric_view(h->fabric).topo->rates_differ)
		search_start(h);
}

static const char *link_health_swept(void *room, const struct fabric_swept *swept)
{
	struct link_health *h = room;

	if (swept->step == FABRIC_LINK_FELL)
		fec_modes_forget(h->fec, swept->node, swept->port);
	return NULL;
}

/* ---- Whether passes over all counters keep to their interval --------------------------------- */

#define IN_A_ROW 2 /* that did not are an alert, that did are its end */

static void link_health_pace_reset(struct link_health *h)
{
	h->late = h->in_time = 0;
	trouble_set(h->services.alerts, "perf_interval", NULL);
}

/* ---- Documents, and what status says --------------------------------------------------------- */

struct rows {
	const struct link_health *h;
	const struct topo *topo;
	json_t *list;
};

static json_t *details_json(uint16_t attr_id, const uint16_t details[WIRE_PERF_DETAILS])
{
	json_t *doc = json_object();

	for (unsigned i = 0; wire_perf_detail_name(attr_id, i); i++)
		if (details[i])
			json_object_set_new(doc, wire_perf_detail_name(attr_id, i),
					    json_integer(details[i]));
	return doc;
}

static json_t *unwell_counters(const struct perf_port *port)
{
	json_t *doc = json_object(), *full = json_array();
	json_t *fec = port->fec ? json_object() : json_null();

	for (unsigned i = 0; i < PERF_COUNTERS; i++) {
		bool data = i == PERF_XMIT_DATA || i == PERF_RCV_DATA;
		uint64_t value =
			port->counters->value[i] / (data ? 4 : 1); /* as the device has it */

		if (counters_have(port->counters, i))
			json_object_set_new(doc, wire_perf_name(i), json_integer(value));
	}
	for (unsigned i = 0; i < PERF_ERRORS; i++)
		if (port->judged->full >> i & 1)
			json_array_append_new(full, json_string(wire_perf_name(i)));
	for (unsigned i = 0; port->fec && i < WIRE_FEC_COUNTERS; i++) {
		const char *name = wire_fec_name(i);

		json_object_set_new(fec, name, json_integer(port->fec->last[i]));
		if (port->fec->full >> i & 1)
			json_array_append_new(full, json_string(name));
	}
	return json_pack("{so so so so so}", "values", doc, "fec", fec, "at_their_end", full,
			 "rcv_error_details",
			 details_json(WIRE_PERF_RCV_ERROR_DETAILS, port->rcv_details),
			 "xmit_discard_details",
			 details_json(WIRE_PERF_XMIT_DISCARD_DETAILS, port->xmit_details));
}

static void add_row(void *arg, const struct perf_port *port)
{
	struct rows *rows = arg;
	const struct ber_conf conf = link_health_ber_conf(&rows->h->services.conf->ber);
	uint32_t index = topo_port_of(rows->topo, port->node, port->num);
	json_t *row, *windows;

	if (index == TOPO_NONE)
		return;
	if (port->judged->state == JUDGE_WELL)
		row = dump_json_unhealthy_link(
			rows->topo, index, "errors",
			json_string(link_health_ber_why(rows->h, port).text));
	else
		row = dump_json_unhealthy_link(rows->topo, index,
					       judge_state_name(port->judged->state),
					       link_health_why(rows->h, port->judged));

	json_t *rates = json_object();

	for (unsigned kind = 0; kind < JUDGE_KINDS; kind++)
		json_object_set_new(rates, judge_key(kind), json_real(port->judged->rate[kind]));

	json_t *ber = json_object();

	for (enum ber_kind kind = 0; kind < BER_KINDS; kind++) {
		windows = json_object();
		for (enum ber_window window = 0; window < BER_WINDOWS; window++)
			json_object_set_new(
				windows, ber_window_name(window),
				json_real(ber_share(port->ber, &conf, kind, window, port->bits_s)));
		json_object_set_new(ber, ber_kind_name(kind), windows);
	}
	json_put(ber, "{ss sb sf}", "effective_by", port->ber->measured ? "register" : "counters",
		 "over", ber_is_over(port->ber), "clean_s",
		 (double)ber_clean_for_us(port->ber) / 1e6);
	json_put(row, "{so so so}", "ber", ber, "rates", rates, "counters", unwell_counters(port));
	json_array_append_new(rows->list, row);
}

void link_health_unhealthy(const struct fabric *fabric, json_t *list)
{
	const struct link_health *h = fabric_room(fabric, &link_health_module);
	struct rows rows = { h, fabric_view(h->fabric).topo, list };

	if (!rows.topo)
		return;
	perf_each_unwell(h->perf, add_row, &rows);
	for (unsigned i = 0; i < h->nslow; i++) {
		const struct slow_link *s = &h->slow[i];
		uint32_t index = topo_port_of(rows.topo, s->node, s->port);

		if (index == TOPO_NONE)
			continue;

		json_t *why = json_sprintf("runs at %ux %s, supports %ux %s", s->lanes,
					   topo_speed_name(s->speed), s->best_lanes,
					   topo_speed_name(s->best_speed));

		json_array_append_new(rows.list,
				      dump_json_unhealthy_link(rows.topo, index, "slow", why));
	}
}

/* Without rows; the caller's. */
static json_t *link_health_summary(const struct link_health *h)
{
	struct perf_pass pass = perf_last_pass(h->perf);
	uint64_t now = loop_now_us(h->services.loop), span = h->interval_ms * 1000ull;
	/* The present pass, or the latest one, takes longer than the interval. */
	bool exceeds = pass.running_us > span || (!pass.hurried && pass.took_us > span);

	return json_pack(
		"{si si si si si si sI sf sI so so sb sf so}", "warned", h->warned, "sick", h->sick,
		"slow", h->nslow, "over_error_rate", h->over, "ports_read", pass.ports, "silent",
		pass.silent, "readings_thrown_away", (json_int_t)pass.thrown, "pass_ms",
		pass.took_us / 1e3, "pass_mads", (json_int_t)pass.mads, "pass_age_s",
		pass.ended_us ? json_real((now - pass.ended_us) / 1e6) : json_null(),
		"pass_running_ms", pass.running_us ? json_real(pass.running_us / 1e3) : json_null(),
		"pass_exceeds", span && exceeds, "interval_s", h->interval_ms / 1e3, "fec_modes",
		ask_counts_json(fec_modes_counts(h->fec)));
}

static void link_health_status(const void *room, json_t *doc)
{
	json_object_set_new(doc, "health", link_health_summary(room));
}

/*
 * What follows from a pass over all counters, in pieces: links that run below what they can are
 * looked for, then who waits for that pass is answered.
 */

static enum job_result slow_step(void *room)
{
	struct link_health *h = room;
	struct slow_search *search = h->search;
	struct paces *paces = &search->paces;
	struct inv_node *node = inventory_from(h->services.inventory, search->next);
	struct slow_link s;

	for (unsigned ports = 0; node && ports < PORTS_A_PIECE;) {
		ports += node->nports + 1u;
		for (unsigned num = 1; num <= node->nports; num++) {
			if (!link_at(node, num, &s))
				continue;

			uint8_t lanes = s.lanes < LANES_MAX ? s.lanes : LANES_MAX;
			unsigned *count = &paces->count[s.speed][lanes];

			paces->links++;
			paces->slow += s.lanes < s.best_lanes || s.speed < s.best_speed;

			if (++*count > paces->count[paces->speed][paces->lanes]) {
				paces->speed = s.speed;
				paces->lanes = lanes;
			}

			if (s.lanes >= s.best_lanes && s.speed >= s.best_speed)
				continue;
			search->list = mem_grow(search->list, search->found);
			search->list[search->found++] = s;
		}
		search->next = node->guid + 1;
		node = inventory_next(h->services.inventory, node);
	}
	return node ? JOB_MORE : JOB_NEXT;
}

static enum job_result slow_logged_step(void *room)
{
	struct link_health *h = room;
	struct slow_search *search = h->search;
	const struct paces *paces = &search->paces;
	struct slow_link *before = h->slow;
	unsigned nbefore = h->nslow, fresh = 0;
	struct name_list names = { 0 };

	h->slow = search->list;
	h->nslow = 0;
	for (unsigned i = 0; i < search->found; i++) {
		struct slow_link s = h->slow[i];

		if (paces->slow * 2 > paces->links) { /* the usual is the design */
			s.best_lanes = s.best_lanes < paces->lanes ? s.best_lanes : paces->lanes;
			s.best_speed = s.best_speed < paces->speed ? s.best_speed : paces->speed;
		}
		if (s.lanes >= s.best_lanes && s.speed >= s.best_speed)
			continue;

		struct event_subject subject =
			inventory_link_subject(h->services.inventory, s.node, s.port);
		struct inv_link_name name =
			inventory_link_name(h->services.inventory, s.node, s.port);

		name_list_add(&names, name.text);
		h->slow[h->nslow++] = s;
		if (!(nbefore && bsearch(&s, before, nbefore, sizeof(s), by_place)) &&
		    fresh++ < LOGGED_ONE_BY_ONE)
			event_log_add(h->services.events, LOG_WARNING, "link-slow", &subject, NULL,
				      "%s: runs at %ux %s, both ends support %ux %s", name.text,
				      s.lanes, topo_speed_name(s.speed), s.best_lanes,
				      topo_speed_name(s.best_speed));
	}
	if (fresh > LOGGED_ONE_BY_ONE)
		event_log_add(h->services.events, LOG_WARNING, "link-slow", NULL, NULL,
			      "fabric: %u more links run below what both ends support",
			      fresh - LOGGED_ONE_BY_ONE);
	name_list_alert(h->services.alerts, "links-slow", &names,
			"link runs below what it supports", "links run below what they support");
	if (fresh || h->nslow != nbefore)
		fabric_report_hosts_changed(h->fabric);
	free(before);
	free(search);
	h->search = NULL;
	return JOB_NEXT;
}

static void count_over(void *arg, const struct perf_port *port)
{
	struct link_health *h = arg;

	h->over += ber_is_over(port->ber);
}

#define UNTRUE_LEAST 2.5 /* false readings of a node's ports in an hour, until it is an alert */

static void add_untrue(void *list, const struct inv_node *node)
{
	name_list_add(list, inventory_name(node, -1).text);
}

static enum job_result over_step(void *room)
{
	struct link_health *h = room;
	struct name_list untrue = { 0 };

	h->over = 0;
	perf_each_unwell(h->perf, count_over, h);
	perf_each_untrue(h->perf, UNTRUE_LEAST, add_untrue, &untrue);
	name_list_alert(h->services.alerts, "counters-untrue", &untrue,
			"agent whose counters can not be true, which are thrown away",
			"agents whose counters can not be true, which are thrown away");
	return JOB_NEXT;
}

static enum job_result answer_step(void *room)
{
	struct link_health *h = room;

	if (!h->due.first)
		return JOB_NEXT;

	/* Rows are for those to write who asked. */
	json_t *doc = link_health_summary(h);

	waiters_answer(&h->due, doc, NULL);
	json_decref(doc);
	return JOB_NEXT;
}

static const struct job_step steps[] = { { "links-slow", slow_step },
					 { "links-slow-told", slow_logged_step },
					 { "links-over", over_step },
					 { "health-answer", answer_step },
					 { 0 } };

static void link_health_passed(void *room, const struct perf_pass *pass)
{
	struct link_health *h = room;
	bool late = pass->took_us > h->interval_ms * 1000ull;
	char text[160];

	if (!pass->hurried && h->interval_ms) { /* a reading on demand is no measure of it */
		h->late = late ? h->late + (h->late < IN_A_ROW) : 0;
		h->in_time = late ? 0 : h->in_time + (h->in_time < IN_A_ROW);
		array_printf(
			text,
			"reading the counters of all ports takes longer than perf_interval (%g "
			"s): they are read as fast as answers come",
			h->interval_ms / 1e3);
		if (h->in_time == IN_A_ROW)
			trouble_set(h->services.alerts, "perf_interval", NULL);
		if (h->late == IN_A_ROW)
			trouble_set(h->services.alerts, "perf_interval", text);
	}
	if (h->history) {
		history_passed(h->history, time(NULL));
		trouble_set(h->services.alerts, "state_dir/history", history_alert(h->history));
	}
	waiters_move(&h->waiters, &h->due);
	search_start(h);
}

/*
 * A link is judged by the worse of its two ports. A change of the verdict is an event. An unhealthy
 * link between switches is quarantined (no transit while an equally short path exists, and never
 * more than part of a leaf's uplinks) unless `health_action` asks for warnings alone.
 * PortXmitDiscards and PortXmitWait measure congestion, not the link, so they only warn.
 */

#define PASSES_MISSED 3 /* a reading is old */

/* ---- Judgements ------------------------------------------------------------------------------ */

static void changed(void *arg, const struct perf_port *port, enum judge_state before)
{
	struct link_health *h = arg;
	const struct conf_perf *conf = &h->services.conf->perf;
	enum judge_state now = port->judged->state;
	enum judge_kind kind = port->judged->why;
	bool of_fec = kind >= JUDGE_FEC_UNCORRECTED && kind <= JUDGE_FEC_SYMBOLS;
	static const char *const events[] = { "link-well", "link-warn", "link-sick" };
	json_t *why = link_health_why(h, port->judged);
	bool well = now == JUDGE_WELL;
	const struct event_subject subject =
		inventory_link_subject(h->services.inventory, port->node, port->num);

	h->warned += (now == JUDGE_WARN) - (before == JUDGE_WARN);
	h->sick += (now == JUDGE_SICK) - (before == JUDGE_SICK);
	event_log_add(h->services.events, well ? LOG_NOTICE : LOG_WARNING, events[now], &subject,
		      json_pack("{ss}", "state", judge_state_name(now)), "%s: %s%s%s",
		      inventory_link_name(h->services.inventory, port->node, port->num).text,
		      judge_state_name(now), well ? " again" : ": ",
		      well ? "" : json_string_value(why));
	if (now == JUDGE_SICK && (of_fec ? conf->fec_action : conf->action) == CONF_QUARANTINE)
		links_out_ask(h->fabric, &(struct out_ask){ .cause = OUT_QUARANTINE,
							    .node = port->node,
							    .port = port->num,
							    .why = json_string_value(why) });
	json_decref(why);
	if (now == JUDGE_SICK || before == JUDGE_SICK)
		fabric_report_hosts_changed(h->fabric);
}

/* ---- Readings on demand ---------------------------------------------------------------------- */

json_t *link_health(const struct fabric *fabric)
{
	const struct link_health *h = fabric_room(fabric, &link_health_module);
	const struct judge_limits limits = link_health_limits(&h->services.conf->perf);
	const struct ber_conf ber = link_health_ber_conf(&h->services.conf->ber);
	json_t *doc = link_health_summary(h), *rows = json_array(), *limit = json_object();
	json_t *windows = json_object();

	link_health_unhealthy(h->fabric, rows);
	for (unsigned kind = 0; kind < JUDGE_KINDS; kind++)
		json_object_set_new(limit, judge_key(kind), json_real(limits.limit[kind]));
	for (int window = 0; window < BER_WINDOWS; window++)
		json_object_set_new(windows, ber_window_name(window),
				    json_pack("{sf sf}", "seconds",
					      (double)ber.window_us[window] / 1e6, "limit",
					      ber.limit[window]));
	json_object_set_new(doc, "limits", limit);
	json_object_set_new(
		doc, "ber",
		json_pack("{so sb}", "windows", windows, "dry_run", h->services.conf->ber.dry_run));
	json_object_set_new(doc, "links", rows);
	return doc;
}

void link_health_read(struct fabric *fabric, waiter_fn *fn, void *arg)
{
	struct link_health *h = fabric_room(fabric, &link_health_module);

	waiters_add(&h->waiters, fn, arg);
	perf_read_now(h->perf);
}

/* A standby leaves counters to its master, and reads them on demand alone. */
static struct perf_conf perf_conf(struct fabric *fabric)
{
	const struct conf *c = fabric_services(fabric).conf;
	bool master_reads = fabric_role(fabric) == FABRIC_ROLE_STANDBY && !c->sm.observe;

	return (struct perf_conf){ .interval_ms = master_reads ? 0 : c->perf.interval_ms,
				   .limits = link_health_limits(&c->perf),
				   .ber = link_health_ber_conf(&c->ber) };
}

static void configure(void *room)
{
	struct link_health *h = room;
	const struct perf_conf conf = perf_conf(h->fabric);

	if (conf.interval_ms != h->interval_ms)
		link_health_pace_reset(h);
	h->interval_ms = conf.interval_ms;
	perf_configure(h->perf, &conf);
}

static void role(void *room, enum fabric_role now, enum fabric_role_step step)
{
	struct link_health *h = room;

	if (step == FABRIC_ROLE_LEFT) {
		waiters_answer(&h->waiters, NULL, FABRIC_ROLE_CHANGED);
		waiters_answer(&h->due, NULL, FABRIC_ROLE_CHANGED);
	} else if (step == FABRIC_ROLE_IN_FORCE)
		configure(h);
}

/* ---- Counters -------------------------------------------------------------------------------- */

/* One of a node's, NULL = never read. */
static const struct port_counters *one_of(const struct port_counters *counters, uint8_t nports,
					  unsigned num)
{
	bool read = num && num <= nports && counters_read_us(&counters[num - 1]);

	return read ? &counters[num - 1] : NULL;
}

uint64_t link_health_now_us(const struct fabric *fabric)
{
	const struct link_health *h = fabric_room(fabric, &link_health_module);

	return loop_now_us(h->services.loop);
}

const struct port_counters *link_health_node(const struct fabric *fabric, guid_t node,
					     uint8_t *nports)
{
	const struct link_health *h = fabric_room(fabric, &link_health_module);

	return perf_counters(h->perf, node, nports);
}

const struct port_counters *link_health_counters(const struct fabric *fabric, guid_t node,
						 uint8_t port)
{
	uint8_t nports;
	const struct port_counters *counters = link_health_node(fabric, node, &nports);

	return one_of(counters, nports, port);
}

uint64_t link_health_oldest_us(const struct fabric *fabric)
{
	const struct link_health *h = fabric_room(fabric, &link_health_module);
	const struct perf_pass pass = perf_last_pass(h->perf);
	uint64_t now = loop_now_us(h->services.loop);
	/* How far apart two readings of a port are: the interval, or more; 0 = on demand alone. */
	uint64_t span = h->interval_ms * 1000ull, took = pass.took_us;

	took = took > pass.running_us ? took : pass.running_us;
	if (span && took > span)
		span = took;
	span *= PASSES_MISSED;
	return span && now > span ? now - span : 1; /* 0 = never read */
}

const struct fec_mode *link_health_fec_node(const struct fabric *fabric, guid_t node,
					    uint8_t *nports)
{
	const struct link_health *h = fabric_room(fabric, &link_health_module);

	return fec_modes_of(h->fec, node, nports);
}

const struct fec_mode *link_health_fec(const struct fabric *fabric, guid_t node, uint8_t port)
{
	uint8_t nports;
	const struct fec_mode *modes = link_health_fec_node(fabric, node, &nports);

	return modes && port <= nports && modes[port].state == FEC_KNOWN ? &modes[port] : NULL;
}

void link_health_each_port(const struct fabric *fabric, port_counters_fn *fn, void *arg)
{
	const struct link_health *h = fabric_room(fabric, &link_health_module);
	const struct topo *t = fabric_view(fabric).topo;

	for (uint32_t i = 0; t && i < t->nnodes; i++) {
		const struct topo_node *node = &t->nodes[i];
		uint8_t nports;
		const struct port_counters *counters = perf_counters(h->perf, node->guid, &nports);

		TOPO_LINKS (t, i, port, peer)
			fn(arg, port - t->ports, one_of(counters, nports, port->num));
	}
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void *init(struct fabric *fabric)
{
	static const struct perf_ops ops = { changed,
					     link_health_ber,
					     link_health_read_port,
					     link_health_trained,
					     link_health_passed,
					     link_health_measured };
	struct link_health *h = mem_new(h);
	struct fabric_services services = fabric_services(fabric);
	const struct perf_conf conf = perf_conf(fabric);

	h->fabric = fabric;
	h->services = services;
	h->interval_ms = conf.interval_ms;
	if (*services.conf->state_dir)
		h->history =
			history_open(services.conf->state_dir, !loop_is_simulated(services.loop));
	h->behind = job_new(services.loop, h);
	job_yield(h->behind);
	h->perf = perf_new(services.loop, services.mad, services.inventory, &conf, &ops, h);
	h->fec =
		fec_modes_new(h->services.loop, h->services.mad, h->services.inventory, may_ask, h);
	return h;
}

static void fini(void *room)
{
	struct link_health *h = room;

	perf_free(h->perf);
	history_close(h->history);
	trouble_set(h->services.alerts, "state_dir/history", NULL);
	fec_modes_free(h->fec);
	job_free(h->behind);
	waiters_fini(&h->waiters);
	waiters_fini(&h->due);
	search_free(h->search);
	free(h->slow);
	name_list_alert(h->services.alerts, "links-slow", &(struct name_list){ 0 }, "", "");
	link_health_pace_reset(h);
	free(h);
}

const struct fabric_module link_health_module = { .name = "link-health",
						  .init = init,
						  .fini = fini,
						  .configure = configure,
						  .published = link_health_published,
						  .settled = link_health_settled,
						  .status = link_health_status,
						  .role = role,
						  .swept = link_health_swept };
