/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which changes of hosts' verdicts are news, and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "fm/hosts/module.h"

#define S 1000000ull

static const struct watch_conf conf = { 30 * S, 60 * S, 45 * S, 25 };

/* A pass over one host among 31 healthy ones. Whether it is due, and when to come again. */
static bool pass(struct watch *w, enum host_state state, uint64_t at_s, uint64_t *next_s)
{
	char name[24];
	uint64_t next;

	watch_begin(w);
	for (int i = 0; i < 31; i++) {
		snprintf(name, sizeof(name), "well-%d", i);
		watch_take(w, name, HOST_HEALTHY, false, at_s * S);
	}
	watch_take(w, "it", state, false, at_s * S);
	next = watch_end(w, &conf, at_s * S);
	if (next_s)
		*next_s = next == UINT64_MAX ? 0 : next / S;
	for (unsigned i = 0; i < 31; i++)
		assert_false(w->list[i].due);
	return w->list[31].due;
}

static enum host_state report(struct watch *w)
{
	return watch_report(&w->list[31]);
}

static void what_lasts_is_reported_once_and_its_end_too(void **state)
{
	struct watch w = { 0 };
	uint64_t next;

	assert_false(pass(&w, HOST_HEALTHY, 0, &next));
	assert_int_equal(next, 0);
	assert_false(pass(&w, HOST_DEGRADED, 10, &next));
	assert_int_equal(next, 30);
	assert_false(pass(&w, HOST_CUT_OFF, 30, &next)); /* worse still: no new wait */
	assert_int_equal(next, 10);
	assert_true(pass(&w, HOST_CUT_OFF, 40, NULL));
	assert_int_equal(report(&w), HOST_HEALTHY);
	assert_false(pass(&w, HOST_CUT_OFF, 41, &next));
	assert_int_equal(next, 0);
	assert_false(pass(&w, HOST_HEALTHY, 50, &next));
	assert_int_equal(next, 60);
	assert_true(pass(&w, HOST_HEALTHY, 110, NULL));
	assert_int_equal(report(&w), HOST_CUT_OFF);
	watch_fini(&w);
}

/* NVLinks' states have lasted by their own room: NO_P2P and FATAL come and go at once. */
static void what_has_lasted_already_is_not_held_twice(void **state)
{
	struct watch w = { 0 };

	for (unsigned i = 0; i < 2; i++) {
		watch_begin(&w);
		watch_take(&w, "it", i ? HOST_NO_P2P : HOST_HEALTHY, i, i * S);
		watch_end(&w, &conf, i * S);
		assert_int_equal(w.list[0].due, i);
	}
	assert_int_equal(watch_report(&w.list[0]), HOST_HEALTHY);
	watch_begin(&w);
	watch_take(&w, "it", HOST_HEALTHY, false, 400 * S);
	watch_end(&w, &conf, 400 * S);
	assert_true(w.list[0].due);
	watch_fini(&w);
}

static void a_verdict_that_ends_within_its_hold_time_is_not_reported(void **state)
{
	struct watch w = { 0 };

	pass(&w, HOST_HEALTHY, 0, NULL);
	for (unsigned i = 0; i < 10; i++) {
		assert_false(pass(&w, HOST_CUT_OFF, 100 + 40 * i, NULL));
		assert_false(pass(&w, HOST_CUT_OFF, 120 + 40 * i, NULL));
		assert_false(pass(&w, HOST_HEALTHY, 125 + 40 * i, NULL));
	}
	watch_fini(&w);
}

static void not_known_waits_for_its_sources(void **state)
{
	struct watch w = { 0 };

	pass(&w, HOST_HEALTHY, 0, NULL);
	pass(&w, HOST_UNKNOWN, 10, NULL);
	assert_false(pass(&w, HOST_UNKNOWN, 50, NULL));
	assert_false(pass(&w, HOST_DEGRADED, 54, NULL)); /* another thing, its own wait */
	assert_true(pass(&w, HOST_DEGRADED, 84, NULL));
	assert_int_equal(report(&w), HOST_HEALTHY);
	watch_fini(&w);
}

static void a_new_host_is_reported_only_if_it_is_degraded(void **state)
{
	struct watch w = { 0 };

	assert_false(pass(&w, HOST_NO_P2P, 0, NULL));
	assert_true(pass(&w, HOST_NO_P2P, 30, NULL));
	assert_int_equal(report(&w), HOST_STATES);
	watch_fini(&w);
}

static void what_an_earlier_life_reported_is_not_reported_again(void **state)
{
	struct watch w = { 0 };

	watch_recall(&w, "it", HOST_DEGRADED);
	assert_false(pass(&w, HOST_DEGRADED, 0, NULL));
	assert_false(pass(&w, HOST_DEGRADED, 1000, NULL));
	assert_false(pass(&w, HOST_HEALTHY, 1001, NULL));
	assert_true(pass(&w, HOST_HEALTHY, 1061, NULL));
	assert_int_equal(report(&w), HOST_DEGRADED);
	watch_fini(&w);
}

static void a_host_that_is_gone_is_forgotten(void **state)
{
	struct watch w = { 0 };

	watch_recall(&w, "gone", HOST_FATAL);
	pass(&w, HOST_HEALTHY, 0, NULL);
	assert_int_equal(w.count, 32);
	watch_fini(&w);
}

static void take_many(struct watch *w, unsigned cut_off, uint64_t at_s)
{
	char name[16];

	watch_begin(w);
	for (unsigned i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "h%u", i);
		watch_take(w, name, i < cut_off ? HOST_CUT_OFF : HOST_HEALTHY, false, at_s * S);
	}
	watch_end(w, &conf, at_s * S);
}

static unsigned due(const struct watch *w)
{
	unsigned count = 0;

	for (unsigned i = 0; i < w->count; i++)
		count += w->list[i].due;
	return count;
}

static void when_very_many_are_cut_off_none_of_them_is_due(void **state)
{
	struct watch w = { 0 };

	take_many(&w, 0, 0);
	take_many(&w, 11, 10);
	take_many(&w, 11, 100);
	assert_true(w.guarded);
	assert_int_equal(due(&w), 0);
	take_many(&w, 10, 101);
	assert_false(w.guarded);
	assert_int_equal(due(&w), 10);
	for (unsigned i = 0; i < 10; i++)
		watch_report(&w.list[i]);
	take_many(&w, 20, 200); /* ten more, one after the other would be */
	take_many(&w, 20, 300);
	assert_false(w.guarded);
	assert_int_equal(due(&w), 10);
	watch_fini(&w);
}

static void a_pass_that_was_not_ended_leaves_nothing(void **state)
{
	struct watch w = { 0 };

	pass(&w, HOST_HEALTHY, 0, NULL);
	watch_begin(&w);
	watch_take(&w, "it", HOST_CUT_OFF, false, S);
	assert_false(pass(&w, HOST_HEALTHY, 2, NULL));
	assert_false(pass(&w, HOST_CUT_OFF, 32, NULL));
	watch_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_lasts_is_reported_once_and_its_end_too),
		cmocka_unit_test(what_has_lasted_already_is_not_held_twice),
		cmocka_unit_test(a_verdict_that_ends_within_its_hold_time_is_not_reported),
		cmocka_unit_test(not_known_waits_for_its_sources),
		cmocka_unit_test(a_new_host_is_reported_only_if_it_is_degraded),
		cmocka_unit_test(what_an_earlier_life_reported_is_not_reported_again),
		cmocka_unit_test(a_host_that_is_gone_is_forgotten),
		cmocka_unit_test(when_very_many_are_cut_off_none_of_them_is_due),
		cmocka_unit_test(a_pass_that_was_not_ended_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
