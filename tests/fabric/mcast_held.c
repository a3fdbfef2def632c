/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What switches hold of multicast groups (see mcast_held.h), read entry by entry. */
#include <stdlib.h>
#include <string.h>
#include "tests/fabric/mcast_held.h"
#include "topology/base/mem.h"

void mcast_held_tree(const struct double_fabric *d, const struct topo *t, uint16_t mlid,
		     struct mcast_tree *out)
{
	*out = (struct mcast_tree){ .mlid = mlid, .root = TOPO_NONE };
	out->hops = mem_alloc(t->nswitches + 1u, sizeof(*out->hops));
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		struct mcast_hop hop = { .guid = t->nodes[sw].guid, .sw = sw };
		bool any = false;

		for (unsigned num = 0; num <= t->nodes[sw].nports; num++) {
			if (!double_mft(d, hop.guid, mlid, num))
				continue;
			hop.ports[num / MCAST_POSITION] |= (uint16_t)(1u << num % MCAST_POSITION);
			any = true;
		}
		if (!any)
			continue;
		out->root = sw;
		out->hops[out->nhops++] = hop;
	}
}

static uint32_t part_of(uint32_t *part, uint32_t sw)
{
	while (part[sw] != sw)
		sw = part[sw] = part[part[sw]];
	return sw;
}

static bool is_live(const struct double_fabric *d, const struct topo *t, uint32_t sw, unsigned num)
{
	return num && topo_port(t, sw, num)->peer != TOPO_NONE &&
	       double_link_state(d, t->nodes[sw].guid, num) > TOPO_DOWN &&
	       topo_peer(t, topo_port(t, sw, num))->node < t->nswitches;
}

/* Each cable counts once, by its end with the lower index. */
static bool carries(const struct double_fabric *d, const struct topo *t, uint32_t sw, unsigned num,
		    uint16_t mlid)
{
	const struct topo_port *peer = topo_peer(t, topo_port(t, sw, num));

	if (topo_port(t, sw, num)->peer < t->nodes[sw].port0 + num)
		return false;
	return double_mft(d, t->nodes[sw].guid, mlid, num) ||
	       double_mft(d, t->nodes[peer->node].guid, mlid, peer->num);
}

bool mcast_held_ring(const struct double_fabric *d, const struct topo *t, uint16_t mlid)
{
	uint32_t *part = mem_alloc(t->nswitches + 1u, sizeof(*part));
	bool ring = false;

	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		part[sw] = sw;
	for (uint32_t sw = 0; sw < t->nswitches && !ring; sw++)
		for (unsigned num = 1; num <= t->nodes[sw].nports && !ring; num++) {
			uint32_t a, b;

			if (!is_live(d, t, sw, num) || !carries(d, t, sw, num, mlid))
				continue;
			a = part_of(part, sw);
			b = part_of(part, topo_peer(t, topo_port(t, sw, num))->node);
			ring = a == b;
			part[a] = b;
		}
	free(part);
	return ring;
}
