/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * likeness: groups that are identified by a set of numbers (for instance the parents of switches),
 * and the group that another set resembles most. Missing links make sets differ that are equal by
 * design. Private to topology/.
 */
#ifndef FMD_TOPOLOGY_GRAPH_LIKENESS_H
#define FMD_TOPOLOGY_GRAPH_LIKENESS_H

#include <stdint.h>
#include "topology/snapshot/topo.h"

struct likeness {
	uint32_t *chain; /* by item: 1 + index of the latest entry that has it, 0 = none */
	struct likeness_entry *entries;
	uint32_t nentries;
	uint8_t *level;	   /* by group */
	uint16_t *overlap; /* by group: scratch */
	uint32_t ngroups;
};

/*
 * Allocates room for `ngroups` groups, of items below nitems, whose sets have nentries items in
 * all; likeness_fini() frees it.
 */
void likeness_init(struct likeness *l, uint32_t nitems, uint32_t ngroups, uint32_t nentries);
void likeness_fini(struct likeness *l);
/* Adds a group on a level; returns its number, counted from 0. With n = 0 no set resembles it. */
uint32_t likeness_add(struct likeness *l, uint8_t level, const uint32_t *items, unsigned n);
/*
 * The group of this level that has most of the items if those are 3/4 of them, the oldest of
 * equals; else TOPO_NONE.
 */
uint32_t likeness_find(struct likeness *l, uint8_t level, const uint32_t *items, unsigned n);

#endif
