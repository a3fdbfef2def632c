/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* overrides: entries that re-balancing moved, by GUIDs that outlive snapshots, and their file. */
#ifndef FMD_REBALANCE_OVERRIDES_H
#define FMD_REBALANCE_OVERRIDES_H

#include <stdbool.h>
#include <stdio.h>
#include "routing/balance/rebalance.h"

struct override {
	guid_t sw;
	uint16_t lid;
	uint8_t port;
};

/* Sorted by GUID and LID. All zero = none; overrides_fini() frees them. */
struct overrides {
	struct override *entries;
	uint32_t count;
};

/* The overrides that a pass over that snapshot found; the caller frees them. */
struct overrides overrides_found(const struct rebalance_result *result, const struct topo *topo);
/* Whether both have the same entries. */
bool overrides_equal(const struct overrides *a, const struct overrides *b);
/*
 * Sets *list to the overrides whose switch the snapshot has, for routing; the caller frees it
 * (NULL = none). Returns how many they are.
 */
uint32_t overrides_resolve(const struct overrides *o, const struct topo *topo,
			   struct route_override **list);
void overrides_fini(struct overrides *o);

/*
 * Read and write lines `GUID LID PORT`. Reading adds to *o and returns 0, or the number of the line
 * that is malformed, out of order, or one too many.
 */
unsigned overrides_read(struct overrides *o, FILE *in);
void overrides_write(const struct overrides *o, FILE *out);

#endif
