/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What people are told of the health of links: documents and what status says. */
#include "fm/fabric/view.h"
#include "fm/perf/module_own.h"
#include "topology/dump.h"

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

void link_health_unhealthy(const void *room, json_t *list)
{
	const struct link_health *h = room;
	struct rows rows = { h, fabric_view(h->fabric).topo, list };

	if (!rows.topo)
		return;
	perf_each_unwell(h->perf, add_row, &rows);
	add_slow_rows(&rows);
}

json_t *link_health_summary(const struct link_health *h)
{
	struct perf_pass pass = perf_last_pass(h->perf);
	uint64_t now = loop_now_us(h->services.loop);

	uint64_t running = perf_running_us(h->perf);

	return json_pack(
		"{si si si si si si sf sI so so sb sf so}", "warned", (int)h->warned, "sick",
		(int)h->sick, "slow", (int)h->nslow, "over_error_rate", (int)h->over, "ports_read",
		(int)pass.ports, "silent", (int)pass.silent, "pass_ms", pass.took_us / 1e3,
		"pass_mads", (json_int_t)pass.mads, "pass_age_s",
		pass.ended_us ? json_real((now - pass.ended_us) / 1e6) : json_null(),
		"pass_running_ms", running ? json_real(running / 1e3) : json_null(), "pass_exceeds",
		link_health_exceeds(h), "interval_s", h->services.conf->perf.interval_ms / 1e3,
		"fec_modes", link_health_fec_summary(h));
}

void link_health_status(const void *room, json_t *doc)
{
	json_object_set_new(doc, "health", link_health_summary(room));
}

json_t *link_health_document(const struct link_health *h)
{
	struct judge_limits limits = link_health_limits(h->services.conf);
	json_t *doc = link_health_summary(h), *rows = json_array(), *limit = json_object();

	link_health_unhealthy(h, rows);
	for (unsigned kind = 0; kind < JUDGE_KINDS; kind++)
		json_object_set_new(limit, judge_key((enum judge_kind)kind),
				    json_real(limits.limit[kind]));
	json_object_set_new(doc, "limits", limit);
	json_object_set_new(doc, "ber", link_health_ber_summary(h));
	json_object_set_new(doc, "links", rows);
	return doc;
}
