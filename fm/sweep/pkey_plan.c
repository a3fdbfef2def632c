/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * pkey_plan: P_Key tables by the fewest blocks (IBA 10.9.2, 14.2.5.7).
 *
 * First what is fixed: index 0, then keys that are there as they are, then those that are there in
 * their other membership. What the table holds beyond that is not wanted any more, so its blocks
 * differ whatever happens: they take the new keys first, and if they can't take all, the first
 * block that can follows, else those with the most free entries. No other choice needs fewer
 * blocks.
 *
 * A table that is too small leaves out the keys that would be new, from the highest on; for the
 * default partition, without which a port can't ask anybody anything, another one has to go.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "fm/conf/partition.h"
#include "fm/sweep/pkey_plan.h"
#include "topology/base/mem.h"

struct plan {
	const uint16_t *have;
	const struct pkey_wish *wish;
	uint16_t *want;
	unsigned nblocks;
	unsigned begin;	  /* the first entry without a fixed key: 1 behind index 0's key */
	unsigned pending; /* new keys still to be placed */
	bool *placed;	  /* [wish->nkeys] */
};

static bool is_default(uint16_t key)
{
	return PKEY_BASE(key) == PKEY_BASE(PKEY_DEFAULT);
}

/* ---- What is fixed --------------------------------------------------------------------------- */

/* The first wish of that partition or behind it. */
static unsigned wish_find(const struct pkey_wish *wish, uint16_t key)
{
	unsigned low = 0, high = wish->nkeys;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (PKEY_BASE(wish->keys[middle]) < PKEY_BASE(key))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool put(struct plan *p, unsigned at, unsigned key)
{
	if (p->placed[key])
		return false;
	p->placed[key] = true;
	p->want[at] = p->wish->keys[key];
	return true;
}

/* Puts a wish of have[at]'s partition there: that very key, or its other membership. */
static void keep(struct plan *p, unsigned at, bool exactly)
{
	const struct pkey_wish *wish = p->wish;
	uint16_t has = p->have[at];

	if (!PKEY_BASE(has) || p->want[at])
		return;
	for (unsigned i = wish_find(wish, has);
	     i < wish->nkeys && PKEY_BASE(wish->keys[i]) == PKEY_BASE(has); i++)
		if ((wish->keys[i] == has) == exactly && put(p, at, i))
			return;
}

static void place_index0(struct plan *p)
{
	const struct pkey_wish *wish = p->wish;
	uint16_t base = PKEY_BASE(wish->index0 ? wish->index0 : PKEY_DEFAULT);

	for (unsigned i = wish_find(wish, base);
	     i < wish->nkeys && PKEY_BASE(wish->keys[i]) == base; i++)
		if (!wish->index0 || wish->keys[i] == wish->index0) {
			p->begin = put(p, 0, i);
			return;
		}
}

static void place_kept(struct plan *p)
{
	for (int exactly = 1; exactly >= 0; exactly--)
		for (unsigned at = p->begin; at < p->wish->cap; at++)
			keep(p, at, exactly);
}

/* ---- What is new ----------------------------------------------------------------------------- */

static bool differs(const struct plan *p, unsigned block)
{
	unsigned at = block * PKEYS_A_BLOCK;

	return memcmp(p->have + at, p->want + at, PKEYS_A_BLOCK * sizeof(*p->have));
}

struct room { /* free entries of a block */
	unsigned count;
	int unused, left; /* the first that was free before, and that somebody left; -1 = none */
};

static struct room room_of(const struct plan *p, unsigned block)
{
	struct room room = { .unused = -1, .left = -1 };
	unsigned at = block * PKEYS_A_BLOCK, end = at + PKEYS_A_BLOCK;

	for (at = at < p->begin ? p->begin : at; at < end && at < p->wish->cap; at++) {
		int *first = p->have[at] ? &room.left : &room.unused;

		if (p->want[at])
			continue;
		room.count++;
		if (*first < 0)
			*first = (int)at;
	}
	return room;
}

/* The entry for the next new key, -1 = the table is full. */
static int entry_find(const struct plan *p)
{
	int left = -1, fresh = -1;
	unsigned most = 0;

	for (unsigned block = 0; block < p->nblocks; block++) {
		struct room room = room_of(p, block);

		if (differs(p, block)) {
			if (room.unused >= 0)
				return room.unused;
			left = left < 0 ? room.left : left;
		} else if (room.count > most && most < p->pending) {
			most = room.count;
			fresh = room.unused;
		}
	}
	return left >= 0 ? left : fresh;
}

/* The last entry that is not the default partition's nor bound to index 0. */
static int entry_to_clear(const struct plan *p)
{
	for (unsigned at = p->wish->cap; at-- > p->begin;)
		if (!is_default(p->want[at]))
			return (int)at;
	return -1;
}

static unsigned place_new(struct plan *p, unsigned key)
{
	int at;

	if (p->placed[key])
		return 0;
	at = entry_find(p);
	p->pending--;
	if (at >= 0) {
		put(p, (unsigned)at, key);
		return 0;
	}
	if (is_default(p->wish->keys[key]) && (at = entry_to_clear(p)) >= 0)
		put(p, (unsigned)at, key);
	return 1;
}

unsigned pkey_plan(const uint16_t *have, const struct pkey_wish *wish, uint16_t *want)
{
	struct plan p = { .have = have, .wish = wish, .want = want };
	unsigned first_default = wish_find(wish, PKEY_DEFAULT), without = 0;

	p.nblocks = (wish->cap + PKEYS_A_BLOCK - 1) / PKEYS_A_BLOCK;
	p.placed = mem_alloc(wish->nkeys, sizeof(*p.placed));
	memset(want, 0, p.nblocks * PKEYS_A_BLOCK * sizeof(*want));
	place_index0(&p);
	place_kept(&p);
	for (unsigned i = 0; i < wish->nkeys; i++)
		p.pending += !p.placed[i];
	for (unsigned i = first_default; i < wish->nkeys; i++)
		without += place_new(&p, i);
	for (unsigned i = 0; i < first_default; i++)
		without += place_new(&p, i);
	free(p.placed);
	return without;
}

/*
 * ---- The path there ---------------------------------------------------------------------------
 */

static bool holds_default(const uint16_t *block)
{
	for (unsigned i = 0; i < PKEYS_A_BLOCK; i++)
		if (is_default(block[i]))
			return true;
	return false;
}

int pkey_plan_next(const uint16_t *have, const uint16_t *want, unsigned nblocks)
{
	int next = -1;

	for (unsigned block = nblocks; block-- > 0;) {
		unsigned at = block * PKEYS_A_BLOCK;

		if (memcmp(have + at, want + at, PKEYS_A_BLOCK * sizeof(*have)) == 0)
			continue;
		if (holds_default(want + at))
			return (int)block;
		next = (int)block;
	}
	return next;
}
