/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sa_share: what a storm of requests takes from the answer to a fault, on a clock that only work
 * moves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/umad_own.h"

#define SLICE_US   5000
#define REQUEST_US 8
#define BATCH	   32 /* requests, before the share is looked at again */

struct storm {
	struct sa_share share;
	uint64_t now_us, served;
	bool busy;
};

/*
 * As often as the descriptors are looked at: all that may be served is, for there is always one
 * more.
 */
static void look(struct storm *s)
{
	while (sa_share_may(&s->share, s->now_us, SLICE_US, s->busy)) {
		s->now_us += BATCH * REQUEST_US;
		s->served += BATCH;
		sa_share_spend(&s->share, BATCH * REQUEST_US);
		if (!s->busy)
			return;
	}
}

/* Time that an update of 80 ms takes, if it works for so long between two looks. */
static uint64_t update_us(struct storm *s, uint64_t piece_us)
{
	uint64_t start = s->now_us;

	for (uint64_t done = 0; done < 80000; done += piece_us) {
		s->now_us += piece_us;
		look(s);
	}
	return s->now_us - start;
}

static void a_storm_takes_a_twentieth_however_often_descriptors_are_looked_at(void **state)
{
	static const uint64_t pieces_us[] = { 10, 100, 1000, 5000 };

	for (size_t i = 0; i < sizeof(pieces_us) / sizeof(pieces_us[0]); i++) {
		struct storm s = { .busy = true, .now_us = 77000000 };
		uint64_t took;

		look(&s); /* nothing is saved up from before */
		s.served = 0;
		took = update_us(&s, pieces_us[i]);
		assert_in_range(took, 80000 + 80000 / 40, 80000 + 80000 / 10);
		assert_in_range(s.served * REQUEST_US, 80000 / 40, 80000 / 10);
	}
}

static void without_other_work_all_are_served(void **state)
{
	struct storm s = { .now_us = 1000 };

	for (unsigned i = 0; i < 1000; i++)
		look(&s);
	assert_int_equal(s.now_us, 1000 + 1000 * BATCH * REQUEST_US);
}

static void what_was_served_when_idle_is_no_debt(void **state)
{
	struct storm s = { .now_us = 1000 };

	for (unsigned i = 0; i < 1000; i++)
		look(&s);
	s.busy = true;
	s.served = 0;
	update_us(&s, 1000);
	assert_true(s.served > 0);
}

/* One request that took a second: the next are served within a fifth of one. */
static void a_long_one_does_not_keep_the_others_waiting_for_long(void **state)
{
	struct sa_share share = { 0 };

	assert_false(sa_share_may(&share, 0, SLICE_US, true));
	assert_true(sa_share_may(&share, 1000, SLICE_US, true));
	sa_share_spend(&share, 1000000);
	assert_false(sa_share_may(&share, 1001000, SLICE_US, true));
	for (uint64_t us = 1002000; us < 1300000; us += 1000)
		if (sa_share_may(&share, us, SLICE_US, true))
			return;
	fail();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_storm_takes_a_twentieth_however_often_descriptors_are_looked_at),
		cmocka_unit_test(without_other_work_all_are_served),
		cmocka_unit_test(what_was_served_when_idle_is_no_debt),
		cmocka_unit_test(a_long_one_does_not_keep_the_others_waiting_for_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
