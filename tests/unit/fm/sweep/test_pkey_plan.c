/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * pkey_plan: tables that are right, by the fewest blocks, with indices kept, and never without the
 * default partition on the way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "fm/conf/partition.h"
#include "fm/sweep/bringup_priv.h"
#include "topology/base/sort.h"

#define CAP_MAX 160

static void assert_plan(const uint16_t *have, const uint16_t *keys, unsigned nkeys, uint16_t index0,
			unsigned cap, const uint16_t *want)
{
	const struct pkey_wish wish = { keys, nkeys, index0, cap };
	uint16_t got[CAP_MAX];

	assert_int_equal(pkey_plan(have, &wish, got), 0);
	assert_memory_equal(got, want, cap * sizeof(*want));
}

static void power_on_table_stays_for_the_default_partition(void **state)
{
	static const uint16_t have[32] = { 0xffff }, keys[] = { 0xffff };

	assert_plan(have, keys, 1, 0, 32, have);
	assert_int_equal(pkey_plan_next(have, have, 1), -1);
}

static void keys_keep_their_index_in_their_other_membership_too(void **state)
{
	static const uint16_t have[32] = { 0xffff, 0x8001, 0, 0x0002, 0x8003 };
	static const uint16_t keys[] = { 0x0001, 0x8002, 0x8004, 0x7fff };
	static const uint16_t want[32] = { 0x7fff, 0x0001, 0x8004, 0x8002 };

	assert_plan(have, keys, 4, 0, 32, want);
}

static void both_memberships_lie_side_by_side(void **state)
{
	static const uint16_t have[32] = { 0xffff, 0x0001 }, keys[] = { 0x8001, 0x0001, 0xffff };
	static const uint16_t want[32] = { 0xffff, 0x0001, 0x8001 };

	assert_plan(have, keys, 3, 0, 32, want);
}

static void index_0_goes_to_whom_it_is_for(void **state)
{
	static const uint16_t have[32] = { 0xffff, 0x8001 }, keys[] = { 0x8001, 0xffff };
	static const uint16_t want[32] = { 0x8001, 0, 0xffff };
	static const uint16_t back[32] = { 0xffff, 0x8001 };

	assert_plan(have, keys, 2, 0x8001, 32, want);
	assert_plan(want, keys, 2, 0, 32, back);
}

static void an_index_that_was_in_use_is_taken_last(void **state)
{
	static const uint16_t have[4] = { 0xffff, 0x8001, 0x8002, 0 },
			      keys[] = { 0x8003, 0x8004, 0xffff };
	static const uint16_t want[4] = { 0xffff, 0x8004, 0, 0x8003 };
	uint16_t whole[32] = { 0 }, got[32];
	const struct pkey_wish wish = { keys, 3, 0, 4 };

	memcpy(whole, have, sizeof(have));
	assert_int_equal(pkey_plan(whole, &wish, got), 0);
	assert_memory_equal(got, want, sizeof(want));
}

static void a_table_too_small_keeps_the_default_partition(void **state)
{
	static const uint16_t have[32] = { 0x8001, 0x8002 },
			      keys[] = { 0x8001, 0x8002, 0x8003, 0xffff };
	const struct pkey_wish wish = { keys, 4, 0x8001, 2 };
	static const uint16_t want[32] = { 0x8001, 0xffff };
	uint16_t got[32];

	assert_int_equal(pkey_plan(have, &wish, got), 2);
	assert_memory_equal(got, want, sizeof(want));
}

/* ---- Any table, any wish --------------------------------------------------------------------- */

struct any {
	uint16_t have[CAP_MAX], want[CAP_MAX], keys[2 * CAP_MAX];
	struct pkey_wish wish;
	unsigned nblocks, without;
};

static unsigned below(uint64_t *seed, unsigned n)
{
	return (unsigned)(random_next(seed) % n);
}

static bool has(const uint16_t *keys, unsigned n, uint16_t key)
{
	for (unsigned i = 0; i < n; i++)
		if (keys[i] == key)
			return true;
	return false;
}

static bool has_base(const uint16_t *keys, unsigned n, uint16_t key)
{
	return has(keys, n, PKEY_BASE(key)) || has(keys, n, key | PKEY_FULL);
}

/* Of few partitions, so that tables and wishes meet; filled to any degree. */
static void any_make(struct any *a, uint64_t *seed)
{
	unsigned partitions = 1 + below(seed, 150), fill = below(seed, 101),
		 wanted = below(seed, 101);
	bool with_default = below(seed, 8) > 0;

	memset(a, 0, sizeof(*a));
	a->wish = (struct pkey_wish){ .keys = a->keys, .cap = 1 + below(seed, CAP_MAX) };
	a->nblocks = (a->wish.cap + PKEYS_A_BLOCK - 1) / PKEYS_A_BLOCK;
	for (unsigned i = 0; i < a->wish.cap; i++) {
		uint16_t key =
			(uint16_t)(1 + below(seed, partitions)) | (below(seed, 2) ? PKEY_FULL : 0);

		if (below(seed, 100) < fill && !has(a->have, a->wish.cap, key))
			a->have[i] = key;
	}
	if (with_default)
		a->have[below(seed, 2) ? 0 : below(seed, a->wish.cap)] = 0xffff;
	for (unsigned k = 1; k <= partitions && a->wish.nkeys < CAP_MAX; k++) {
		unsigned memberships = below(seed, 5); /* 0 = both */

		if (below(seed, 100) >= wanted)
			continue;
		if (memberships < 3)
			a->keys[a->wish.nkeys++] = (uint16_t)(k | PKEY_FULL);
		if (!memberships || memberships >= 3)
			a->keys[a->wish.nkeys++] = (uint16_t)k;
	}
	a->keys[a->wish.nkeys++] = below(seed, 2) ? 0xffff : 0x7fff;
	if (below(seed, 3) == 0)
		a->wish.index0 = a->keys[below(seed, a->wish.nkeys)];
	a->without = pkey_plan(a->have, &a->wish, a->want);
}

static uint16_t index0_of(const struct any *a)
{
	return a->wish.index0 ? a->wish.index0 : a->keys[a->wish.nkeys - 1];
}

static void assert_right(const struct any *a)
{
	unsigned held = 0;

	for (unsigned i = 0; i < a->nblocks * PKEYS_A_BLOCK; i++) {
		assert_true(!a->want[i] || i < a->wish.cap);
		assert_true(!a->want[i] || has(a->keys, a->wish.nkeys, a->want[i]));
		assert_true(!a->want[i] || !has(a->want, i, a->want[i]));
		held += a->want[i] != 0;
	}
	assert_int_equal(held + a->without, a->wish.nkeys);
	assert_true(!a->without || held == a->wish.cap);
	assert_true(has(a->want, a->wish.cap, a->keys[a->wish.nkeys - 1]) || a->wish.cap == 1);
	assert_int_equal(a->want[0], index0_of(a));
}

/* But for index 0, and in a table that is full. */
static void assert_indices_kept(const struct any *a)
{
	for (unsigned i = 1; i < a->wish.cap && !a->without; i++) {
		uint16_t key = a->have[i];

		if (key && key != index0_of(a) && has(a->keys, a->wish.nkeys, key))
			assert_int_equal(a->want[i], key);
	}
}

/* Blocks that differ without a single new key; and how much room they and the others have. */
static unsigned fewest_blocks(const struct any *a)
{
	unsigned fewest = 0, pending = 0, room[CAP_MAX / PKEYS_A_BLOCK] = { 0 };
	int most;

	for (unsigned b = 0; b < a->nblocks; b++) {
		bool differs = false;

		for (unsigned i = b * PKEYS_A_BLOCK; i < (b + 1) * PKEYS_A_BLOCK && i < a->wish.cap;
		     i++) {
			bool kept = a->want[i] && has_base(&a->have[i], 1, a->want[i]);
			uint16_t bare = kept || i == 0 ? a->want[i] : 0;

			differs |= bare != a->have[i];
			pending += a->want[i] && !bare;
			room[b] += !bare;
		}
		if (!differs)
			continue;
		fewest++;
		pending -= room[b] < pending ? room[b] : pending;
		room[b] = 0;
	}
	for (; pending; fewest++) {
		most = 0;
		for (unsigned b = 1; b < a->nblocks; b++)
			most = room[b] > room[most] ? (int)b : most;
		pending -= room[most] < pending ? room[most] : pending;
		room[most] = 0;
	}
	return fewest;
}

static void assert_way(const struct any *a)
{
	uint16_t now[CAP_MAX];
	bool had = has_base(a->have, a->wish.cap, PKEY_DEFAULT);
	unsigned writes = 0;
	int block;

	memcpy(now, a->have, sizeof(now));
	while ((block = pkey_plan_next(now, a->want, a->nblocks)) >= 0) {
		memcpy(now + block * PKEYS_A_BLOCK, a->want + block * PKEYS_A_BLOCK,
		       PKEYS_A_BLOCK * sizeof(*now));
		assert_true(++writes <= a->nblocks);
		had |= has_base(a->want + block * PKEYS_A_BLOCK, PKEYS_A_BLOCK, PKEY_DEFAULT);
		if (had && a->wish.cap > 1)
			assert_true(has_base(now, a->wish.cap, PKEY_DEFAULT));
	}
	assert_memory_equal(now, a->want, a->nblocks * PKEYS_A_BLOCK * sizeof(*now));
	if (!a->without)
		assert_int_equal(writes, fewest_blocks(a));
}

static void any_table_becomes_the_wanted_one(void **state)
{
	uint64_t seed = 11;
	struct any a;

	for (unsigned i = 0; i < 20000; i++) {
		any_make(&a, &seed);
		assert_right(&a);
		assert_indices_kept(&a);
		assert_way(&a);
	}
}

static void what_was_planned_is_not_planned_again(void **state)
{
	uint64_t seed = 12;
	uint16_t again[CAP_MAX];
	struct any a;

	for (unsigned i = 0; i < 5000; i++) {
		any_make(&a, &seed);
		pkey_plan(a.want, &a.wish, again);
		assert_memory_equal(again, a.want, a.nblocks * PKEYS_A_BLOCK * sizeof(*again));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(power_on_table_stays_for_the_default_partition),
		cmocka_unit_test(keys_keep_their_index_in_their_other_membership_too),
		cmocka_unit_test(both_memberships_lie_side_by_side),
		cmocka_unit_test(index_0_goes_to_whom_it_is_for),
		cmocka_unit_test(an_index_that_was_in_use_is_taken_last),
		cmocka_unit_test(a_table_too_small_keeps_the_default_partition),
		cmocka_unit_test(any_table_becomes_the_wanted_one),
		cmocka_unit_test(what_was_planned_is_not_planned_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
