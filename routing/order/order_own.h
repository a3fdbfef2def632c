/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * order_own: what the stages of ordering share. Private to routing/order/.
 *
 * order_work: the blocks that change (order.c).
 * A work owns its units and refers to the snapshot, the tables and the blocks that it was made of,
 * which have to outlive it. Nothing here fails.
 */
#pragma once

#include "routing/byteset.h"
#include "routing/cdg.h"
#include "routing/order/order.h"
#include "routing/path.h"
#include "routing/tables.h"

struct order_unit { /* a block that changes */
	uint32_t sw, block;
	uint32_t given;		  /* place in what order_begin() was given */
	const uint8_t *old, *new; /* old NULL = unknown */
	uint64_t mask;		  /* entries that change */
	uint64_t last;		  /* entries of the mask: as in order_step */
	uint64_t awaited;	  /* entries of the mask that another entry waits for */
	uint64_t to_hosts;	  /* entries of the mask whose new path ends at a host */
	uint64_t patient;	  /* entries of the mask: as in order_step */
	uint16_t round;
	bool split, hosts;
	bool late; /* written when all others are */
};

/* All that an entry depends on is in the same block of other switches: blocks are independent. */
struct order_work {
	const struct topo *t;
	const struct tables *newer;
	struct order_unit *units; /* by block, then as given */
	uint32_t nunits, nblocks;
	uint32_t *column; /* by block [nblocks + 1]: its first unit */
	uint32_t *slot;	  /* by switch: its unit in the entered column, + 1; 0 = none */
};

/* Makes the units of the changed blocks; order_work_fini() frees them. */
void order_work_init(struct order_work *w, const struct topo *t, const struct tables *newer,
		     const struct order_block *changed, uint32_t count);
void order_work_fini(struct order_work *w);
/* Fills w->slot with the units of one block number, and empties it again. */
void order_column_enter(struct order_work *w, uint32_t block);
void order_column_leave(struct order_work *w, uint32_t block);

/* Whether an entry leads to no switch and to no end port; whether its switch has the host. */
bool order_leads_nowhere(const struct topo *t, uint32_t sw, unsigned out);
bool order_leads_to_host(const struct topo *t, uint32_t sw, unsigned out);

/* The unit of a switch in the entered column, owned by w; NULL = its block does not change. */
static inline struct order_unit *order_unit_of(const struct order_work *w, uint32_t sw)
{
	return w->slot[sw] ? &w->units[w->slot[sw] - 1] : NULL;
}

/* ---- Blocks of entries as 64-bit masks, one bit each ----------------------------------------- */

/* A mask of the entries in which two blocks are the same. */
static inline uint64_t bits_same(const uint8_t *a, const uint8_t *b)
{
	uint8_t differ[TABLES_BLOCK];

	for (unsigned i = 0; i < TABLES_BLOCK; i++)
		differ[i] = a[i] ^ b[i];
	return byteset_equal(differ, 0);
}

/*
 * ---- Credit loops (order_turns.c) --------------------------------------------------------------
 * Those that a change may close while some switches have new entries and others not yet.
 *
 * The caller owns each trial and search, which borrow their arguments, and ends or frees it. None
 * fails: where an answer would take too long, it is the one on the safe side.
 */

struct order_turn {    /* a packet comes by one channel and leaves by another */
	uint32_t unit; /* the unit whose entry makes it */
	uint8_t bit;
	uint8_t out;   /* port of the second channel */
	uint32_t from; /* index of the topo port that the first channel leaves by */
};

enum order_direction {
	ORDER_FROM,  /* the work's tables are the new ones, the units' `old` the present ones */
	ORDER_TO,    /* the work's tables are the present ones, the units' `old` the new ones */
	ORDER_ALONE, /* the work's tables by themselves, without units */
};

struct order_beyond { /* turns of mixtures that the graph of the new tables' proof has not */
	struct order_proof proof; /* base NULL = there is none */
	/* all that may exist at any time of the change; the owner frees it */
	struct order_turn *turns;
	uint32_t count;
	bool known;
	unsigned circles;  /* by which alone trials were judged */
	bool patient_last; /* no loop if patient entries are written when all others are */
};
struct order_trial;
/*
 * A trial finds out whether no mixture of tables and units has a credit loop, as long as no switch
 * takes a new entry before the next changed switch on the new path has. The tables by themselves
 * have none. If there may be one and `guilty` is given, guilty[unit.given] gets the entries whose
 * `old` paths are in the first loop found. In calls of a few milliseconds: begin, go while it
 * returns true, end, which frees the trial: true = no loop. Ended early it returns false.
 *
 * `beyond` belongs to the whole change: the trial ORDER_FROM fills it in where it can, trials of
 * parts of the change (ORDER_TO) read it. Where ORDER_FROM would have a loop, it is judged once
 * more with the patient entries behind all others.
 */
struct order_trial *order_trial_begin(struct order_work *w, enum order_direction direction,
				      uint64_t *guilty, struct order_beyond *beyond);
bool order_trial_go(struct order_trial *trial);
bool order_trial_end(struct order_trial *trial);

/*
 * Searches a cycle that some turns close with those of a graph that has none by itself (cdg.h: it
 * has an order). Only turns of the graph that are in use count; `used` is called where it matters.
 * The graph must not change meanwhile; the turns are copied. order_circle_go() makes up to `visits`
 * steps: true = there is more to do. Then order_circle_found() says whether there is a cycle, or
 * may be one (a few were looked at, and not all), order_circle_members() by channel who is on it;
 * NULL = some of its turns may not be in use. order_circle_free(): NULL is fine.
 */
struct order_circle;
struct order_circle *order_circle_new(const struct cdg *g, const struct order_turn *turns,
				      uint32_t count, cdg_used_fn *used, void *arg);
bool order_circle_go(struct order_circle *c, uint32_t visits);
bool order_circle_found(const struct order_circle *c);
const bool *order_circle_members(const struct order_circle *c);
void order_circle_free(struct order_circle *c);

/*
 * ---- Rounds -------------------------------------------------------------------------------------
 * The two stages that find the rounds in which blocks are written: which entries wait for which
 * (order.c), and rounds without credit loops (order_cycle_free.c).
 *
 * A stage is owned by its caller, which calls go while it returns true and ends the stage, at any
 * time (NULL is fine). Stages write to the caller's work and order. Neither fails.
 */

/* Finds the rounds of all columns; owned by its caller. *o is complete when go returned false. */
struct order_columns;
struct order_columns *order_columns_begin(struct order_work *w, struct order *o);
bool order_columns_go(struct order_columns *c);
void order_columns_end(struct order_columns *c);
