/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * program's own parts, all over the store: program.c writes, program_plan.c says in which order,
 * readback.c compares.
 */
#ifndef FMD_PROGRAM_PROGRAM_PRIV_H
#define FMD_PROGRAM_PROGRAM_PRIV_H

#include "fm/loop/job.h"
#include "fm/loop/log.h"
#include "fm/mad/batch.h"
#include "fm/program/cached.h"
#include "fm/program/program.h"
#include "fm/program/store.h"
#include "routing/order/order.h"

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
	bool hosts;
	bool whole; /* it was not known what it holds */
};

struct program_round {
	uint32_t begun;		    /* rounds, this one too */
	struct program_part *parts; /* by switch and block */
	uint32_t nparts;
	unsigned kinds; /* of parts, left to send: 2 = all, 1 = without hosts */
};

struct program_turn { /* switches with blocks to send now */
	struct store_switch **list;
	uint32_t count, next;
};

struct readback;

struct program {
	struct loop *loop;
	struct inventory *inv;
	struct batch *batch;
	struct readback *readback;
	struct store store;
	struct program_cached cached;
	uint8_t life_time;
	const struct check_base *proofs; /* or NULL */
	bool busy;
	/* the apply that runs */
	const struct topo *topo;
	const struct tables *wanted;
	struct order_proof proof; /* of wanted */
	program_done_fn *fn;
	void *arg;
	enum program_stage stage;
	struct loop_timer *patience; /* of PROGRAM_WAITS */
	struct job *plan;	     /* of PROGRAM_PLANS */
	uint32_t planned;	     /* rows, by then */
	bool trouble;		     /* a switch failed in this apply */
	bool reported;		     /* all is written, and cached blocks are being read */
	struct store_switch **rows;  /* by row of the wanted tables; NULL = gone */
	struct order_making *making; /* of PROGRAM_PLANS */
	struct order order;	     /* no rounds: all blocks go at once */
	struct program_round round;
	struct program_turn turn;
	struct program_result result;
	uint64_t started_us, smps_before, blocks_written;
	struct log_limit failed_log;
};

/* ---- program_send.c ------------------------------------------------------------------------- */

void program_turn_add(struct program *p, struct store_switch *sw); /* it has blocks to send */
void program_send_top(struct program *p, struct store_switch *sw); /* if it differs */
void program_send_block(struct program *p, struct store_switch *sw, uint32_t block); /* queues it */
/* Gives the switch up for this apply, and logs it with the reason. */
void program_fail(struct program *p, struct store_switch *sw, const char *why);

/* ---- program_block.c ------------------------------------------------------------------------ */

static inline const uint8_t *program_wanted(const struct program *p, const struct store_switch *sw,
					    uint32_t block)
{
	return tables_row(p->wanted, sw->row) + (size_t)block * TABLES_BLOCK;
}
/*
 * Whether a switch answered what it should hold: entries above its LinearFDBTop mean nothing (IBA
 * 14.2.5.4). program_differs(): whether the block has to be written.
 */
bool program_same(const struct store_switch *sw, uint32_t block, const uint8_t *data);
bool program_differs(const struct program *p, const struct store_switch *sw, uint32_t block);

/* ---- program_plan.c ------------------------------------------------------------------------- */

/* The members of struct program that the plan uses. */
void plan_init(struct program *p);
void plan_fini(struct program *p);
/* Plans the apply, at once or when all that an earlier one sent is answered. */
void plan_apply(struct program *p);
void plan_forget(struct program *p); /* drops the plan, whatever is left of it */
/* Hands over more blocks of the present round. False: that were all. */
bool plan_more(struct program *p);
/* All that was sent is answered. True: planning goes on by itself, nothing is to be sent now. */
bool plan_waits(struct program *p);
/* Begins the next round that has blocks. False: there is none. */
bool plan_next(struct program *p);
void plan_resume(struct program *p); /* plans anew, from what is known now */
/* Writes what a block of this round is to contain. */
void plan_content(const struct program *p, const struct store_switch *sw, uint32_t block,
		  uint8_t content[TABLES_BLOCK]);

/* Compares tables for program_check_readback(); the program's, never NULL. */
struct readback *readback_new(struct program *p, struct mad *mad);
void readback_free(struct readback *r);

#endif
