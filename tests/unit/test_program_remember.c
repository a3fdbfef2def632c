/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* program after a restart, on the fabric double: what a file claims is read before anything is built on it, and what is to change first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include "fm/core/log.h"
#include "fm/program/program.h"
#include "routing/route.h"
#include "tests/fabric/damage.h"
#include "tests/fabric/mixture.h"
#include "tests/unit/sweep_bench.h"

#define LIFE_TIME 0x12
#define CHANGED	  (2 * TABLES_BLOCK) /* LIDs below that */

struct world {
	struct bench b;
	char path[64];
	struct program *program;
	struct program_result result;
	struct tables before, after; /* with a cable dead, and with it alive for some LIDs */
	struct mixture mix;
	bool judging;
	char fault[512];
	unsigned written;
	uint64_t read; /* of blocks, when the first one was written */
};

static void set_cb(void *arg, guid_t node, uint16_t attr, uint32_t mod)
{
	struct world *w = arg;
	uint8_t entries[TABLES_BLOCK];
	const char *fault;

	if (attr != WIRE_LFT)
		return;
	if (!w->written++)
		w->read = double_sent(w->b.d, WIRE_GET, WIRE_LFT);
	if (!w->judging || w->fault[0])
		return;
	for (uint32_t i = 0; i < TABLES_BLOCK; i++)
		entries[i] = double_lft(w->b.d, node, (uint16_t)(mod * TABLES_BLOCK + i));
	mixture_write(&w->mix, topo_find(w->b.found, node), mod, entries);
	fault = mixture_fault(&w->mix, mod);
	if (fault)
		strcpy(w->fault, fault);
}

static void done_cb(void *arg, const struct program_result *result)
{
	struct world *w = arg;

	w->result = *result;
	w->b.looks++;
}

static void begin(struct world *w, const struct tables *wanted)
{
	w->written = 0;
	double_sent_reset(w->b.d);
	program_apply(w->program, w->b.found, wanted, done_cb, w);
}

static void apply(struct world *w, const struct tables *wanted)
{
	begin(w, wanted);
	loop_run(w->b.loop);
	assert_false(program_busy(w->program));
}

static void program_begin(struct world *w)
{
	w->program = program_new(w->b.loop, w->b.mad, sweep_inventory(w->b.sweep), LIFE_TIME);
	program_remember(w->program, w->path);
}

static void save(struct world *w)
{
	FILE *out = fopen(w->path, "w");

	program_write_tables(w->program, out);
	assert_int_equal(fclose(out), 0);
}

/* A new daemon, which knows the file and nothing else. */
static void program_again(struct world *w)
{
	program_free(w->program);
	program_begin(w);
}

static void tables_of(const struct world *w, const struct topo *t, struct tables *out)
{
	struct route *route = route_new();

	assert_int_equal(route_compute(route, t, w->b.lids, NULL, out), 0);
	route_free(route);
}

/* Several LIDs a port, so that tables have several blocks. */
static void world_init(struct world *w)
{
	struct bench_cable cable;
	struct topo *cut;

	*w = (struct world){ .written = 0 };
	strcpy(w->path, "/tmp/fmd-tables-XXXXXX");
	close(mkstemp(w->path));
	unlink(w->path);
	bench_init(&w->b, design_pgft3(), NULL);
	bench_discover(&w->b);
	w->b.lids = lid_plan_lmc(w->b.found, NULL, 3);
	cable = bench_cable(w->b.found, 0);
	cut = damage_cut(w->b.found, topo_find(w->b.found, cable.a), cable.port_a);
	tables_of(w, cut, &w->before);
	topo_unref(cut);
	tables_of(w, w->b.found, &w->after);
	for (uint32_t sw = 0; sw < w->b.found->nswitches; sw++)
		memcpy(tables_row(&w->after, sw) + CHANGED, tables_row(&w->before, sw) + CHANGED,
		       w->after.stride - CHANGED);
	program_begin(w);
	double_on_set(w->b.d, set_cb, w);
	apply(w, &w->before);
	save(w);
	mixture_init(&w->mix, w->b.found, w->b.lids, &w->before, &w->after);
}

static void world_fini(struct world *w)
{
	unlink(w->path);
	mixture_fini(&w->mix);
	program_free(w->program);
	tables_fini(&w->before);
	tables_fini(&w->after);
	bench_fini(&w->b);
}

static unsigned all_blocks(const struct world *w)
{
	return w->b.found->nswitches * tables_blocks(&w->after);
}

static unsigned columns_that_differ(const struct world *w)
{
	unsigned count = 0;

	for (uint32_t block = 0; block < tables_blocks(&w->after); block++) {
		bool differs = false;

		for (uint32_t sw = 0; sw < w->b.found->nswitches; sw++)
			differs |= memcmp(tables_row(&w->before, sw) + block * TABLES_BLOCK,
					  tables_row(&w->after, sw) + block * TABLES_BLOCK,
					  TABLES_BLOCK) != 0;
		count += differs;
	}
	return count;
}

static void assert_held(const struct world *w, const struct tables *tables)
{
	if (w->fault[0])
		fail_msg("%s", w->fault);
	for (uint32_t row = 0; row < w->b.found->nswitches; row++)
		for (uint32_t lid = 1; lid <= tables->top; lid++)
			assert_int_equal(
				double_lft(w->b.d, w->b.found->nodes[row].guid, (uint16_t)lid),
				tables_row(tables, row)[lid]);
}

/* ---- -------------------------------------------------------------------------------------------- */

static void what_is_held_as_remembered_is_read_once(void **state)
{
	struct world w;

	world_init(&w);
	program_again(&w);
	apply(&w, &w.before);
	assert_int_equal(w.written, 0);
	assert_int_equal(w.result.read, all_blocks(&w));
	assert_int_equal(w.result.differed + w.result.blocks + w.result.failed, 0);
	assert_int_equal(double_sent(w.b.d, WIRE_GET, WIRE_LFT), all_blocks(&w));
	apply(&w, &w.before);
	assert_int_equal(double_sent(w.b.d, 0, WIRE_LFT), 0);
	world_fini(&w);
}

static void what_is_to_change_is_read_first_and_written_in_order(void **state)
{
	unsigned columns;
	struct world w;

	world_init(&w);
	columns = columns_that_differ(&w);
	assert_true(columns > 0 && columns < tables_blocks(&w.after));
	program_again(&w);
	w.judging = true;
	apply(&w, &w.after);
	assert_int_equal(w.read, columns * w.b.found->nswitches);
	assert_int_equal(w.result.read, all_blocks(&w));
	assert_true(w.written > 0 && w.written == w.result.blocks);
	assert_true(w.result.rounds > 1);
	assert_held(&w, &w.after);
	world_fini(&w);
}

/* The file says `before`, the switches hold `after`: of some all, of others none of it. */
static void what_the_file_does_not_know_is_found(void **state)
{
	struct world w;

	world_init(&w);
	apply(&w, &w.after);
	double_set_lft(w.b.d, w.b.found->nodes[2].guid, 3, 7);
	program_again(&w);
	apply(&w, &w.after);
	assert_int_equal(w.written, 1);
	assert_int_equal(w.result.read, all_blocks(&w));
	assert_true(w.result.differed > 1);
	assert_held(&w, &w.after);
	world_fini(&w);
}

static void a_switch_without_a_file_is_written(void **state)
{
	struct world w;
	unsigned blocks;

	world_init(&w);
	blocks = tables_blocks(&w.after);
	program_forget(w.program, w.b.found->nodes[1].guid);
	save(&w);
	program_again(&w);
	apply(&w, &w.before);
	assert_int_equal(w.written, blocks);
	assert_int_equal(w.result.read, all_blocks(&w) - blocks);
	world_fini(&w);
}

static void a_switch_that_forgot_its_tables_is_not_asked(void **state)
{
	struct world w;
	guid_t guid;

	world_init(&w);
	guid = w.b.found->nodes[0].guid;
	double_reboot(w.b.d, guid);
	bench_discover(&w.b);
	program_again(&w);
	apply(&w, &w.before);
	assert_int_equal(w.written, tables_blocks(&w.after));
	assert_int_equal(w.result.read, all_blocks(&w) - tables_blocks(&w.after));
	assert_held(&w, &w.before);
	world_fini(&w);
}

static void a_switch_that_does_not_say_what_it_holds_is_written(void **state)
{
	struct world w;

	world_init(&w);
	program_again(&w);
	double_set_silent(w.b.d, w.b.found->nodes[1].guid, true);
	apply(&w, &w.before);
	assert_int_equal(w.result.failed, tables_blocks(&w.after));
	assert_int_equal(w.result.read, all_blocks(&w) - tables_blocks(&w.after));
	double_set_silent(w.b.d, w.b.found->nodes[1].guid, false);
	apply(&w, &w.before);
	assert_int_equal(w.written, tables_blocks(&w.after));
	assert_held(&w, &w.before);
	world_fini(&w);
}

static void what_is_not_read_yet_is_remembered_further(void **state)
{
	struct world w;
	struct loop_timer *stop;

	world_init(&w);
	stop = loop_timer_new(w.b.loop, (loop_fn *)loop_stop, w.b.loop);
	for (unsigned us = 0; us < 600; us += 40) {
		program_again(&w);
		begin(&w, &w.before);
		loop_timer_set(stop, us);
		loop_run(w.b.loop);
		if (us) /* the file was read */
			save(&w);
	}
	loop_timer_free(stop);
	program_again(&w);
	apply(&w, &w.before);
	assert_int_equal(w.written, 0);
	assert_int_equal(w.result.read, all_blocks(&w));
	world_fini(&w);
}

static void random_entries(struct world *w, uint64_t *seed, bool there)
{
	for (unsigned n = damage_random(seed) % 12; n; n--) {
		uint32_t sw = damage_random(seed) % w->b.found->nswitches;
		uint16_t lid = (uint16_t)(1 + damage_random(seed) % w->after.top);
		uint8_t port = (uint8_t)(damage_random(seed) % 4);

		if (there)
			double_set_lft(w->b.d, w->b.found->nodes[sw].guid, lid, port);
		else
			tables_row(&w->after, sw)[lid] = port;
	}
}

/* Restarts, others' entries, and newer tables at any moment of the reading. */
static void what_comes_in_between_ends_in_the_newest_tables(void **state)
{
	struct loop_timer *stop;
	uint64_t seed = 17;
	struct world w;

	world_init(&w);
	stop = loop_timer_new(w.b.loop, (loop_fn *)loop_stop, w.b.loop);
	for (unsigned i = 0; i < 60; i++) {
		if (damage_random(&seed) % 2)
			save(&w);
		program_again(&w);
		random_entries(&w, &seed, true);
		for (unsigned n = damage_random(&seed) % 4; n; n--) {
			begin(&w, n % 2 ? &w.before : &w.after);
			loop_timer_set(stop, damage_random(&seed) % 1500);
			loop_run(w.b.loop);
		}
		apply(&w, &w.before);
		random_entries(&w, &seed, false);
		apply(&w, &w.after);
		assert_int_equal(w.result.failed, 0);
		assert_held(&w, &w.after);
	}
	loop_timer_free(stop);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_held_as_remembered_is_read_once),
		cmocka_unit_test(what_is_to_change_is_read_first_and_written_in_order),
		cmocka_unit_test(what_the_file_does_not_know_is_found),
		cmocka_unit_test(a_switch_without_a_file_is_written),
		cmocka_unit_test(a_switch_that_forgot_its_tables_is_not_asked),
		cmocka_unit_test(a_switch_that_does_not_say_what_it_holds_is_written),
		cmocka_unit_test(what_is_not_read_yet_is_remembered_further),
		cmocka_unit_test(what_comes_in_between_ends_in_the_newest_tables),
	};

	log_set_level(-1, LOG_ERR - 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
