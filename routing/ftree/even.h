/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * even: entries by which the tables of an irregular design share its links evenly. Private to
 * routing/.
 *
 * D-Mod-K's digits are right where all subtrees are alike and all links as fast. Elsewhere the
 * result is judged: flows of all-to-all traffic are counted link by link, and where the worst link
 * has more than its share, LIDs are moved to others. Links count by their rate. That depends on
 * known links, LIDs and designed rates alone: neither a fault nor a repair moves an entry for it.
 */
#pragma once

#include "routing/ftree/engine.h"

struct even {	      /* shared: held by even_ref() until even_unref() */
	uint64_t key; /* of what it was made for */
	unsigned refs;
	uint32_t count, nports;
	uint8_t *rates;		     /* by port of the snapshot: of the design */
	struct route_override *list; /* by switch, then LID; on minimal up/down paths */
};

/*
 * The entries for a design, of which `g` is a graph made GRAPH_BY_LEVEL. `last` is returned if it
 * is for the same (NULL: there is none), else released. NULL: there is nothing to move.
 */
struct even *even_find(struct even *last, const struct graph *g, const struct topo *t,
		       const struct lid_map *lids, const struct route_params *params,
		       struct fiber *fiber);
struct even *even_ref(struct even *even);
void even_unref(struct even *even); /* NULL is fine */
/*
 * Whether rates differ by design, leaves by so many hosts that links show it, or the design is not
 * even. A link that trained down, or was cut since, does not make it due.
 */
bool even_is_due(const struct graph *g, const struct topo *t);
