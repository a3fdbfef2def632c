/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * audit: reads forwarding tables back, a few blocks at a time, while nothing else is to be done,
 * and reports a block that is not what its switch acknowledged. The whole switch then counts as
 * unknown: the next program_apply() writes it anew. Of multicast tables the block alone: the next
 * mft_apply() does.
 */
#pragma once

#include "fm/inventory/inventory.h"
#include "fm/program/mft.h"
#include "fm/program/program.h"
#include "routing/tables.h"

struct audit;
struct table_block;

struct audit_ops {
	/*
	 * Since when nothing was to be done but polls; 0 = something is under way. Asked before
	 * each handful.
	 */
	uint64_t (*idle_since)(void *arg);
	/* False: it is known not to hold what it acknowledges, and nothing is to be repaired. */
	bool (*differs)(void *arg, const struct table_block *block);
	/* It was compared, and is as it was written. */
	void (*holds)(void *arg, const struct table_block *block);
	/* So many may be asked for what else was written: end ports, attributes of all ports. */
	void (*ports)(void *arg, unsigned ends, unsigned others);
};

/* Off until it has a rate. Freed before the program and the mft. */
struct audit *audit_new(struct loop *loop, struct mad *mad, struct program *program,
			struct mft *mft, const struct audit_ops *ops, void *arg);
void audit_free(struct audit *a); /* NULL is fine */
/* 0 blocks = off. Idle times begin with after_us without audit. */
void audit_configure(struct audit *a, unsigned blocks_per_s, uint64_t after_us);
uint64_t audit_blocks(const struct audit *a); /* compared since start */
/*
 * An apply has ended: reads what it wrote, at once; of much a block of each switch, and the rest in
 * its turn. A switch may acknowledge blocks and store none, and all paths lead over it.
 */
void audit_try(struct audit *a);
struct audit_result {
	unsigned blocks; /* compared */
	unsigned differ; /* reported by ops as all findings */
	unsigned failed; /* could not be read */
};
typedef void audit_done_fn(void *arg, const struct audit_result *result);
/*
 * Reads all blocks of linear forwarding tables at once that were acknowledged. fn comes once, from
 * the loop, unless a newer reading replaces this one; it may free the audit.
 */
void audit_read_all(struct audit *a, audit_done_fn *fn, void *arg);
/* Reads that block at once, if it was acknowledged. */
void audit_read(struct audit *a, const struct table_block *block);
/* Something was changed behind this manager's back, and more may be: a pass is faster then. */
void audit_hurry(struct audit *a);

/* ---- A block of a table ---------------------------------------------------------------------- */

/*
 * One block of a switch's forwarding tables, linear or multicast, or its LinearFDBTop:
 * read, written, and compared with what the switch is to hold, where a switch may not hold what it
 * acknowledged.
 */

enum table_kind { TABLE_LFT, TABLE_MFT, TABLE_TOP };

struct table_block {
	guid_t sw;
	enum table_kind kind;
	uint32_t block;	   /* TABLE_TOP: 0 */
	unsigned position; /* TABLE_MFT: ports from MCAST_POSITION times this */
	bool altered;	   /* TABLE_MFT: the first MLID's entry for port 0 is the other way round */
	struct inv_change change; /* the first entry that was found otherwise, if that is known */
};

/* All borrowed. topo, tables: as published; topo NULL = nothing is. */
struct table_source {
	struct mad *mad;
	struct inventory *inventory;
	struct mft *mft;
	const struct topo *topo;
	const struct tables *tables;
};

/*
 * Sends a Get of the block; fn comes as mad_send()'s. 0: nothing was sent, for no path leads to the
 * switch, or it is silent.
 */
mad_token table_block_get(const struct table_source *source, const struct table_block *block,
			  mad_done_fn *fn, void *arg);
/* Sends a Set of what the switch is to hold; 0 also where nothing is published for it. */
mad_token table_block_set(const struct table_source *source, const struct table_block *block,
			  mad_done_fn *fn, void *arg);
/*
 * Whether the answer of a Get is what the switch is to hold; entries above LinearFDBTop mean
 * nothing. False also where nothing is published for it.
 */
bool table_block_held(const struct table_source *source, const struct table_block *block,
		      const uint8_t *data);
