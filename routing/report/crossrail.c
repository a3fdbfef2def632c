/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * crossrail: each adapter of a host to each other one, walked through the tables. Eight adapters
 * are 56 walks.
 */
#include <stdlib.h>
#include "routing/report/crossrail.h"
#include "routing/path.h"
#include "routing/ftree/route.h"
#include "topology/mem.h"

#define HOPS_WITHIN_LEAF 3 /* host, leaf, host */

static bool takes_part(const struct topo *t, const struct lid_map *lids, const uint8_t *classes,
		       uint32_t port)
{
	if (classes && (classes[port] == ROUTE_STORAGE || classes[port] == ROUTE_MANAGEMENT))
		return false;
	return t->ports[port].peer != TOPO_NONE && lids->lid_of_port[port];
}

static unsigned collect_ports(const struct topo *t, const struct lid_map *lids,
			      const uint8_t *classes, uint32_t host, uint32_t **ports)
{
	unsigned count = 0;

	*ports = NULL;
	for (uint32_t i = 0; i < t->hosts[host].ncas; i++) {
		const struct topo_node *node = &t->nodes[t->host_cas[t->hosts[host].first + i]];

		*ports = mem_resize(*ports, count + node->nports, sizeof(**ports));
		for (unsigned num = 1; num <= node->nports; num++)
			if (takes_part(t, lids, classes, node->port0 + num))
				(*ports)[count++] = node->port0 + num;
	}
	return count;
}

static void add_flow(const struct topo *t, const struct path *path, unsigned *load,
		     struct crossrail *out)
{
	unsigned *uplink;

	if (path->count <= HOPS_WITHIN_LEAF)
		return;
	uplink = &load[t->nodes[path->hops[1].node].port0 + path->hops[1].out_port];
	out->flows++;
	out->uplinks += !*uplink;
	if (++*uplink > out->worst_uplink)
		out->worst_uplink = *uplink;
}

void crossrail_measure(const struct topo *t, const struct lid_map *lids,
		       const struct tables *tables, const uint8_t *classes, uint32_t host,
		       struct crossrail *out)
{
	unsigned *load = mem_alloc(t->nports, sizeof(*load));
	uint32_t *ports;
	unsigned count = collect_ports(t, lids, classes, host, &ports);

	*out = (struct crossrail){ 0 };
	for (unsigned a = 0; a < count; a++)
		for (unsigned b = 0; b < count; b++) {
			struct path path;

			if (a == b)
				continue;
			if (path_trace(t, lids, tables, ports[a], lids->lid_of_port[ports[b]],
				       &path))
				out->unreachable++;
			else
				add_flow(t, &path, load, out);
		}
	free(ports);
	free(load);
}
