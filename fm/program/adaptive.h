/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * adaptive: switches that another manager left with adaptive routing, private LFTs or hash-based forwarding on.
 *
 * Such a switch does not forward by its LFT: what is read of that says nothing, and its first plain write ends adaptive routing while the rest of
 * the table is not valid. So ahead of anything else all blocks of such a switch are written in one burst, then all of these modes are set off and read
 * back; one switch after another, as its own paths are broken meanwhile.
 *
 * Switches of NVIDIA's that have tables when they are met are asked once (inv_node.adaptive): one SMP each, two more where there is something to
 * ask. One that does not answer that, or refuses, has none of it.
 */
#ifndef FMD_PROGRAM_ADAPTIVE_H
#define FMD_PROGRAM_ADAPTIVE_H

#include "fm/mad/mad.h"
#include "fm/sweep/inventory.h"
#include "routing/tables.h"

struct adaptive;

struct adaptive_switch { /* what became of one that had a mode on */
	guid_t guid;
	bool failed;	  /* it is on still */
	uint64_t took_us; /* from its first block to the answer that all is off */
};
struct adaptive_ops {
	void (*turned)(void *arg, const struct adaptive_switch *result);
	void (*done)(void *arg); /* all are known, and off or refusing */
};

struct adaptive *adaptive_new(struct loop *loop, struct mad *mad, struct inventory *inv,
			      const struct adaptive_ops *ops, void *arg);
void adaptive_free(struct adaptive *a); /* NULL is fine */

/*
 * Ahead of programming that snapshot's switches with these rows. True: nothing is to be done; there is no callback. False: ops.done follows.
 * Called again before that, the newer snapshot and rows count from the next block on; the rows stay as they are till then.
 */
bool adaptive_check(struct adaptive *a, const struct topo *t, const struct tables *tables);

#endif
