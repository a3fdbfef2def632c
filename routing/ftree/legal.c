/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * legal: see legal.h. On the way down the next switch is a child one step nearer; on the way up, a
 * live parent of least cost. What could go down must: a path that rises past its destination's
 * ancestor may come down and up again.
 */
#include "routing/ftree/legal.h"
#include "topology/graph/cutoff.h"
#include "topology/base/mem.h"

#define ROOM_STEP (1u << 20) /* bytes that nobody touched: a few milliseconds at most */
#define ROOM_NS	  2000000

void legal_init(struct legal *legal, const struct topo *t, const struct lid_map *lids,
		const struct route_params *params, struct graph_how how)
{
	*legal = (struct legal){ .g = graph_new(t, how) };
	dests_init(&legal->d, legal->g, t, lids, params);
	reach_init(&legal->r, legal->g);
}

bool legal_get_memory(struct legal *legal, uint32_t *next)
{
	struct tables *tables = &legal->tables;
	size_t done = 0;

	tables_resize(tables, legal->g->nswitches, legal->d.top);
	for (; *next < tables->nswitches && done < ROOM_STEP; done += tables->stride)
		memset(tables_row(tables, (*next)++), TABLES_NO_ROUTE, tables->stride);
	return *next == tables->nswitches;
}

void legal_fill(struct legal *legal)
{
	for (uint32_t row = 0; legal->r.fiber && !legal_get_memory(legal, &row);)
		fiber_spend(legal->r.fiber, ROOM_NS);
	tables_resize(&legal->tables, legal->g->nswitches, legal->d.top);
	rows_fill(legal->g, &legal->d, &legal->r, &legal->tables, &legal->gaps);
}

void legal_fini(struct legal *legal)
{
	if (!legal->g)
		return;
	gaps_fini(&legal->gaps);
	tables_fini(&legal->tables);
	reach_fini(&legal->r);
	dests_fini(&legal->d);
	graph_free(legal->g);
	*legal = (struct legal){ 0 };
}

static void add_lanes(const struct graph *g, const struct graph_group *group,
		      struct legal_ports *out)
{
	for (unsigned l = 0; l < group->nlanes; l++)
		if (g->lanes[group->first_lane + l].live)
			out->port[out->n++] = g->lanes[group->first_lane + l].port;
}

/* From the switch on to which d is, down all the way. */
static unsigned cost_below(const struct reach *r, uint32_t sw, uint32_t d)
{
	const struct reach_entry *below = sw == d ? NULL : reach_find(r, sw, d);

	return sw == d ? 0 : below ? below->dist : REACH_NEVER;
}

void legal_ports(const struct graph *g, const struct reach *r, uint32_t sw, uint32_t d,
		 struct legal_ports *out)
{
	const struct reach_entry *below = reach_find(r, sw, d);

	out->n = 0;
	if (below) {
		const struct graph_group *downs = graph_downs(g, sw);

		for (unsigned c = 0; c < g->switches[sw].ndown; c++)
			if (cost_below(r, downs[c].peer, d) + 1 == below->dist)
				add_lanes(g, &downs[c], out);
	} else if (sw != d) {
		const struct graph_group *ups = graph_ups(g, sw);
		uint8_t best = REACH_NEVER;

		for (unsigned u = 0; u < g->switches[sw].nup; u++) {
			uint8_t cost =
				ups[u].nlive ? reach_cost(r, g, ups[u].peer)[d] : REACH_NEVER;

			best = cost < best ? cost : best;
		}
		for (unsigned u = 0; u < g->switches[sw].nup && best != REACH_NEVER; u++)
			if (ups[u].nlive && reach_cost(r, g, ups[u].peer)[d] == best)
				add_lanes(g, &ups[u], out);
	}
}

void legal_find_exits(const struct graph *g, uint32_t sw, struct legal_exits *out)
{
	const struct graph_group *groups = graph_ups(g, sw);
	unsigned ngroups = g->switches[sw].nup + g->switches[sw].ndown;

	*out = (struct legal_exits){ .downs = graph_downs(g, sw) };
	for (unsigned i = 0; i < ngroups; i++)
		for (unsigned l = 0; l < groups[i].nlanes; l++) {
			const struct graph_lane *lane = &g->lanes[groups[i].first_lane + l];

			if (lane->live)
				out->by_port[lane->port] = &groups[i];
		}
}

bool legal_is_like(const struct graph *g, const struct reach *r, const struct legal_exits *exits,
		   uint32_t d, uint8_t port, uint8_t like)
{
	const struct graph_group *a = exits->by_port[port], *b = exits->by_port[like];

	if (!a || !b || a == b)
		return a && b;
	if ((a < exits->downs) != (b < exits->downs))
		return false;
	unsigned here = a < exits->downs ? reach_cost(r, g, a->peer)[d] : cost_below(r, a->peer, d);
	unsigned there =
		a < exits->downs ? reach_cost(r, g, b->peer)[d] : cost_below(r, b->peer, d);

	return here == there && here != REACH_NEVER; /* a detour has nothing like it */
}

bool *legal_find_open(const struct topo *t, const struct graph *g, const struct gaps *gaps)
{
	bool *open = mem_array(open, g->nswitches + 1);
	uint32_t islands, *island = t && gaps->count ? islands_find(t, &islands) : NULL;

	for (uint32_t i = 0; i < gaps->count; i++) {
		const struct gap *gap = &gaps->list[i];

		open[gap->d] |= gap_may_close(g, gap, island);
	}
	free(island);
	return open;
}

void legal_override(const struct graph *g, const struct reach *r, const struct dests *d,
		    const bool *open, const struct route_override *list, uint32_t n,
		    struct tables *out)
{
	struct legal_exits exits;
	uint32_t sw = TOPO_NONE; /* whose these are */

	for (uint32_t i = 0; i < n; i++) {
		const struct route_override *o = &list[i];
		uint32_t dest = o->lid <= d->top ? d->sw[o->lid] : TOPO_NONE;

		if (dest == TOPO_NONE || o->sw >= g->nswitches || (open && open[dest]))
			continue;
		if (o->sw != sw)
			legal_find_exits(g, sw = o->sw, &exits);
		if (legal_is_like(g, r, &exits, dest, o->port, tables_row(out, sw)[o->lid]))
			tables_set(out, sw, o->lid, o->port);
	}
}
