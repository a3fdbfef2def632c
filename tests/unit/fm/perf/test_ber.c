/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Error rates over windows of minutes and hours, from readings a minute apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>
#include "fm/perf/judge.h"

#define MINUTE_US 60000000ull
#define NDR	  425e9 /* bits a second of 4 lanes */

/* Ten errors in 12 minutes of NDR, 20 in 125. */
static const struct ber_conf conf = { .window_us = { 12 * MINUTE_US, 125 * MINUTE_US },
				      .limit = { 10 / (NDR * 720), 20 / (NDR * 7500) } };

struct link {
	struct ber_port port;
	uint64_t now_us;
};

static bool read_with(struct link *l, struct ber_reading r)
{
	l->now_us += MINUTE_US;
	r.now_us = l->now_us;
	r.bits_s = NDR;
	r.lenience = r.lenience > 0 ? r.lenience : 1;
	return ber_take(&l->port, &conf, &r);
}

static bool minute(struct link *l, uint32_t symbols)
{
	return read_with(l, (struct ber_reading){ .errors = { symbols } });
}

static void minutes(struct link *l, unsigned count, uint32_t symbols)
{
	while (count--)
		minute(l, symbols);
}

static struct link begin(void)
{
	struct link l = { .now_us = 1000 * MINUTE_US };

	minute(&l, 1000); /* what was counted before anybody looked */
	assert_false(ber_is_over(&l.port));
	return l;
}

static void a_burst_is_caught_by_the_window_of_minutes(void **state)
{
	struct link l = begin();

	minutes(&l, 30, 0);
	assert_false(minute(&l, 10));
	assert_true(minute(&l, 1));
	assert_true(ber_is_over(&l.port));
	assert_int_equal(l.port.window, BER_SHORT);
	ber_forget(&l.port);
}

/* One error in five minutes never fills twelve with ten, and is 25 in 125. */
static void a_slow_decay_is_caught_by_the_window_of_hours(void **state)
{
	struct link l = begin();
	unsigned minute_of;

	for (minute_of = 0; minute_of < 300 && !ber_is_over(&l.port); minute_of++)
		minute(&l, minute_of % 5 == 0);
	assert_in_range(minute_of, 100, 110);
	assert_int_equal(l.port.window, BER_LONG);
	ber_forget(&l.port);
}

static void errors_within_the_limits_are_none(void **state)
{
	struct link l = begin();

	for (unsigned i = 0; i < 2000; i++)
		assert_false(minute(&l, i % 7 == 0));
	ber_forget(&l.port);
}

static void a_link_is_clean_when_its_errors_have_left_both_windows(void **state)
{
	struct link l = begin();

	minute(&l, 21);
	assert_true(ber_is_over(&l.port));
	minutes(&l, 124, 0);
	assert_true(ber_is_over(&l.port));
	assert_int_equal(ber_clean_for_us(&l.port), 0);
	minutes(&l, 6, 0);
	assert_false(ber_is_over(&l.port));
	minutes(&l, 10, 0);
	assert_in_range(ber_clean_for_us(&l.port), 10 * MINUTE_US, 15 * MINUTE_US);
	assert_null(l.port.ring);
	ber_forget(&l.port);
}

static void few_errors_are_chance_whatever_the_limit(void **state)
{
	const struct ber_conf strict = { .window_us = { 12 * MINUTE_US, 125 * MINUTE_US },
					 .limit = { 1e-20, 1e-20 } };
	struct ber_port port = { 0 };
	struct ber_reading r = { .bits_s = NDR, .lenience = 1, .now_us = MINUTE_US };

	ber_take(&port, &strict, &r);
	for (unsigned i = 1; i < BER_ERRORS_MIN; i++) {
		r.now_us += MINUTE_US;
		r.errors[BER_SYMBOL] = 1;
		assert_false(ber_take(&port, &strict, &r));
	}
	r.now_us += MINUTE_US;
	assert_true(ber_take(&port, &strict, &r));
	ber_forget(&port);
}

static void errors_of_training_do_not_count(void **state)
{
	struct link l = begin();

	assert_false(read_with(&l, (struct ber_reading){ .errors = { 5000 }, .trained = true }));
	assert_false(minute(&l, 0));
	ber_forget(&l.port);
}

static void links_that_correct_nothing_may_have_more(void **state)
{
	struct link l = begin();

	assert_false(read_with(&l, (struct ber_reading){ .errors = { 90 }, .lenience = 10 }));
	assert_true(read_with(&l, (struct ber_reading){ .errors = { 11 }, .lenience = 10 }));
	ber_forget(&l.port);
}

static void uncorrected_blocks_count_by_themselves(void **state)
{
	struct link l = begin();

	assert_false(read_with(&l, (struct ber_reading){ .errors = { 6, 6 } }));
	assert_true(read_with(&l, (struct ber_reading){ .errors = { 0, 5 } }));
	assert_int_equal(l.port.kind, BER_EFFECTIVE);
	ber_forget(&l.port);
}

#define assert_near(value, wanted) assert_true(fabs((value) - (wanted)) < (wanted)*0.02)

static void shares_are_of_the_bits_that_were_seen(void **state)
{
	struct link l = begin();

	minutes(&l, 2, 3);
	assert_near(ber_share(&l.port, &conf, BER_SYMBOL, BER_SHORT, NDR), 6 / (NDR * 120));
	minutes(&l, 30, 0);
	assert_true(ber_share(&l.port, &conf, BER_SYMBOL, BER_SHORT, NDR) == 0);
	assert_near(ber_share(&l.port, &conf, BER_SYMBOL, BER_LONG, NDR), 6 / (NDR * 32 * 60));
	for (unsigned i = 0; i < 500; i++)
		read_with(&l, (struct ber_reading){ .raw = NDR * 60 * 1e-6 });
	for (unsigned w = 0; w < BER_WINDOWS; w++)
		assert_true(fabs(ber_share(&l.port, &conf, BER_RAW, w, NDR) / 1e-6 - 1) < 0.1);
	assert_true(ber_share(&l.port, &conf, BER_SYMBOL, BER_LONG, 0) == 0);
	ber_forget(&l.port);
}

static void readings_far_apart_are_judged_as_well(void **state)
{
	struct link l = begin();

	l.now_us += 1000 * MINUTE_US;
	assert_true(minute(&l, 30));
	l.now_us += 1000 * MINUTE_US;
	assert_true(minute(&l, 0));
	assert_false(ber_is_over(&l.port));
	ber_forget(&l.port);
}

static void a_window_without_a_limit_is_not_judged(void **state)
{
	const struct ber_conf off = { .window_us = { 12 * MINUTE_US, 0 }, .limit = { 0, 1e-20 } };
	struct ber_port port = { 0 };
	struct ber_reading r = { .bits_s = NDR, .lenience = 1, .now_us = MINUTE_US };

	ber_take(&port, &off, &r);
	r.now_us += MINUTE_US;
	r.errors[BER_SYMBOL] = 1000000;
	r.raw = 1e9;
	assert_false(ber_take(&port, &off, &r));
	assert_true(ber_share(&port, &off, BER_RAW, BER_LONG, NDR) == 0);
	ber_forget(&port);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_is_caught_by_the_window_of_minutes),
		cmocka_unit_test(a_slow_decay_is_caught_by_the_window_of_hours),
		cmocka_unit_test(errors_within_the_limits_are_none),
		cmocka_unit_test(a_link_is_clean_when_its_errors_have_left_both_windows),
		cmocka_unit_test(few_errors_are_chance_whatever_the_limit),
		cmocka_unit_test(errors_of_training_do_not_count),
		cmocka_unit_test(links_that_correct_nothing_may_have_more),
		cmocka_unit_test(uncorrected_blocks_count_by_themselves),
		cmocka_unit_test(shares_are_of_the_bits_that_were_seen),
		cmocka_unit_test(readings_far_apart_are_judged_as_well),
		cmocka_unit_test(a_window_without_a_limit_is_not_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
