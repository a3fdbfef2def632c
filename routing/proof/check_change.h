/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * check_change: the same judgement as check_tables(), at the price of what changed since the last
 * proof. It keeps what that proof left behind: the channel dependency graph, the LIDs with gaps,
 * the links, and a fingerprint of each block of the tables.
 *
 * Only ever accepts by itself: where something looks wrong, where nothing was proven before or too
 * much changed, all is proven anew, so that what is refused and why comes from check_tables' own
 * code. Two figures of the report are older than the rest: hops are measured by whole proofs alone.
 */
#ifndef FMD_ROUTING_CHECK_CHANGE_H
#define FMD_ROUTING_CHECK_CHANGE_H

#include "routing/cdg.h"
#include "routing/proof/check.h"

struct check_base; /* what the last proof left: of no tables, or of sound ones */

struct check_change {	 /* how the last judgement came about */
	bool whole;	 /* all entries were inspected */
	uint32_t blocks; /* of 64 entries that changed; 0 when all were inspected */
	uint32_t walked; /* LIDs followed from every switch */
	uint64_t added;	 /* dependencies since the last whole proof */
};

/* The seed keys the fingerprints: any number that nothing in the fabric is made from. */
struct check_base *check_base_new(uint64_t seed);
void check_base_free(struct check_base *base); /* NULL is fine */

/* As check_tables(). Sound tables become the base of the next call; after others there is none. */
bool check_change(struct check_base *base, const struct topo *t, const struct lid_map *lids,
		  const struct tables *tables, struct check_report *report);
/*
 * The same in calls of a few milliseconds: begin, go until it says false, end. What is given stays
 * as it is till then. Begin ends what was begun before and not ended: then there is no base.
 */
void check_change_begin(struct check_base *base, const struct topo *t, const struct lid_map *lids,
			const struct tables *tables);
bool check_change_go(struct check_base *base);
bool check_change_end(struct check_base *base, struct check_report *report);
/*
 * For quiet times, with the tables last proven: takes dependencies of past changes out of the
 * graph. It goes without, but then the next change meets them, and has to tell past from present
 * while somebody waits.
 */
void check_change_tidy(struct check_base *base, const struct topo *t, const struct tables *tables);
struct check_change check_change_last(const struct check_base *base);

/*
 * The dependencies of the tables proven last, with some of tables before them, in an order that
 * proves all of them free of cycles. The proof is found by its serial: NULL when it failed, or
 * another was begun since.
 */
struct cdg;
uint64_t check_proof_serial(const struct check_base *base);
const struct cdg *check_proof_graph(const struct check_base *base, uint64_t serial);

#endif
