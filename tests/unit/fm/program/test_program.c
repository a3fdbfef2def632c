/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* program on the fabric double: what switches hold afterwards, and what was written for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include "fm/loop/log.h"
#include "fm/program/audit.h"
#include "fm/program/program_priv.h"
#include "tests/fabric/damage.h"
#include "tests/lib/sweep_bench.h"

#define LIFE_TIME 0x12

struct prog {
	struct bench b;
	struct program *program;
	struct tables tables;	/* to be changed at will */
	struct tables given[2]; /* what was applied last, and now */
	struct program_result result;
	struct mft *mft;
	struct audit *audit;
	struct audit_result readback;
	unsigned written; /* Sets of LFT blocks that a switch took over */
	guid_t written_at;
	uint32_t written_block;
	uint64_t first_us; /* when the first of these came */
};

static void set_cb(void *arg, guid_t node, uint16_t attr, uint32_t mod)
{
	struct prog *p = arg;

	if (attr != WIRE_LFT)
		return;
	p->first_us = p->written++ ? p->first_us : loop_now_us(p->b.loop);
	p->written_at = node;
	p->written_block = mod;
}

/*
 * Tables need not lead anywhere here: content that tells switch, LID and version apart, by ports
 * that no switch has.
 */
static void tables_fill(struct tables *t, uint32_t nswitches, uint16_t top, unsigned version)
{
	uint32_t s, lid;

	tables_resize(t, nswitches, top);
	for (s = 0; s < nswitches; s++)
		for (lid = 0; lid < t->stride; lid++)
			tables_row(t, s)[lid] =
				lid == 0 || lid > top
					? TABLES_NO_ROUTE
					: (uint8_t)(100 + (s * 7 + lid * 3 + version) % 10);
}

static bool differs(void *arg, const struct table_block *block)
{
	return true;
}

static void holds(void *arg, const struct table_block *block)
{
}

static const struct audit_ops audit_ops = { .differs = differs, .holds = holds };

static void prog_init(struct prog *p, struct topo *design, uint16_t top)
{
	*p = (struct prog){ .written = 0 };
	bench_init(&p->b, design, NULL);
	bench_discover(&p->b);
	p->program = program_new(p->b.loop, p->b.mad, sweep_inventory(p->b.sweep), LIFE_TIME);
	p->mft = mft_new(p->b.loop, p->b.mad, sweep_inventory(p->b.sweep));
	p->audit = audit_new(p->b.loop, p->b.mad, p->program, p->mft, &audit_ops, p);
	tables_fill(&p->tables, p->b.found->nswitches, top, 0);
	double_on_set(p->b.d, set_cb, p);
	double_sent_reset(p->b.d);
}

static void prog_fini(struct prog *p)
{
	audit_free(p->audit);
	mft_free(p->mft);
	program_free(p->program);
	tables_fini(&p->tables);
	tables_fini(&p->given[0]);
	tables_fini(&p->given[1]);
	bench_fini(&p->b);
}

static void program_done(void *arg, const struct program_result *result)
{
	struct prog *p = arg;

	p->result = *result;
	p->b.sweeps++;
}

static void readback_done(void *arg, const struct audit_result *result)
{
	struct prog *p = arg;

	p->readback = *result;
	p->b.sweeps++;
}

/* Begins to; what was given before the last time is not read any more. */
static void prog_give(struct prog *p)
{
	struct tables oldest = p->given[0];

	p->given[0] = p->given[1];
	p->given[1] = oldest;
	tables_copy(&p->given[1], &p->tables);
	program_apply(p->program, p->b.found, &p->given[1], program_done, p);
	if (p->given[0].lft)
		memset(p->given[0].lft, 0xee, p->given[0].capacity);
}

static void prog_apply(struct prog *p)
{
	unsigned before = p->b.sweeps;

	p->written = 0;
	double_sent_reset(p->b.d);
	prog_give(p);
	loop_run(p->b.loop);
	assert_int_equal(p->b.sweeps, before + 1);
	assert_false(p->program->busy);
}

static void prog_readback(struct prog *p)
{
	unsigned before = p->b.sweeps;

	audit_read_all(p->audit, readback_done, p);
	loop_run(p->b.loop);
	assert_int_equal(p->b.sweeps, before + 1);
}

static void assert_row_held(const struct prog *p, uint32_t row)
{
	guid_t guid = p->b.found->nodes[row].guid;
	uint32_t lid;

	assert_int_equal(double_switch_info(p->b.d, guid)->lft_top, p->tables.top);
	assert_int_equal(double_switch_info(p->b.d, guid)->life_time, LIFE_TIME);
	for (lid = 1; lid <= p->tables.top; lid++)
		assert_int_equal(double_lft(p->b.d, guid, (uint16_t)lid),
				 tables_row(&p->tables, row)[lid]);
}

static void assert_held(const struct prog *p)
{
	uint32_t row;

	for (row = 0; row < p->b.found->nswitches; row++)
		assert_row_held(p, row);
}

static void first_apply_writes_every_block_once(void **state)
{
	struct prog p;
	uint32_t n;

	prog_init(&p, design_pgft2(), 300);
	n = p.b.found->nswitches;
	prog_apply(&p);
	assert_held(&p);
	assert_int_equal(p.result.blocks, n * tables_blocks(&p.tables));
	assert_int_equal(p.written, p.result.blocks);
	assert_int_equal(p.result.switches, n);
	assert_int_equal(p.result.failed, 0);
	assert_int_equal(p.result.entries, 0); /* nothing was known */
	assert_int_equal(sets(&p.b, WIRE_SWITCH_INFO), n);
	assert_int_equal(program_blocks_written(p.program), p.result.blocks);
	assert_int_equal(p.result.smps, double_sent(p.b.d, 0, 0));
	prog_fini(&p);
}

static void same_tables_write_nothing(void **state)
{
	struct prog p;

	prog_init(&p, design_pgft2(), 300);
	prog_apply(&p);
	prog_apply(&p);
	assert_int_equal(double_sent(p.b.d, 0, 0), 0);
	assert_int_equal(p.result.switches, 0);
	prog_fini(&p);
}

/* Whoever publishes asks for that: nothing would be written where changes come fast enough. */
static void an_apply_that_was_planned_for_long_is_not_to_be_replaced_before_it_sends(void **state)
{
	struct prog p;

	prog_init(&p, design_pgft2(), 300);
	prog_apply(&p);
	tables_row(&p.tables, 3)[70] ^= 1;
	prog_give(&p);
	assert_false(program_is_starved(p.program));
	assert_true(p.program->round.whole_us > loop_now_us(p.b.loop));
	p.program->round.whole_us = loop_now_us(p.b.loop);
	assert_true(program_is_starved(p.program));
	tables_row(&p.tables, 5)[299] ^= 1;
	prog_give(&p);
	assert_true(program_is_starved(p.program)); /* those before it sent nothing either */
	loop_run(p.b.loop);
	assert_false(program_is_starved(p.program));
	assert_held(&p);
	prog_give(&p);
	assert_false(program_is_starved(p.program));
	loop_run(p.b.loop);
	prog_fini(&p);
}

static void exactly_the_differing_blocks_are_written(void **state)
{
	struct prog p;

	prog_init(&p, design_pgft2(), 300);
	prog_apply(&p);
	tables_row(&p.tables, 3)[70] ^= 1;
	tables_row(&p.tables, 3)[127] ^= 1;
	tables_row(&p.tables, 5)[299] ^= 1;
	prog_apply(&p);
	assert_int_equal(p.written, 2);
	assert_int_equal(p.result.blocks, 2);
	assert_int_equal(p.result.switches, 2);
	assert_int_equal(p.result.entries, 3);
	assert_int_equal(double_sent(p.b.d, 0, 0), 2);
	assert_held(&p);
	prog_fini(&p);
}

static void top_goes_ahead_of_the_blocks(void **state)
{
	struct prog p;

	prog_init(&p, design_pgft2(), 100);
	prog_apply(&p);
	tables_fill(&p.tables, p.b.found->nswitches, 700, 0);
	prog_apply(&p);
	assert_held(&p);
	/* Block 1 was cut at LID 100 before; 0 is as it was. */
	assert_int_equal(p.written, p.b.found->nswitches * (tables_blocks(&p.tables) - 1));
	prog_fini(&p);
}

static void switch_that_refuses_delays_no_other(void **state)
{
	struct prog p;
	uint32_t row;

	prog_init(&p, design_pgft2(), 20000); /* more blocks than are under way at a time */
	prog_apply(&p);
	double_set_fault(p.b.d, p.b.found->nodes[2].guid, DOUBLE_BAD_STATUS, 1000, 0x1c);
	tables_fill(&p.tables, p.b.found->nswitches, 20000, 1);
	prog_apply(&p);
	assert_int_equal(p.result.failed_switches, 1);
	assert_int_equal(p.result.failed, tables_blocks(&p.tables));
	for (row = 0; row < p.b.found->nswitches; row++)
		if (row != 2)
			assert_row_held(&p, row);
	double_set_fault(p.b.d, p.b.found->nodes[2].guid, DOUBLE_BAD_STATUS, 0, 0);
	prog_apply(&p); /* the rest is known: only that one is written */
	assert_int_equal(p.result.blocks, tables_blocks(&p.tables));
	assert_held(&p);
	prog_fini(&p);
}

static void silent_switch_is_given_up_and_written_later(void **state)
{
	struct prog p;
	guid_t sw;

	prog_init(&p, design_pgft2(), 1000);
	prog_apply(&p);
	sw = p.b.found->nodes[4].guid;
	double_set_silent(p.b.d, sw, true);
	tables_fill(&p.tables, p.b.found->nswitches, 1000, 1);
	prog_apply(&p);
	assert_int_equal(p.result.failed_switches, 1);
	assert_int_equal(p.result.failed, tables_blocks(&p.tables));
	double_set_silent(p.b.d, sw, false);
	prog_apply(&p);
	assert_int_equal(p.result.failed, 0);
	assert_held(&p);
	prog_fini(&p);
}

static void rebooted_switch_is_written_anew(void **state)
{
	struct prog p;
	guid_t sw;

	prog_init(&p, design_pgft2(), 300);
	prog_apply(&p);
	sw = p.b.found->nodes[1].guid;
	double_reboot(p.b.d, sw);
	bench_poll(&p.b);
	bench_refresh(&p.b, p.b.changed, p.b.result.nchanged);
	prog_apply(&p);
	assert_int_equal(p.result.blocks, tables_blocks(&p.tables));
	assert_int_equal(p.written_at, sw);
	assert_held(&p);
	program_forget(p.program, sw);
	prog_apply(&p);
	assert_int_equal(p.result.blocks, tables_blocks(&p.tables));
	prog_fini(&p);
}

static void newest_tables_win(void **state)
{
	struct prog p, other = { .written = 0 };
	struct loop_timer *stop;
	struct tables old = { 0 };
	unsigned when;
	bool busy = true;

	for (when = 0; busy; when += 70) {
		prog_init(&p, design_pgft2(), 2000);
		tables_fill(&old, p.b.found->nswitches, 2500, 5);
		program_apply(p.program, p.b.found, &old, program_done, &other);
		stop = loop_timer_new(p.b.loop, (loop_fn *)loop_stop, p.b.loop);
		loop_timer_set(stop, when);
		loop_run(p.b.loop);
		loop_timer_free(stop);
		busy = p.program->busy;
		prog_apply(&p);
		assert_int_equal(other.b.sweeps, !busy);
		assert_int_equal(p.result.failed, 0);
		assert_held(&p);
		prog_readback(&p);
		assert_int_equal(p.readback.differ, 0);
		prog_fini(&p);
	}
	assert_true(when > 200);
	tables_fini(&old);
}

/* What is on its way already is what is wanted: it is not sent again. */
static void run_some(struct prog *p, uint64_t us)
{
	struct loop_timer *stop = loop_timer_new(p->b.loop, (loop_fn *)loop_stop, p->b.loop);

	loop_timer_set(stop, us);
	loop_run(p->b.loop);
	loop_timer_free(stop);
}

/* It waits for what the apply before it sent to a silent switch, and that is not programming. */
static void programming_begins_with_the_first_block(void **state)
{
	struct prog p;
	uint64_t until_us;

	prog_init(&p, design_pgft2(), 300);
	prog_apply(&p);
	prog_apply(&p);
	assert_int_equal(p.result.sent_us, 0); /* nothing was to be written */
	double_set_silent(p.b.d, p.b.found->nodes[3].guid, true);
	tables_row(&p.tables, 3)[70] ^= 1;
	prog_give(&p);
	run_some(&p, 1000);
	tables_row(&p.tables, 5)[70] ^= 1;
	p.written = 0;
	until_us = loop_now_us(p.b.loop) + 10000;
	prog_give(&p);
	loop_run(p.b.loop);
	assert_int_equal(p.result.blocks, 1);
	assert_in_range(p.result.sent_us, until_us, p.first_us);
	prog_fini(&p);
}

/* Applies of all sizes, most of them superseded on the way. */
static void what_is_taken_for_held_is_held_whatever_comes(void **state)
{
	uint64_t seed = 99;
	struct prog p;

	prog_init(&p, design_pgft2(), 1500);
	for (unsigned i = 0; i < 150; i++) {
		uint16_t top = (uint16_t)(1200 + damage_random(&seed) % 4 * 100);

		if (damage_random(&seed) % 6 == 0)
			tables_fill(&p.tables, p.b.found->nswitches, top, i);
		for (unsigned n = damage_random(&seed) % 40; n; n--)
			tables_row(&p.tables,
				   damage_random(&seed) %
					   p.b.found->nswitches)[1 + damage_random(&seed) %
									     p.tables.top] ^= 1;
		prog_give(&p);
		run_some(&p, damage_random(&seed) % 3000);
	}
	prog_apply(&p);
	assert_int_equal(p.result.failed, 0);
	assert_held(&p);
	prog_readback(&p);
	assert_int_equal(p.readback.differ, 0);
	assert_int_equal(p.readback.blocks, p.b.found->nswitches * tables_blocks(&p.tables));
	prog_apply(&p);
	assert_int_equal(p.written, 0);
	prog_fini(&p);
}

static void same_tables_again_in_the_middle_cost_nothing(void **state)
{
	struct prog p, other = { .written = 0 };
	struct loop_timer *stop;

	prog_init(&p, design_pgft2(), 2000);
	program_apply(p.program, p.b.found, &p.tables, program_done, &other);
	stop = loop_timer_new(p.b.loop, (loop_fn *)loop_stop, p.b.loop);
	loop_timer_set(stop, 100);
	loop_run(p.b.loop);
	loop_timer_free(stop);
	assert_true(p.program->busy);
	program_apply(p.program, p.b.found, &p.tables, program_done, &p);
	loop_run(p.b.loop);
	assert_int_equal(p.b.sweeps, 2); /* discovery and the second apply */
	assert_int_equal(p.written, p.b.found->nswitches * tables_blocks(&p.tables));
	assert_held(&p);
	prog_fini(&p);
}

/* As where a second trap of the same fault comes: its update writes nothing more. */
static void entries_that_are_on_their_way_count_for_the_newer_tables(void **state)
{
	unsigned counted = 0;

	for (unsigned when = 1; when < 200; when += 5) {
		struct prog p;

		prog_init(&p, design_pgft2(), 300);
		prog_apply(&p);
		tables_row(&p.tables, 3)[70] ^= 1;
		tables_row(&p.tables, 5)[299] ^= 1;
		prog_give(&p);
		run_some(&p, when);
		if (p.program->busy) {
			prog_give(&p);
			loop_run(p.b.loop);
			assert_int_equal(p.result.blocks, 2);
			assert_int_equal(p.result.entries, 2);
			assert_held(&p);
			counted++;
		}
		prog_fini(&p);
	}
	assert_true(counted > 2);
}

/* Answers of one switch come back with an entry flipped, `left` times. */
struct flipper {
	uint32_t block;
	unsigned left;
};

static void flip_answer(void *arg, const struct wire_mad *header, uint8_t data[64])
{
	struct flipper *f = arg;

	if (header->attr_id != WIRE_LFT || header->attr_mod != f->block || !f->left)
		return;
	f->left--;
	data[7] ^= 1;
}

static void block_that_is_echoed_wrong_is_sent_again(void **state)
{
	struct flipper flipper = { .block = 2, .left = 3 };
	struct bench_tamper tamper;
	struct prog p;
	uint32_t all;

	prog_init(&p, design_pgft2(), 300);
	all = p.b.found->nswitches * tables_blocks(&p.tables);
	bench_tamper(&p.b, &tamper, flip_answer, &flipper);
	prog_apply(&p);
	assert_int_equal(p.result.failed, 0);
	assert_int_equal(p.result.blocks, all);
	assert_int_equal(p.written, all + 3);
	flipper.left = 1000;
	program_forget(p.program, p.b.found->nodes[3].guid);
	prog_apply(&p);
	assert_int_equal(p.result.failed_switches, 1);
	prog_fini(&p);
}

static void lossy_cables_end_in_the_same_tables(void **state)
{
	struct prog p;
	uint32_t i;

	prog_init(&p, design_pgft2(), 600);
	for (i = 0; i < p.b.design->nports; i++)
		if (p.b.design->ports[i].link_up)
			double_set_loss(p.b.d, p.b.design->nodes[p.b.design->ports[i].node].guid,
					p.b.design->ports[i].num, 30);
	prog_apply(&p);
	assert_true(double_drops(p.b.d)->lost > 10);
	assert_int_equal(p.result.failed, 0);
	assert_held(&p);
	prog_fini(&p);
}

static void a_link_cut_meanwhile_is_gone_around(void **state)
{
	struct prog p;
	struct bench_cable cable;
	uint32_t from = 0;
	unsigned i;

	prog_init(&p, design_pgft3(), 1000);
	for (i = 0; i < 10; i++) {
		cable = bench_cable(p.b.design, from);
		from = cable.next;
		double_cut(p.b.d, cable.a, cable.port_a);
		tables_fill(&p.tables, p.b.found->nswitches, 1000, i);
		prog_apply(&p);
		assert_int_equal(p.result.failed, 0);
		assert_held(&p);
		double_join(p.b.d, cable.a, cable.port_a);
	}
	prog_fini(&p);
}

static void readback_finds_a_flipped_entry(void **state)
{
	struct prog p;
	guid_t sw;

	prog_init(&p, design_pgft2(), 300);
	prog_apply(&p);
	prog_readback(&p);
	assert_int_equal(p.readback.blocks, p.b.found->nswitches * tables_blocks(&p.tables));
	assert_int_equal(p.readback.differ, 0);
	sw = p.b.found->nodes[6].guid;
	double_set_lft(p.b.d, sw, 200, 9);
	tables_row(&p.tables, 6)[200] = 4;
	double_set_lft(p.b.d, sw, 200, tables_row(&p.tables, 6)[200] == 9 ? 8 : 9);
	prog_readback(&p);
	assert_int_equal(p.readback.differ, 1);
	assert_int_equal(p.readback.failed, 0);
	prog_apply(&p);						     /* and mends it */
	assert_int_equal(p.result.blocks, tables_blocks(&p.tables)); /* all of its switch */
	assert_int_equal(p.written_at, sw);
	assert_held(&p);
	prog_fini(&p);
}

static void table_too_small_for_the_lids_is_refused(void **state)
{
	struct prog p;

	prog_init(&p, design_pgft2(), 300);
	inventory_find(sweep_inventory(p.b.sweep), p.b.found->nodes[0].guid)->sw.lft_cap = 256;
	prog_apply(&p);
	assert_int_equal(p.result.failed_switches, 1);
	assert_int_equal(p.result.blocks, (p.b.found->nswitches - 1) * tables_blocks(&p.tables));
	prog_fini(&p);
}

static const struct CMUnitTest tests_list[] = {
	cmocka_unit_test(first_apply_writes_every_block_once),
	cmocka_unit_test(same_tables_write_nothing),
	cmocka_unit_test(exactly_the_differing_blocks_are_written),
	cmocka_unit_test(an_apply_that_was_planned_for_long_is_not_to_be_replaced_before_it_sends),
	cmocka_unit_test(top_goes_ahead_of_the_blocks),
	cmocka_unit_test(switch_that_refuses_delays_no_other),
	cmocka_unit_test(silent_switch_is_given_up_and_written_later),
	cmocka_unit_test(rebooted_switch_is_written_anew),
	cmocka_unit_test(newest_tables_win),
	cmocka_unit_test(programming_begins_with_the_first_block),
	cmocka_unit_test(what_is_taken_for_held_is_held_whatever_comes),
	cmocka_unit_test(same_tables_again_in_the_middle_cost_nothing),
	cmocka_unit_test(entries_that_are_on_their_way_count_for_the_newer_tables),
	cmocka_unit_test(block_that_is_echoed_wrong_is_sent_again),
	cmocka_unit_test(lossy_cables_end_in_the_same_tables),
	cmocka_unit_test(a_link_cut_meanwhile_is_gone_around),
	cmocka_unit_test(readback_finds_a_flipped_entry),
	cmocka_unit_test(table_too_small_for_the_lids_is_refused),
};

int main(void)
{
	log_set_level(-1, LOG_ERR);
	return cmocka_run_group_tests(tests_list, NULL, NULL);
}
