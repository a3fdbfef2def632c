/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * pkey_plan: what a port's P_Key table should be, from what it is and what the port should hold.
 * Pure.
 */
#ifndef FMD_SWEEP_PKEY_PLAN_H
#define FMD_SWEEP_PKEY_PLAN_H

#include "fm/inventory/port_setup.h"

#define PKEY_BLOCKS_MAX 64 /* of a port; what devices have is 4 */

struct pkey_wish {
	const uint16_t *keys; /* each once, by base ascending, as a pkey_map has them */
	unsigned nkeys;
	uint16_t index0; /* what has its place there; 0 = the default partition's */
	unsigned cap;	 /* entries of the table */
};

/*
 * A key that is there keeps its index, in its other membership too; index 0 goes to the one it is
 * for. New keys go where the fewest blocks differ, and into an index that was in use last of all:
 * connections hold indices. `want` gets whole blocks. Returns how many keys found no room; the
 * default partition always finds some.
 */
unsigned pkey_plan(const uint16_t *have, const struct pkey_wish *wish, uint16_t *want);

/*
 * The block to write next on the way from have to want, -1 = none differs. In this order the port
 * is never without the default partition on the way.
 */
int pkey_plan_next(const uint16_t *have, const uint16_t *want, unsigned nblocks);

#endif
