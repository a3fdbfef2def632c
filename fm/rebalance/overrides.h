/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* overrides: entries that re-balancing moved, by names that outlive a snapshot, and their file. */
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

/* By GUID and LID. All 0 = none; overrides_fini() ends it. */
struct overrides {
	struct override *entries;
	uint32_t count;
};

/* What a pass over that snapshot found; the caller ends it. */
struct overrides overrides_found(const struct rebalance_result *result, const struct topo *topo);
bool overrides_equal(const struct overrides *a, const struct overrides *b);
/*
 * Those whose switch the snapshot has, for routing: the caller frees the list (NULL = none).
 * Returns how many.
 */
uint32_t overrides_resolve(const struct overrides *o, const struct topo *topo,
			   struct route_override **list);
void overrides_fini(struct overrides *o);

/*
 * A line each, `GUID LID PORT`. read() adds to what there is: 0, or the number of a line that is
 * none, is out of order, or one too many.
 */
unsigned overrides_read(struct overrides *o, FILE *in);
void overrides_write(const struct overrides *o, FILE *out);

#endif
