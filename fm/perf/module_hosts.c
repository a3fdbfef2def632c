/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What counters and speeds of its links come to for a host: a link is as ill as its worse end. */
#include "fm/core/host_verdict.h"
#include "fm/fabric/view.h"
#include "fm/perf/module_own.h"
#include "topology/host.h"

static const struct slow_link *find_slow(const struct link_health *h, guid_t node, uint8_t port)
{
	unsigned low = 0, high = h->nslow;

	while (low < high) {
		unsigned mid = low + (high - low) / 2;
		const struct slow_link *s = &h->slow[mid];

		if (s->node == node && s->port == port)
			return s;
		if (s->node < node || (s->node == node && s->port < port))
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

static void add_end(const struct link_health *h, const struct topo *t, const struct topo_port *end,
		    const char *hca, struct host_verdict *v)
{
	guid_t node = t->nodes[end->node].guid;
	const struct slow_link *slow = find_slow(h, node, end->num);
	struct perf_port port;
	json_t *why;

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
	why = link_health_why(h, port.judged);
	host_verdict_add(v, HOST_DEGRADED, "%.60s: link unhealthy: %s", hca,
			 json_string_value(why));
	json_decref(why);
}

void link_health_host(void *room, uint32_t host, struct host_verdict *v)
{
	const struct link_health *h = room;
	const struct topo *t = fabric_view(h->fabric).topo;
	const struct topo_host *it = &t->hosts[host];

	if (!h->sick && !h->nslow && !h->over)
		return;
	for (uint32_t i = 0; i < it->ncas; i++) {
		uint32_t ca = t->host_cas[it->first + i];

		for (unsigned num = 1; num <= t->nodes[ca].nports; num++) {
			const struct topo_port *port = topo_port(t, ca, num);
			const struct topo_port *peer = topo_peer(t, port);

			if (!port->link_up || !peer)
				continue;
			add_end(h, t, port, host_device(t, ca), v);
			add_end(h, t, peer, host_device(t, ca), v);
		}
	}
}
