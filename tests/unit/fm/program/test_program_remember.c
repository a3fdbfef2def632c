/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * program after a restart, on the fabric double: what rows claim is read where it is to change,
 * then written, and the rest is read behind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include "fm/loop/log.h"
#include "fm/program/program_priv.h"
#include "routing/ftree/route.h"
#include "tests/fabric/damage.h"
#include "tests/fabric/mixture.h"
#include "topology/base/mem.h"
#include "tests/lib/sweep_bench.h"

#define LIFE_TIME 0x12
#define CHANGED	  (2 * TABLES_BLOCK) /* LIDs below that */

struct world {
	struct bench b;
	char *rows; /* lines; NULL = none */
	struct program *program;
	struct program_result result; /* the last.. */
	struct program_result first;  /* ..and the first of an apply */
	unsigned told;
	unsigned unlike;	     /* entries that were not as in `after`, when told first */
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

static unsigned count_unlike(const struct world *w, const struct tables *tables)
{
	unsigned count = 0;

	for (uint32_t row = 0; row < w->b.found->nswitches; row++)
		for (uint32_t lid = 1; lid <= tables->top; lid++)
			count += double_lft(w->b.d, w->b.found->nodes[row].guid, (uint16_t)lid) !=
				 tables_row(tables, row)[lid];
	return count;
}

static void done_cb(void *arg, const struct program_result *result)
{
	struct world *w = arg;

	w->result = *result;
	if (!w->told++) {
		w->first = *result;
		w->unlike = count_unlike(w, &w->after);
	}
	w->b.sweeps++;
}

static void begin(struct world *w, const struct tables *wanted)
{
	w->written = w->told = 0;
	double_sent_reset(w->b.d);
	program_apply(w->program, w->b.found, wanted, done_cb, w);
}

static void apply(struct world *w, const struct tables *wanted)
{
	begin(w, wanted);
	loop_run(w->b.loop);
	assert_false(w->program->busy);
}

static void program_begin(struct world *w)
{
	char *copy = mem_strdup(w->rows ? w->rows : ""), *rest = NULL;

	w->program = program_new(w->b.loop, w->b.mad, sweep_inventory(w->b.sweep), LIFE_TIME);
	for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		program_remember(w->program, line);
	free(copy);
}

static void lose_rows(struct world *w)
{
	free(w->rows);
	w->rows = NULL;
}

static void save(struct world *w)
{
	guid_t at = 0;
	size_t size;
	FILE *out;
	char *line;

	lose_rows(w);
	out = open_memstream(&w->rows, &size);
	for (; (line = program_next_table(w->program, &at)); free(line))
		fprintf(out, "%s\n", line);
	fclose(out);
}

/* A new daemon, which knows the rows and nothing else. */
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
	bench_init(&w->b, design_pgft3(), NULL);
	bench_discover(&w->b);
	w->b.lids = lid_plan(w->b.found, NULL, 3);
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
	lose_rows(w);
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

static bool block_changes(const struct world *w, uint32_t sw, uint32_t block)
{
	return memcmp(tables_row(&w->before, sw) + block * TABLES_BLOCK,
		      tables_row(&w->after, sw) + block * TABLES_BLOCK, TABLES_BLOCK) != 0;
}

static unsigned blocks_that_change(const struct world *w)
{
	unsigned count = 0;

	for (uint32_t block = 0; block < tables_blocks(&w->after); block++)
		for (uint32_t sw = 0; sw < w->b.found->nswitches; sw++)
			count += block_changes(w, sw, block);
	return count;
}

static unsigned columns_that_change(const struct world *w)
{
	unsigned count = 0;

	for (uint32_t block = 0; block < tables_blocks(&w->after); block++) {
		uint32_t sw = 0;

		while (sw < w->b.found->nswitches && !block_changes(w, sw, block))
			sw++;
		count += sw < w->b.found->nswitches;
	}
	return count;
}

static void assert_held(const struct world *w, const struct tables *tables)
{
	if (w->fault[0])
		fail_msg("%s", w->fault);
	assert_int_equal(count_unlike(w, tables), 0);
}

/* ----  ---------------------------------------------------------------------------------------- */

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

/* .. and is told of before the rest is read. */
static void what_is_to_change_is_read_first_and_written_in_order(void **state)
{
	unsigned change;
	struct world w;

	world_init(&w);
	change = blocks_that_change(&w);
	program_again(&w);
	w.judging = true;
	apply(&w, &w.after);
	assert_int_equal(w.read, change);
	assert_true(w.written > 0 && w.written == w.first.blocks);
	assert_true(w.first.rounds > 1);
	assert_int_equal(w.unlike, 0);
	assert_int_equal(w.told, 2);
	assert_int_equal(w.first.unread, all_blocks(&w) - change);
	assert_int_equal(w.first.read, 0);
	assert_int_equal(w.result.read, all_blocks(&w));
	assert_int_equal(w.result.unread + w.result.blocks + w.result.differed, 0);
	assert_held(&w, &w.after);
	world_fini(&w);
}

/* Somebody else wrote one block of those that are to change: who knows what else. */
static void where_one_claim_is_wrong_the_others_of_a_number_are_read_before_any_is_written(
	void **state)
{
	unsigned columns;
	struct world w;
	uint32_t sw = 0, block = 0;

	world_init(&w);
	columns = columns_that_change(&w);
	assert_true(columns > 0 && columns < tables_blocks(&w.after));
	while (!block_changes(&w, sw, block))
		if (++sw == w.b.found->nswitches)
			sw = 0, block++;
	program_again(&w);
	double_set_lft(w.b.d, w.b.found->nodes[sw].guid, (uint16_t)(block * TABLES_BLOCK + 1), 3);
	apply(&w, &w.after);
	assert_int_equal(w.read, columns * w.b.found->nswitches);
	assert_int_equal(w.result.differed, 1);
	assert_int_equal(w.unlike, 0);
	assert_held(&w, &w.after);
	world_fini(&w);
}

/* Newer tables in the middle of it: what was read is not read again, and told once. */
static void what_is_read_for_several_tables_is_reported_once(void **state)
{
	struct loop_timer *stop;
	struct world w;

	world_init(&w);
	stop = loop_timer_new(w.b.loop, (loop_fn *)loop_stop, w.b.loop);
	program_again(&w);
	begin(&w, &w.before);
	loop_timer_set(stop, 100);
	loop_run(w.b.loop);
	assert_int_equal(w.told, 1);
	assert_in_range(program_unread(w.program), 1, all_blocks(&w) - 1);
	w.told = 0;
	program_apply(w.program, w.b.found, &w.after, done_cb, &w);
	loop_run(w.b.loop);
	assert_true(w.told == 1 || !w.first.read);
	assert_int_equal(w.result.read, all_blocks(&w));
	assert_int_equal(double_sent(w.b.d, WIRE_GET, WIRE_LFT), all_blocks(&w));
	assert_int_equal(program_unread(w.program), 0);
	assert_held(&w, &w.after);
	loop_timer_free(stop);
	world_fini(&w);
}

/*
 * Nothing that is but remembered is believed then, and nobody hears that all is written before all
 * is read.
 */
static void behind_another_manager_all_is_read_before_it_is_written(void **state)
{
	struct world w;

	world_init(&w);
	apply(&w, &w.after);
	program_again(&w); /* the rows say `before` */
	program_read_first(w.program);
	apply(&w, &w.after);
	assert_int_equal(w.told, 1);
	assert_int_equal(w.result.read, all_blocks(&w));
	assert_int_equal(w.written + w.unlike, 0);
	lose_rows(&w);
	program_again(&w);
	program_read_first(w.program);
	w.judging = true;
	mixture_fini(&w.mix);
	mixture_init(&w.mix, w.b.found, w.b.lids, &w.after, &w.before);
	apply(&w, &w.before);
	assert_int_equal(w.told, 1);
	assert_int_equal(w.read, all_blocks(&w)); /* when the first was written */
	assert_int_equal(w.written, blocks_that_change(&w));
	assert_held(&w, &w.before);
	apply(&w, &w.after); /* and from then on as ever */
	assert_int_equal(w.told, 1);
	world_fini(&w);
}

/* The rows say `before`, the switches hold `after`: of some all, of others none of it. */
static void what_the_rows_do_not_know_is_found(void **state)
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

static void a_switch_that_has_no_row_is_read_before_it_is_written(void **state)
{
	struct world w;

	world_init(&w);
	program_forget(w.program, w.b.found->nodes[1].guid);
	save(&w);
	program_again(&w);
	apply(&w, &w.before);
	assert_int_equal(w.written, 0);
	assert_int_equal(w.result.read, all_blocks(&w));
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
		if (us) /* the rows were read */
			save(&w);
	}
	loop_timer_free(stop);
	program_again(&w);
	apply(&w, &w.before);
	assert_int_equal(w.written, 0);
	assert_int_equal(w.result.read, all_blocks(&w));
	world_fini(&w);
}

/*
 * A switch that was silent over a restart, or was away for newer tables, or is sent no Sets: what
 * it holds belongs to no proof that is known, and the turns of the older tables are searched. While
 * it is away they are not.
 */
static void tables_with_an_entry_of_others_are_not_taken_for_proven(void **state)
{
	struct check_base *proofs = check_base_new(1);
	struct inv_node *node;
	struct world w;
	guid_t guid;

	world_init(&w);
	guid = w.b.found->nodes[1].guid;
	double_set_lft(w.b.d, guid, 3, 7);
	node = inventory_find(sweep_inventory(w.b.sweep), guid);
	node->silent = true;
	program_again(&w);
	program_use_proofs(w.program, proofs);
	apply(&w, &w.before);
	node->silent = false;
	apply(&w, &w.after);
	assert_true(w.written && w.result.differed == 1);
	assert_false(w.program->proof.older);
	apply(&w, &w.before);
	assert_true(w.program->proof.older);
	assert_held(&w, &w.before);

	node->gone = true;
	apply(&w, &w.after);
	apply(&w, &w.before);
	apply(&w, &w.after);
	assert_true(w.program->proof.older);
	node->gone = false;
	apply(&w, &w.before);
	assert_false(w.program->proof.older);
	assert_held(&w, &w.before);

	save(&w);
	double_set_lft(w.b.d, guid, 3, 7);
	inv_node_mark(node, INV_NO_SETS, true);
	program_again(&w);
	program_use_proofs(w.program, proofs);
	apply(&w, &w.before);
	assert_int_equal(w.result.differed, 1);
	apply(&w, &w.after);
	assert_false(w.program->proof.older);
	world_fini(&w);
	check_base_free(proofs);
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
		cmocka_unit_test(
			where_one_claim_is_wrong_the_others_of_a_number_are_read_before_any_is_written),
		cmocka_unit_test(what_is_read_for_several_tables_is_reported_once),
		cmocka_unit_test(behind_another_manager_all_is_read_before_it_is_written),
		cmocka_unit_test(what_the_rows_do_not_know_is_found),
		cmocka_unit_test(a_switch_that_has_no_row_is_read_before_it_is_written),
		cmocka_unit_test(a_switch_that_forgot_its_tables_is_not_asked),
		cmocka_unit_test(a_switch_that_does_not_say_what_it_holds_is_written),
		cmocka_unit_test(what_is_not_read_yet_is_remembered_further),
		cmocka_unit_test(tables_with_an_entry_of_others_are_not_taken_for_proven),
		cmocka_unit_test(what_comes_in_between_ends_in_the_newest_tables),
	};

	log_set_level(-1, LOG_ERR - 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
