/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Cables that fall again and again, on the fabric double: quarantine, its end, its memory, and what
 * it spares.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/perf/module.h"
#include "tests/fabric/fault.h"
#include "tests/lib/fabric_world.h"

struct cable {
	guid_t leaf;
	unsigned port;
};

/* The n-th uplink of a leaf that is not the SM's. */
static struct cable uplink(const struct world *w, unsigned n)
{
	uint32_t leaf = far_leaf(w);
	unsigned first = uplink_of(w->design, leaf);

	return (struct cable){ w->design->nodes[leaf].guid, first + n };
}

static void fall(struct world *w, struct cable cable, unsigned times, uint64_t apart_us)
{
	for (unsigned i = 0; i < times; i++) {
		double_cut(w->hw, cable.leaf, cable.port);
		run_for(w, apart_us / 2);
		double_join(w->hw, cable.leaf, cable.port);
		run_for(w, apart_us / 2);
	}
}

/* Entries for hosts that lead out by that port, on the hardware. */
static unsigned transit(const struct world *w, struct cable cable)
{
	unsigned count = 0;

	for (uint32_t h = 0; h < w->design->ncas; h++)
		count += double_lft(w->hw, cable.leaf, lid_of(w, h)) == cable.port;
	return count;
}

static bool is_quarantined(const struct world *w, unsigned count)
{
	return status_number(w, NULL, "links_quarantined") == count;
}

static void a_cable_that_falls_six_times_carries_no_transit_for_a_minute(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	struct cable cable = uplink(&w, 0);
	fall(&w, cable, 5, 2 * SECOND_US);
	assert_true(is_quarantined(&w, 0));
	assert_true(transit(&w, cable) > 0);
	fall(&w, cable, 1, 2 * SECOND_US);
	assert_true(is_quarantined(&w, 1));
	assert_int_equal(transit(&w, cable), 0);
	assert_int_equal(status_number(&w, NULL, "links_down"), 0);
	assert_int_equal(status_number(&w, NULL, "links_cordoned"), 0);
	assert_int_equal(double_link_state(w.hw, cable.leaf, cable.port), TOPO_ACTIVE);
	assert_int_equal(count_logged(&w, "quarantined", "went down 6 times within 60 s"), 1);
	assert_hardware_delivers(&w, 3);
	run_for(&w, 50 * SECOND_US);
	assert_int_equal(transit(&w, cable), 0);
	run_for(&w, 10 * SECOND_US);
	assert_int_equal(count_logged(&w, "released", "after 60 s"), 1);
	assert_true(is_quarantined(&w, 0));
	assert_true(transit(&w, cable) > 0);
	assert_hardware_holds_the_tables(&w);
	world_fini(&w);
}

/* Down and up again within the hold-down. */
static void a_cable_that_bounces_is_counted_too(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	struct cable cable = uplink(&w, 0);
	for (unsigned i = 0; i < 6; i++) {
		double_cut(w.hw, cable.leaf, cable.port);
		run_for(&w, 300);
		double_join(w.hw, cable.leaf, cable.port);
		run_for(&w, SECOND_US);
	}
	assert_int_equal(count_logged(&w, "link-bounced", "went down and came back"), 6);
	assert_true(is_quarantined(&w, 1));
	world_fini(&w);
}

/*
 * Light sweeps wait for the switch that hangs, and each flap makes a sweep that goes before them:
 * what they found before counts.
 */
static void beside_a_hung_switch_a_cable_that_flaps_hides_no_host_whose_trap_was_lost(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	const struct topo *t = w.design;
	struct cable cable = uplink(&w, 0);
	const struct topo_port *leaf = topo_peer(t, topo_port(t, t->nswitches + 9, 1));
	guid_t guid = t->nodes[leaf->node].guid, hung = t->nodes[t->nswitches - 1].guid;
	unsigned num = leaf->num;

	double_set_silent(w.hw, hung, true);
	fault_set(w.hw, fault_find("mum"), guid, 0, 1);
	double_cut(w.hw, guid, num);
	run_for(&w, 30 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "hcas_off"), 1);
	fall(&w, cable, 1, SECOND_US / 2);
	double_join(w.hw, guid, num);
	fall(&w, cable, 5, SECOND_US / 2);
	assert_int_equal(double_link_state(w.hw, guid, num), TOPO_ACTIVE);
	world_fini(&w);
}

/* ---- Operators ---- */

static struct reply release(struct world *w, const char *what)
{
	struct reply r = { 0 };

	links_out_release(w->fabric, what, reply_cb, &r);
	run_for(w, SECOND_US);
	assert_int_equal(r.count, 1);
	return r;
}

static void operators_see_a_quarantine_and_end_it(void **state)
{
	struct world w;
	char what[64];
	struct reply r;

	world_init(&w, pod(1));
	struct cable cable = uplink(&w, 2);
	fall(&w, cable, 6, SECOND_US);
	json_t *rows = link_health_links(w.fabric), *row = json_array_get(rows, 0);
	assert_int_equal(json_array_size(rows), 1);
	assert_string_equal(json_string_value(json_object_get(row, "sick")), "quarantined");
	assert_in_range(json_integer_value(json_object_get(row, "left_s")), 50, 60);
	json_decref(rows);
	snprintf(what, sizeof(what), "0x%llx:%u", (unsigned long long)cable.leaf, cable.port);
	r = release(&w, what);
	assert_string_equal(r.error, "");
	assert_true(json_is_true(json_object_get(r.result, "released")));
	assert_int_equal(json_integer_value(json_object_get(r.result, "ports")), 1);
	assert_true(json_integer_value(json_object_get(r.result, "lft_blocks_written")) > 0);
	json_decref(r.result);
	assert_true(is_quarantined(&w, 0));
	assert_true(transit(&w, cable) > 0);
	r = release(&w, what);
	assert_string_equal(json_string_value(json_object_get(r.result, "note")),
			    "not quarantined");
	json_decref(r.result);
	r = release(&w, "moon");
	assert_non_null(strstr(r.error, "moon"));
	/* It is forgotten: the next one is as short as the first. */
	fall(&w, cable, 6, SECOND_US);
	assert_int_equal(count_logged(&w, "quarantined", "for 60 s"), 2);
	world_fini(&w);
}

static void a_cordon_and_a_quarantine_are_told_apart(void **state)
{
	struct world w;
	struct reply r = { 0 };
	char what[64];

	world_init(&w, pod(1));
	struct cable cable = uplink(&w, 0), other = uplink(&w, 1);
	fall(&w, cable, 6, SECOND_US);
	snprintf(what, sizeof(what), "0x%llx:%u", (unsigned long long)other.leaf, other.port);
	links_out_cordon(w.fabric, what, true, reply_cb, &r);
	run_for(&w, SECOND_US);
	json_decref(r.result);
	assert_true(is_quarantined(&w, 1));
	assert_int_equal(status_number(&w, NULL, "links_cordoned"), 1);
	links_out_cordon(w.fabric, what, false, reply_cb, &r);
	run_for(&w, SECOND_US);
	json_decref(r.result);
	assert_true(is_quarantined(&w, 1));
	assert_int_equal(status_number(&w, NULL, "links_cordoned"), 0);
	world_fini(&w);
}

/* ---- Memory ---- */

static void a_quarantine_survives_a_restart(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	struct cable cable = uplink(&w, 0);
	fall(&w, cable, 6, SECOND_US);
	stop_fabric(&w);
	start_fabric(&w);
	run_for(&w, 2 * SECOND_US);
	assert_true(is_up(&w));
	assert_true(is_quarantined(&w, 1));
	assert_int_equal(transit(&w, cable), 0);
	run_for(&w, 61 * SECOND_US);
	assert_true(is_quarantined(&w, 0));
	/* Remembered still: */
	stop_fabric(&w);
	start_fabric(&w);
	run_for(&w, 2 * SECOND_US);
	assert_int_equal(count_logged(&w, "released", ""), 0);
	fall(&w, cable, 6, SECOND_US);
	assert_int_equal(count_logged(&w, "quarantined", "for 120 s"), 1);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cable_that_falls_six_times_carries_no_transit_for_a_minute),
		cmocka_unit_test(a_cable_that_bounces_is_counted_too),
		cmocka_unit_test(
			beside_a_hung_switch_a_cable_that_flaps_hides_no_host_whose_trap_was_lost),
		cmocka_unit_test(operators_see_a_quarantine_and_end_it),
		cmocka_unit_test(a_cordon_and_a_quarantine_are_told_apart),
		cmocka_unit_test(a_quarantine_survives_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
