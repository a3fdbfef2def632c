/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * engine: what the parts of the routing engine share. Private to routing/.
 *
 * D stands for a destination switch throughout: all LIDs behind one switch (its hosts, and itself)
 * take legal paths of the same candidates; only the choice among them is by LID.
 */
#pragma once

#include <string.h>
#include "routing/fiber.h"
#include "routing/ftree/route.h"
#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "topology/graph/graph.h"
#include "topology/snapshot/topo.h"

#define REACH_NEVER 255 /* cost of what no legal path reaches */
#define REACH_MULTI 255 /* several children lead there at the same distance */

/* ---- Destinations: LIDs as routing sees them ------------------------------------------------- */

struct dest_run { /* consecutive LIDs behind one switch */
	uint16_t lid, count;
};
struct dests {
	struct arena *arena; /* owns the arrays */
	uint16_t top;
	uint32_t *sw;	 /* by LID: destination switch, TOPO_NONE = unused */
	uint32_t *order; /* by LID: topological number */
	bool *special;	 /* by LID: an aggregation node's; NULL = there are none */
	uint8_t *port;	 /* by LID: last port, 0 = the switch itself, TABLES_NO_ROUTE = its link is
			    down */
	uint32_t *first_run; /* by switch [nswitches + 1] */
	struct dest_run *runs;
	/*
	 * By level, then LID: the number that chooses slots; NULL = order / pitch, which is the
	 * same in regular trees.
	 */
	uint32_t **number;
};

/* The number by which families of a level choose a LID's slot. */
static inline uint32_t dest_number(const struct dests *d, const struct graph_family *family,
				   uint32_t lid)
{
	return d->number ? d->number[family->level][lid] : d->order[lid] / family->pitch;
}
/* Keeps nothing of its arguments; dests_fini() frees it. */
void dests_init(struct dests *d, const struct graph *g, const struct topo *t,
		const struct lid_map *lids, const struct route_params *params);
void dests_fini(struct dests *d);
/* Puts LIDs in topological order. A port's further LIDs may have numbers past the last host's. */
void dests_sort(const struct dests *d, uint32_t *lids, uint32_t n);
/*
 * In a regular tree with more hosts than links upwards LIDs fill links in rounds, the last of them
 * not completely. How many LIDs of a leaf, and of its pod, fill whole ones.
 */
struct dest_rounds {
	uint32_t in_leaf, in_pod, first; /* first: number in the pod */
	uint8_t above;			 /* the level of the leaves' parents */
	bool rests_last; /* numbers of the others follow those of all leaves of the pod */
};
/* Of a family; false: all do, or no link carries much more by the others, or it has no 3 tiers. */
bool dests_rounds(const struct graph *g, uint32_t family, struct dest_rounds *r);

/* ---- Reach: which switches are below which, and distances ------------------------------------ */

struct reach_entry { /* D is `dist` hops down, by down group `child` (or several:
			REACH_MULTI) */
	uint32_t sw;
	uint8_t dist, child;
};
struct reach_list { /* below[first .. first + count), ascending by D, without the switch itself */
	uint32_t first, count;
	uint32_t number; /* equal = the same list; 0 = nothing is below */
};
struct reach {
	struct reach_list *lists; /* by switch */
	struct reach_entry *below;
	uint32_t used, capacity;
	uint32_t nlists; /* all numbers of lists are below */
	uint32_t
		*equivalent; /* by switch: set of switches with equal children, TOPO_NONE = alone */
	uint32_t nequivalent;
	uint8_t *costs;	       /* rows of cost_bytes: hops to each D by legal path */
	uint32_t cost_bytes;   /* nswitches, rounded up to a multiple of NEAREST_BYTES */
	struct design *design; /* borrowed; NULL = there is none */
	struct pivots *pivots; /* borrowed; NULL = pairs without a legal path are gaps */
	struct fiber *fiber;   /* borrowed, for stops in long work; NULL = in one go */
	uint32_t *cost_row;    /* by switch: its row, TOPO_NONE = it is no parent */
};

static inline uint8_t *reach_cost(const struct reach *r, const struct graph *g, uint32_t sw)
{
	return r->costs + (size_t)r->cost_row[sw] * r->cost_bytes;
}
/* Finds what is below each switch; costs come by rows_fill(). reach_fini() frees. */
void reach_init(struct reach *r, const struct graph *g);
void reach_fini(struct reach *r);
/* The entry of D in the list of a switch, NULL = D is not below it. Owned by r. */
const struct reach_entry *reach_find(const struct reach *r, uint32_t sw, uint32_t d);

/* A hash of bytes and of what was hashed before them: equal hashes are taken for equal bytes. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
	uint64_t word[2];

	for (const uint8_t *at = bytes; count; at += sizeof(word)) {
		if (count >= sizeof(word)) {
			memcpy(word, at, sizeof(word));
			count -= sizeof(word);
		} else {
			word[0] = 0;
			word[1] = count;
			memcpy(word, at, count);
			count = 0;
		}

		unsigned __int128 product =
			(unsigned __int128)(word[0] ^ hash) * (word[1] ^ 0x9e3779b97f4a7c15ull);

		hash = (uint64_t)product ^ (uint64_t)(product >> 64);
	}
	return hash;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

struct gap { /* no legal path from sw to what is behind D, and one of them has hosts */
	uint32_t sw, d;
	uint32_t length; /* detour.c: hops that a path around would take */
};
struct gaps {
	struct gap *list; /* by D once sorted; the first GAPS_MAX */
	uint32_t count;
	uint64_t host_pairs; /* gaps, listed or not, of which both switches have hosts */
};
#define GAPS_MAX (1u << 20)

/* Fills all rows of `out` by legal paths, *gaps with what they leave open; gaps_fini() frees. */
void rows_fill(const struct graph *g, const struct dests *d, struct reach *r, struct tables *out,
	       struct gaps *gaps);
void gaps_fini(struct gaps *gaps);
/*
 * Whether both switches have hosts, and live links connect them: a detour may close it. `island` is
 * islands_find()'s, NULL = links connect all switches.
 */
bool gap_may_close(const struct graph *g, const struct gap *gap, const uint32_t *island);
/*
 * Whether any gap may close like that, `management`: also one between a host and a switch; true,
 * too, where not all are listed.
 */
bool gaps_may_close(const struct gaps *gaps, const struct graph *g, const struct topo *t,
		    bool management);
/* Sorts gaps by destination, then by switch (engine.c). fiber NULL = in one go. */
void gaps_sort(struct gaps *gaps, uint32_t nswitches, struct fiber *fiber);

/* ---- Detours (detour.c) ---------------------------------------------------------------------- */

/*
 * Fills gaps where a turn down-then-up keeps the channel dependencies acyclic; after rows_fill(),
 * which completes the costs. Returns host pairs still open.
 */
uint64_t detour_fill(const struct graph *g, const struct dests *d, const struct reach *r,
		     struct tables *out, struct gaps *gaps);

/* ---- The last resort of a damaged tree ------------------------------------------------------- */

/*
 * detour_search: pairs of hosts that links connect, but neither legal paths nor detours, get a path
 * if the channel dependencies of these tables permit one.
 *
 * Counts the pairs of switches with hosts that have no path though links connect them. The fiber is
 * for stops in between; NULL = in one go.
 */
uint64_t detour_search_count(const struct topo *t, const struct lid_map *lids,
			     const struct tables *tables, struct fiber *fiber);
/*
 * Fills such gaps of tables whose dependencies have no cycle, without making one; then gaps between
 * hosts and switches. Returns the number of pairs of switches with hosts that are still open.
 */
uint64_t detour_search_tables(const struct topo *t, const struct lid_map *lids,
			      struct tables *tables, struct fiber *fiber);
