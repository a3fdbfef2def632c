/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * program: brings the switches' forwarding tables to what is wanted, by the fewest writes and in an
 * order in which no pair of ports loses its path meanwhile.
 *
 * It holds, by switch GUID, what each switch has acknowledged; a block counts as unknown until it
 * was acknowledged, and again after the switch rebooted (inv_node.rebooted, or program_forget).
 * apply() sends SwitchInfo's LinearFDBTop where it differs and the 64-entry blocks that differ.
 * Blocks go in the rounds of routing/order/order.h, the next round when the last one is
 * acknowledged; where nothing is known of those that differ (a cold start) there is but one.
 * A switch that is met with tables (LinearFDBTop is not 0) is read before it is written.
 * Blocks that fail are retried and reported. Other switches don't wait for one that fails, except
 * for entries whose new path leads through what it did not take (program.c). After a restart a
 * file has what switches held (program_remember). Blocks that are to change are read before, the
 * others after the writes; those that are as wanted are not written (cached.c). A newer apply()
 * supersedes a running one from the acknowledged state; the older callback does not come. The
 * caller has proven the tables.
 */
#pragma once

#include <stdio.h>
#include "fm/loop/loop.h"
#include "fm/mad/mad.h"
#include "fm/inventory/inventory.h"
#include "routing/proof/check_change.h"
#include "routing/tables.h"
#include "topology/snapshot/topo.h"

struct program;

struct program_result {
	unsigned blocks;   /* acknowledged by this apply */
	unsigned switches; /* that had something to write */
	unsigned failed;   /* blocks given up; they stay unknown */
	unsigned failed_switches;
	unsigned held; /* entries that keep their old path because of what failed */
	unsigned rounds;
	unsigned drained;    /* LIDs that switches had no entries for on the way */
	unsigned at_a_time;  /* of these LIDs of hosts, at most */
	uint64_t drained_us; /* how long some had none */
	unsigned unread;     /* blocks that are cached, and read from now on */
	unsigned read;	     /* with none unread: cached blocks that were read */
	unsigned differed;   /* read blocks that differed from the cache */
	uint64_t entries;    /* LFT entries that changed, where it was known what was there */
	uint64_t smps;
	uint64_t sent_us; /* when its first block was sent; 0 = none was */
};
typedef void program_done_fn(void *arg, const struct program_result *result);

/*
 * The caller's, never NULL; loop, mad and inv are borrowed. The inventory has the paths to the
 * switches, and takes the SwitchInfo that they answer.
 */
struct program *program_new(struct loop *loop, struct mad *mad, struct inventory *inv,
			    uint8_t packet_life_time);
void program_free(struct program *p);				     /* NULL is fine */
void program_configure(struct program *p, uint8_t packet_life_time); /* from the next apply on */
/*
 * Switches with adaptive routing on forward by another table, whose entries name a group beside the
 * port, 16 in a block: a fourth of a block here, called a part. Who keeps that table says which
 * parts are to be written, and program writes them in the place of LinearForwardingTable, by the
 * same order. Entries that differ in their group alone go first, with the ports that are held.
 */
#define PROGRAM_PARTS	  4
#define PROGRAM_PART_LIDS (TABLES_BLOCK / PROGRAM_PARTS)
struct mad_request;
struct program_entries {
	void *arg;
	bool (*has)(void *arg, const struct inv_node *sw);
	/* Nothing is to be written until program_entries_go(). */
	bool (*waits)(void *arg);
	/* The parts, a bit each, that the switch is not known to hold with these ports. */
	unsigned (*differ)(void *arg, const struct inv_node *sw, uint32_t block,
			   const uint8_t ports[TABLES_BLOCK]);
	/* Fills in attribute, modifier and the 64 bytes of a Set; a Get where ports is NULL. */
	void (*request)(void *arg, const struct inv_node *sw, uint32_t part, const uint8_t *ports,
			struct mad_request *request, uint8_t *data);
	/* What the switch answered; false: not what it was sent. */
	bool (*answered)(void *arg, const struct inv_node *sw, uint32_t part, const uint8_t *data);
	/* It rejected what it was sent, several times. */
	void (*refused)(void *arg, const struct inv_node *sw);
	/*
	 * The ports of a block, as it was read or sent last; false: some part never was. A part
	 * whose Set was lost has these or the ones before, and differs until it is acknowledged.
	 */
	bool (*ports)(void *arg, const struct inv_node *sw, uint32_t block,
		      uint8_t ports[TABLES_BLOCK]);
};
/* Borrowed; NULL = no switch has it on. */
void program_use_entries(struct program *p, const struct program_entries *entries);
void program_entries_go(struct program *p);

/* From now on each apply's tables are those proven last by `proofs`, which outlives p. */
void program_use_proofs(struct program *p, const struct check_base *proofs);
/* route_spanning() of the next apply's tables; borrowed as long as these are. */
void program_use_spanning(struct program *p, const bool *spanning);

/*
 * The callback comes when all is written that is not as wanted. Where result->unread is not 0, it
 * comes once more when the cached blocks are read too, with what was written because of that. Rows
 * are those of `t`'s switches; t is referenced until the last callback. The memory of the rows (not
 * the struct) stays as it is until the next apply has returned: it is what switches are taken to
 * hold. So newer tables have other memory than the older.
 */
void program_apply(struct program *p, const struct topo *t, const struct tables *wanted,
		   program_done_fn *fn, void *arg);
/*
 * True: the apply, or those that it replaced before they had sent anything, have been planned for
 * long. It is to send for a while, or to its end, before another comes in its place: else nothing
 * would be written where changes come faster than an order is found, which takes the longer the
 * more is not written.
 */
bool program_is_starved(const struct program *p);
/*
 * In the callback of an apply that failed: calls fn for each switch that is reachable and did not
 * acknowledge what it was sent.
 */
void program_refusers(const struct program *p, void (*fn)(void *arg, guid_t sw), void *arg);
unsigned program_unread(const struct program *p); /* the number of cached blocks */
/*
 * What the switch of that row of the snapshot holds, as far as it acknowledged it, was read, or is
 * taken to hold it since before a restart; other entries are TABLES_NO_ROUTE. tables: as applied
 * last. False: it is the row of `tables`, and that of `out` is as it was.
 */
bool program_held(const struct program *p, const struct topo *t, const struct tables *tables,
		  uint32_t row, struct tables *out);
/*
 * Before the first apply: another manager was at work. What the file says is read too, then only
 * what differs is written.
 */
void program_read_first(struct program *p);
/* Before the first apply: a line of program_next_table(), which is copied. */
void program_remember(struct program *p, const char *line);
/*
 * What the next switch behind the GUID *at holds, as far as that is known or cached: a line
 * (table_row.h), the caller's, and *at is its GUID. NULL: there is none.
 */
char *program_next_table(const struct program *p, guid_t *at);
/* The switch's tables are unknown from now on: the next apply writes all of them. */
void program_forget(struct program *p, guid_t sw);
uint64_t program_blocks_written(const struct program *p); /* acknowledged since start */
