/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * adaptive: switches that another manager left with adaptive routing, private LFTs or hash-based
 * forwarding on.
 *
 * Such a switch does not forward by its LFT: what is read of that says nothing, and its first plain
 * write ends adaptive routing while the rest of the table is not valid. So ahead of anything else
 * all blocks of such a switch are written in one burst, then all of these modes are set off and
 * read back; one switch after another, as its own paths are broken meanwhile.
 *
 * Switches of NVIDIA's that have tables when they are met are asked once (inv_node.adaptive): one
 * SMP each, two more where there is something to ask. One that does not answer that, or refuses,
 * has none of it. An agent that knows the attribute answers as quickly as it answers any:
 * PATIENCE_US without an answer is the end of waiting, and what comes later is acted upon when it
 * comes. So a switch that is silent costs no bring-up its time-out. Who was silent, one that had no
 * tables, and one of which it is known that it does not answer, is asked at leisure.
 */
#ifndef FMD_ADAPTIVE_ADAPTIVE_H
#define FMD_ADAPTIVE_ADAPTIVE_H

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
	void (*done)(void *arg); /* all that answer are known, and off or refusing */
	/* It does not answer GeneralInfo, by what is remembered. */
	bool (*is_silent)(void *arg, const struct inv_node *node);
	void (*asked)(void *arg, const struct inv_node *node, bool silent);
};

struct adaptive *adaptive_new(struct loop *loop, struct mad *mad, struct inventory *inv,
			      const struct adaptive_ops *ops, void *arg);
void adaptive_free(struct adaptive *a); /* NULL is fine */

/*
 * Asks the switches that the inventory has, so that answers are there when adaptive_check() wants
 * them.
 */
void adaptive_ask(struct adaptive *a);
/*
 * Ahead of programming that snapshot's switches with these rows. True: nothing is to be done; there
 * is no callback. False: ops.done follows. Called again before that, the newer snapshot and rows
 * count from the next block on; the rows stay as they are till then.
 */
bool adaptive_check(struct adaptive *a, const struct topo *t, const struct tables *tables);
/* Some of those nobody waits for, at most `count`. False: none is left. */
bool adaptive_ask_later(struct adaptive *a, unsigned count);

#endif
