/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * load_map: all-to-all flows (congestion_study()'s by_port) for people: how even each tier is, and
 * the load between each pair of switches. Loads are relative to the mean of the live channels of
 * the same tier and direction. Figures of a tier are of time: flows on a channel of half the rate
 * of the tier's fastest one count twice.
 */
#pragma once

#include "topology/snapshot/topo.h"

#define LOAD_BINS 10

/* Upper edges of the bins, in means; bin 0 is no load at all, the last has no edge. */
extern const double load_bin_edges[LOAD_BINS - 1];
/* The bin of a load, 0 .. LOAD_BINS - 1. */
unsigned load_bin(double load, double mean);

enum load_direction { LOAD_UP, LOAD_DOWN, LOAD_DIRECTIONS };

struct load_tier {	/* channels between one level and those above it */
	unsigned level; /* the lower end's */
	double rate;	/* of the fastest live channel */
	uint32_t channels[LOAD_DIRECTIONS];
	uint64_t max[LOAD_DIRECTIONS]; /* rounded up */
	double mean[LOAD_DIRECTIONS];  /* had each channel its share by rate */
	uint32_t bins[LOAD_DIRECTIONS][LOAD_BINS];
};

struct load_cell { /* all links between two switches */
	uint32_t row, column;
	uint16_t links, live;
	double ratio; /* the busiest live channel of them, in means */
	uint64_t up, down;
};

struct load_map { /* the tier above one level; names in natural order */
	uint32_t nrows, ncolumns, ncells;
	uint32_t *rows, *columns; /* switches: lower, upper */
	struct load_cell *cells;  /* by row, then column; pairs with links only */
	struct load_tier tier;
};

/*
 * The map of level `level` and what its links lead to above; links within a level count for it too.
 * The caller owns it, and it keeps nothing of the arguments; free: NULL is fine.
 */
struct load_map *load_map_new(const struct topo *t, const uint64_t *by_port, unsigned level);
void load_map_free(struct load_map *map);
