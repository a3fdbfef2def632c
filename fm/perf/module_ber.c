/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Error rates of links over minutes and hours. What is over a limit is asked for a hold, reading by
 * reading, where the configuration says so: whether it is held, and how long, is decided where the
 * other links that carry no transit are known (fm/maintenance/module.c).
 */
#include <stdio.h>
#include "fm/fabric/view.h"
#include "fm/perf/module_own.h"

struct ber_conf link_health_ber_conf(const struct conf_ber *c)
{
	return (struct ber_conf){
		.window_us = { c->window_ms * 1000ull, c->long_window_ms * 1000ull },
		.limit = { c->limit, c->long_limit },
	};
}

/* As a person says it. */
struct span_text {
	char text[24];
};

static struct span_text span_text(uint64_t us)
{
	struct span_text span;
	double seconds = (double)us / 1e6;

	if (seconds < 7200)
		snprintf(span.text, sizeof(span.text), "%.3g min", seconds / 60);
	else
		snprintf(span.text, sizeof(span.text), "%.3g h", seconds / 3600);
	return span;
}

struct ber_text link_health_ber_why(const struct link_health *h, const struct perf_port *port)
{
	const struct ber_conf conf = link_health_ber_conf(&h->services.conf->ber);
	enum ber_kind kind = (enum ber_kind)port->ber->kind;
	enum ber_window window = (enum ber_window)port->ber->window;
	struct ber_text why;

	snprintf(why.text, sizeof(why.text), "%s BER %.2g in %s (limit %.2g)", ber_kind_name(kind),
		 ber_share(port->ber, &conf, kind, window, port->bits_s),
		 span_text(conf.window_us[window]).text, conf.limit[window]);
	return why;
}

static bool acts(const struct link_health *h, const struct perf_port *port)
{
	const struct conf_perf *conf = &h->services.conf->perf;
	int action = port->ber->kind == BER_SYMBOL ? conf->action : conf->fec_action;

	return action == CONF_QUARANTINE;
}

void link_health_ber(void *health, const struct perf_port *port, bool changed)
{
	struct link_health *h = health;
	const struct inventory *inv = h->services.inventory;
	struct ber_text why = link_health_ber_why(h, port);
	bool over = ber_is_over(port->ber);

	if (changed) {
		h->over += over ? 1 : -1u;
		event_log_add(h->services.events, over ? LOG_WARNING : LOG_NOTICE,
			      over ? "link-errors" : "link-errors-over", NULL, NULL, "%s: %s",
			      inventory_link_name(inv, port->node, port->num).text,
			      over ? why.text : "bit error rate within its limits again");
		fabric_report_hosts_changed(h->fabric);
	}
	if (over && acts(h, port))
		fabric_request_hold(h->fabric, port->node, port->num, why.text);
}

/* Of one end; UINT64_MAX: nothing is read there. */
static uint64_t end_clean_us(const struct link_health *h, guid_t node, uint8_t num)
{
	struct perf_port port;

	return perf_find(h->perf, node, num, &port) ? ber_clean_for_us(port.ber) : UINT64_MAX;
}

uint64_t link_health_clean_us(const void *room, guid_t node, uint8_t num)
{
	const struct link_health *h = room;
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

/* ---- Documents ------------------------------------------------------------------------------- */

json_t *link_health_ber_json(const struct link_health *h, const struct perf_port *port)
{
	const struct ber_conf conf = link_health_ber_conf(&h->services.conf->ber);
	json_t *doc = json_object();

	for (int kind = 0; kind < BER_KINDS; kind++) {
		json_t *windows = json_object();

		for (int window = 0; window < BER_WINDOWS; window++)
			json_object_set_new(
				windows, ber_window_name((enum ber_window)window),
				json_real(ber_share(port->ber, &conf, (enum ber_kind)kind,
						    (enum ber_window)window, port->bits_s)));
		json_object_set_new(doc, ber_kind_name((enum ber_kind)kind), windows);
	}
	json_object_set_new(doc, "over", json_boolean(ber_is_over(port->ber)));
	json_object_set_new(doc, "clean_s", json_real((double)ber_clean_for_us(port->ber) / 1e6));
	return doc;
}

json_t *link_health_ber_summary(const struct link_health *h)
{
	const struct ber_conf conf = link_health_ber_conf(&h->services.conf->ber);
	json_t *windows = json_object();

	for (int window = 0; window < BER_WINDOWS; window++)
		json_object_set_new(windows, ber_window_name((enum ber_window)window),
				    json_pack("{sf sf}", "seconds",
					      (double)conf.window_us[window] / 1e6, "limit",
					      conf.limit[window]));
	return json_pack("{so sb}", "windows", windows, "dry_run", h->services.conf->ber.dry_run);
}
