/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the counters of ports come to for the fabric.
 *
 * A link is judged by the worse of its two ports. A change of the verdict is an event. An unhealthy
 * link between switches is quarantined (no transit while an equally short path exists, and never
 * more than part of a leaf's uplinks) unless `health_action` asks for warnings alone.
 * PortXmitDiscards and PortXmitWait measure congestion, not the link, so they only warn.
 *
 * A link that runs narrower or slower than both its ports support (PortInfo) is reported too, once,
 * in the pass that finds it. Where most links of a fabric run so (split ports, a simulator), that
 * is taken for its design, and only links below the usual width and speed are reported.
 */
#include "fm/perf/module.h"
#include <stdlib.h>
#include <string.h>
#include "fm/core/name_list.h"
#include "fm/fabric/request.h"
#include "fm/fabric/view.h"
#include "fm/perf/judge.h"
#include "fm/perf/module_own.h"
#include "topology/dump.h"
#include "topology/mem.h"

#define LANES_MAX	12
#define PASSES_MISSED	3  /* a reading is old */
#define TOLD_ONE_BY_ONE 20 /* links below what they can, of one pass */

/* ---- Judgements ------------------------------------------------------------------------------ */

static void count_states(struct link_health *h, enum judge_state before, enum judge_state now)
{
	h->warned += (now == JUDGE_WARN) - (before == JUDGE_WARN);
	h->sick += (now == JUDGE_SICK) - (before == JUDGE_SICK);
}

static int action_of(const struct conf_perf *conf, enum judge_kind kind)
{
	return kind >= JUDGE_FEC_UNCORRECTED && kind <= JUDGE_FEC_SYMBOLS ? conf->fec_action
									  : conf->action;
}

static void quarantine(struct link_health *h, const struct perf_port *port, const char *why)
{
	int action = action_of(&h->services.conf->perf, (enum judge_kind)port->judged->why);

	if (port->judged->state == JUDGE_SICK && action == CONF_QUARANTINE)
		fabric_request_quarantine(h->fabric, port->node, port->num, why);
}

static void changed(void *arg, const struct perf_port *port, enum judge_state before)
{
	struct link_health *h = arg;
	enum judge_state now = (enum judge_state)port->judged->state;
	static const char *const events[] = { "link-well", "link-warn", "link-sick" };
	json_t *why = link_health_why(h, port->judged);
	bool well = now == JUDGE_WELL;

	count_states(h, before, now);
	event_log_add(h->services.events, well ? LOG_NOTICE : LOG_WARNING, events[now],
		      json_pack("{ss}", "state", judge_state_name(now)), "%s: %s%s%s",
		      inventory_link_name(h->services.inventory, port->node, port->num).text,
		      judge_state_name(now), well ? " again" : ": ",
		      well ? "" : json_string_value(why));
	quarantine(h, port, json_string_value(why));
	json_decref(why);
	if (now == JUDGE_SICK || before == JUDGE_SICK)
		fabric_report_hosts_changed(h->fabric);
}

/* ---- Links below what they can -------------------------------------------------------------- */

static uint8_t highest_bit(unsigned mask)
{
	return mask ? (uint8_t)(1u << (31 - __builtin_clz(mask))) : 0;
}

/* Of what both support. 2x has the highest bit of the widths and stands below 4x. */
static struct wire_port_info best_of(const struct wire_port_info *a, const struct wire_port_info *b)
{
	unsigned widths = a->width_supported & b->width_supported;

	return (struct wire_port_info){
		.width_active = highest_bit(widths & 0xe ? widths & 0xe : widths),
		.speed_active = highest_bit(a->speed_supported & b->speed_supported),
		.speed_ext_active = highest_bit(a->speed_ext_supported & b->speed_ext_supported),
		.speed_ext2_active = highest_bit(a->speed_ext2_supported & b->speed_ext2_supported),
	};
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
	best = best_of(&x, &y);
	*out = (struct slow_link){ .node = node->guid,
				   .port = num,
				   .lanes = a->lanes,
				   .speed = a->speed,
				   .best_lanes = (uint8_t)wire_port_info_lanes(&best),
				   .best_speed = wire_port_info_speed(&best) };
	return true;
}

static bool is_slow(const struct slow_link *s)
{
	return s->lanes < s->best_lanes || s->speed < s->best_speed;
}

/* All links, and the usual: what most of them run at. */
struct paces {
	unsigned links, slow;
	unsigned count[TOPO_XDR + 1][LANES_MAX + 1];
	uint8_t lanes;
	enum topo_speed speed;
};

static void count_pace(struct paces *paces, const struct slow_link *s)
{
	unsigned *count = &paces->count[s->speed][s->lanes <= LANES_MAX ? s->lanes : LANES_MAX];

	paces->links++;
	paces->slow += is_slow(s);
	if (++*count <= paces->count[paces->speed][paces->lanes])
		return;
	paces->speed = s->speed;
	paces->lanes = s->lanes <= LANES_MAX ? s->lanes : LANES_MAX;
}

static void expect_the_usual(const struct paces *paces, struct slow_link *s)
{
	if (paces->slow * 2 <= paces->links)
		return;
	s->best_lanes = s->best_lanes < paces->lanes ? s->best_lanes : paces->lanes;
	s->best_speed = s->best_speed < paces->speed ? s->best_speed : paces->speed;
}

static const struct slow_link *slow_find(const struct slow_link *list, unsigned count,
					 const struct slow_link *it)
{
	for (unsigned i = 0; i < count; i++)
		if (list[i].node == it->node && list[i].port == it->port)
			return &list[i];
	return NULL;
}

static void report_slow(const struct link_health *h, const struct slow_link *s)
{
	event_log_add(h->services.events, LOG_WARNING, "link-slow", NULL,
		      "%s: runs at %ux %s, both ends support %ux %s",
		      inventory_link_name(h->services.inventory, s->node, s->port).text, s->lanes,
		      topo_speed_name(s->speed), s->best_lanes, topo_speed_name(s->best_speed));
}

/* All that run below what their ends can; and what is usual. */
static struct slow_link *find_slow(const struct inventory *inv, struct paces *paces,
				   unsigned *count)
{
	struct slow_link *list = NULL, s;
	unsigned room = 0;

	*count = 0;
	for (struct inv_node *n = inventory_first(inv); n; n = inventory_next(inv, n))
		for (unsigned num = 1; num <= n->nports; num++) {
			if (!link_at(n, (uint8_t)num, &s))
				continue;
			count_pace(paces, &s);
			if (!is_slow(&s))
				continue;
			if (*count == room)
				list = mem_resize(list, room = room ? 2 * room : 16, sizeof(s));
			list[(*count)++] = s;
		}
	return list;
}

static void compare_slow(struct link_health *h)
{
	struct paces paces = { 0 };
	struct slow_link *before = h->slow;
	unsigned nbefore = h->nslow, found, told = 0;

	h->slow = find_slow(h->services.inventory, &paces, &found);
	h->nslow = 0;
	for (unsigned i = 0; i < found; i++) {
		struct slow_link s = h->slow[i];

		expect_the_usual(&paces, &s);
		if (!is_slow(&s))
			continue;
		h->slow[h->nslow++] = s;
		if (!slow_find(before, nbefore, &s) && told++ < TOLD_ONE_BY_ONE)
			report_slow(h, &s);
	}
	if (told > TOLD_ONE_BY_ONE)
		event_log_add(h->services.events, LOG_WARNING, "link-slow", NULL,
			      "fabric: %u more links run below what both ends support",
			      told - TOLD_ONE_BY_ONE);
	if (told || h->nslow != nbefore)
		fabric_report_hosts_changed(h->fabric);
	free(before);
}

/* ---- Documents ------------------------------------------------------------------------------- */

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

static json_t *fec_json(const struct perf_port *port)
{
	json_t *doc = port->fec ? json_object() : json_null();

	for (unsigned i = 0; port->fec && i < WIRE_FEC_COUNTERS; i++)
		json_object_set_new(doc, wire_fec_name((enum wire_fec_counter)i),
				    json_integer((json_int_t)port->fec->last[i]));
	return doc;
}

/* In the device's units. */
static uint64_t counter_as_read(const struct perf_port *port, unsigned counter)
{
	uint64_t value = port->counters->value[counter];

	return counter == PERF_XMIT_DATA || counter == PERF_RCV_DATA ? value / 4 : value;
}

static json_t *unwell_counters(const struct perf_port *port)
{
	json_t *doc = json_object(), *full = json_array();

	for (unsigned i = 0; i < PERF_COUNTERS; i++)
		if (counters_have(port->counters, i))
			json_object_set_new(doc, wire_perf_name((enum perf_counter)i),
					    json_integer((json_int_t)counter_as_read(port, i)));
	for (unsigned i = 0; i < PERF_ERRORS; i++)
		if (port->judged->full >> i & 1)
			json_array_append_new(full,
					      json_string(wire_perf_name((enum perf_counter)i)));
	for (unsigned i = 0; port->fec && i < WIRE_FEC_COUNTERS; i++)
		if (port->fec->full >> i & 1)
			json_array_append_new(full,
					      json_string(wire_fec_name((enum wire_fec_counter)i)));
	return json_pack("{so so so so so}", "values", doc, "fec", fec_json(port), "at_their_end",
			 full, "rcv_error_details",
			 details_json(WIRE_PERF_RCV_ERROR_DETAILS, port->rcv_details),
			 "xmit_discard_details",
			 details_json(WIRE_PERF_XMIT_DISCARD_DETAILS, port->xmit_details));
}

static json_t *rates_json(const struct judge_port *judged)
{
	json_t *doc = json_object();

	for (unsigned kind = 0; kind < JUDGE_KINDS; kind++)
		json_object_set_new(doc, judge_key((enum judge_kind)kind),
				    json_real(judged->rate[kind]));
	return doc;
}

static void add_row(void *arg, const struct perf_port *port)
{
	struct rows *rows = arg;
	uint32_t index = topo_port_of(rows->topo, port->node, port->num);
	json_t *row;

	if (index == TOPO_NONE)
		return;
	if (port->judged->state == JUDGE_WELL)
		row = dump_json_unhealthy_link(
			rows->topo, index, "errors",
			json_string(link_health_ber_why(rows->h, port).text));
	else
		row = dump_json_unhealthy_link(
			rows->topo, index, judge_state_name((enum judge_state)port->judged->state),
			link_health_why(rows->h, port->judged));
	json_object_set_new(row, "ber", link_health_ber_json(rows->h, port));
	json_object_set_new(row, "rates", rates_json(port->judged));
	json_object_set_new(row, "counters", unwell_counters(port));
	json_array_append_new(rows->list, row);
}

static void add_slow_rows(const struct rows *rows)
{
	for (unsigned i = 0; i < rows->h->nslow; i++) {
		const struct slow_link *s = &rows->h->slow[i];
		uint32_t index = topo_port_of(rows->topo, s->node, s->port);
		json_t *why;

		if (index == TOPO_NONE)
			continue;
		why = json_sprintf("runs at %ux %s, supports %ux %s", s->lanes,
				   topo_speed_name(s->speed), s->best_lanes,
				   topo_speed_name(s->best_speed));
		json_array_append_new(rows->list,
				      dump_json_unhealthy_link(rows->topo, index, "slow", why));
	}
}

static void unhealthy(const void *room, json_t *list)
{
	const struct link_health *h = room;
	struct rows rows = { h, fabric_view(h->fabric).topo, list };

	if (!rows.topo)
		return;
	perf_each_unwell(h->perf, add_row, &rows);
	add_slow_rows(&rows);
}

static json_t *summary(const struct link_health *h)
{
	struct perf_pass pass = perf_last_pass(h->perf);
	uint64_t now = loop_now_us(h->services.loop);

	return json_pack("{si si si si si si sf sI so sf}", "warned", (int)h->warned, "sick",
			 (int)h->sick, "slow", (int)h->nslow, "over_error_rate", (int)h->over,
			 "ports_read", (int)pass.ports, "silent", (int)pass.silent, "pass_ms",
			 pass.took_us / 1e3, "pass_mads", (json_int_t)pass.mads, "pass_age_s",
			 pass.ended_us ? json_real((now - pass.ended_us) / 1e6) : json_null(),
			 "interval_s", h->services.conf->perf.interval_ms / 1e3);
}

static void status(const void *room, json_t *doc)
{
	json_object_set_new(doc, "health", summary(room));
}

static json_t *document(const struct link_health *h)
{
	struct judge_limits limits = link_health_limits(h->services.conf);
	json_t *doc = summary(h), *rows = json_array(), *limit = json_object();

	unhealthy(h, rows);
	for (unsigned kind = 0; kind < JUDGE_KINDS; kind++)
		json_object_set_new(limit, judge_key((enum judge_kind)kind),
				    json_real(limits.limit[kind]));
	json_object_set_new(doc, "limits", limit);
	json_object_set_new(doc, "ber", link_health_ber_summary(h));
	json_object_set_new(doc, "links", rows);
	return doc;
}

json_t *link_health(const struct fabric *fabric)
{
	return document(fabric_room(fabric, &link_health_module));
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

const struct port_counters *link_health_counters(const struct fabric *fabric, guid_t node,
						 uint8_t port)
{
	const struct link_health *h = fabric_room(fabric, &link_health_module);
	uint8_t nports;
	const struct port_counters *counters = perf_counters(h->perf, node, &nports);

	return one_of(counters, nports, port);
}

const struct port_counters *link_health_node(const struct fabric *fabric, guid_t node,
					     uint8_t *nports)
{
	const struct link_health *h = fabric_room(fabric, &link_health_module);

	return perf_counters(h->perf, node, nports);
}

uint64_t link_health_oldest_us(const struct fabric *fabric)
{
	const struct link_health *h = fabric_room(fabric, &link_health_module);
	uint64_t now = loop_now_us(h->services.loop);
	uint64_t span = h->services.conf->perf.interval_ms * 1000ull * PASSES_MISSED;

	return span && now > span ? now - span : 1; /* 0 = never read */
}

void link_health_each_port(const struct fabric *fabric, port_counters_fn *fn, void *arg)
{
	const struct link_health *h = fabric_room(fabric, &link_health_module);
	const struct topo *t = fabric_view(fabric).topo;

	for (uint32_t i = 0; t && i < t->nnodes; i++) {
		const struct topo_node *node = &t->nodes[i];
		uint8_t nports;
		const struct port_counters *counters = perf_counters(h->perf, node->guid, &nports);

		for (unsigned num = 1; num <= node->nports; num++)
			if (topo_port(t, i, num)->peer != TOPO_NONE)
				fn(arg, node->port0 + num, one_of(counters, nports, num));
	}
}

/* ---- Passes ---------------------------------------------------------------------------------- */

static void count_over(void *arg, const struct perf_port *port)
{
	struct link_health *h = arg;

	h->over += ber_is_over(port->ber);
}

static void passed(void *arg, const struct perf_pass *pass)
{
	struct link_health *h = arg;
	json_t *doc;

	compare_slow(h);
	h->over = 0;
	perf_each_unwell(h->perf, count_over, h);
	if (!h->waiters.first)
		return;
	doc = document(h);
	waiters_answer(&h->waiters, doc, NULL);
	json_decref(doc);
}

void link_health_read(struct fabric *fabric, waiter_fn *fn, void *arg)
{
	struct link_health *h = fabric_room(fabric, &link_health_module);

	waiters_add(&h->waiters, fn, arg);
	perf_read_now(h->perf);
}

static void cancel(void *room, const void *arg)
{
	struct link_health *h = room;

	waiters_cancel(&h->waiters, arg);
}

static void abandon(void *room, const char *why)
{
	struct link_health *h = room;

	waiters_answer(&h->waiters, NULL, why);
}

/* Links below what they can are an alert for as long as there are any. */
static void review(void *room)
{
	struct link_health *h = room;
	struct name_list slow = { 0 };

	for (unsigned i = 0; i < h->nslow && fabric_view(h->fabric).topo; i++)
		name_list_add(&slow, inventory_link_name(h->services.inventory, h->slow[i].node,
							 h->slow[i].port)
					     .text);
	name_list_alert(h->services.alerts, "links-slow", &slow, "link runs below what it supports",
			"links run below what they support");
}

/* ---- Life ------------------------------------------------------------------------------------ */

static struct perf_conf perf_conf(const struct conf *c)
{
	return (struct perf_conf){ .interval_ms = (unsigned)c->perf.interval_ms,
				   .limits = link_health_limits(c),
				   .ber = link_health_ber_conf(c) };
}

static void configure(void *room)
{
	struct link_health *h = room;
	const struct perf_conf conf = perf_conf(h->services.conf);

	perf_configure(h->perf, &conf);
}

static void *init(struct fabric *fabric)
{
	static const struct perf_ops ops = { changed, link_health_ber, passed };
	struct link_health *h = mem_alloc(1, sizeof(*h));
	struct fabric_services services = fabric_services(fabric);
	const struct perf_conf conf = perf_conf(services.conf);

	h->fabric = fabric;
	h->services = services;
	h->perf = perf_new(services.loop, services.mad, services.inventory, &conf, &ops, h);
	return h;
}

static void fini(void *room)
{
	struct link_health *h = room;

	perf_free(h->perf);
	waiters_fini(&h->waiters);
	free(h->slow);
	free(h);
}

const struct fabric_module link_health_module = { .name = "link-health",
						  .init = init,
						  .fini = fini,
						  .configure = configure,
						  .report.review = review,
						  .report.cancel = cancel,
						  .report.abandon = abandon,
						  .report.unhealthy = unhealthy,
						  .report.host = link_health_host,
						  .report.link_clean_us = link_health_clean_us,
						  .report.status = status };
