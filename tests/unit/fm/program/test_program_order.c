/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Build: plain and sanitized. An apply is superseded at thousands of moments. */
/* program's rounds on the fabric double: what failing switches and superseded applies leave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include "fm/loop/log.h"
#include "fm/program/program_priv.h"
#include "routing/ftree/route.h"
#include "tests/fabric/damage.h"
#include "tests/fabric/mixture.h"
#include "tests/lib/sweep_bench.h"

#define LIFE_TIME 0x12

struct world {
	struct bench b;
	struct program *program;
	struct program_result result;
	struct tables before, after; /* with a cable dead, and with it alive */
	struct tables other;	     /* with another one dead */
	struct mixture mix;
	bool judging;
	char fault[512];
	unsigned written;
};

static void set_cb(void *arg, guid_t node, uint16_t attr, uint32_t mod)
{
	struct world *w = arg;
	uint8_t entries[TABLES_BLOCK];
	const char *fault;
	uint32_t i;

	if (attr != WIRE_LFT)
		return;
	w->written++;
	if (!w->judging || w->fault[0])
		return;
	for (i = 0; i < TABLES_BLOCK; i++)
		entries[i] = double_lft(w->b.d, node, (uint16_t)(mod * TABLES_BLOCK + i));
	mixture_write(&w->mix, topo_find(w->b.found, node), mod, entries);
	w->mix.cycles_allowed = w->program->order.drained > TABLES_BLOCK ? UINT32_MAX : 0;
	fault = mixture_fault(&w->mix, mod);
	if (fault)
		strcpy(w->fault, fault);
}

static void tables_without(const struct world *w, const struct topo *cut, struct tables *out)
{
	struct route *route = route_new();

	assert_int_equal(route_compute(route, cut, w->b.lids, NULL, out), 0);
	route_free(route);
}

static void done_cb(void *arg, const struct program_result *result)
{
	struct world *w = arg;

	w->result = *result;
	w->b.sweeps++;
}

static void apply(struct world *w, const struct tables *wanted)
{
	w->written = 0;
	program_apply(w->program, w->b.found, wanted, done_cb, w);
	loop_run(w->b.loop);
	assert_false(w->program->busy);
}

/* The n-th cable between switches, counted from either end. */
static struct topo *cut_cable(const struct topo *t, unsigned n)
{
	struct bench_cable cable = bench_cable(t, 0);

	while (n--)
		cable = bench_cable(t, cable.next);
	return damage_cut(t, topo_find(t, cable.a), cable.port_a);
}

static void world_discover(struct world *w)
{
	struct topo *design = design_pgft3();

	*w = (struct world){ .written = 0 };
	bench_init(&w->b, design, NULL);
	bench_discover(&w->b);
	w->b.lids = lid_plan(w->b.found, NULL, 0);
}

/* `before` lacks one cable between switches, `other` another one; `after` has them all. */
static void world_init(struct world *w, unsigned first, unsigned second)
{
	struct topo *cut;

	world_discover(w);
	cut = cut_cable(w->b.found, first);
	tables_without(w, cut, &w->before);
	topo_unref(cut);
	cut = cut_cable(w->b.found, second);
	tables_without(w, cut, &w->other);
	topo_unref(cut);
	tables_without(w, w->b.found, &w->after);
	w->program = program_new(w->b.loop, w->b.mad, sweep_inventory(w->b.sweep), LIFE_TIME);
	double_on_set(w->b.d, set_cb, w);
	apply(w, &w->before);
	mixture_init(&w->mix, w->b.found, w->b.lids, &w->before, &w->after);
	w->judging = true;
}

static void world_fini(struct world *w)
{
	mixture_fini(&w->mix);
	program_free(w->program);
	tables_fini(&w->before);
	tables_fini(&w->after);
	tables_fini(&w->other);
	bench_fini(&w->b);
}

static void assert_sound(const struct world *w)
{
	if (w->fault[0])
		fail_msg("%s", w->fault);
}

static void assert_held(const struct world *w, const struct tables *tables)
{
	uint32_t row, lid;

	for (row = 0; row < w->b.found->nswitches; row++)
		for (lid = 1; lid <= tables->top; lid++)
			assert_int_equal(
				double_lft(w->b.d, w->b.found->nodes[row].guid, (uint16_t)lid),
				tables_row(tables, row)[lid]);
}

static void a_change_goes_in_rounds_and_a_cold_start_at_once(void **state)
{
	struct world w;

	world_init(&w, 0, 1);
	assert_int_equal(w.result.rounds, 1);
	apply(&w, &w.after);
	assert_sound(&w);
	assert_true(w.result.rounds > 1);
	assert_int_equal(w.result.blocks, w.written);
	assert_int_equal(w.result.held, 0);
	assert_held(&w, &w.after);
	world_fini(&w);
}

/* Switches that get SwitchInfo first answer while others are still planned for. */
static void a_change_goes_in_rounds_with_a_new_life_time_too(void **state)
{
	struct world w;
	unsigned first;

	for (first = 0; first < 9; first++) {
		world_init(&w, first, first + 1);
		loop_set_pace(w.b.loop, (struct loop_pace){ .slice_us = 0, .gap_us = 500 });
		program_configure(w.program, LIFE_TIME + 1);
		apply(&w, &w.after);
		assert_sound(&w);
		assert_true(w.result.rounds > 1);
		assert_int_equal(w.result.blocks, w.written);
		assert_held(&w, &w.after);
		world_fini(&w);
	}
}

/* Whoever fails, nobody loses what he had; and when it is well again, all is as wanted. */
static void fails_in_turn(void (*fail_it)(struct double_fabric *d, guid_t sw, bool on))
{
	unsigned held = 0, row, n;
	struct world w;

	for (row = 0, n = 1; row < n; row++) {
		guid_t sw;

		world_init(&w, 0, 1);
		n = w.b.found->nswitches;
		sw = w.b.found->nodes[row].guid;
		fail_it(w.b.d, sw, true);
		apply(&w, &w.after);
		assert_sound(&w);
		held += w.result.held;
		fail_it(w.b.d, sw, false);
		w.judging = false; /* what it holds is not known: no promise */
		apply(&w, &w.after);
		assert_int_equal(w.result.failed + w.result.held, 0);
		assert_held(&w, &w.after);
		world_fini(&w);
	}
	assert_true(held > 0);
}

static void refuse(struct double_fabric *d, guid_t sw, bool on)
{
	double_set_fault(d, sw, DOUBLE_BAD_STATUS, on ? 1000 : 0, 0x1c);
}

static void a_switch_that_refuses_keeps_others_from_sending_there(void **state)
{
	fails_in_turn(refuse);
}

static void a_silent_switch_keeps_others_from_sending_there(void **state)
{
	fails_in_turn(double_set_silent);
}

/* False: the first apply was over by then. */
static bool supersede_at(unsigned first, unsigned second, unsigned when)
{
	struct loop_timer *stop;
	struct world w;
	bool busy;

	world_init(&w, first, second);
	mixture_goes_by(&w.mix, &w.other);
	program_apply(w.program, w.b.found, &w.after, done_cb, &w);
	stop = loop_timer_new(w.b.loop, (loop_fn *)loop_stop, w.b.loop);
	loop_timer_set(stop, when);
	loop_run(w.b.loop);
	loop_timer_free(stop);
	busy = w.program->busy;
	apply(&w, &w.other);
	assert_sound(&w);
	assert_held(&w, &w.other);
	world_fini(&w);
	return busy;
}

static void a_newer_apply_starts_from_what_is_there(void **state)
{
	unsigned first, second, when;

	for (first = 0; first < 9; first += damage_stride(3))
		for (second = 0; second < 9; second += damage_stride(2)) {
			for (when = 0; supersede_at(first, second, when); when += 5)
				;
			assert_true(when > 20 || first == second);
		}
}

/*
 * Answers that take longer than is waited: the blocks count as unknown, and are right in the end.
 */
static void a_late_answer_to_an_older_apply_is_waited_for_in_vain(void **state)
{
	struct loop_timer *stop;
	struct world w;
	uint32_t row;

	world_init(&w, 0, 1);
	for (row = 0; row < w.b.found->nswitches; row += 2)
		double_set_fault(w.b.d, w.b.found->nodes[row].guid, DOUBLE_DELAY, 1000, 60000);
	w.judging = false;
	program_apply(w.program, w.b.found, &w.after, done_cb, &w);
	stop = loop_timer_new(w.b.loop, (loop_fn *)loop_stop, w.b.loop);
	loop_timer_set(stop, 100);
	loop_run(w.b.loop);
	loop_timer_free(stop);
	assert_true(w.program->busy);
	apply(&w, &w.other);
	assert_int_equal(w.result.failed, 0);
	assert_held(&w, &w.other);
	world_fini(&w);
}

/*
 * Many paths change as switches come back with empty tables; perhaps one refuses what it is sent.
 */
static void reboots_in_an_upheaval(uint64_t seed, bool refuses)
{
	struct world w;
	struct topo *cut;

	world_discover(&w);
	cut = damage_links(w.b.found, 10 + seed % 30, seed);
	tables_without(&w, cut, &w.before);
	topo_unref(cut);
	cut = damage_links(w.b.found, 10 + seed % 20, ~seed);
	tables_without(&w, cut, &w.after);
	topo_unref(cut);
	w.program = program_new(w.b.loop, w.b.mad, sweep_inventory(w.b.sweep), LIFE_TIME);
	double_on_set(w.b.d, set_cb, &w);
	apply(&w, &w.before);
	tables_copy(&w.other, &w.before);
	for (unsigned n = 0; n < 1 + seed % 4; n++) {
		uint32_t row = (seed / 4 + 5 * n) % w.b.found->nswitches;

		double_reboot(w.b.d, w.b.found->nodes[row].guid);
		memset(tables_row(&w.other, row), TABLES_NO_ROUTE, w.other.stride);
	}
	bench_poll(&w.b);
	bench_refresh(&w.b, w.b.changed, w.b.result.nchanged);
	if (refuses)
		refuse(w.b.d, w.b.found->nodes[(seed / 4 + 2) % w.b.found->nswitches].guid, true);
	mixture_init(&w.mix, w.b.found, w.b.lids, &w.other, &w.after);
	w.mix.gone_allowed = TABLES_BLOCK; /* where an order has to drain some */
	w.judging = true;
	apply(&w, &w.after);
	assert_sound(&w);
	if (!refuses)
		assert_held(&w, &w.after);
	world_fini(&w);
}

static void a_switch_that_lost_its_tables_gets_entries_in_their_turns(void **state)
{
	for (uint64_t seed = 1; seed <= 24; seed++)
		reboots_in_an_upheaval(seed, seed % 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_goes_in_rounds_and_a_cold_start_at_once),
		cmocka_unit_test(a_change_goes_in_rounds_with_a_new_life_time_too),
		cmocka_unit_test(a_switch_that_refuses_keeps_others_from_sending_there),
		cmocka_unit_test(a_silent_switch_keeps_others_from_sending_there),
		cmocka_unit_test(a_newer_apply_starts_from_what_is_there),
		cmocka_unit_test(a_late_answer_to_an_older_apply_is_waited_for_in_vain),
		cmocka_unit_test(a_switch_that_lost_its_tables_gets_entries_in_their_turns),
	};

	log_set_level(-1, LOG_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
