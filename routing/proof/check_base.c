/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * check_base: what a proof leaves for the next one (check_change.c): the fabric, so that the next
 * proof can tell a change of it from another fabric, and the places of hosts, on which the numbers
 * of reachable pairs depend.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/proof/check_base.h"
#include "topology/mem.h"

struct check_base *check_base_new(uint64_t seed)
{
	struct check_base *base = mem_alloc(1, sizeof(*base));

	check_prints_init(&base->prints, seed);
	return base;
}

void check_base_forget(struct check_base *base)
{
	cdg_fini(&base->cdg);
	free(base->nodes);
	free(base->ports);
	free(base->walk);
	free(base->counts);
	free(base->hosts);
	free(base->specials);
	free(base->parts);
	base->nodes = NULL;
	base->ports = NULL;
	base->walk = NULL;
	base->counts = NULL;
	base->hosts = base->specials = base->parts = NULL;
	base->nadded = 0;
	base->good = false;
}

/* ---- Whether tables are a change of what was proven ------------------------------------------ */

static bool same_node(const struct base_node *was, const struct topo_node *is)
{
	return was->guid == is->guid && was->type == is->type && was->nports == is->nports &&
	       was->sharp == is->sharp;
}

static bool same_links_and_lids(const struct check_base *base, const struct topo *t,
				const struct lid_map *lids)
{
	for (uint32_t i = 0; i < t->nports; i++)
		if (base->ports[i].peer != t->ports[i].peer ||
		    base->ports[i].lid != lids->lid_of_port[i])
			return false;
	return true;
}

bool check_base_fits(const struct check_base *base, const struct topo *t,
		     const struct lid_map *lids, const struct tables *tables)
{
	if (!base->good || base->nnodes != t->nnodes || base->nswitches != t->nswitches ||
	    base->nports != t->nports || base->top != tables->top || base->lmc != lids->lmc ||
	    base->lid_top != lids->top || tables->nswitches != t->nswitches)
		return false;
	for (uint32_t n = 0; n < t->nnodes; n++)
		if (!same_node(&base->nodes[n], &t->nodes[n]))
			return false;
	return same_links_and_lids(base, t, lids);
}

/* Connected parts by their first switch, so that equal partitions look equal. */
static uint32_t *label_parts(const struct check *c)
{
	uint32_t *first = mem_alloc(c->t->nnodes + 1, sizeof(*first));
	uint32_t *parts = mem_alloc(c->t->nswitches + 1, sizeof(*parts));

	for (uint32_t sw = 0; sw < c->t->nswitches; sw++) {
		uint32_t part = check_part(c, sw);

		if (!first[part])
			first[part] = sw + 1;
		parts[sw] = first[part];
	}
	free(first);
	return parts;
}

bool check_base_keep_places(struct check_base *base, struct check *c)
{
	size_t size = c->t->nswitches * sizeof(uint32_t);
	uint32_t *parts = label_parts(c);
	bool moved = !base->parts || memcmp(base->parts, parts, size) != 0 ||
		     memcmp(base->hosts, c->hosts, size) != 0 ||
		     memcmp(base->specials, c->specials, size) != 0;

	free(base->parts);
	base->parts = parts;
	base->hosts = mem_resize(base->hosts, c->t->nswitches + 1, sizeof(uint32_t));
	base->specials = mem_resize(base->specials, c->t->nswitches + 1, sizeof(uint32_t));
	memcpy(base->hosts, c->hosts, size);
	memcpy(base->specials, c->specials, size);
	return moved;
}

void check_base_keep_fabric(struct check_base *base, const struct check *c)
{
	base->nnodes = c->t->nnodes;
	base->nswitches = c->t->nswitches;
	base->nports = c->t->nports;
	base->top = c->tables->top;
	base->lid_top = c->lids->top;
	base->lmc = c->lids->lmc;
	base->nodes = mem_alloc(c->t->nnodes + 1, sizeof(*base->nodes));
	base->ports = mem_alloc(c->t->nports + 1, sizeof(*base->ports));
	for (uint32_t n = 0; n < c->t->nnodes; n++) {
		const struct topo_node *node = &c->t->nodes[n];

		base->nodes[n] =
			(struct base_node){ node->guid, node->type, node->nports, node->sharp };
	}
	for (uint32_t i = 0; i < c->t->nports; i++)
		base->ports[i] = (struct base_port){ c->t->ports[i].peer, c->lids->lid_of_port[i],
						     c->t->ports[i].link_up };
}
