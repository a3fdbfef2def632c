/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <stdlib.h>
#include <string.h>
#include "routing/ftree/engine.h"
#include "routing/ftree/uneven.h"
#include "topology/base/mem.h"

/* uneven: see uneven.h. A switch is odd that has not what is usual on its level. */

/* By level: the number of slots that most switches' families have. */
struct usual {
	uint16_t slots[UINT8_MAX + 1];
};

static unsigned count_levels(const struct graph *g)
{
	unsigned top = 0;

	for (uint32_t f = 0; f < g->nfamilies; f++)
		top = g->families[f].level > top ? g->families[f].level : top;
	return top + 1;
}

/* Asked in each update: no more memory is cleared than there are levels for. */
static void find_usual(const struct graph *g, struct usual *usual)
{
	uint32_t(*count)[GRAPH_MAX_SLOTS + 1] = mem_alloc(count_levels(g), sizeof(*count));

	*usual = (struct usual){ { 0 } };
	for (uint32_t f = 0; f < g->nfamilies; f++) {
		const struct graph_family *family = &g->families[f];
		uint32_t *of_level = count[family->level];

		of_level[family->nslots] += family->nmembers;
		if (of_level[family->nslots] > of_level[usual->slots[family->level]])
			usual->slots[family->level] = family->nslots;
	}
	free(count);
}

static bool has_hosts(const struct graph *g, const struct topo *t, uint32_t sw)
{
	const struct graph_switch *s = &g->switches[sw];

	for (unsigned h = 0; h < s->nhosts; h++)
		if (!t->nodes[t->ports[g->hosts[s->first_host + h].port].node].sharp)
			return true;
	return false;
}

/* All slots of its family, and parents that are all roots or all not. */
static bool has_full_trunks(const struct graph *g, uint32_t sw)
{
	const struct graph_switch *s = &g->switches[sw];
	const struct graph_family *family = &g->families[s->family];
	const struct graph_group *ups = graph_ups(g, sw);
	unsigned lanes = 0, roots = 0;

	for (unsigned i = 0; i < s->nup; i++) {
		if (g->switches[ups[i].peer].level == s->level)
			return false;
		lanes += ups[i].nlanes;
		roots += !g->switches[ups[i].peer].nup;
	}
	return s->nup == family->nparents && lanes == family->nslots && (!roots || roots == s->nup);
}

bool uneven_is(const struct graph *g, const struct topo *t)
{
	struct usual usual;

	find_usual(g, &usual);
	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		const struct graph_switch *s = &g->switches[sw];

		if (g->families[s->family].nslots != usual.slots[s->level] ||
		    !has_full_trunks(g, sw) || (s->level && has_hosts(g, t, sw)))
			return true;
	}
	return false;
}

/*
 * dests: the LIDs as routing sees them: behind which switch, out of which port, with which
 * topological number. LIDs behind one switch are kept as runs of consecutive numbers: a
 * well-planned leaf is one run, and a run is one fill.
 */

#define CLASSES (ROUTE_CROSSRAIL + 1)

struct numbering { /* how topological numbers become those that choose slots */
	const struct graph *g;
	const struct topo *t;
	const uint8_t *classes;
	uint32_t *by_order;	/* [order_top] index in graph.hosts + 1; 0 = number not in use */
	uint32_t next[CLASSES]; /* own numbers of the classes that have them */
};

static enum route_class class_of(const struct numbering *n, const struct graph_host *host)
{
	return n->classes ? n->classes[host->port] : ROUTE_COMPUTE;
}

/*
 * The number of a host's LID base + offset. Several LIDs of one port are spread evenly over its
 * leaf's slots.
 */
static uint32_t number_of(struct numbering *n, const struct graph_host *host, uint32_t own,
			  unsigned offset, unsigned lmc)
{
	enum route_class class = class_of(n, host);
	uint32_t step = n->g->leaf_parents >> lmc, turn = offset * (step ? step : 1);

	if (class == ROUTE_CROSSRAIL) {
		int16_t rail = n->t->nodes[n->t->ports[host->port].node].rail;

		turn += rail > 0 ? rail : 0;
	}
	if (class != ROUTE_COMPUTE && class != ROUTE_CROSSRAIL)
		return own + turn;
	if (!turn)
		return host->order;
	return host->order - host->order % n->g->leaf_block +
	       (host->order + turn) % n->g->leaf_block;
}

static void place(struct dests *d, uint32_t lid, uint32_t sw, uint8_t port, uint32_t order)
{
	if (!lid || lid > d->top)
		return;
	d->sw[lid] = sw;
	d->port[lid] = port;
	d->order[lid] = order;
}

/*
 * A host whose link is down stays a destination as far as its leaf: its return changes one entry.
 */
static void place_host(struct dests *d, struct numbering *n, const struct lid_map *lids,
		       uint32_t sw, const struct graph_host *host)
{
	uint32_t lid = lids->lid_of_port[host->port], own = n->next[class_of(n, host)]++;

	for (unsigned offset = 0; lid && offset < 1u << lids->lmc; offset++)
		place(d, lid + offset, sw, host->live ? host->sw_port : TABLES_NO_ROUTE,
		      number_of(n, host, own, offset, lids->lmc));
}

/* Number `index` of the aggregation nodes. Their several LIDs take the same paths. */
static void place_special(struct dests *d, const struct graph *g, const struct lid_map *lids,
			  uint32_t sw, uint32_t index)
{
	const struct graph_host *special = &g->specials[index];
	uint32_t lid = lids->lid_of_port[special->port];

	for (unsigned offset = 0; lid && offset < 1u << lids->lmc; offset++) {
		place(d, lid + offset, sw, special->live ? special->sw_port : TABLES_NO_ROUTE,
		      g->order_top + g->nswitches + index);
		if (lid + offset <= d->top)
			d->special[lid + offset] = true;
	}
}

/* All runs in LID order, with their switches in `home`. Returns how many there are. */
static uint32_t find_runs(const struct dests *d, struct dest_run *runs, uint32_t *home)
{
	uint32_t last = TOPO_NONE, n = 0;

	for (uint32_t lid = 1; lid <= d->top; lid++) {
		uint32_t sw = d->sw[lid];

		if (sw != last && sw != TOPO_NONE) {
			home[n] = sw;
			runs[n++] = (struct dest_run){ lid, 0 };
		}
		last = sw;
		if (sw != TOPO_NONE)
			runs[n - 1].count++;
	}
	return n;
}

static void collect_runs(struct dests *d, uint32_t nswitches)
{
	struct dest_run *runs = mem_alloc_unset(d->top + 1u, sizeof(*runs));
	uint32_t *home = mem_alloc_unset(d->top + 1u, sizeof(*home));
	uint32_t n = find_runs(d, runs, home),
		 *next = mem_alloc_unset(nswitches + 1, sizeof(*next));

	d->runs = mem_alloc_unset(n + 1, sizeof(*d->runs));
	for (uint32_t i = 0; i < n; i++)
		d->first_run[home[i] + 1]++;
	for (uint32_t sw = 0; sw < nswitches; sw++) {
		next[sw] = d->first_run[sw];
		d->first_run[sw + 1] += d->first_run[sw];
	}
	for (uint32_t i = 0; i < n; i++)
		d->runs[next[home[i]]++] = runs[i];
	free(next);
	free(home);
	free(runs);
}

/* The usual case: one LID a port, and all ports of one class. */
static void place_plain_hosts(struct dests *d, const struct graph *g, const struct lid_map *lids)
{
	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		const struct graph_host *host = &g->hosts[g->switches[sw].first_host],
					*end = host + g->switches[sw].nhosts;

		for (; host < end; host++)
			place(d, lids->lid_of_port[host->port], sw,
			      host->live ? host->sw_port : TABLES_NO_ROUTE, host->order);
	}
}

static void place_hosts(struct dests *d, struct numbering *n, const struct lid_map *lids)
{
	for (uint32_t sw = 0; sw < n->g->nswitches; sw++) {
		const struct graph_switch *s = &n->g->switches[sw];

		for (unsigned h = 0; h < s->nhosts; h++)
			place_host(d, n, lids, sw, &n->g->hosts[s->first_host + h]);
	}
}

/* Classes with numbers of their own need the hosts in topological order. */
static void place_hosts_in_order(struct dests *d, struct numbering *n, const struct lid_map *lids)
{
	uint32_t *sw_of = mem_alloc(n->g->nhosts + 1, sizeof(*sw_of));

	n->by_order = mem_alloc(n->g->order_top + 1u, sizeof(*n->by_order));
	for (uint32_t sw = 0; sw < n->g->nswitches; sw++) {
		const struct graph_switch *s = &n->g->switches[sw];

		for (unsigned h = 0; h < s->nhosts; h++) {
			sw_of[s->first_host + h] = sw;
			n->by_order[n->g->hosts[s->first_host + h].order] = s->first_host + h + 1;
		}
	}
	for (uint32_t order = 0; order < n->g->order_top; order++) {
		uint32_t h = n->by_order[order];

		if (h)
			place_host(d, n, lids, sw_of[h - 1], &n->g->hosts[h - 1]);
	}
	free(n->by_order);
	free(sw_of);
}

/* What is no host has numbers above those of hosts: switches' own LIDs, then aggregation nodes. */
static void place_others(struct dests *d, const struct graph *g, const struct topo *t,
			 const struct lid_map *lids)
{
	for (uint32_t sw = 0; sw < g->nswitches; sw++) {
		const struct graph_switch *s = &g->switches[sw];

		place(d, lids->lid_of_port[t->nodes[sw].port0], sw, 0, g->order_top + sw);
		for (unsigned i = 0; i < s->nspecials; i++)
			place_special(d, g, lids, sw, s->first_special + i);
	}
}

/* A switch's own LID weighs as much as a host's. */
static void weigh(struct dests *d, const struct lid_map *lids, const uint8_t *weights)
{
	d->weight = mem_alloc(d->top + 1u, 1);
	for (uint32_t lid = 1; lid <= d->top; lid++) {
		uint32_t port = lids->port_of_lid[lid];

		d->weight[lid] = port == TOPO_NONE || !d->port[lid] ? 1 : weights[port];
	}
}

void dests_init(struct dests *d, const struct graph *g, const struct topo *t,
		const struct lid_map *lids, const struct route_params *params)
{
	struct numbering n = { .g = g, .t = t, .classes = params->classes };

	*d = (struct dests){ .top = lids->top };
	d->sw = mem_alloc_unset(d->top + 1u, sizeof(*d->sw));
	d->order = mem_alloc_unset(d->top + 1u, sizeof(*d->order));
	d->port = mem_alloc(d->top + 1u, sizeof(*d->port));
	d->first_run = mem_alloc(g->nswitches + 1u, sizeof(*d->first_run));
	memset(d->sw, 0xff, (d->top + 1u) * sizeof(*d->sw));
	if (!params->classes && !lids->lmc)
		place_plain_hosts(d, g, lids);
	else
		(params->classes ? place_hosts_in_order : place_hosts)(d, &n, lids);
	if (g->nspecials)
		d->special = mem_alloc(d->top + 1u, sizeof(*d->special));
	place_others(d, g, t, lids);
	collect_runs(d, g->nswitches);
	if (params->weights)
		weigh(d, lids, params->weights);
}

void dests_fini(struct dests *d)
{
	free(d->sw);
	free(d->order);
	free(d->special);
	free(d->weight);
	free(d->port);
	free(d->first_run);
	free(d->runs);
}
