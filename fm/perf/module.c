/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the counters of ports come to for the fabric.
 *
 * A link is judged by the worse of its two ports. A change of the verdict is an event. An unhealthy
 * link between switches is quarantined (no transit while an equally short path exists, and never
 * more than part of a leaf's uplinks) unless `health_action` asks for warnings alone.
 * PortXmitDiscards and PortXmitWait measure congestion, not the link, so they only warn.
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

#define PASSES_MISSED 3 /* a reading is old */

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

/* ---- Readings on demand ---------------------------------------------------------------------- */

json_t *link_health(const struct fabric *fabric)
{
	return link_health_document(fabric_room(fabric, &link_health_module));
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
	waiters_cancel(&h->due, arg);
}

static void abandon(void *room, const char *why)
{
	struct link_health *h = room;

	waiters_answer(&h->waiters, NULL, why);
	waiters_answer(&h->due, NULL, why);
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
	uint64_t span = link_health_span_us(h) * PASSES_MISSED;

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

		for (unsigned num = 1; num <= node->nports; num++)
			if (topo_port(t, i, num)->peer != TOPO_NONE)
				fn(arg, node->port0 + num, one_of(counters, nports, num));
	}
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

	if (conf.interval_ms != h->interval_ms)
		link_health_pace_reset(h);
	h->interval_ms = conf.interval_ms;
	perf_configure(h->perf, &conf);
}

static void *init(struct fabric *fabric)
{
	static const struct perf_ops ops = { changed, link_health_ber, link_health_passed };
	struct link_health *h = mem_alloc(1, sizeof(*h));
	struct fabric_services services = fabric_services(fabric);
	const struct perf_conf conf = perf_conf(services.conf);

	h->fabric = fabric;
	h->services = services;
	h->interval_ms = conf.interval_ms;
	h->behind = job_new(services.loop, h);
	job_yield(h->behind);
	h->perf = perf_new(services.loop, services.mad, services.inventory, &conf, &ops, h);
	link_health_fec_begin(h);
	return h;
}

static void fini(void *room)
{
	struct link_health *h = room;

	perf_free(h->perf);
	link_health_fec_end(h);
	job_free(h->behind);
	waiters_fini(&h->waiters);
	waiters_fini(&h->due);
	link_health_slow_free(h);
	link_health_pace_reset(h);
	free(h);
}

const struct fabric_module link_health_module = { .name = "link-health",
						  .init = init,
						  .fini = fini,
						  .configure = configure,
						  .update.link_fell = link_health_fell,
						  .update.published = link_health_published,
						  .update.shown = link_health_published,
						  .deploy.settled = link_health_settled,
						  .report.review = link_health_review,
						  .report.cancel = cancel,
						  .report.abandon = abandon,
						  .report.unhealthy = link_health_unhealthy,
						  .report.host = link_health_host,
						  .report.link_clean_us = link_health_clean_us,
						  .report.status = link_health_status };
