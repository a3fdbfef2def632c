/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/hosts/ib_parts.h"
#include <stdio.h>
#include "topology/cutoff.h"
#include "topology/host.h"

static bool is_up(const struct topo_port *port)
{
	return port->link_up && port->state == TOPO_ACTIVE;
}

/* "mlx5_3", and which of its ports where it has several links. */
struct port_name {
	char text[64];
};

static struct port_name name_of(const struct topo *t, const struct topo_port *port)
{
	const struct topo_node *node = &t->nodes[port->node];
	struct port_name name;

	if (node->nports > 1)
		snprintf(name.text, sizeof(name.text), "%.50s port %u", host_device(t, port->node),
			 port->num);
	else
		snprintf(name.text, sizeof(name.text), "%.60s", host_device(t, port->node));
	return name;
}

/* Of a port with a known link. */
static void add_link(const struct topo *t, const struct topo_port *port, enum cutoff_fate fate,
		     struct host_verdict *v)
{
	const struct topo_port *peer = topo_peer(t, port);
	struct port_name name = name_of(t, port);
	const char *far = t->nodes[peer->node].name;

	if (fate == CUTOFF_CUT_OFF)
		host_verdict_add(v, HOST_DEGRADED, "%s: cut off at %.40s port %u", name.text, far,
				 peer->num);
	else if (!port->link_up)
		host_verdict_add(v, HOST_DEGRADED, "%s: link to %.40s port %u is down", name.text,
				 far, peer->num);
	else if (!is_up(port))
		host_verdict_add(v, HOST_DEGRADED, "%s: link to %.40s port %u is %s, not Active",
				 name.text, far, peer->num,
				 topo_state_name((enum topo_state)port->state));
}

/* Whether packets reach it. */
static bool add_hca(const struct topo *t, uint32_t ca, enum cutoff_fate fate,
		    struct host_verdict *v)
{
	bool links = false, up = false;

	for (unsigned num = 1; num <= t->nodes[ca].nports; num++) {
		const struct topo_port *port = topo_port(t, ca, num);

		if (port->peer == TOPO_NONE)
			continue;
		links = true;
		up |= is_up(port);
		add_link(t, port, fate, v);
	}
	if (!links)
		host_verdict_add(v, HOST_DEGRADED, "%.60s: no link is known", host_device(t, ca));
	return up && fate != CUTOFF_CUT_OFF;
}

void ib_parts_add(const struct topo *t, const uint8_t *fates, uint32_t host, struct host_verdict *v)
{
	const struct topo_host *it = &t->hosts[host];

	v->hcas = it->ncas;
	for (uint32_t i = 0; i < it->ncas; i++) {
		uint32_t ca = t->host_cas[it->first + i];

		v->hcas_up += add_hca(t, ca, (enum cutoff_fate)fates[ca], v);
	}
	if (v->hcas && !v->hcas_up)
		host_verdict_add(v, HOST_CUT_OFF,
				 v->hcas == 1 ? "its HCA is unreachable"
					      : "none of its %u HCAs is reachable",
				 v->hcas);
}
