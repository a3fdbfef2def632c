/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * lid_plan: who gets which LID (see lid_plan.h).
 *
 * Three rounds over the end ports, each leaving alone what an earlier one settled: remembered LIDs,
 * held LIDs, new ones. New LIDs are dealt in topological order (topology/graph.h), the hosts leaf by
 * leaf: those of one leaf get consecutive LIDs, on a new 64-entry block where they would straddle
 * two, so that they share one LFT block on every switch. The LIDs skipped by that go to the
 * switches, which are dealt last: alignment never costs more LIDs than there are switches.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "topology/graph.h"
#include "topology/mem.h"

#define LID_SPACE (TABLES_MAX_LID + 1u)

enum { LID_FREE, LID_RESERVED /* for someone who may be away */, LID_GIVEN };

struct plan {
	const struct topo *t;
	struct lid_map *map;
	uint8_t *taken;	  /* by LID: LID_FREE .. */
	uint32_t next;	  /* lowest LID that may be free */
	uint32_t wanting; /* end ports without a LID yet */
	uint32_t gap;	  /* LIDs that may be skipped: switches will take them */
};

void lid_memory_fini(struct lid_memory *memory)
{
	free(memory->entries);
	*memory = (struct lid_memory){ 0 };
}

static const struct lid_entry *remembered(const struct lid_memory *memory, guid_t guid)
{
	uint32_t low = 0, high = memory ? memory->count : 0;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (memory->entries[mid].port_guid == guid)
			return &memory->entries[mid];
		if (memory->entries[mid].port_guid < guid)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/* Ports that packets can be addressed to: port 0 of switches, the connected ports of the rest. */
static bool is_end_port(const struct topo *t, const struct topo_port *port)
{
	if (t->nodes[port->node].type == TOPO_SWITCH)
		return port->num == 0;
	return port->num > 0 && port->peer != TOPO_NONE;
}

static void give(struct plan *p, uint32_t port, uint32_t lid)
{
	p->map->lid_of_port[port] = lid;
	p->taken[lid] = LID_GIVEN;
	p->wanting--;
}

static bool usable(uint32_t lid)
{
	return lid > 0 && lid < LID_SPACE;
}

static void keep_remembered(struct plan *p, const struct lid_memory *memory)
{
	for (uint32_t i = 0; memory && i < memory->count; i++)
		if (usable(memory->entries[i].lid))
			p->taken[memory->entries[i].lid] = LID_RESERVED;
	for (uint32_t i = 0; i < p->t->nports; i++) {
		if (!is_end_port(p->t, &p->t->ports[i]))
			continue;
		p->wanting++;
		const struct lid_entry *entry = remembered(memory, p->t->ports[i].guid);
		if (entry && usable(entry->lid) && p->taken[entry->lid] != LID_GIVEN)
			give(p, i, entry->lid);
	}
}

/* A LID held by two ports at once is nobody's. */
static void keep_held(struct plan *p)
{
	uint8_t *claims = mem_alloc(LID_SPACE, 1);

	for (uint32_t i = 0; i < p->t->nports; i++)
		if (is_end_port(p->t, &p->t->ports[i]) && usable(p->t->ports[i].lid) &&
		    claims[p->t->ports[i].lid] < 2)
			claims[p->t->ports[i].lid]++;
	for (uint32_t i = 0; i < p->t->nports; i++) {
		uint16_t lid = p->t->ports[i].lid;

		if (is_end_port(p->t, &p->t->ports[i]) && !p->map->lid_of_port[i] && usable(lid) &&
		    claims[lid] == 1 && !p->taken[lid])
			give(p, i, lid);
	}
	free(claims);
}

static bool give_next(struct plan *p, uint32_t port)
{
	if (p->map->lid_of_port[port])
		return true;
	while (p->next < LID_SPACE && p->taken[p->next])
		p->next++;
	if (p->next == LID_SPACE)
		return false;
	give(p, port, p->next);
	return true;
}

/* Moves on to a fresh block when the leaf's hosts would straddle one and somebody can use the gap. */
static void start_leaf(struct plan *p, unsigned hosts)
{
	while (p->next < LID_SPACE && p->taken[p->next])
		p->next++;
	uint32_t spare = TABLES_BLOCK - p->next % TABLES_BLOCK;

	if (hosts <= spare || hosts > TABLES_BLOCK || spare > p->gap ||
	    p->next + spare >= LID_SPACE)
		return;
	p->next += spare;
	p->gap -= spare;
}

static uint32_t switches_wanting(const struct plan *p)
{
	uint32_t wanting = 0;

	for (uint32_t sw = 0; sw < p->t->nswitches; sw++)
		wanting += !p->map->lid_of_port[p->t->nodes[sw].port0];
	return wanting;
}

static void deal_new(struct plan *p)
{
	struct graph *g = graph_new(p->t, GRAPH_BY_LEVEL);
	uint32_t *leaf_at = mem_alloc(g->order_top + 1, sizeof(*leaf_at));

	p->gap = switches_wanting(p);
	for (uint32_t sw = 0; sw < g->nswitches; sw++)
		if (g->switches[sw].nhosts)
			leaf_at[g->hosts[g->switches[sw].first_host].order] = sw + 1;
	for (uint32_t order = 0; order < g->order_top; order++) {
		if (!leaf_at[order])
			continue;
		const struct graph_switch *s = &g->switches[leaf_at[order] - 1];
		start_leaf(p, s->nhosts);
		for (unsigned h = 0; h < s->nhosts; h++)
			give_next(p, g->hosts[s->first_host + h].port);
	}
	free(leaf_at);
	graph_free(g);
	p->next = 1;
	for (uint32_t i = 0; i < p->t->nports; i++) /* switches, and CAs cabled to one another */
		if (is_end_port(p->t, &p->t->ports[i]))
			give_next(p, i);
}

static void index_lids(struct lid_map *map)
{
	for (uint32_t i = 0; i < map->nports; i++)
		if (map->lid_of_port[i] > map->top)
			map->top = map->lid_of_port[i];
	map->port_of_lid = mem_alloc(map->top + 1u, sizeof(*map->port_of_lid));
	memset(map->port_of_lid, 0xff, (map->top + 1u) * sizeof(*map->port_of_lid));
	for (uint32_t i = 0; i < map->nports; i++)
		if (map->lid_of_port[i])
			map->port_of_lid[map->lid_of_port[i]] = i;
}

struct lid_map *lid_plan(const struct topo *t, const struct lid_memory *memory)
{
	struct plan p = { .t = t, .map = mem_alloc(1, sizeof(*p.map)), .next = 1 };

	p.map->nports = t->nports;
	p.map->lid_of_port = mem_alloc(t->nports + 1, sizeof(*p.map->lid_of_port));
	p.taken = mem_alloc(LID_SPACE, 1);
	keep_remembered(&p, memory);
	keep_held(&p);
	if (p.wanting)
		deal_new(&p);
	p.map->without_lid = p.wanting;
	index_lids(p.map);
	free(p.taken);
	return p.map;
}

void lid_map_free(struct lid_map *map)
{
	if (!map)
		return;
	free(map->lid_of_port);
	free(map->port_of_lid);
	free(map);
}

/* ---- Memory ------------------------------------------------------------------------------------ */

static int compare_entries(const void *a, const void *b)
{
	const struct lid_entry *x = a, *y = b;

	return x->port_guid < y->port_guid ? -1 : x->port_guid > y->port_guid;
}

void lid_memory_learn(struct lid_memory *memory, const struct topo *t, const struct lid_map *map)
{
	uint32_t old = memory->count, added = 0;

	memory->entries = mem_resize(memory->entries, old + t->nports, sizeof(*memory->entries));
	for (uint32_t i = 0; i < t->nports; i++) {
		if (!map->lid_of_port[i])
			continue;
		struct lid_memory known = { old, memory->entries };
		struct lid_entry *entry = (struct lid_entry *)remembered(&known, t->ports[i].guid);
		if (!entry)
			entry = &memory->entries[old + added++];
		*entry = (struct lid_entry){ t->ports[i].guid, map->lid_of_port[i],
					     t->ports[i].lmc };
	}
	memory->count = old + added;
	memory->entries = mem_resize(memory->entries, memory->count, sizeof(*memory->entries));
	qsort(memory->entries, memory->count, sizeof(*memory->entries), compare_entries);
}
