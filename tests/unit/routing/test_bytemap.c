/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* bytemap: whatever way the processor takes, for tables and rows of any size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "routing/bytemap.h"
#include "topology/base/sort.h"

#define MOST   300
#define MARGIN 64 /* before what is written */

struct rows {
	uint8_t map[256], in[MOST], around[MARGIN + MOST], before[MARGIN + MOST];
};

/* Inputs below `used`, and some that stay. */
static void make_rows(struct rows *r, unsigned used, uint64_t *seed)
{
	for (unsigned i = 0; i < 256; i++)
		r->map[i] = random_next(seed);
	for (unsigned i = 0; i < MOST; i++) {
		uint64_t random = random_next(seed);

		r->in[i] = !used || random % 5 == 0 ? BYTEMAP_KEEP : (random >> 8) % used;
	}
	for (unsigned i = 0; i < MARGIN + MOST; i++)
		r->around[i] = r->before[i] = random_next(seed);
}

static void expect_rows(const struct rows *r, unsigned count, bool over)
{
	const uint8_t *out = r->around + MARGIN, *before = r->before + MARGIN;

	for (unsigned i = 0; i < count; i++)
		assert_int_equal(out[i], r->in[i] != BYTEMAP_KEEP ? r->map[r->in[i]]
					 : over			  ? before[i]
								  : BYTEMAP_KEEP);
	assert_memory_equal(r->around, r->before, MARGIN);
	assert_memory_equal(out + count, before + count, MOST - count);
}

static void every_input_is_translated(void **state)
{
	uint64_t seed = 1;
	struct rows r;

	for (unsigned used = 0; used < 256; used++) {
		unsigned count = random_next(&seed) % MOST;

		make_rows(&r, used, &seed);
		bytemap(r.around + MARGIN, r.in, count, r.map, used);
		expect_rows(&r, count, false);
	}
}

static void what_no_input_covers_stays(void **state)
{
	uint64_t seed = 2;
	struct rows r;

	for (unsigned used = 0; used < 256; used++) {
		unsigned count = random_next(&seed) % MOST;

		make_rows(&r, used, &seed);
		bytemap_over(r.around + MARGIN, r.in, count, r.map, used);
		expect_rows(&r, count, true);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_input_is_translated),
		cmocka_unit_test(what_no_input_covers_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
