/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* From readings of counters to what is thought of a link. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/perf/judge.h"
#include "tests/fabric/double_answers.h"
#include "topology/base/mem.h"

#define S 1000000ull

static const struct judge_limits limits = {
	.limit = { [JUDGE_SYMBOL] = 10,
		   [JUDGE_RCV] = 10,
		   [JUDGE_INTEGRITY] = 5,
		   [JUDGE_RECOVERED] = 3,
		   [JUDGE_DOWNED] = 3,
		   [JUDGE_DISCARDS] = 100,
		   [JUDGE_WAIT] = 50 },
	.confirm = 2,
	.recover = 3,
};

struct link { /* a port that is read every 30 s */
	struct judge_port port;
	struct wire_perf counters;
	uint64_t now_us;
};

static struct link link_new(void)
{
	struct link l = { .now_us = S };
	uint8_t data[WIRE_GMP_DATA];

	wire_perf_encode(&l.counters, data);
	wire_perf_decode(data, &l.counters); /* the ends of PortCounters */
	return l;
}

static bool link_read(struct link *l)
{
	bool changed = judge_take(&l->port, &limits, &l->counters, 1000, l->now_us);

	l->now_us += 30 * S;
	return changed;
}

static void totals_of_the_past_say_nothing(void **state)
{
	struct link l = link_new();

	l.counters.value[PERF_SYMBOL] = 40000;
	for (int i = 0; i < 20; i++)
		assert_false(link_read(&l));
	assert_int_equal(l.port.state, JUDGE_WELL);
}

static void errors_warn_at_once_and_are_confirmed(void **state)
{
	struct link l = link_new();

	link_read(&l);
	l.counters.value[PERF_SYMBOL] += 20;
	assert_true(link_read(&l));
	assert_int_equal(l.port.state, JUDGE_WARN);
	assert_int_equal(l.port.why, JUDGE_SYMBOL);
	l.counters.value[PERF_SYMBOL] += 20;
	assert_true(link_read(&l));
	assert_int_equal(l.port.state, JUDGE_SICK);
}

static void one_burst_is_a_warning_and_no_more(void **state)
{
	struct link l = link_new();

	link_read(&l);
	l.counters.value[PERF_RCV_ERRORS] += 11;
	link_read(&l);
	for (int i = 0; i < 10; i++)
		link_read(&l);
	assert_int_equal(l.port.state, JUDGE_WELL);
}

static void unhealthy_link_is_healthy_after_some_good_readings(void **state)
{
	struct link l = link_new();
	unsigned readings = 0;

	link_read(&l);
	for (int i = 0; i < 4; i++) {
		l.counters.value[PERF_SYMBOL] += 1000;
		link_read(&l);
	}
	assert_int_equal(l.port.state, JUDGE_SICK);
	while (l.port.state == JUDGE_SICK && readings < 100) {
		link_read(&l);
		readings++;
	}
	assert_int_equal(l.port.state, JUDGE_WELL);
	assert_in_range(readings, 3, 30);
}

static void link_at_the_edge_does_not_flicker(void **state)
{
	struct link l = link_new();
	unsigned changes = 0;

	link_read(&l);
	for (int i = 0; i < 200; i++) { /* about 7 to 11 a minute, over and under the limit of 10 */
		l.counters.value[PERF_SYMBOL] += i % 8 < 4 ? 3 : 5;
		changes += link_read(&l);
	}
	assert_in_range(changes, 1, 2);
}

static void counter_that_jumps_back_counts_from_nothing(void **state)
{
	struct link l = link_new();

	l.counters.value[PERF_SYMBOL] = 60000;
	link_read(&l);
	l.counters.value[PERF_SYMBOL] = 3; /* another tool cleared it */
	assert_false(link_read(&l));
	assert_true(l.port.rate[JUDGE_SYMBOL] <= 3);
}

static void counter_at_its_end_is_reported(void **state)
{
	struct link l = link_new();

	l.counters.value[PERF_SYMBOL] = 0xffff;
	l.counters.value[PERF_INTEGRITY] = 15;
	link_read(&l);
	assert_int_equal(l.port.full, 1u << PERF_SYMBOL | 1u << PERF_INTEGRITY);
}

static void lost_trainings_are_counted_by_the_hour(void **state)
{
	struct link l = link_new();

	link_read(&l);
	for (int minute = 0; minute < 40; minute++) {
		l.counters.value[PERF_DOWNED] += minute % 10 == 0;
		link_read(&l);
		link_read(&l);
	}
	assert_int_equal(l.port.state, JUDGE_SICK);
	assert_int_equal(l.port.why, JUDGE_DOWNED);
}

static void congestion_warns_and_makes_no_link_unhealthy(void **state)
{
	struct link l = link_new();

	link_read(&l);
	for (int i = 0; i < 20; i++) {
		l.counters.value[PERF_XMIT_WAIT] += 1000 * 30 * 9 / 10;
		l.counters.value[PERF_XMIT_DISCARDS] += 1000;
		link_read(&l);
	}
	assert_int_equal(l.port.state, JUDGE_WARN);
	assert_true(l.port.rate[JUDGE_WAIT] > 89 && l.port.rate[JUDGE_WAIT] < 91);
}

static void wide_wait_counter_goes_past_32_bits(void **state)
{
	struct link l = link_new();

	for (unsigned i = 0; i < PERF_COUNTERS; i++)
		l.counters.full[i] = UINT64_MAX;
	l.counters.value[PERF_XMIT_WAIT] = 0xfffffff0u;
	link_read(&l);
	l.counters.value[PERF_XMIT_WAIT] += 3000;
	link_read(&l);
	assert_true(l.port.rate[JUDGE_WAIT] > 9.9f && l.port.rate[JUDGE_WAIT] < 10.1f);
}

static void limit_of_nothing_judges_nothing(void **state)
{
	struct judge_limits none = { .confirm = 2, .recover = 3 };
	struct link l = link_new();

	for (int i = 0; i < 10; i++) {
		l.counters.value[PERF_SYMBOL] += 1000;
		assert_false(judge_take(&l.port, &none, &l.counters, 1000, l.now_us += S));
	}
}

/* A reading of FEC every 30 s, over a link of 1e9 words a second: 96e9 symbols. */
static void fec_read(struct link *l, struct judge_fec *fec, uint64_t corrected,
		     uint64_t uncorrected, uint64_t symbols)
{
	const uint64_t now[WIRE_FEC_COUNTERS] = { corrected, uncorrected, symbols };

	judge_take_fec(&l->port, fec, now, 1e9, l->now_us);
	link_read(l);
}

static void fec_is_judged_by_what_was_added(void **state)
{
	struct judge_fec fec = { 0 };
	struct link l = link_new();

	fec_read(&l, &fec, 70000, 500, 1 << 30); /* of the past */
	fec_read(&l, &fec, 70000, 500, 1 << 30);
	assert_true(l.port.rate[JUDGE_FEC_UNCORRECTED] == 0);
	fec_read(&l, &fec, 70600, 504, (1 << 30) + 192000);
	assert_float_equal(l.port.rate[JUDGE_FEC_CORRECTED], 600, 0.01);
	assert_float_equal(l.port.rate[JUDGE_FEC_UNCORRECTED], 4, 0.01);
	assert_float_equal(l.port.rate[JUDGE_FEC_SYMBOLS], 2000, 0.5); /* 2e-6 */
	fec_read(&l, &fec, 100, 0, 0);				       /* somebody cleared them */
	assert_true(l.port.rate[JUDGE_FEC_CORRECTED] < 600 + 100);
	assert_true(l.port.rate[JUDGE_FEC_UNCORRECTED] < 4);
	assert_true(l.port.rate[JUDGE_FEC_SYMBOLS] == 0);
	assert_int_equal(l.port.state, JUDGE_WELL);
}

static void symbols_that_fec_corrects_only_warn(void **state)
{
	struct judge_fec fec = { 0 };
	struct judge_limits some = limits;
	struct link l = link_new();

	some.limit[JUDGE_FEC_SYMBOLS] = 10000;
	for (unsigned i = 0; i < 4; i++) {
		const uint64_t now[WIRE_FEC_COUNTERS] = { 0, 0, i * 1920000ull }; /* 2e-5 */

		judge_take_fec(&l.port, &fec, now, 1e9, l.now_us);
		judge_take(&l.port, &some, &l.counters, 1000, l.now_us);
		l.now_us += 30 * S;
	}
	assert_int_equal(l.port.state, JUDGE_WARN);
	assert_int_equal(l.port.why, JUDGE_FEC_SYMBOLS);
	judge_take_fec(&l.port, &fec, NULL, 0, 0); /* it is not counted any more */
	for (unsigned i = 0; i < 4; i++) {
		judge_take(&l.port, &some, &l.counters, 1000, l.now_us);
		l.now_us += 30 * S;
	}
	assert_int_equal(l.port.state, JUDGE_WELL);
}

static void fec_counter_at_its_end_is_known(void **state)
{
	struct judge_fec fec = { 0 };
	struct link l = link_new();

	fec_read(&l, &fec, 1, 1, UINT32_MAX);
	assert_int_equal(fec.full, 1 << WIRE_FEC_SYMBOLS);
	fec_read(&l, &fec, 1, 1, 7);
	assert_int_equal(fec.full, 0);
}

/* ---- Readings that can not be, or need another ----------------------------------------------- */

static enum judge_reading weigh(const struct link *l, const struct wire_perf *before)
{
	return judge_weigh(&l->port, &limits, before ? before->value : NULL, &l->counters, 1e9,
			   l->now_us);
}

static struct link link_that_is_known(void)
{
	struct link l = link_new();

	l.counters.value[PERF_SYMBOL] = 40000;
	l.counters.value[PERF_DOWNED] = 7;
	link_read(&l);
	link_read(&l);
	return l;
}

static void reading_that_adds_errors_is_made_twice(void **state)
{
	struct link l = link_that_is_known();
	struct wire_perf first;

	assert_int_equal(weigh(&l, NULL), JUDGE_TAKE);
	l.counters.value[PERF_SYMBOL] += 1;
	assert_int_equal(weigh(&l, NULL), JUDGE_TWICE);
	first = l.counters;
	assert_int_equal(weigh(&l, &first), JUDGE_TAKE);
	l.counters.value[PERF_SYMBOL] -= 1; /* the first was false */
	assert_int_equal(weigh(&l, &first), JUDGE_TAKE);
	l.counters.value[PERF_SYMBOL] += 9000; /* this one is, or both */
	assert_int_equal(weigh(&l, &first), JUDGE_TWICE);
}

static void reading_that_is_false_in_the_upper_half_alone_is_made_twice(void **state)
{
	struct link l = link_that_is_known();

	for (unsigned i = 0; i < PERF_ERRORS; i++) {
		l.counters.value[i] += 1ull << 40;
		assert_int_equal(weigh(&l, NULL), JUDGE_TWICE);
		l.counters.value[i] -= 1ull << 40;
		assert_int_equal(weigh(&l, NULL), JUDGE_TAKE);
	}
}

static void reading_that_would_only_warn_is_made_twice(void **state)
{
	static const struct {
		unsigned counter;
		uint64_t more;
	} cases[] = { { PERF_XMIT_DISCARDS, 1000 * S }, { PERF_XMIT_WAIT, 25000 * S } };
	const uint64_t past[WIRE_FEC_COUNTERS] = { 70000, 500, 1 << 20 };
	uint64_t now[WIRE_FEC_COUNTERS] = { 70000, 500, (1 << 20) + 96000 * 1000 };
	struct judge_limits some = limits;
	struct link l = link_that_is_known();
	struct judge_fec fec = { 0 };
	struct wire_perf first;

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t *value = &l.counters.value[cases[i].counter], was = *value;

		*value += cases[i].more;
		first = l.counters;
		assert_int_equal(weigh(&l, NULL), JUDGE_TWICE);
		assert_int_equal(weigh(&l, &first), JUDGE_TAKE); /* it is so */
		*value = was + 1;
		assert_int_equal(weigh(&l, &first), JUDGE_TAKE); /* the first was false */
		*value = was + 3 * cases[i].more;
		assert_int_equal(weigh(&l, &first), JUDGE_TWICE); /* one of them is */
		*value = was;
	}
	some.limit[JUDGE_FEC_SYMBOLS] = 10000;
	judge_take_fec(&l.port, &fec, past, 1e9, S);
	judge_take_fec(&l.port, &fec, past, 1e9, 31 * S);
	assert_int_equal(judge_weigh_fec(&l.port, &fec, &some, NULL, now, 1e9, 61 * S),
			 JUDGE_TWICE);
	assert_int_equal(judge_weigh_fec(&l.port, &fec, &some, now, now, 1e9, 61 * S), JUDGE_TAKE);
}

static void total_of_waiting_is_no_share_of_the_time(void **state)
{
	struct link l = link_new();
	struct wire_perf first;

	l.counters.value[PERF_XMIT_WAIT] = 29 * S * 1000;
	link_read(&l);
	link_read(&l);
	l.counters.value[PERF_XMIT_WAIT] = 0; /* which is false */
	assert_int_equal(weigh(&l, NULL), JUDGE_TWICE);
	first = l.counters;
	l.counters.value[PERF_XMIT_WAIT] = 29 * S * 1000;
	assert_int_equal(weigh(&l, &first), JUDGE_TAKE);
}

static void totals_of_the_past_count_against_no_link(void **state)
{
	struct link l = link_new(), known = link_that_is_known();
	struct wire_perf first;

	link_read(&l); /* all zero, which was false */
	l.counters.value[PERF_SYMBOL] = 40000;
	first = l.counters;
	assert_int_equal(weigh(&l, NULL), JUDGE_TWICE);
	assert_int_equal(weigh(&l, &first), JUDGE_ANEW);
	known.counters.value[PERF_SYMBOL] = 39000; /* somebody cleared it, long ago */
	first = known.counters;
	assert_int_equal(weigh(&known, NULL), JUDGE_TWICE);
	assert_int_equal(weigh(&known, &first), JUDGE_ANEW);
}

static void what_is_cleared_all_the_time_is_counted(void **state)
{
	struct link l = link_that_is_known();
	unsigned anew = 0;

	for (unsigned i = 0; i < 6; i++) {
		struct wire_perf first;

		l.counters.value[PERF_SYMBOL] = 1000 - i;
		l.counters.value[PERF_DOWNED] = 0;
		first = l.counters;
		assert_int_equal(weigh(&l, NULL), JUDGE_TWICE);
		if (weigh(&l, &first) == JUDGE_ANEW) {
			judge_anew(&l.port, NULL);
			anew++;
		}
		link_read(&l);
	}
	assert_in_range(anew, 1, 3);
	assert_int_equal(l.port.state, JUDGE_SICK);
}

static void what_the_medium_can_not_carry_is_not_counted_if_read_twice(void **state)
{
	struct link l = link_that_is_known();
	struct wire_perf first;

	l.counters.value[PERF_DOWNED] += 100 * 31; /* the last reading is 30 s old */
	first = l.counters;
	assert_int_equal(weigh(&l, NULL), JUDGE_TWICE);
	assert_int_equal(weigh(&l, &first), JUDGE_ANEW);
	l = link_that_is_known();
	for (unsigned i = 0; i < PERF_ERRORS; i++)
		l.counters.value[i] = l.counters.full[i]; /* all of them, at once */
	first = l.counters;
	assert_int_equal(weigh(&l, &first), JUDGE_ANEW);
}

static void blocks_of_fec_are_weighed_as_well(void **state)
{
	const uint64_t past[WIRE_FEC_COUNTERS] = { 70000, 500, 1 << 20 };
	uint64_t now[WIRE_FEC_COUNTERS] = { 90000, 500, 1 << 20 };
	struct link l = link_that_is_known();
	struct judge_fec fec = { 0 };

	judge_take_fec(&l.port, &fec, past, 1e9, S);
	judge_take_fec(&l.port, &fec, past, 1e9, 31 * S);
	assert_int_equal(judge_weigh_fec(&l.port, &fec, &limits, NULL, now, 1e9, 61 * S),
			 JUDGE_TAKE); /* what it mends every day */
	now[WIRE_FEC_UNCORRECTED]++;
	assert_int_equal(judge_weigh_fec(&l.port, &fec, &limits, NULL, now, 1e9, 61 * S),
			 JUDGE_TWICE);
	assert_int_equal(judge_weigh_fec(&l.port, &fec, &limits, now, now, 1e9, 61 * S),
			 JUDGE_TAKE);
	now[WIRE_FEC_UNCORRECTED] += 30 * 7000000; /* 6 million blocks fit in a second */
	assert_int_equal(judge_weigh_fec(&l.port, &fec, &limits, now, now, 1e9, 61 * S),
			 JUDGE_ANEW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_of_the_past_say_nothing),
		cmocka_unit_test(errors_warn_at_once_and_are_confirmed),
		cmocka_unit_test(one_burst_is_a_warning_and_no_more),
		cmocka_unit_test(unhealthy_link_is_healthy_after_some_good_readings),
		cmocka_unit_test(link_at_the_edge_does_not_flicker),
		cmocka_unit_test(counter_that_jumps_back_counts_from_nothing),
		cmocka_unit_test(counter_at_its_end_is_reported),
		cmocka_unit_test(lost_trainings_are_counted_by_the_hour),
		cmocka_unit_test(congestion_warns_and_makes_no_link_unhealthy),
		cmocka_unit_test(wide_wait_counter_goes_past_32_bits),
		cmocka_unit_test(limit_of_nothing_judges_nothing),
		cmocka_unit_test(fec_is_judged_by_what_was_added),
		cmocka_unit_test(symbols_that_fec_corrects_only_warn),
		cmocka_unit_test(fec_counter_at_its_end_is_known),
		cmocka_unit_test(reading_that_adds_errors_is_made_twice),
		cmocka_unit_test(reading_that_is_false_in_the_upper_half_alone_is_made_twice),
		cmocka_unit_test(reading_that_would_only_warn_is_made_twice),
		cmocka_unit_test(total_of_waiting_is_no_share_of_the_time),
		cmocka_unit_test(totals_of_the_past_count_against_no_link),
		cmocka_unit_test(what_is_cleared_all_the_time_is_counted),
		cmocka_unit_test(what_the_medium_can_not_carry_is_not_counted_if_read_twice),
		cmocka_unit_test(blocks_of_fec_are_weighed_as_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
