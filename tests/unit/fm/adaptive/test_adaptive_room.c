/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Adaptive routing that another manager left on: this room alone, with a pipe that only looks like
 * one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "fm/adaptive/module.h"
#include "fm/mad/wire_optional.h"
#include "fm/program/program.h"
#include "tests/lib/sweep_bench.h"
#include "tests/lib/fake_pipe.h"
#include "topology/snapshot/topo_builder.h"

#define SECOND_US 1000000ull

struct room {
	struct bench b;
	struct fabric f;
	struct program *program;
	struct tables tables;
	guid_t sw; /* a leaf that may have adaptive routing on */
};

/*
 * A fabric that has been swept, whose switches have tables of an earlier manager; nothing of ours
 * is programmed.
 */
static void begin(struct room *r)
{
	*r = (struct room){ 0 };
	bench_init(&r->b, design_pgft2(), NULL);
	r->sw = r->b.design->nodes[0].guid;
	double_set_adaptive(r->b.d, r->sw, true, true);
	bench_discover(&r->b);
	for (uint32_t i = 0; i < r->b.found->nswitches; i++)
		inv(&r->b, r->b.found->nodes[i].guid)->sw.lft_top = 1;
	r->program = program_new(r->b.loop, r->b.mad, sweep_inventory(r->b.sweep), 18);
	tables_resize(&r->tables, r->b.found->nswitches, 127);
	fake_pipe_init_on(&r->f, &adaptive_module, topo_ref(r->b.found),
			  &(struct fabric_services){ .loop = r->b.loop,
						     .mad = r->b.mad,
						     .program = r->program,
						     .inventory = sweep_inventory(r->b.sweep) });
	r->f.view.tables = &r->tables;
	double_sent_reset(r->b.d);
}

static void end(struct room *r)
{
	fake_pipe_fini(&r->f);
	tables_fini(&r->tables);
	program_free(r->program);
	bench_fini(&r->b);
}

static bool may_program(struct room *r)
{
	r->f.asked.held = false;
	r->f.module->published(r->f.room, FABRIC_PUBLISHED, NULL);
	return !r->f.asked.held;
}

static uint64_t asked(const struct room *r)
{
	return double_sent(r->b.d, WIRE_GET, WIRE_GENERAL_INFO);
}

static void the_first_programming_waits_until_what_was_on_is_off(void **state)
{
	struct room r;
	const char *text;

	begin(&r);
	r.f.module->annotate(r.f.room, r.f.services.inventory);
	assert_false(may_program(&r));
	assert_int_equal(r.f.asked.programs, 0);
	fake_run_for(&r.f, SECOND_US);
	assert_int_equal(asked(&r), r.b.found->nswitches);
	assert_int_equal(r.f.asked.programs, 1);
	assert_false(wire_adaptive_on(double_adaptive(r.b.d, r.sw)));
	assert_int_equal(double_sent(r.b.d, WIRE_SET, WIRE_LFT), tables_blocks(&r.tables));
	assert_int_equal(fake_events(&r.f, "adaptive-routing-off", &text), 1);
	assert_int_equal(r.f.asked.reroutes, 0);
	assert_true(may_program(&r));
	assert_int_equal(r.f.asked.programs, 1);
	end(&r);
}

static void programming_does_not_wait_where_all_have_answered(void **state)
{
	struct room r;

	begin(&r);
	double_set_adaptive(r.b.d, r.sw, true, false);
	r.f.module->annotate(r.f.room, r.f.services.inventory);
	fake_run_for(&r.f, SECOND_US);
	assert_true(may_program(&r));
	assert_int_equal(r.f.asked.programs, 0);
	assert_int_equal(double_sent(r.b.d, WIRE_SET, 0), 0);
	end(&r);
}

/* The room asks the switch again what it can. */
static void forget(const struct inv_node *node)
{
	*(uint8_t *)inv_node_cell(node, INV_ADAPTIVE, 1) = 0;
}

static void a_switch_that_is_met_later_is_turned_off_beside_and_programmed_again(void **state)
{
	struct room r;

	begin(&r);
	double_set_adaptive(r.b.d, r.sw, true, false);
	r.f.module->annotate(r.f.room, r.f.services.inventory);
	fake_run_for(&r.f, SECOND_US);
	assert_true(may_program(&r));
	double_set_adaptive(r.b.d, r.sw, true, true);
	forget(inv(&r.b, r.sw));
	topo_unref(r.f.view.topo);
	r.f.view.topo = topo_freeze(inventory_snapshot_builder(sweep_inventory(r.b.sweep)));
	assert_true(may_program(&r));
	fake_run_for(&r.f, SECOND_US);
	assert_int_equal(r.f.asked.reroutes, 1);
	assert_int_equal(r.f.asked.programs, 0);
	assert_false(wire_adaptive_on(double_adaptive(r.b.d, r.sw)));
	end(&r);
}

static void one_that_cannot_be_turned_off_is_an_alert_and_delays_no_other(void **state)
{
	struct room r;

	begin(&r);
	double_set_refuses(r.b.d, r.sw, true);
	r.f.module->annotate(r.f.room, r.f.services.inventory);
	assert_false(may_program(&r));
	fake_run_for(&r.f, 2 * SECOND_US);
	assert_int_equal(r.f.asked.programs, 1);
	assert_non_null(alert_text(r.f.services.alerts, "adaptive-routing",
				   &(struct event_subject){ .node = inv(&r.b, r.sw)->guid }));
	end(&r);
}

/* ---- Switches that do not answer ------------------------------------------------------------- */

static void a_silent_switch_delays_no_other_and_is_not_asked_first_after_a_restart(void **state)
{
	struct room r;
	uint64_t before;

	begin(&r);
	double_set_mute(r.b.d, r.sw, WIRE_GET, WIRE_GENERAL_INFO);
	r.f.module->annotate(r.f.room, r.f.services.inventory);
	assert_false(may_program(&r));
	fake_run_for(&r.f, SECOND_US / 10);
	assert_int_equal(r.f.asked.programs, 1);
	fake_run_for(&r.f, 10 * SECOND_US);
	fake_pipe_restart(&r.f);
	for (uint32_t i = 0; i < r.b.found->nswitches; i++)
		forget(inv(&r.b, r.b.found->nodes[i].guid));
	before = asked(&r);
	r.f.module->load(r.f.room, FABRIC_LOAD);
	r.f.module->annotate(r.f.room, r.f.services.inventory);
	fake_run_for(&r.f, SECOND_US);
	assert_int_equal(asked(&r) - before, r.b.found->nswitches - 1);
	end(&r);
}

static void a_silent_switch_is_asked_again_when_idle_and_only_then(void **state)
{
	struct room r;
	uint64_t before;

	begin(&r);
	double_set_mute(r.b.d, r.sw, WIRE_GET, WIRE_GENERAL_INFO);
	r.f.module->annotate(r.f.room, r.f.services.inventory);
	may_program(&r);
	fake_run_for(&r.f, 20 * SECOND_US);
	before = asked(&r);
	r.f.updating = true;
	fake_run_for(&r.f, 60 * SECOND_US);
	assert_int_equal(asked(&r), before);
	double_set_mute(r.b.d, r.sw, 0, 0);
	r.f.updating = false;
	fake_run_for(&r.f, 2 * SECOND_US);
	assert_int_equal(asked(&r), before + 1);
	assert_int_equal(r.f.asked.reroutes, 1); /* it was on */
	end(&r);
}

static void the_rows_of_switches_say_what_is_known(void **state)
{
	struct room r;
	json_t *rows;

	begin(&r);
	r.f.module->annotate(r.f.room, r.f.services.inventory);
	may_program(&r);
	fake_run_for(&r.f, SECOND_US);
	rows = adaptive_switches(&r.f);
	assert_int_equal(json_array_size(rows), r.b.found->nswitches);
	assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "ar")),
			    "off");
	assert_true(json_is_null(json_object_get(json_array_get(rows, 1), "ar")));
	json_decref(rows);
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_programming_waits_until_what_was_on_is_off),
		cmocka_unit_test(programming_does_not_wait_where_all_have_answered),
		cmocka_unit_test(
			a_switch_that_is_met_later_is_turned_off_beside_and_programmed_again),
		cmocka_unit_test(one_that_cannot_be_turned_off_is_an_alert_and_delays_no_other),
		cmocka_unit_test(
			a_silent_switch_delays_no_other_and_is_not_asked_first_after_a_restart),
		cmocka_unit_test(a_silent_switch_is_asked_again_when_idle_and_only_then),
		cmocka_unit_test(the_rows_of_switches_say_what_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
