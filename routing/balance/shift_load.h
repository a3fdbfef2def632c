/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * shift_load: the load of each switch-to-switch channel, in each shift and in all-to-all traffic.
 * Private to routing/.
 *
 * When every host i sends to host i + k, a leaf with hosts f .. f + n - 1 sends to host j in the n
 * shifts k = j - f - n + 1 .. j - f: the flow from a leaf to a host is a window of k. Shifts are
 * counted in buckets, so many parts to a leaf's width, and a flow fills that many buckets of each
 * channel on its way. Where hosts have rails, the shifts within rails are a second ring of buckets.
 *
 * The price of a state is what re-balancing lowers: in each bucket, for each number of flows v
 * above the usual the channels that carry v or more (the first costs most: one channel holds up a
 * whole shift); and the fourth power of each channel's share of all-to-all traffic. What the live
 * links of some leaf are too few to avoid in a bucket (its floor) costs next to nothing there.
 */
#pragma once

#include "routing/ftree/legal.h"
#include "routing/balance/rebalance.h"

#define SHIFT_LEVELS   5  /* numbers of flows that are kept apart, the usual one first */
#define SHIFT_MAX_PATH 32 /* channels */

struct shift_source { /* a switch with hosts: all of them send by one path */
	uint32_t sw, place, rail_place;
	uint32_t hosts;
	int16_t rail; /* of all its hosts, or -1 */
};
struct shift_target {	   /* a LID that is sent to */
	uint32_t source;   /* its own switch */
	uint32_t place;	   /* among its switch's hosts */
	uint32_t phase[2]; /* place in buckets, of the ring of all and of its rail */
};
struct shift_ring { /* of buckets */
	uint32_t first, count;
	unsigned parts; /* to a leaf's width */
};

enum shift_share { /* how all-to-all traffic counts in the price */
		   SHIFT_SHARE_PRICED,
		   SHIFT_SHARE_FREE,  /* not at all */
		   SHIFT_SHARE_CAPPED /* not at all, but no channel may exceed the worst one */
};

struct shift_load {
	const struct topo *t;
	struct arena *arena; /* owns the arrays */
	uint32_t nchannels, nsources, nkeys, nlids;
	uint32_t *channel;	      /* by topo port: leaves by it; TOPO_NONE = to no switch */
	uint32_t *source_of;	      /* by switch, TOPO_NONE = no hosts */
	struct shift_source *sources; /* in topological order */
	struct shift_target *targets; /* by LID */
	uint16_t *lids;		      /* that are sent to, in topological order */
	struct shift_ring rings[UINT8_MAX + 2]; /* by rail + 1; [0] = all hosts' */
	uint8_t *flows;				/* [nchannels][nkeys] */
	uint64_t *total;			/* by channel: all to all */
	uint64_t sum, busy;			/* of flows; buckets that have any */
	uint64_t mean;				/* of total */
	enum shift_share share;
	uint64_t cap;	       /* of total, for SHIFT_SHARE_CAPPED */
	uint8_t level_of[256]; /* by flows */
	uint8_t *floor;	       /* [nkeys]: a level */
	uint32_t *crowded;     /* [SHIFT_LEVELS + 1][nkeys]: channels of that level or more */
	int32_t *prices;       /* [SHIFT_LEVELS + 1][nkeys]: of one channel's coming to the level */
};

/*
 * Sets sources and targets, without flows. t is borrowed until arena_free(load->arena), which frees
 * the rest.
 */
void shift_load_init(struct shift_load *load, const struct topo *t, const struct lid_map *lids,
		     const struct graph *g);

struct shift_flow { /* from some sources to a LID, along one path */
	uint32_t lid;
	const uint32_t *sources;
	uint32_t nsources;
};
struct shift_path {
	uint32_t channel[SHIFT_MAX_PATH];
	unsigned n;
};
/*
 * The steps in their order: shift_load_put() for all flows; then the usual number of flows, the
 * floors and the levels, each in any number of calls over [first, end) of all channels (floors: of
 * all sources); the last call sets prices. Then flows are moved, onto a path or `off` it.
 */
void shift_load_put(struct shift_load *load, const struct shift_flow *flow,
		    const struct shift_path *path);
void shift_load_find_usual(struct shift_load *load, uint32_t first, uint32_t end);
void shift_load_find_floors(struct shift_load *load, uint32_t first, uint32_t end);
void shift_load_count_levels(struct shift_load *load, uint32_t first, uint32_t end);
void shift_load_move(struct shift_load *load, const struct shift_flow *flow,
		     const struct shift_path *path, bool off);
/* Sets how all-to-all traffic counts; SHIFT_SHARE_CAPPED takes the present worst channel as cap. */
void shift_load_price_share(struct shift_load *load, enum shift_share share);
/* The price of moving a flow onto a path; just after it was moved off one, what that saved. */
int64_t shift_load_price(const struct shift_load *load, const struct shift_flow *flow,
			 const struct shift_path *path);

/* The figures of the present flows. */
struct rebalance_figures shift_load_figures(const struct shift_load *load);
