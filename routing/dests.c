/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * dests: the LIDs as routing sees them: behind which switch, out of which port, with which
 * topological number. LIDs behind one switch are kept as runs of consecutive numbers: a
 * well-planned leaf is one run, and a run is one fill.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/engine.h"
#include "topology/mem.h"

static void place(struct dests *d, uint16_t lid, uint32_t sw, uint8_t port, uint32_t order)
{
	if (!lid || lid > d->top)
		return;
	d->sw[lid] = sw;
	d->port[lid] = port;
	d->order[lid] = order;
}

static bool continues_run(const struct dests *d, uint32_t lid)
{
	return lid > 1 && d->sw[lid - 1] == d->sw[lid];
}

static void gather_runs(struct dests *d, uint32_t nswitches)
{
	uint32_t *next = mem_alloc(nswitches + 1, sizeof(*next));

	for (uint32_t lid = 1; lid <= d->top; lid++)
		if (d->sw[lid] != TOPO_NONE && !continues_run(d, lid))
			d->first_run[d->sw[lid] + 1]++;
	for (uint32_t sw = 0; sw < nswitches; sw++) {
		d->first_run[sw + 1] += d->first_run[sw];
		next[sw] = d->first_run[sw];
	}
	d->runs = mem_alloc(d->first_run[nswitches] + 1, sizeof(*d->runs));
	for (uint32_t lid = 1; lid <= d->top; lid++) {
		if (d->sw[lid] == TOPO_NONE)
			continue;
		if (!continues_run(d, lid))
			d->runs[next[d->sw[lid]]++].lid = lid;
		d->runs[next[d->sw[lid]] - 1].count++;
	}
	free(next);
}

void dests_init(struct dests *d, const struct graph *g, const struct topo *t,
		const struct lid_map *lids)
{
	*d = (struct dests){ .top = lids->top };
	d->sw = mem_alloc(d->top + 1u, sizeof(*d->sw));
	d->order = mem_alloc(d->top + 1u, sizeof(*d->order));
	d->port = mem_alloc(d->top + 1u, sizeof(*d->port));
	d->first_run = mem_alloc(g->nswitches + 1u, sizeof(*d->first_run));
	memset(d->sw, 0xff, (d->top + 1u) * sizeof(*d->sw));
	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		const struct graph_switch *s = &g->switches[sw];

		place(d, lids->lid_of_port[t->nodes[sw].port0], sw, 0, g->order_top + sw);
		for (unsigned h = 0; h < s->nhosts; h++) {
			const struct graph_host *host = &g->hosts[s->first_host + h];

			/* A host whose cable is down stays a destination as far as its leaf: its
			 * return changes one entry. */
			place(d, lids->lid_of_port[host->port], sw,
			      host->live ? host->sw_port : TABLES_NO_ROUTE, host->order);
		}
	}
	gather_runs(d, g->nswitches);
}

void dests_fini(struct dests *d)
{
	free(d->sw);
	free(d->order);
	free(d->port);
	free(d->first_run);
	free(d->runs);
}
