/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <stdlib.h>
#include "routing/path.h"
#include "tests/fabric/foreign.h"
#include "topology/base/mem.h"

/* By ranks of switches, all ways falling where all are 0. */
struct foreign {
	const struct topo *t;
	uint32_t *rank, *hops, *down; /* by switch; hops to the one at hand, and falling alone */
	uint32_t salt;
};

#define NO_HOPS UINT16_MAX

static bool falls(const struct foreign *f, uint32_t from, uint32_t to)
{
	return !f->rank[from] || f->rank[to] > f->rank[from];
}

/* Bellman and Ford, falling first: who can fall does not rise. */
static void find_hops(struct foreign *f, uint32_t home)
{
	bool more = true, rises = false;

	for (uint32_t sw = 0; sw < f->t->nswitches; sw++)
		f->hops[sw] = f->down[sw] = sw == home ? 0 : NO_HOPS;
	while (more || !rises) {
		rises |= !more;
		more = false;
		for (uint32_t e = 0; e < f->t->nswitch_ports; e++) {
			uint32_t from = f->t->ports[e].node;
			uint32_t to = path_switch_at(f->t, from, f->t->ports[e].num);

			if (to == TOPO_NONE)
				continue;
			if (!rises && falls(f, from, to) && f->down[to] + 1 < f->down[from]) {
				f->down[from] = f->hops[from] = f->down[to] + 1;
				more = true;
			}
			if (rises && f->down[from] == NO_HOPS && !falls(f, from, to) &&
			    f->hops[to] + 1 < f->hops[from]) {
				f->hops[from] = f->hops[to] + 1;
				more = true;
			}
		}
	}
}

/* One of the ways from a switch, TABLES_NO_ROUTE = there is none. */
static uint8_t way_of(const struct foreign *f, uint32_t sw, uint32_t lid, uint32_t port)
{
	uint32_t node = f->t->ports[port].node;
	uint8_t ways[256];
	unsigned nways = 0;

	if (node == sw)
		return 0;
	for (unsigned num = 1; num <= f->t->nodes[sw].nports; num++) {
		const struct topo_port *peer = topo_peer(f->t, topo_port(f->t, sw, num));
		uint32_t to = path_switch_at(f->t, sw, num);

		if (to == TOPO_NONE	     ? peer && peer->node == node
		    : f->down[sw] != NO_HOPS ? falls(f, sw, to) && f->down[to] + 1 == f->down[sw]
					     : !falls(f, sw, to) && f->hops[to] + 1 == f->hops[sw])
			ways[nways++] = (uint8_t)num;
	}
	return nways ? ways[(lid + f->salt * sw) % nways] : TABLES_NO_ROUTE;
}

void foreign_tables(const struct topo *t, const struct lid_map *lids, bool minhop, uint32_t root,
		    uint32_t salt, struct tables *out)
{
	struct foreign f = { .t = t, .salt = salt };

	f.rank = mem_array(f.rank, t->nswitches);
	f.hops = mem_array(f.hops, t->nswitches);
	f.down = mem_array(f.down, t->nswitches);
	if (!minhop && root != TOPO_NONE)
		find_hops(&f, root);
	for (uint32_t sw = 0; sw < t->nswitches && !minhop; sw++)
		f.rank[sw] =
			1 + sw +
			t->nswitches * (root == TOPO_NONE ? 9u - t->nodes[sw].level : f.hops[sw]);
	tables_resize(out, t->nswitches, lids->top);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		memset(tables_row(out, sw), TABLES_NO_ROUTE, out->stride);
	for (uint32_t lid = 1; lid <= lids->top; lid++) {
		uint32_t port = lids->port_of_lid[lid], home;

		if (port == TOPO_NONE)
			continue;
		home = t->ports[port].node;
		if (home >= t->nswitches)
			home = topo_peer(t, &t->ports[port])->node;
		find_hops(&f, home);
		for (uint32_t sw = 0; sw < t->nswitches; sw++)
			tables_row(out, sw)[lid] = way_of(&f, sw, lid, port);
	}
	free(f.rank);
	free(f.hops);
	free(f.down);
}
