/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * adaptive: switches that another manager left with adaptive routing, private LFTs or hash-based
 * forwarding on.
 *
 * Such a switch does not forward by its LFT: reading the LFT says nothing, and the first plain
 * write ends adaptive routing while the rest of the table is not valid. So before anything else all
 * blocks of such a switch are written in one burst, then these modes are turned off and read back;
 * one switch after another, as its own paths are broken meanwhile.
 *
 * NVIDIA switches that have tables when a sweep finds them are queried once (inv_node.adaptive):
 * one SMP each, two more if the first says so. A switch that does not answer, or rejects the query,
 * has none of these modes. An agent that supports the attribute answers it as fast as any other:
 * after PATIENCE_US without an answer fmd no longer waits, and handles later answers when they
 * come. So a silent switch does not delay bring-up by its time-out. Switches that were silent, had
 * no tables, or are known not to answer are queried when the fabric is idle.
 */
#ifndef FMD_ADAPTIVE_ADAPTIVE_H
#define FMD_ADAPTIVE_ADAPTIVE_H

#include "fm/mad/mad.h"
#include "fm/sweep/inventory.h"
#include "routing/tables.h"

struct adaptive;

struct adaptive_switch { /* the result for a switch that had a mode on */
	guid_t guid;
	bool failed;	  /* a mode is still on */
	uint64_t took_us; /* from its first block to the answer that all is off */
};
struct adaptive_ops {
	/* A switch's modes were turned off, or not. */
	void (*turned)(void *arg, const struct adaptive_switch *result);
	/* The answer to adaptive_check(): all modes are off, or their switches refuse. */
	void (*done)(void *arg);
	/* Whether a switch did not answer GeneralInfo in an earlier run. */
	bool (*is_silent)(void *arg, const struct inv_node *node);
	/* A switch has answered GeneralInfo, or (silent) has not. */
	void (*asked)(void *arg, const struct inv_node *node, bool silent);
};

/* The caller owns it; loop, mad and inventory are borrowed, ops is copied. Free: NULL is fine. */
struct adaptive *adaptive_new(struct loop *loop, struct mad *mad, struct inventory *inv,
			      const struct adaptive_ops *ops, void *arg);
void adaptive_free(struct adaptive *a);

/* Queries the switches of the inventory, so that adaptive_check() has the answers later. */
void adaptive_ask(struct adaptive *a);
/*
 * Called before the switches of `t` are programmed with these tables. True: nothing has to be done,
 * and ops.done is not called. False: ops.done follows. A call before that replaces snapshot and
 * tables, which are borrowed until ops.done.
 */
bool adaptive_check(struct adaptive *a, const struct topo *t, const struct tables *tables);
/* Queries up to `count` switches that adaptive_check() does not wait for. False: none is left. */
bool adaptive_ask_later(struct adaptive *a, unsigned count);

#endif
