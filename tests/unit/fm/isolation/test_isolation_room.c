/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Switches and links that cannot be worked with: this room alone, with a pipe that only looks like
 * one and switches that misbehave.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <inttypes.h>
#include "fm/isolation/module.h"
#include "fm/program/mft.h"
#include "fm/program/program.h"
#include "fm/program/table_block.h"
#include "tests/unit/sweep_bench.h"
#include "tests/unit/fake_pipe.h"

#define SECOND_US 1000000ull
#define MINUTE_US (60 * SECOND_US)
#define TRIES	  4 /* of a request, with mad_conf of the bench */

struct room {
	struct bench b;
	struct fabric f;
	struct program *program;
	struct mft *mft;
	struct tables tables;
	guid_t sw; /* one that misbehaves */
};

/* 16 leaves below 8 spines, so that a leaf's links are few of their tier. */
static struct topo *wide_tree(void)
{
	unsigned m[] = { 1, 16 }, w[] = { 1, 8 }, p[] = { 1, 1 };
	char err[128];

	return generate_pgft(2, m, w, p, err, sizeof(err));
}

static void begin_on(struct room *r, struct topo *design)
{
	*r = (struct room){ 0 };
	bench_init(&r->b, design, NULL);
	bench_discover(&r->b);
	r->program = program_new(r->b.loop, r->b.mad, sweep_inventory(r->b.sweep), 18);
	r->mft = mft_new(r->b.loop, r->b.mad, sweep_inventory(r->b.sweep));
	tables_resize(&r->tables, r->b.found->nswitches, 127);
	fake_pipe_init_on(&r->f, &isolation_module, topo_ref(r->b.found),
			  &(struct fabric_services){ .loop = r->b.loop,
						     .mad = r->b.mad,
						     .program = r->program,
						     .mft = r->mft,
						     .inventory = sweep_inventory(r->b.sweep) });
	r->f.view.tables = &r->tables;
	r->sw = r->b.found->nodes[r->b.found->nswitches - 1].guid; /* a spine */
	double_sent_reset(r->b.d);
}

static void begin(struct room *r)
{
	begin_on(r, wide_tree());
}

static void end(struct room *r)
{
	fake_pipe_fini(&r->f);
	tables_fini(&r->tables);
	mft_free(r->mft);
	program_free(r->program);
	bench_fini(&r->b);
}

static json_t *rows_of(const struct room *r)
{
	json_t *doc = json_object(), *rows;

	r->f.module->status(r->f.room, doc);
	rows = json_incref(json_object_get(doc, "isolated"));
	json_decref(doc);
	return rows;
}

static unsigned count_rows(const struct room *r)
{
	json_t *rows = rows_of(r);
	unsigned count = (unsigned)json_array_size(rows);

	json_decref(rows);
	return count;
}

static unsigned count_in_force(const struct room *r)
{
	json_t *rows = rows_of(r), *row;
	unsigned count = 0;
	size_t i;

	json_array_foreach (rows, i, row)
		count += json_is_true(json_object_get(row, "in_force"));
	json_decref(rows);
	return count;
}

/* As the pipe does ahead of each snapshot. */
static void annotate(struct room *r)
{
	r->f.module->annotate(r->f.room, sweep_inventory(r->b.sweep));
}

static bool refusing_is_told(const struct room *r)
{
	return alert_text(r->f.services.alerts, "refusing", "") != NULL;
}

/* ---- Links ----------------------------------------------------------------------------------- */

static void a_link_that_cannot_be_made_active_is_isolated_until_it_is_active_or_down(void **state)
{
	struct room r;
	struct inv_port *port;

	begin(&r);
	port = &inv(&r.b, r.sw)->ports[1];
	r.f.module->isolate(r.f.room, r.sw, 1, ISOLATED_NOT_ACTIVE);
	r.f.module->isolate(r.f.room, port->peer->guid, port->peer_port, ISOLATED_NOT_ACTIVE);
	assert_int_equal(count_in_force(&r), 0);
	fake_run_for(&r.f, SECOND_US);
	assert_int_equal(count_rows(&r), 1);
	assert_int_equal(count_in_force(&r), 1);
	assert_int_equal(r.f.asked.reroutes, 1);
	port->state = port->peer->ports[port->peer_port].state = TOPO_ACTIVE;
	annotate(&r);
	assert_int_equal(count_rows(&r), 0);
	end(&r);
}

static void too_much_of_a_tier_is_not_isolated_but_told(void **state)
{
	struct room r;

	begin(&r);
	for (uint32_t i = r.b.found->nswitches - 3; i < r.b.found->nswitches; i++)
		for (uint8_t p = 1; p <= 16; p++)
			r.f.module->isolate(r.f.room, r.b.found->nodes[i].guid, p,
					    ISOLATED_NOT_ACTIVE);
	fake_run_for(&r.f, SECOND_US);
	assert_int_equal(count_rows(&r), 48);
	assert_int_equal(count_in_force(&r), 0);
	assert_int_equal(r.f.asked.reroutes, 0);
	assert_true(refusing_is_told(&r));
	end(&r);
}

/* ---- Switches that take no Set --------------------------------------------------------------- */

/* A sweep could not clear the switch's PortStateChange. */
static void suspect(struct room *r, guid_t sw)
{
	inv(&r->b, sw)->keeps_change = true;
	assert_true(r->f.module->swept(r->f.room, &(struct sweep_result){ .refusing = 1 }));
}

/* Until the suspect was sent so many tries of a Set, to the last time-out. */
static void run_to_tries(struct room *r, unsigned tries)
{
	for (unsigned i = 0; i < 10000 && sets(&r->b, WIRE_SWITCH_INFO) < tries; i++)
		fake_run_for(&r->f, SECOND_US / 1000);
	assert_int_equal(sets(&r->b, WIRE_SWITCH_INFO), tries);
}

static void a_switch_that_takes_no_set_is_isolated_and_sent_none(void **state)
{
	struct room r;

	begin(&r);
	double_set_no_sets(r.b.d, r.sw, true);
	suspect(&r, r.sw);
	fake_run_for(&r.f, 10 * SECOND_US);
	assert_int_equal(count_in_force(&r), 1);
	assert_int_equal(r.f.asked.reroutes, 1);
	assert_true(inv(&r.b, r.sw)->no_sets);
	annotate(&r);
	assert_true(inv(&r.b, r.sw)->ports[1].isolated);
	end(&r);
}

static void sets_that_are_lost_are_no_refusal_where_a_later_one_is_taken(void **state)
{
	struct room r;

	begin(&r);
	double_set_no_sets(r.b.d, r.sw, true);
	suspect(&r, r.sw);
	run_to_tries(&r, 3 * TRIES);
	assert_int_equal(count_rows(&r), 0);
	double_set_no_sets(r.b.d, r.sw, false);
	fake_run_for(&r.f, 10 * SECOND_US);
	assert_in_range(sets(&r.b, WIRE_SWITCH_INFO), 3 * TRIES, 3 * TRIES + 1);
	assert_int_equal(count_rows(&r), 0);
	assert_int_equal(r.f.asked.reroutes, 0);
	assert_false(inv(&r.b, r.sw)->no_sets);
	end(&r);
}

static void written(void *arg, const struct program_result *result)
{
}

/*
 * What is recorded of the switch is not what it holds: the answer to its last Set was lost, and a
 * link of it has changed since.
 */
static void to_be_asked_whether_it_takes_a_set_changes_nothing_at_a_switch(void **state)
{
	struct room r;
	struct inv_node *node;

	begin(&r);
	program_apply(r.program, r.b.found, &r.tables, written, NULL);
	fake_run_for(&r.f, SECOND_US);
	assert_int_equal(double_switch_info(r.b.d, r.sw)->lft_top, r.tables.top);
	double_set_traps(r.b.d, false);
	double_cut(r.b.d, r.sw, 9);
	node = inv(&r.b, r.sw);
	node->sw.lft_top = 0;
	node->sw.port_state_change = true;
	double_sent_reset(r.b.d);
	suspect(&r, r.sw);
	fake_run_for(&r.f, SECOND_US);
	assert_int_equal(sets(&r.b, WIRE_SWITCH_INFO), 1);
	assert_int_equal(double_switch_info(r.b.d, r.sw)->lft_top, r.tables.top);
	assert_true(double_switch_info(r.b.d, r.sw)->port_state_change);
	assert_int_equal(count_rows(&r), 0);
	end(&r);
}

static void a_switch_that_answers_a_set_with_a_status_is_isolated_at_once(void **state)
{
	struct room r;

	begin(&r);
	double_set_refuses(r.b.d, r.sw, true);
	suspect(&r, r.sw);
	fake_run_for(&r.f, SECOND_US / 2);
	assert_int_equal(count_in_force(&r), 1);
	assert_int_equal(sets(&r.b, WIRE_SWITCH_INFO), 1);
	end(&r);
}

static void a_switch_that_answers_nothing_is_left_to_the_sweep(void **state)
{
	struct room r;

	begin(&r);
	double_set_silent(r.b.d, r.sw, true);
	suspect(&r, r.sw);
	fake_run_for(&r.f, 10 * SECOND_US);
	assert_int_equal(count_rows(&r), 0);
	assert_int_equal(sets(&r.b, WIRE_SWITCH_INFO), 0);
	end(&r);
}

static void switches_that_refuse_are_judged_together_when_all_were_asked(void **state)
{
	const struct topo *t;
	struct room r;

	begin(&r);
	t = r.b.found;
	double_set_refuses(r.b.d, t->nodes[t->nswitches - 1].guid, true);
	double_set_no_sets(r.b.d, t->nodes[t->nswitches - 2].guid, true);
	double_set_no_sets(r.b.d, t->nodes[t->nswitches - 3].guid, true);
	for (unsigned i = 1; i <= 3; i++)
		suspect(&r, t->nodes[t->nswitches - i].guid);
	fake_run_for(&r.f, SECOND_US);
	assert_int_equal(count_rows(&r), 1);
	assert_int_equal(count_in_force(&r), 0);
	fake_run_for(&r.f, 10 * SECOND_US);
	assert_int_equal(count_rows(&r), 3);
	assert_int_equal(count_in_force(&r), 0);
	assert_true(refusing_is_told(&r));
	end(&r);
}

static void it_is_probed_once_a_minute_and_released_by_the_first_set_that_it_takes(void **state)
{
	struct room r;
	uint64_t before;

	begin(&r);
	double_set_no_sets(r.b.d, r.sw, true);
	suspect(&r, r.sw);
	fake_run_for(&r.f, 10 * SECOND_US);
	before = sets(&r.b, WIRE_SWITCH_INFO);
	fake_run_for(&r.f, 3 * MINUTE_US);
	assert_int_equal(sets(&r.b, WIRE_SWITCH_INFO), before + 3);
	r.f.standby = true;
	fake_run_for(&r.f, 3 * MINUTE_US);
	assert_int_equal(sets(&r.b, WIRE_SWITCH_INFO), before + 3);
	r.f.standby = false;
	double_set_no_sets(r.b.d, r.sw, false);
	fake_run_for(&r.f, MINUTE_US);
	assert_int_equal(count_rows(&r), 0);
	assert_false(inv(&r.b, r.sw)->no_sets);
	assert_int_equal(r.f.asked.refreshed, r.sw);
	assert_int_equal(r.f.asked.reroutes, 2);
	end(&r);
}

/* ---- Switches that do not hold their tables -------------------------------------------------- */

static void unheld(struct room *r, enum table_kind kind, uint32_t block)
{
	r->f.module->table_unheld(
		r->f.room, &(struct table_block){ .sw = r->sw, .kind = kind, .block = block });
	fake_run_for(&r->f, SECOND_US);
}

static void a_switch_that_does_not_hold_a_block_is_isolated_till_a_trial_shows_that_it_does(
	void **state)
{
	struct room r;

	begin(&r);
	double_set_pretends(r.b.d, r.sw, true);
	unheld(&r, TABLE_LFT, 1);
	assert_int_equal(count_in_force(&r), 1);
	assert_true(inv(&r.b, r.sw)->wrong_tables);
	fake_run_for(&r.f, 3 * MINUTE_US);
	assert_int_equal(count_in_force(&r), 1);
	assert_in_range(sets(&r.b, WIRE_LFT), 2, 3);
	double_set_pretends(r.b.d, r.sw, false);
	fake_run_for(&r.f, MINUTE_US);
	assert_int_equal(count_rows(&r), 0);
	assert_false(inv(&r.b, r.sw)->wrong_tables);
	assert_true(r.f.asked.reroutes >= 2);
	end(&r);
}

static void a_switch_that_does_not_keep_its_lft_top_is_isolated_till_it_does(void **state)
{
	struct room r;

	begin(&r);
	double_set_feigns(r.b.d, r.sw, WIRE_SWITCH_INFO);
	inv(&r.b, r.sw)->keeps_no_top = true;
	assert_true(r.f.module->swept(r.f.room, &(struct sweep_result){ .untrue = 1 }));
	fake_run_for(&r.f, 2 * MINUTE_US);
	assert_int_equal(count_in_force(&r), 1);
	assert_false(inv(&r.b, r.sw)->keeps_no_top);
	double_set_feigns(r.b.d, r.sw, 0);
	fake_run_for(&r.f, MINUTE_US);
	assert_int_equal(count_rows(&r), 0);
	assert_int_equal(double_switch_info(r.b.d, r.sw)->lft_top, r.tables.top);
	end(&r);
}

static void it_is_isolated_from_the_first_snapshot_of_the_next_life_on(void **state)
{
	struct room r;

	begin(&r);
	double_set_pretends(r.b.d, r.sw, true);
	unheld(&r, TABLE_LFT, 1);
	fake_pipe_restart(&r.f);
	inv(&r.b, r.sw)->wrong_tables = false;
	r.f.module->load(r.f.room);
	assert_int_equal(r.f.lost, 0);
	assert_int_equal(count_rows(&r), 0);
	annotate(&r);
	assert_int_equal(count_in_force(&r), 1);
	assert_true(inv(&r.b, r.sw)->wrong_tables);
	assert_true(inv(&r.b, r.sw)->ports[1].isolated);
	double_set_pretends(r.b.d, r.sw, false);
	fake_run_for(&r.f, MINUTE_US);
	assert_int_equal(count_rows(&r), 0);
	fake_pipe_restart(&r.f);
	r.f.module->load(r.f.room);
	annotate(&r);
	assert_int_equal(count_rows(&r), 0);
	end(&r);
}

static void write_file(const struct room *r, const char *text)
{
	char path[64];
	FILE *out;

	snprintf(path, sizeof(path), "%s/untrue", r->f.folder);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

/* A switch that was isolated before the restart and has not answered yet. */
static void one_that_is_not_met_yet_stays_in_the_file_that_others_change(void **state)
{
	struct room r;
	char text[128], path[64];
	char *content;
	size_t length;
	FILE *in;

	begin(&r);
	snprintf(text, sizeof(text), "0x00000000dead0000 7\n0x%016" PRIx64 " 1\n", r.sw);
	write_file(&r, text);
	r.f.module->load(r.f.room);
	annotate(&r);
	state_store_flush(r.f.services.state);
	snprintf(path, sizeof(path), "%s/untrue", r.f.folder);
	in = fopen(path, "r");
	assert_non_null(in);
	content = mem_read_all(in, &length);
	fclose(in);
	assert_non_null(strstr(content, "0x00000000dead0000 7\n"));
	assert_non_null(strstr(content, strchr(text, '\n') + 1));
	free(content);
	end(&r);
}

static void a_spoilt_file_is_lost_and_isolates_nobody(void **state)
{
	static const char *const texts[] = { "0x0 1\n", "0x100 1024x\n", "0x100 999999999999\n",
					     "0x100 1.99\n", "0x100\n" };
	struct room r;

	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		begin(&r);
		write_file(&r, texts[i]);
		r.f.module->load(r.f.room);
		assert_int_equal(r.f.lost, 1);
		end(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_link_that_cannot_be_made_active_is_isolated_until_it_is_active_or_down),
		cmocka_unit_test(too_much_of_a_tier_is_not_isolated_but_told),
		cmocka_unit_test(a_switch_that_takes_no_set_is_isolated_and_sent_none),
		cmocka_unit_test(sets_that_are_lost_are_no_refusal_where_a_later_one_is_taken),
		cmocka_unit_test(to_be_asked_whether_it_takes_a_set_changes_nothing_at_a_switch),
		cmocka_unit_test(a_switch_that_answers_a_set_with_a_status_is_isolated_at_once),
		cmocka_unit_test(a_switch_that_answers_nothing_is_left_to_the_sweep),
		cmocka_unit_test(switches_that_refuse_are_judged_together_when_all_were_asked),
		cmocka_unit_test(
			it_is_probed_once_a_minute_and_released_by_the_first_set_that_it_takes),
		cmocka_unit_test(
			a_switch_that_does_not_hold_a_block_is_isolated_till_a_trial_shows_that_it_does),
		cmocka_unit_test(a_switch_that_does_not_keep_its_lft_top_is_isolated_till_it_does),
		cmocka_unit_test(it_is_isolated_from_the_first_snapshot_of_the_next_life_on),
		cmocka_unit_test(one_that_is_not_met_yet_stays_in_the_file_that_others_change),
		cmocka_unit_test(a_spoilt_file_is_lost_and_isolates_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
