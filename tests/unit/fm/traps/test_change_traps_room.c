/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What traps lead to, and when: this room alone, with a pipe that only looks like one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/sweep/sweep.h"
#include "fm/fabric/traps.h"
#include "tests/lib/fake_pipe.h"
#include "topology/generate/generate.h"

#define LINK_STATE 128
#define CAPABILITY 144
#define SECOND_US  1000000ull

static void *init(struct fabric *f)
{
	return traps_new(f, &f->services);
}

static void fini(void *room)
{
	traps_free(room);
}

/* For the fake pipe, which ends a room. */
static const struct fabric_module module = { .name = "traps", .init = init, .fini = fini };

/* A small published fabric. The inventory is the sweep's, and nothing is swept. */
static void begin(struct fabric *f, bool published)
{
	static const unsigned m[] = { 2, 2 }, w[] = { 1, 2 }, p[] = { 1, 1 };
	char err[256];
	struct topo *t = generate_pgft(2, m, w, p, err, sizeof(err));

	assert_non_null(t);
	fake_pipe_prepare(f, &module, published ? t : NULL, NULL, NULL);
	if (!published)
		topo_unref(t);
	f->services.sweep = sweep_new(f->services.loop, NULL);
	f->conf.sweep.hold_down_ms = 2;
	f->conf.sweep.hold_down_max_ms = 100;
	f->room = f->module->init(f);
	fake_run_for(f, SECOND_US);
}

static void end(struct fabric *f)
{
	sweep_free(f->services.sweep);
	fake_pipe_fini(f);
}

static uint16_t lid_of_switch(const struct fabric *f, uint32_t node)
{
	return f->view.lids->lid_of_port[f->view.topo->nodes[node].port0];
}

static void trap_from(struct fabric *f, uint16_t lid, uint16_t number, bool forged)
{
	const struct wire_notice notice = { .generic = true, .trap = number, .lid = lid };

	if (!forged) /* as fabric_trap_received() does */
		traps_take(f->room, &notice, lid, loop_now_us(f->services.loop));
}

/* The snapshot of the sweep that was asked for is compared with what is published. */
static void compare(struct fabric *f, bool differs)
{
	traps_collected(f->room);
	traps_compared(f->room, differs);
}

static void a_switch_that_sends_a_trap_is_swept_behind_the_hold_down(void **state)
{
	struct fabric f;
	uint64_t then;

	begin(&f, true);
	then = loop_now_us(f.services.loop);
	trap_from(&f, lid_of_switch(&f, 1), LINK_STATE, false);
	assert_int_equal(f.asked.faults, 1);
	assert_int_equal(f.asked.refreshes, 0);
	assert_int_equal(traps_pending_since(f.room), then);
	fake_run_for(&f, 3000);
	assert_int_equal(f.asked.refreshes, 1);
	assert_int_equal(f.asked.refreshed, f.view.topo->nodes[1].guid);
	assert_int_equal(traps_pending_since(f.room), then);
	compare(&f, true);
	assert_int_equal(traps_pending_since(f.room), 0);
	end(&f);
}

static void a_capability_that_changed_is_no_fault(void **state)
{
	struct fabric f;

	begin(&f, true);
	trap_from(&f, lid_of_switch(&f, 1), CAPABILITY, false);
	fake_run_for(&f, 3000);
	assert_int_equal(f.asked.faults, 0);
	assert_int_equal(f.asked.refreshes, 1);
	end(&f);
}

static void our_own_capability_and_a_forged_trap_lead_to_nothing(void **state)
{
	struct fabric f;

	begin(&f, true);
	f.view.sm_lid = lid_of_switch(&f, 0);
	trap_from(&f, f.view.sm_lid, CAPABILITY, false);
	trap_from(&f, lid_of_switch(&f, 1), LINK_STATE, true);
	fake_run_for(&f, SECOND_US);
	assert_int_equal(f.asked.refreshes + f.asked.sweeps + f.asked.faults, 0);
	end(&f);
}

/* For 16 ms at first, and the longer the longer they come. */
static void traps_that_keep_coming_are_answered_more_and_more_seldom(void **state)
{
	struct fabric f;
	unsigned early = 0;

	begin(&f, true);
	for (unsigned i = 0; i < 2000; i++) {
		trap_from(&f, lid_of_switch(&f, i % 2), LINK_STATE, false);
		fake_run_for(&f, 500);
		if (i == 16 * 2 - 1)
			assert_int_equal(f.asked.refreshes, 2); /* both at once */
		if (i == 1799)
			early = f.asked.refreshes;
	}
	assert_in_range(early, 2 * 10, 2 * 40);
	assert_in_range(f.asked.refreshes - early, 0, 2 * 2);
	end(&f);
}

/* `traps` of one switch, each behind the sweep for the one before. */
static void traps_in_turn(struct fabric *f, unsigned traps, bool differs)
{
	for (unsigned i = 0; i < traps; i++) {
		trap_from(f, lid_of_switch(f, 1), LINK_STATE, false);
		fake_run_for(f, 60000);
		compare(f, differs);
	}
}

static void a_source_whose_sweeps_find_nothing_is_throttled_and_not_forgotten(void **state)
{
	struct fabric f;

	begin(&f, true);
	traps_in_turn(&f, 3, false);
	assert_int_equal(f.asked.refreshes, 3);
	traps_in_turn(&f, 2, false);
	assert_int_equal(f.asked.refreshes, 3);
	trap_from(&f, lid_of_switch(&f, 0), LINK_STATE, false); /* another is not held up */
	fake_run_for(&f, 10000);
	assert_int_equal(f.asked.refreshes, 4);
	fake_run_for(&f, SECOND_US);
	assert_int_equal(f.asked.refreshes, 5);
	assert_int_equal(f.asked.refreshed, f.view.topo->nodes[1].guid);
	end(&f);
}

static void a_sweep_that_finds_something_ends_the_throttle(void **state)
{
	struct fabric f;

	begin(&f, true);
	traps_in_turn(&f, 3, false);
	fake_run_for(&f, SECOND_US);
	traps_in_turn(&f, 1, true);
	traps_in_turn(&f, 2, false);
	assert_int_equal(f.asked.refreshes, 6);
	end(&f);
}

/* Traps of days are no storm: what each had to report may have been found by another's sweep. */
static void useless_sweeps_that_lie_far_apart_throttle_nobody(void **state)
{
	struct fabric f;

	begin(&f, true);
	traps_in_turn(&f, 3, false);
	fake_run_for(&f, 20 * SECOND_US);
	traps_in_turn(&f, 2, false);
	assert_int_equal(f.asked.refreshes, 5);
	end(&f);
}

static void somebody_unknown_asks_for_a_heavy_sweep(void **state)
{
	struct fabric f;

	begin(&f, true);
	trap_from(&f, 4000, LINK_STATE, false);
	fake_run_for(&f, 3000);
	assert_int_equal(f.asked.sweeps, 1);
	assert_int_equal(f.asked.faults, 0);
	end(&f);
}

static void before_the_first_publication_one_sweep_follows_the_update_in_the_making(void **state)
{
	struct fabric f;

	begin(&f, false);
	trap_from(&f, 5, LINK_STATE, false);
	traps_update_ended(f.room);
	assert_int_equal(f.asked.sweeps,
			 0); /* no update was in the making: the first sweep saw it */
	f.updating = true;
	trap_from(&f, 5, LINK_STATE, false);
	trap_from(&f, 6, LINK_STATE, false);
	fake_run_for(&f, SECOND_US);
	assert_int_equal(f.asked.sweeps, 0);
	traps_update_ended(f.room);
	traps_update_ended(f.room);
	assert_int_equal(f.asked.sweeps, 1);
	end(&f);
}

static void the_other_end_of_what_went_down_is_swept_by_a_master(void **state)
{
	const struct wire_node_info info = { .base_version = 1,
					     .class_version = 1,
					     .type = TOPO_SWITCH,
					     .nports = 8,
					     .node_guid = 0x700,
					     .port_guid = 0x700 };
	const guid_t changed[] = { 0x700 };
	const struct sweep_result result = { .changed = changed, .nchanged = 1 };
	struct fabric f;

	begin(&f, true);
	inventory_add(&f.inventory, &info);
	f.standby = true;
	traps_swept(f.room, &result);
	fake_run_for(&f, 3000);
	assert_int_equal(f.asked.refreshes, 0);
	f.standby = false;
	traps_swept(f.room, &result);
	fake_run_for(&f, 3000);
	assert_int_equal(f.asked.refreshes, 1);
	assert_int_equal(f.asked.refreshed, 0x700);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_switch_that_sends_a_trap_is_swept_behind_the_hold_down),
		cmocka_unit_test(a_capability_that_changed_is_no_fault),
		cmocka_unit_test(our_own_capability_and_a_forged_trap_lead_to_nothing),
		cmocka_unit_test(traps_that_keep_coming_are_answered_more_and_more_seldom),
		cmocka_unit_test(a_source_whose_sweeps_find_nothing_is_throttled_and_not_forgotten),
		cmocka_unit_test(a_sweep_that_finds_something_ends_the_throttle),
		cmocka_unit_test(useless_sweeps_that_lie_far_apart_throttle_nobody),
		cmocka_unit_test(somebody_unknown_asks_for_a_heavy_sweep),
		cmocka_unit_test(
			before_the_first_publication_one_sweep_follows_the_update_in_the_making),
		cmocka_unit_test(the_other_end_of_what_went_down_is_swept_by_a_master),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
