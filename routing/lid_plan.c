/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * lid_plan: assigns LIDs to end ports (see lid_plan.h).
 *
 * There are three rounds over the end ports, for remembered LIDs, held LIDs and new ones; none
 * changes what an earlier one assigned. New LIDs are assigned in topological order
 * (topology/graph/graph.h), leaf by leaf: the hosts of one leaf get consecutive LIDs, on a new
 * 64-entry block where they would straddle two, so that they share one LFT block on every switch.
 * The LIDs skipped by that go to the switches and their aggregation nodes, which come last:
 * alignment costs no LIDs.
 */
#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "topology/graph/graph.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

#define ALIKE 128 /* LIDs: a multiple of 2^LMC and of a block of tables */

enum { LID_FREE, LID_RESERVED /* of a port that is absent */, LID_GIVEN };

struct plan {
	const struct topo *t;
	struct lid_map *map;
	uint8_t *taken;	     /* by LID: LID_FREE, LID_RESERVED or LID_GIVEN */
	unsigned lmc;	     /* of CA ports */
	uint32_t first, end; /* the range of new LIDs */
	uint32_t next;	     /* lowest of them that may be free */
	uint32_t wanting;    /* end ports without a LID yet */
	uint32_t gap;	     /* LIDs that may be skipped: the ports that come last will take them */
};

void lid_memory_fini(struct lid_memory *memory)
{
	free(memory->entries);
	*memory = (struct lid_memory){ 0 };
}

static const struct lid_entry *remembered(const struct lid_memory *memory, guid_t guid)
{
	uint32_t count = memory ? memory->count : 0;
	uint32_t place = sort_place(0, count, at, memory->entries[at].port_guid < guid);

	return place < count && memory->entries[place].port_guid == guid ? &memory->entries[place]
									 : NULL;
}

/* Ports that packets can be addressed to: port 0 of switches, the connected ports of the rest. */
static bool is_end_port(const struct topo *t, const struct topo_port *port)
{
	return t->nodes[port->node].type == TOPO_SWITCH ? port->num == 0
							: port->num > 0 && port->peer != TOPO_NONE;
}

static unsigned lmc_of(const struct plan *p, uint32_t port)
{
	return p->t->nodes[p->t->ports[port].node].type == TOPO_SWITCH ? 0 : p->lmc;
}

/* Whether all 2^lmc LIDs from lid can be given. */
static bool usable(const struct plan *p, uint32_t lid, unsigned lmc)
{
	uint32_t count = 1u << lmc;

	return lid && !(lid % count) && lid + count <= LID_SPACE &&
	       !any_of(i, 0, count, p->taken[lid + i] != LID_FREE);
}

static void give(struct plan *p, uint32_t port, uint32_t lid)
{
	p->map->lid_of_port[port] = lid;
	memset(p->taken + lid, LID_GIVEN, 1u << lmc_of(p, port));
	p->wanting--;
}

/* Whether packets of hosts may use the port's LID: its link is Armed or Active. */
static bool runs(const struct topo *t, uint32_t port)
{
	const struct topo_node *node = &t->nodes[t->ports[port].node];
	unsigned num = t->ports[port].num, last = num ? num : node->nports;
	bool any = false;

	for (unsigned p = num ? num : 1; !any && p <= last; p++)
		any = t->ports[node->port0 + p].link_up &&
		      t->ports[node->port0 + p].state >= TOPO_ARMED;
	return any;
}

unsigned lid_distance(const uint8_t *taken, const uint8_t *moving, unsigned first, unsigned last)
{
	for (unsigned by = ALIKE; by < LID_SPACE; by += ALIKE) {
		bool fits = true;

		for (unsigned lid = 1; lid < LID_SPACE && fits; lid++) {
			unsigned to = (lid + by) % LID_SPACE;

			fits = !moving[lid] || (to >= first && to <= last && !taken[to]);
		}
		if (fits)
			return by;
	}
	return 0;
}

/*
 * Gives ports that run, or the others, the LIDs that they hold, but none that two ports hold. Those
 * that run come first: one that comes with a LID of another, in Init, takes it from nobody. Ports
 * that run and hold given LIDs move together. but: not to those that it has; NULL = to all.
 */
static void keep_held(struct plan *p, bool running, const struct lid_memory *but)
{
	uint8_t *claims = mem_alloc(LID_SPACE, 1), *moving = mem_alloc(LID_SPACE + ALIKE, 1);
	unsigned by = 0;

	for (unsigned round = 0; round < 2 + (by > 0); round++) {
		for (uint32_t i = 0; i < p->t->nports; i++) {
			uint32_t lid = p->t->ports[i].lid, to = (lid + by) % LID_SPACE;
			unsigned lmc = lmc_of(p, i);

			if (!lid || lid >= LID_SPACE || p->map->lid_of_port[i] ||
			    !is_end_port(p->t, &p->t->ports[i]) || runs(p->t, i) != running ||
			    remembered(but, p->t->ports[i].guid))
				continue;
			if (round == 0)
				claims[lid] += claims[lid] < 2;
			else if (p->taken[lid] == LID_GIVEN && round == 1)
				memset(moving + lid, running, 1u << lmc);
			else if (round == 1 ? claims[lid] == 1 && usable(p, lid, lmc)
					    : moving[lid] && usable(p, to, lmc))
				give(p, i, to);
		}
		if (round == 1)
			by = lid_distance(p->taken, moving, p->first, p->end - 1);
	}
	free(claims);
	free(moving);
}

static bool give_next(struct plan *p, uint32_t port)
{
	unsigned lmc = lmc_of(p, port);

	if (p->map->lid_of_port[port])
		return true;
	while (p->next < p->end && (!usable(p, p->next, lmc) || p->next + (1u << lmc) > p->end))
		p->next++;
	if (p->next >= p->end)
		return false;
	give(p, port, p->next);
	return true;
}

static void assign_new(struct plan *p)
{
	struct graph *g = graph_new(p->t, (struct graph_how){ .orientation = GRAPH_BY_LEVEL });
	uint32_t *leaf_at = mem_array(leaf_at, g->order_top + 1);

	p->next = p->first;
	p->gap = 0; /* those that will want one LID each, wherever that is */
	for (uint32_t sw = 0; sw < p->t->nswitches; sw++)
		p->gap += !p->map->lid_of_port[p->t->nodes[sw].port0];
	for (uint32_t i = 0; !p->lmc && i < g->nspecials; i++)
		p->gap += !p->map->lid_of_port[g->specials[i].port];
	for (uint32_t sw = 0; sw < g->nswitches; sw++)
		if (g->switches[sw].nhosts)
			leaf_at[g->hosts[g->switches[sw].first_host].order] = sw + 1;
	for (uint32_t order = 0; order < g->order_top; order++) {
		if (!leaf_at[order])
			continue;
		const struct graph_switch *s = &g->switches[leaf_at[order] - 1];
		/* A leaf that would straddle two blocks begins a fresh one, if the gap is used. */
		while (p->next < p->end && p->taken[p->next])
			p->next++;

		uint32_t spare = TABLES_BLOCK - p->next % TABLES_BLOCK, lids = s->nhosts << p->lmc;

		if (lids > spare && lids <= TABLES_BLOCK && spare <= p->gap &&
		    p->next + spare < p->end) {
			p->next += spare;
			p->gap -= spare;
		}
		for (unsigned h = 0; h < s->nhosts; h++)
			give_next(p, g->hosts[s->first_host + h].port);
	}
	free(leaf_at);

	/*
	 * Gives LIDs to switches, then to aggregation nodes in the order of their switches, then to
	 * CAs whose link leads to another CA.
	 */
	p->next = p->first;
	for (uint32_t sw = 0; sw < p->t->nswitches; sw++)
		give_next(p, p->t->nodes[sw].port0);
	for (uint32_t i = 0; i < g->nspecials; i++)
		give_next(p, g->specials[i].port);
	for (uint32_t i = 0; i < p->t->nports; i++)
		if (is_end_port(p->t, &p->t->ports[i]))
			give_next(p, i);
	graph_free(g);
}

/* ---- No LID is left -------------------------------------------------------------------------- */

static bool is_away(const struct topo *t, const struct lid_entry *entry)
{
	return entry->lid && entry->lid + (1u << entry->lmc) <= LID_SPACE &&
	       topo_find_port(t, entry->port_guid) == TOPO_NONE;
}

SORT_BY(compare_away, struct lid_entry *const,
	sort_order((*a)->away, (*b)->away) ?: sort_order((*a)->port_guid, (*b)->port_guid))

/* Takes LIDs back from absent ports, as many at a time as are wanting, the longest absent first. */
static void take_back(struct plan *p, const struct lid_memory *memory)
{
	const struct lid_entry **away = mem_array(away, memory->count + 1u);
	uint32_t count = 0, i = 0;

	for (uint32_t m = 0; m < memory->count; m++)
		if (is_away(p->t, &memory->entries[m]))
			away[count++] = &memory->entries[m];
	qsort(away, count, sizeof(*away), compare_away);
	while (p->wanting && i < count) {
		for (uint32_t n = p->wanting; n && i < count; n--, i++)
			memset(p->taken + away[i]->lid, LID_FREE, 1u << away[i]->lmc);
		p->map->taken_back = i;
		p->next = p->first;
		for (uint32_t port = 0; p->wanting && port < p->t->nports; port++)
			if (is_end_port(p->t, &p->t->ports[port]))
				give_next(p, port);
	}
	free(away);
}

struct lid_map *lid_plan(const struct topo *t, const struct lid_memory *memory, unsigned lmc)
{
	struct lid_map *map = mem_new(map);
	struct plan p = { .t = t, .map = map, .lmc = lmc, .first = 1, .end = LID_SPACE };
	uint32_t known = 0, others = 0;

	if (memory && memory->last) {
		p.first = memory->first;
		p.end = memory->last + 1u;
	}
	map->nports = t->nports;
	map->lmc = lmc;
	map->lid_of_port = mem_array(map->lid_of_port, t->nports + 1);
	p.taken = mem_alloc(LID_SPACE, 1);
	for (uint32_t i = 0; memory && i < memory->count; i++) {
		const struct lid_entry *entry = &memory->entries[i];

		if (is_away(t, entry))
			memset(p.taken + entry->lid, LID_RESERVED, 1u << entry->lmc);
	}
	for (uint32_t i = 0; i < t->nports; i++)
		if (is_end_port(t, &t->ports[i])) {
			bool is_known = remembered(memory, t->ports[i].guid);

			p.wanting++;
			known += is_known;
			others += !is_known && t->ports[i].lid && runs(t, i);
		}
	/* Two fabrics were joined, and the other one is larger: this one's LIDs give way. */
	if (known && others > known)
		keep_held(&p, true, memory);
	for (uint32_t i = 0; i < t->nports; i++) {
		if (!is_end_port(t, &t->ports[i]) || map->lid_of_port[i])
			continue;
		const struct lid_entry *entry = remembered(memory, t->ports[i].guid);

		if (entry && entry->lmc == lmc_of(&p, i) && usable(&p, entry->lid, entry->lmc))
			give(&p, i, entry->lid);
	}
	for (unsigned running = 2; running-- > 0 && p.wanting;)
		keep_held(&p, running, NULL);
	if (p.wanting)
		assign_new(&p);
	if (p.wanting && memory)
		take_back(&p, memory);
	map->without_lid = p.wanting;
	for (uint32_t i = 0; i < map->nports; i++) {
		uint32_t last =
			map->lid_of_port[i] ? map->lid_of_port[i] + (1u << lmc_of(&p, i)) - 1 : 0;

		map->top = last > map->top ? last : map->top;
	}
	map->port_of_lid = mem_array(map->port_of_lid, map->top + 1u);
	memset(map->port_of_lid, 0xff, (map->top + 1u) * sizeof(*map->port_of_lid));
	for (uint32_t i = 0; i < map->nports; i++)
		for (uint32_t n = 0; map->lid_of_port[i] && n < 1u << lmc_of(&p, i); n++)
			map->port_of_lid[map->lid_of_port[i] + n] = i;
	free(p.taken);
	return map;
}

struct lid_map *lid_held(const struct topo *t)
{
	struct lid_map *map = mem_new(map);

	map->nports = t->nports;
	map->lid_of_port = mem_array(map->lid_of_port, t->nports + 1);
	map->port_of_lid = mem_array(map->port_of_lid, LID_SPACE);
	memset(map->port_of_lid, 0xff, LID_SPACE * sizeof(*map->port_of_lid));
	for (uint32_t i = 0; i < t->nports; i++) {
		const struct topo_port *port = &t->ports[i];
		uint32_t count = 1u << port->lmc;

		if (!is_end_port(t, port))
			continue;
		if (!port->lid || port->lid + count > LID_SPACE ||
		    map->port_of_lid[port->lid] != TOPO_NONE) {
			map->without_lid++;
			continue;
		}
		map->lid_of_port[i] = port->lid;
		for (uint32_t n = 0; n < count; n++)
			map->port_of_lid[port->lid + n] = i;
		map->lmc = port->lmc > map->lmc ? port->lmc : map->lmc;
		map->top = port->lid + count - 1 > map->top ? port->lid + count - 1 : map->top;
	}
	return map;
}

struct lid_map *lid_map_copy(const struct lid_map *map)
{
	struct lid_map *copy = mem_new(copy);

	*copy = *map;
	copy->lid_of_port = mem_array(map->lid_of_port, map->nports + 1);
	copy->port_of_lid = mem_array(map->port_of_lid, map->top + 1u);
	memcpy(copy->lid_of_port, map->lid_of_port, map->nports * sizeof(*map->lid_of_port));
	memcpy(copy->port_of_lid, map->port_of_lid, (map->top + 1u) * sizeof(*map->port_of_lid));
	return copy;
}

void lid_map_free(struct lid_map *map)
{
	if (!map)
		return;
	free(map->lid_of_port);
	free(map->port_of_lid);
	free(map);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

SORT_BY(compare_entries, struct lid_entry, sort_order(a->port_guid, b->port_guid))

/*
 * Whether a port of the snapshot contradicts an entry: the entry's port holds another LID alone, or
 * another port holds one of the entry's LIDs.
 */
static bool is_contradicted(const struct lid_entry *entry, const struct topo *t,
			    const uint32_t *holder)
{
	uint32_t port = topo_find_port(t, entry->port_guid);

	if (port != TOPO_NONE && t->ports[port].lid && t->ports[port].lid != entry->lid &&
	    t->ports[port].lid < LID_SPACE && holder[t->ports[port].lid] == port)
		return true;
	for (uint32_t i = 0; i < 1u << entry->lmc && entry->lid + i < LID_SPACE; i++) {
		uint32_t by = holder[entry->lid + i];

		if (by != TOPO_NONE && by != port)
			return true;
	}
	return false;
}

void lid_memory_yield(struct lid_memory *memory, const struct topo *t, const bool *kept)
{
	/* By LID, the one end port that holds it; TOPO_NONE = none does, or several do. */
	uint32_t *holder = mem_array(holder, LID_SPACE), left = 0;
	uint8_t *claims = mem_alloc(LID_SPACE, 1);

	memset(holder, 0xff, LID_SPACE * sizeof(*holder));
	for (uint32_t i = 0; i < t->nports; i++) {
		uint16_t lid = t->ports[i].lid;

		if (!lid || lid >= LID_SPACE || !is_end_port(t, &t->ports[i]) || !kept[i])
			continue;
		holder[lid] = claims[lid] ? TOPO_NONE : i;
		claims[lid] = 1;
	}
	for (uint32_t i = 0; i < memory->count; i++)
		if (!is_contradicted(&memory->entries[i], t, holder))
			memory->entries[left++] = memory->entries[i];
	memory->changes += left != memory->count;
	memory->count = left;
	free(claims);
	free(holder);
}

/* Whether the plan gives one of the entry's LIDs to another port. */
static bool is_given(const struct lid_entry *entry, const struct lid_map *map)
{
	for (uint32_t i = 0; i < 1u << entry->lmc && entry->lid + i <= map->top; i++)
		if (map->port_of_lid[entry->lid + i] != TOPO_NONE)
			return true;
	return false;
}

bool lid_memory_learn(struct lid_memory *memory, const struct topo *t, const struct lid_map *map,
		      int64_t now)
{
	uint32_t kept = 0, added = 0;
	bool changed = false;

	/* Of those that are away some may have left just now. */
	for (uint32_t i = 0; i < memory->count; i++) {
		struct lid_entry *entry = &memory->entries[i];
		bool there = topo_find_port(t, entry->port_guid) != TOPO_NONE;

		changed |= there == (entry->away != 0);
		if (!there && is_given(entry, map))
			continue;
		entry->away = there ? 0 : entry->away ? entry->away : now;
		memory->entries[kept++] = *entry;
	}
	changed |= kept != memory->count;
	memory->entries = mem_array_resize(memory->entries, kept + t->nports);
	for (uint32_t i = 0; i < t->nports; i++) {
		if (!map->lid_of_port[i])
			continue;
		struct lid_memory known = { .count = kept, .entries = memory->entries };
		struct lid_entry *entry = (struct lid_entry *)remembered(&known, t->ports[i].guid);
		if (!entry)
			entry = &memory->entries[kept + added++];
		bool is_switch = t->nodes[t->ports[i].node].type == TOPO_SWITCH;
		changed |= entry->lid != map->lid_of_port[i];
		*entry = (struct lid_entry){ t->ports[i].guid, map->lid_of_port[i],
					     is_switch ? 0 : map->lmc, 0 };
	}
	memory->count = kept + added;
	memory->entries = mem_array_resize(memory->entries, memory->count);
	qsort(memory->entries, memory->count, sizeof(*memory->entries), compare_entries);
	memory->changes += changed || added;
	return changed || added;
}

void lid_memory_drop(struct lid_memory *memory, guid_t port_guid)
{
	const struct lid_entry *entry = remembered(memory, port_guid);
	uint32_t place = entry ? (entry - memory->entries) : 0;

	if (!entry)
		return;
	memory->changes++;
	memory->count--;
	memmove(&memory->entries[place], &memory->entries[place + 1],
		(memory->count - place) * sizeof(*memory->entries));
}
