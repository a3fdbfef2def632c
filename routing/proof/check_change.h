/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * check_change: the same verdict as check_tables(), at the price of what changed since the last
 * proof. It keeps what that proof left behind: the channel dependency graph, the LIDs with gaps,
 * the links, and a fingerprint of each block of the tables.
 *
 * It only accepts by itself. Where something looks wrong, nothing was proven before or too much
 * changed, all is proven anew, so that each refusal and its reason come from check_tables()'s own
 * code. Two figures of the report are older than the rest: only whole proofs measure hops.
 */
#pragma once

#include "routing/cdg.h"
#include "routing/proof/check.h"

struct check_base; /* what the last proof left: of no tables, or of sound ones */

struct check_change {	 /* how the last verdict was found */
	bool whole;	 /* all entries were inspected */
	uint32_t blocks; /* of 64 entries that changed; 0 when all were inspected */
	uint32_t walked; /* LIDs followed from every switch */
};

/*
 * A base without a proof; the caller owns it and frees it (NULL is fine). The seed is the secret
 * key of the fingerprints: a number that does not depend on the fabric.
 */
struct check_base *check_base_new(uint64_t seed);
void check_base_free(struct check_base *base);

/*
 * Judges as check_tables(), with its result. Sound tables become the base of the next call; after
 * others there is none.
 */
bool check_change(struct check_base *base, const struct topo *t, const struct lid_map *lids,
		  const struct tables *tables, struct check_report *report);
/*
 * check_change() in calls of a few milliseconds: begin, go while it returns true, end. The
 * arguments must not change until then. Begin drops a proof that was begun and not ended, after
 * which there is no base.
 */
void check_change_begin(struct check_base *base, const struct topo *t, const struct lid_map *lids,
			const struct tables *tables);
bool check_change_go(struct check_base *base);
bool check_change_end(struct check_base *base, struct check_report *report);
/*
 * For idle times, with the tables last proven: drops dependencies of past changes from the graph,
 * and spreads the heights. Without it the next proof of a change takes longer.
 */
void check_change_tidy(struct check_base *base, const struct topo *t, const struct tables *tables);
/* How the last verdict was found. */
struct check_change check_change_last(const struct check_base *base);

/*
 * check_proof_serial() numbers the proof begun last. check_proof_graph() returns the dependencies
 * of its tables, with some of earlier tables, in an order that proves them free of cycles; borrowed
 * until the next proof begins. NULL = the proof failed, or another was begun since.
 */
struct cdg;
uint64_t check_proof_serial(const struct check_base *base);
const struct cdg *check_proof_graph(const struct check_base *base, uint64_t serial);
