/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * program's own parts, all over the store: program.c writes, and says in which order.
 */
#pragma once

#include "fm/inventory/inventory.h"
#include "fm/loop/job.h"
#include "fm/loop/log.h"
#include "fm/mad/batch.h"
#include "fm/program/program.h"
#include "routing/order/order.h"
#include "routing/tables.h"

/* ---- What each switch holds, and what is known of that --------------------------------------- */

/*
 * Nearly all of it is as wanted. So a
 * switch's record is its row of the wanted tables, which is borrowed, and the blocks that differ.
 */

#define STORE_BLOCKS TABLES_BLOCKS
#define STORE_WORDS  (STORE_BLOCKS / 64)

struct store_set { /* of blocks */
	uint64_t words[STORE_WORDS];
};

struct store_past { /* what a block held when it was sent anew or read, until that is answered */
	uint32_t block;
	uint8_t content[TABLES_BLOCK];
};

struct store_switch {
	cl_map_item_t item; /* key = GUID */
	guid_t guid;
	struct inv_node *node;	   /* NULL: not in the inventory */
	const uint8_t *row_wanted; /* [nblocks * 64] */
	uint32_t nblocks;
	struct store_set own; /* blocks that are not as wanted: they are in kept, in order */
	uint16_t before[STORE_WORDS]; /* how many own blocks are in the words ahead */
	uint8_t *kept;
	struct store_past *past;
	uint32_t npast;
	struct store_set known;	 /* acknowledged, or read */
	struct store_set cached; /* assumed (cached.c); none of these is known or busy */
	struct store_set busy;	 /* on the way: the block is what was sent */
	struct store_set stale;	 /* busy ones that a superseded apply has sent */
	struct store_set late;	 /* busy ones that are to be sent again once they are answered */
	struct store_set todo;	 /* to be sent */
	uint32_t ntodo;
	uint32_t row; /* in the wanted tables */
	bool top_due; /* SwitchInfo first; the blocks wait for it */
	bool failed;  /* given up in this apply */
	bool refuses; /* failed, and it is reachable: it rejects or drops what it is sent */
	bool listed;  /* in the snapshot of this apply */
	bool in_turn; /* among those whose blocks leave */
	bool met;     /* in some apply: what it held before that was assumed, to be read */
	struct store_set unread; /* blocks that it was sent since audit_try() */
};

struct store {
	cl_qmap_t switches;
	/* Spanning trees, by port: of the next tables, lent; of the wanted ones, and before. */
	const bool *given;
	bool *newer, *older;
	uint32_t nports; /* of newer */
};

static inline bool store_has(const struct store_set *set, uint32_t block)
{
	return set->words[block / 64] >> block % 64 & 1;
}

static inline void store_put(struct store_set *set, uint32_t block, bool on)
{
	uint64_t bit = (uint64_t)1 << block % 64;

	set->words[block / 64] = on ? set->words[block / 64] | bit : set->words[block / 64] & ~bit;
}
/* The first member of the set from `from` on; STORE_BLOCKS = there is none. */
uint32_t store_next(const struct store_set *set, uint32_t from);

/* The store is the caller's memory, and owns its switches until store_fini(). */
void store_fini(struct store *store);
/*
 * The given tree, of so many ports or NULL, is that of the wanted tables from now on. The order
 * gets copies: it may look at them until it has ended, which is before the next call.
 */
void store_take_spanning(struct store *store, uint32_t nports, struct order_proof *proof);
/* A switch of the store, or NULL; store_get() makes it where there is none. */
struct store_switch *store_find(const struct store *store, guid_t guid);
/* The first one behind that GUID; NULL = there is none. */
struct store_switch *store_behind(const struct store *store, guid_t guid);
struct store_switch *store_get(struct store *store, guid_t guid);

/*
 * Blocks that are known, cached or on the way stay what they are; all others are as in the new row.
 * The old one may go then. NULL: nothing is known any more.
 */
void store_rebase(struct store_switch *sw, const uint8_t *row, uint32_t nblocks);
/* Records that the switch was sent this block; block is below nblocks. content is copied. */
void store_sent(struct store_switch *sw, uint32_t block, const uint8_t content[TABLES_BLOCK]);
/*
 * What the block holds as far as it was shown: as acknowledged, read or assumed; where a newer one
 * is on its way or was not answered, what was shown before. NULL = nothing was. Borrowed until the
 * next change of sw.
 */
const uint8_t *store_shown(const struct store_switch *sw, uint32_t block);
/* The block is sent anew, and holds what it is shown to hold until that is answered. */
void store_leave(struct store_switch *sw, uint32_t block);
/* It was read, and is not known for all that: the block is to be sent. content is copied. */
void store_read(struct store_switch *sw, uint32_t block, const uint8_t content[TABLES_BLOCK]);
void store_past_end(struct store_switch *sw, uint32_t block);
/* The content of a block of sw->own, borrowed until the next change of sw. */
const uint8_t *store_own_block(const struct store_switch *sw, uint32_t block);

/*
 * What the block holds: as acknowledged where known, as sent where busy, as assumed where cached.
 * Borrowed until the next change of sw; block is below nblocks.
 */
static inline const uint8_t *store_block(const struct store_switch *sw, uint32_t block)
{
	return store_has(&sw->own, block) ? store_own_block(sw, block)
					  : sw->row_wanted + (size_t)block * TABLES_BLOCK;
}

/* ---- Cached ---------------------------------------------------------------------------------- */

/*
 * What switches are assumed to hold of their tables, by the file of an earlier run or after
 * another manager's work, until it was read (cached.c). Part of program (program_priv.h).
 */

struct program;

struct program_cached {
	char **lines; /* rows that are left to read, owned */
	unsigned nlines, at;
	bool some;  /* a switch may have cached blocks */
	bool first; /* these assumptions are read before it is reported that all is written */
	bool wrong; /* a block was found that differs: none is relied on unread any more */
	struct store_set columns; /* numbers of the blocks that are read now */
	bool every;		  /* of all switches; false: of those where they are to change */
	uint32_t block, row;	  /* the next one to be asked for */
	unsigned read, differed;  /* blocks read, and those that differed; not reported yet */
};

/* Takes some more records of the file. True: there are more, call again. */
bool cached_load(struct program *p);
/* Assumes that switches which are met first hold what is wanted, so that it is read. */
void cached_assume(struct program *p);
void cached_forget_rows(struct program *p);

/*
 * Reading before the first write: choose nothing, then the blocks of each switch that are about to
 * change, then begin. False: there is nothing to read.
 */
void cached_recheck_none(struct program *p);
void cached_recheck(struct program *p, const struct store_switch *sw);
bool cached_begin(struct program *p);
/* Begins to read all that is left. False: there is nothing, but at switches that are away. */
bool cached_rest(struct program *p);
/* The number of blocks that are left to read at switches that answer. */
/* Queues some Gets. False: all were asked. */
bool cached_more(struct program *p);
/* Fills in the Get of a block. False: it is not wanted any more. */
bool cached_make(const struct program *p, const struct store_switch *sw,
		 const struct batch_job *job, struct batch_request *request);
/* The answer: the block counts as known from now on. */
void cached_answer(struct program *p, struct store_switch *sw, const struct batch_job *job,
		   const uint8_t *data);
/* Whether the block is known, or assumed, to hold something else than what is wanted. */
bool cached_is_other(const struct store_switch *sw, uint32_t block);
/* Nothing is assumed of that switch any more: its blocks are unknown. */
void cached_drop(struct store_switch *sw);

#define ROW_NONE UINT32_MAX

enum program_job { JOB_TOP, JOB_BLOCK, JOB_READ }; /* object = store_switch, arg = block */

enum program_stage {
	PROGRAM_WAITS, /* for the answers to what a superseded apply sent */
	PROGRAM_PLANS, /* a job in steps */
	PROGRAM_READS, /* cached blocks */
	PROGRAM_SENDS,
};

/* What a block takes in a round: all steps of it, for it is written once. */
struct program_part {
	uint32_t sw, block;
	uint64_t take, empty; /* entries that become new, or lead nowhere for now */
	uint64_t last;	      /* as in order_step */
	uint16_t tree;	      /* likewise */
	bool hosts;
	bool whole; /* it is not known which of its entries the switch holds */
	bool blank; /* none was ever shown, as of a switch that has booted */
};

struct program_round {
	uint32_t begun;		    /* rounds, this one too */
	struct program_part *parts; /* by switch and block */
	uint32_t nparts;
	bool ready;	   /* planned, and entries of adaptive routing wait (program.h) */
	bool ahead;	   /* of the first one: what goes keeps its ports */
	unsigned kinds;	   /* of parts, left to send: 2 = all, 1 = without hosts */
	uint32_t emptied;  /* entries that the order emptied and has not filled */
	uint64_t drain_us; /* since when there are some */
	/* No other apply replaces this one: while it is planned from then on, then until then. */
	uint64_t whole_us;
};

struct program_turn { /* switches with blocks to send now */
	struct store_switch **list;
	uint32_t count, next;
};

struct program {
	struct loop *loop;
	struct inventory *inv;
	struct batch *batch;
	struct store store;
	struct program_cached cached;
	uint8_t life_time;
	const struct program_entries *entries; /* or NULL */
	bool busy;
	/* the apply that runs */
	const struct topo *topo;
	const struct tables *wanted;
	struct order_proof proof; /* of wanted */
	bool proven; /* the apply before ended with all written as far as switches were there */
	program_done_fn *fn;
	void *arg;
	enum program_stage stage;
	struct loop_timer *patience; /* of PROGRAM_WAITS */
	struct job *plan;	     /* of PROGRAM_PLANS */
	uint32_t planned;	     /* rows, by then */
	bool any_failed;	     /* a switch failed in this apply */
	bool reported;		     /* all is written, and cached blocks are being read */
	struct store_switch **rows;  /* by row of the wanted tables; NULL = gone */
	struct order_making *making; /* of PROGRAM_PLANS */
	struct order order;	     /* no rounds: all blocks go at once */
	struct program_round round;
	struct program_turn turn;
	struct program_result result;
	uint64_t smps_before, blocks_written;
	struct log_limit failed_log;
};

/* ---- store.c ------------------------------------------------------------------------------- */

/*
 * Whether a switch answered what it should hold: entries above its LinearFDBTop mean nothing (IBA
 * 14.2.5.4). program_differs(): whether the block has to be written.
 */
bool program_same(const struct store_switch *sw, uint32_t block, const uint8_t *data);
bool program_differs(const struct program *p, const struct store_switch *sw, uint32_t block);
/* Whether it forwards by entries of adaptive routing (program.h). */
static inline bool program_by_entries(const struct program *p, const struct store_switch *sw)
{
	return p->entries && sw->node && p->entries->has(p->entries->arg, sw->node);
}
/* Parts of a block that it does not hold with these ports; 0 also where it has no such entries. */
unsigned program_parts(const struct program *p, const struct store_switch *sw, uint32_t block,
		       const uint8_t *ports);

/* Blocks from first to end whose parts were all read or sent once are known by these. */
void program_know_entries(struct program *p, struct store_switch *sw, uint32_t first, uint32_t end);

/* Entries of a part that may leave, once something has failed (program.c). */
uint64_t program_allowed(const struct program *p, const struct program_part *part);
/* Blocks that were given up. */
unsigned program_count_failed(const struct program *p);
