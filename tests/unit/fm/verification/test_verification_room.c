/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What was answered or acknowledged once is asked again: this room alone, with a pipe that only
 * looks like one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "fm/sweep/sweep.h"
#include "fm/inventory/port_setup.h"
#include "fm/sweep/bringup.h"
#include "fm/verification/module.h"
#include "tests/lib/sweep_bench.h"
#include "tests/lib/fake_pipe.h"

#define SECOND_US 1000000ull

static void begin(struct fabric *f)
{
	fake_pipe_init(f, &verification_module, design_pgft2());
	f->left = true;
}

static void swept(struct fabric *f)
{
	assert_null(f->module->swept(
		f->room, &(struct fabric_swept){ .step = FABRIC_SWEEP_ENDED,
						 .result = &(struct sweep_result){ 0 } }));
}

/* Runs until that many verifications were asked for in all. */
static uint64_t seconds_to(struct fabric *f, unsigned verifications)
{
	uint64_t begun_us = loop_now_us(f->services.loop);

	for (unsigned i = 0; i < 1000 && f->asked.verifications < verifications; i++)
		fake_run_for(f, SECOND_US / 10);
	assert_int_equal(f->asked.verifications, verifications);
	return (loop_now_us(f->services.loop) - begun_us + SECOND_US / 2) / SECOND_US;
}

static void what_a_sweep_was_answered_is_asked_again_when_it_was_quiet_and_till_none_is_left(
	void **state)
{
	struct fabric f;

	begin(&f);
	fake_run_for(&f, 100 * SECOND_US);
	assert_int_equal(f.asked.verifications, 0);
	swept(&f);
	assert_int_equal(seconds_to(&f, 1), 20);
	assert_int_equal(f.asked.ports, 100);
	assert_false(f.asked.refused);
	assert_int_equal(seconds_to(&f, 2), 1);
	f.left = false;
	seconds_to(&f, 3);
	fake_run_for(&f, 100 * SECOND_US);
	assert_int_equal(f.asked.verifications, 3);
	fake_pipe_fini(&f);
}

static void nothing_is_asked_while_the_fabric_is_not_idle(void **state)
{
	struct fabric f;

	begin(&f);
	swept(&f);
	f.updating = true;
	fake_run_for(&f, 100 * SECOND_US);
	assert_int_equal(f.asked.verifications, 0);
	f.updating = false;
	assert_int_equal(seconds_to(&f, 1), 1);
	fake_pipe_fini(&f);
}

static void sweeps_that_follow_each_other_put_it_off_for_25_seconds_at_most(void **state)
{
	struct fabric f;

	begin(&f);
	for (unsigned i = 0; i < 5; i++) {
		swept(&f);
		fake_run_for(&f, 5 * SECOND_US - 1);
	}
	assert_int_equal(f.asked.verifications, 0);
	f.module->settled(f.room, FABRIC_SETTLED);
	assert_int_equal(seconds_to(&f, 1), 1);
	fake_pipe_fini(&f);
}

static void a_finding_has_the_rest_asked_sooner(void **state)
{
	struct fabric f;

	begin(&f);
	swept(&f);
	seconds_to(&f, 1);
	f.asked.verified(f.room, 1);
	swept(&f);
	assert_int_equal(seconds_to(&f, 2), 1);
	f.left = false;
	seconds_to(&f, 3);
	swept(&f);
	assert_int_equal(seconds_to(&f, 4), 20);
	fake_pipe_fini(&f);
}

/* ---- Who cannot be there --------------------------------------------------------------------- */

static size_t alerts_count(const struct fabric *f)
{
	json_t *alerts = alerts_json(f->services.alerts);
	size_t count = json_array_size(alerts);

	json_decref(alerts);
	return count;
}

static void assert_one_alert_with_ports(const struct fabric *f, const char *what, size_t ports)
{
	json_t *alerts = alerts_json(f->services.alerts), *alert = json_array_get(alerts, 0);

	assert_int_equal(json_array_size(alerts), 1);
	assert_string_equal(json_string_value(json_object_get(alert, "what")), what);
	assert_int_equal(json_array_size(json_object_get(alert, "ports")), ports);
	json_decref(alerts);
}

static void somebody_who_cannot_be_there_is_one_alert_with_its_ports_and_asked_later_and_later(
	void **state)
{
	static const struct wire_node_info info = {
		.type = TOPO_SWITCH, .nports = 4, .node_guid = 0x100, .port_guid = 0x100
	};
	struct fabric f;
	struct inv_node *sw;

	begin(&f);
	f.left = false;
	sw = inventory_add(&f.inventory, &info);
	inventory_refuse(&f.inventory, sw, 2, 0x300);
	inventory_refuse(&f.inventory, sw, 3, 0x300);
	swept(&f);
	assert_one_alert_with_ports(&f, "guid-twice", 2);
	assert_non_null(alert_text(f.services.alerts, "guid-twice",
				   &(struct event_subject){ .node = 0x300 }));
	assert_in_range(seconds_to(&f, 1), 4, 5);
	assert_true(f.asked.refused);
	assert_int_equal(f.asked.ports, 0);
	assert_in_range(seconds_to(&f, 2), 8, 9);
	inventory_refuse(&f.inventory, sw, 2, INV_NONSENSE);
	inventory_refuse(&f.inventory, sw, 3, INV_NONSENSE);
	swept(&f);
	assert_one_alert_with_ports(&f, "node-info", 2);
	inventory_refuse(&f.inventory, sw, 2, 0);
	inventory_refuse(&f.inventory, sw, 3, 0);
	swept(&f);
	assert_int_equal(alerts_count(&f), 0);
	seconds_to(&f, 3);
	assert_false(f.asked.refused);
	fake_pipe_fini(&f);
}

/* ---- Settings that are not held -------------------------------------------------------------- */

struct held {
	struct bench b;
	struct fabric f;
	guid_t sw;
};

static void begin_held(struct held *h)
{
	bench_init(&h->b, design_pgft2(), NULL);
	bench_discover(&h->b);
	fake_pipe_init_on(&h->f, &verification_module, topo_ref(h->b.found),
			  &(struct fabric_services){ .loop = h->b.loop,
						     .mad = h->b.mad,
						     .inventory = sweep_inventory(h->b.sweep) });
	h->sw = h->b.design->nodes[0].guid;
	double_sent_reset(h->b.d);
}

static void end_held(struct held *h)
{
	fake_pipe_fini(&h->f);
	bench_fini(&h->b);
}

/* Light sweeps found LifeTimeValue to be another than was set. */
static void poll_differing(struct held *h, bool differs)
{
	sweep_node(inv(&h->b, h->sw))->sw_differs = differs;
	sweep_inventory(h->b.sweep)->nsw_differ = differs;
	h->f.module->swept(h->f.room,
			   &(struct fabric_swept){ .step = FABRIC_SWEEP_ENDED, .light = true });
	fake_run_for(&h->f, SECOND_US);
}

static void a_switch_that_differs_is_set_again_at_once_then_once_a_minute_and_named(void **state)
{
	struct held h;
	struct event_subject of_sw = { 0 };

	begin_held(&h);
	of_sw.node = inv(&h.b, h.sw)->guid;
	poll_differing(&h, true);
	assert_int_equal(sets(&h.b, WIRE_SWITCH_INFO), 1);
	assert_null(alert_text(h.f.services.alerts, "not-held", &of_sw));
	for (unsigned i = 0; i < 50; i++)
		poll_differing(&h, true);
	assert_int_equal(sets(&h.b, WIRE_SWITCH_INFO), 1);
	assert_non_null(alert_text(h.f.services.alerts, "not-held", &of_sw));
	for (unsigned i = 0; i < 10; i++)
		poll_differing(&h, true);
	assert_int_equal(sets(&h.b, WIRE_SWITCH_INFO), 2);
	poll_differing(&h, false);
	assert_null(alert_text(h.f.services.alerts, "not-held", &of_sw));
	end_held(&h);
}

static void nothing_is_set_by_a_standby_nor_while_tables_are_written(void **state)
{
	struct held h;

	begin_held(&h);
	h.f.standby = true;
	poll_differing(&h, true);
	h.f.standby = false;
	h.f.updating = true;
	poll_differing(&h, true);
	assert_int_equal(sets(&h.b, WIRE_SWITCH_INFO), 0);
	end_held(&h);
}

static void ports_that_do_not_hold_their_settings_are_named_behind_bring_up(void **state)
{
	struct held h;
	struct inv_node *node;

	begin_held(&h);
	node = inv(&h.b, h.sw);
	port_setup(node, 1)->unheld = INV_SET_PKEYS;
	h.f.module->programmed(
		h.f.room,
		&(struct fabric_programmed){ .ports = &(struct bringup_result){ .unheld = 1 } });
	assert_non_null(strstr(alert_text(h.f.services.alerts, "not-held",
					  &(struct event_subject){ .node = node->guid, .port = 1 }),
			       "P_Key"));
	port_setup(node, 1)->unheld = 0;
	h.f.module->programmed(
		h.f.room, &(struct fabric_programmed){ .ports = &(struct bringup_result){ 0 } });
	assert_null(alert_text(h.f.services.alerts, "not-held",
			       &(struct event_subject){ .node = node->guid, .port = 1 }));
	end_held(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			what_a_sweep_was_answered_is_asked_again_when_it_was_quiet_and_till_none_is_left),
		cmocka_unit_test(nothing_is_asked_while_the_fabric_is_not_idle),
		cmocka_unit_test(sweeps_that_follow_each_other_put_it_off_for_25_seconds_at_most),
		cmocka_unit_test(a_finding_has_the_rest_asked_sooner),
		cmocka_unit_test(
			somebody_who_cannot_be_there_is_one_alert_with_its_ports_and_asked_later_and_later),
		cmocka_unit_test(
			a_switch_that_differs_is_set_again_at_once_then_once_a_minute_and_named),
		cmocka_unit_test(nothing_is_set_by_a_standby_nor_while_tables_are_written),
		cmocka_unit_test(ports_that_do_not_hold_their_settings_are_named_behind_bring_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
