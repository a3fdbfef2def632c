/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Adaptive routing as operators meet it: what is named, masks, what is refused, and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/adaptive/module.h"
#include "fm/mad/wire_optional.h"
#include "tests/fabric/double_own.h"
#include "tests/lib/ar_world.h"
#include "tests/lib/sm_pair.h"
#include "tests/lib/state_rows.h"

/* What `path` names: of a leaf all links up to a host elsewhere, and none to its own. */
static void the_ports_of_a_choice_are_named(void **state)
{
	struct world w;
	uint32_t leaf;
	json_t *choice;

	begin(&w, two_tiers(), 13);
	leaf = far_leaf(&w);
	choice = adaptive_choices(w.fabric, w.design->nodes[leaf].guid, lid_of(&w, 0));
	assert_string_equal(json_string_value(choice), "one of 8 ports: 5, 6, 7, 8, 9, 10, 11, 12");
	json_decref(choice);
	assert_null(adaptive_choices(w.fabric, w.design->nodes[leaf].guid,
				     lid_of(&w, w.design->ncas - 1)));
	assert_null(adaptive_choices(w.fabric, w.design->nodes[w.design->nswitches].guid,
				     lid_of(&w, 0)));
	world_fini(&w);
}

/* Of each HCA: the masks of its port, as one number. */
static uint32_t masks_of(const struct world *w, uint32_t host)
{
	const struct dnode *hca =
		double_node(w->hw, w->design->nodes[w->design->nswitches + host].guid);

	return (uint32_t)wire_get(hca->ports[1].sl_masks, 4);
}

static void put_masks(struct world *w, uint32_t host, uint32_t masks)
{
	struct dnode *hca = double_node(w->hw, w->design->nodes[w->design->nswitches + host].guid);

	wire_put(hca->ports[1].sl_masks, 4, masks);
}

static const char *shown(const struct world *w, uint32_t host, const char *key, json_t **doc)
{
	*doc = json_object();
	adaptive_show_hca(w->fabric, w->design->nodes[w->design->nswitches + host].guid, 0, *doc);
	return json_string_value(json_object_get(*doc, key));
}

/* What a manager before has set of other SLs stays; an HCA that boots has forgotten all. */
static void hcas_get_the_masks_of_sls_that_use_it(void **state)
{
	struct world w;
	uint32_t sets;
	json_t *doc;
	guid_t guid;

	world_init(&w, two_tiers());
	w.conf.routing.adaptive_sl = 0x00f0;
	put_masks(&w, 1, 0x80000001);
	put_masks(&w, 2, 0xfffffff0);
	restart_on(&w, 14);
	assert_on(&w, w.design->nswitches);
	assert_int_equal(masks_of(&w, 0), 0x00f000f0);
	assert_int_equal(masks_of(&w, 1), 0x80f000f1);
	assert_int_equal(masks_of(&w, 2), 0xfffffff0);
	for (uint32_t sw = 0; sw < w.design->nswitches; sw++) {
		struct wire_ar_info info;

		wire_ar_info_decode(double_adaptive(w.hw, w.design->nodes[sw].guid), &info);
		assert_true(info.by_sl);
		assert_int_equal(info.sl_mask, 0x00f0);
	}
	assert_string_equal(shown(&w, 1, "out_of_order_sls", &doc), "0x00f1");
	assert_string_equal(json_string_value(json_object_get(doc, "adaptive_timeout_sls")),
			    "0x80f0");
	json_decref(doc);
	assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_MLNX_EXT_PORT_INFO), w.design->ncas - 1);
	assert_int_equal(count_logged(&w, "adaptive-routing-on", "packets out of order"), 1);

	guid = w.design->nodes[w.design->nswitches].guid;
	double_set_power(w.hw, guid, false);
	put_masks(&w, 0, 0);
	run_for(&w, 10 * SECOND_US);
	double_set_power(w.hw, guid, true);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(masks_of(&w, 0), 0x00f000f0);

	sets = double_sent(w.hw, WIRE_SET, WIRE_MLNX_EXT_PORT_INFO);
	w.conf.routing.adaptive_sl = 0xffff;
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(masks_of(&w, 1), 0xffffffff);
	assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_MLNX_EXT_PORT_INFO),
			 sets + w.design->ncas);
	for (uint32_t sw = 0; sw < w.design->nswitches; sw++) {
		struct wire_ar_info info;

		wire_ar_info_decode(double_adaptive(w.hw, w.design->nodes[sw].guid), &info);
		assert_false(info.by_sl);
	}
	assert_on(&w, w.design->nswitches);
	world_fini(&w);
}

/* One acknowledges what it does not do, one answers nothing: both are named until they do it. */
static void an_hca_with_other_masks_is_named(void **state)
{
	char feigns[128], mute[128];
	struct world w;
	json_t *doc;

	world_init(&w, two_tiers());
	const struct topo_node *hcas = &w.design->nodes[w.design->nswitches];
	put_masks(&w, 1, 0x00010001);
	double_set_feigns(w.hw, hcas[1].guid, WIRE_MLNX_EXT_PORT_INFO);
	double_set_mute(w.hw, hcas[2].guid, WIRE_GET, WIRE_MLNX_EXT_PORT_INFO);
	restart_on(&w, 14);
	assert_on(&w, w.design->nswitches);
	assert_int_equal(count_alerts(&w, "hca-masks", "2 HCA ports"), 1);
	array_printf(feigns, "%s p1 (0x0001, 0x0001)", hcas[1].name);
	array_printf(mute, "%s p1 (no answer)", hcas[2].name);
	assert_int_equal(count_alerts(&w, "hca-masks", feigns), 1);
	assert_int_equal(count_alerts(&w, "hca-masks", mute), 1);
	assert_string_equal(shown(&w, 1, "out_of_order_sls", &doc), "0x0001");
	json_decref(doc);
	assert_null(shown(&w, 2, "out_of_order_sls", &doc));
	json_decref(doc);

	double_set_mute(w.hw, 0, 0, 0);
	run_for(&w, 1300 * SECOND_US);
	assert_int_equal(count_alerts(&w, "hca-masks", "1 HCA port"), 1);
	assert_int_equal(count_alerts(&w, "hca-masks", feigns), 1);
	assert_int_equal(count_alerts(&w, "hca-masks", mute), 0);
	assert_int_equal(masks_of(&w, 2), 0xffffffff);

	double_set_feigns(w.hw, hcas[1].guid, 0);
	put_masks(&w, 3, 0x7fffffff); /* somebody else's */
	run_for(&w, 1300 * SECOND_US);
	assert_int_equal(count_alerts(&w, "hca-masks", ""), 0);
	assert_int_equal(masks_of(&w, 1), 0xffffffff);
	assert_int_equal(masks_of(&w, 3), 0xffffffff);
	assert_string_equal(shown(&w, 1, "out_of_order_sls", &doc), "0xffff");
	json_decref(doc);

	double_set_feigns(w.hw, hcas[1].guid, WIRE_MLNX_EXT_PORT_INFO);
	put_masks(&w, 1, 0);
	run_for(&w, 1300 * SECOND_US);
	assert_int_equal(count_alerts(&w, "hca-masks", "1 HCA port"), 1);
	w.conf.routing.adaptive = 0;
	fabric_configure(w.fabric, &w.conf);
	assert_int_equal(count_alerts(&w, "hca-masks", ""), 0);
	world_fini(&w);
}

static void with_it_off_masks_stay(void **state)
{
	struct world w;

	world_init(&w, two_tiers());
	put_masks(&w, 1, 0x80000001);
	run_for(&w, 120 * SECOND_US);
	assert_int_equal(masks_of(&w, 1), 0x80000001);
	assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_MLNX_EXT_PORT_INFO), 0);
	world_fini(&w);
}

/* On the switches it is on, as what was found says; then a person writes another place there. */
static void what_was_found_is_not_used_once_it_was_edited(void **state)
{
#define EDIT "UPDATE state SET value = replace(value, '\"bit\":', '\"bit\":1')"
#define ROWS " WHERE kind = 'ar_packing'"
	static const char *const edits[] = { EDIT ROWS, EDIT ", sum = NULL" ROWS };

	for (unsigned i = 0; i < ARRAY_SIZE(edits); i++) {
		struct world w;

		begin(&w, two_tiers(), 9);
		assert_on(&w, w.design->nswitches);
		stop_fabric(&w);
		assert_int_equal(rows_run(w.state_dir, edits[i]), 1);
		start_fabric(&w);
		run_for(&w, 120 * SECOND_US);
		assert_int_equal(count_alerts(&w, "state-lost", "ar_packing: `"), 1);
		assert_int_equal(count_alerts(&w, "adaptive-routing", "fmctl probe ar"), 1);
		assert_int_equal(count_on(&w), 0);
		assert_hardware_holds_the_tables(&w);
		assert_int_equal(dead_pairs(&w), 0);
		world_fini(&w);
	}
}

static void a_switch_that_contradicts_itself_stays_plain(void **state)
{
	static const struct {
		unsigned top, cap, subgroups, subgroup_cap;
		const char *why;
	} rows[] = { { 9, 5, 1, 2, "contradicts itself" },
		     { 0, 9, 0, 2, "contradicts itself" },
		     { 0, 9, 3, 2, "contradicts itself" },
		     { 0, 1, 1, 2, "it has no groups" } };
	struct wire_ar_info info;
	struct world w;

	begin(&w, two_tiers(), 9);
	struct dnode *sw = double_node(w.hw, w.design->nodes[far_leaf(&w)].guid);
	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		double_reboot(w.hw, sw->guid);
		wire_ar_info_decode(sw->adaptive, &info);
		info.group_top = rows[i].top;
		info.group_cap = rows[i].cap;
		info.subgroups = rows[i].subgroups;
		info.subgroup_cap = rows[i].subgroup_cap;
		wire_ar_info_encode(&info, sw->adaptive);
		run_for(&w, 120 * SECOND_US);
		assert_false(adaptive_forwards(sw));
		assert_on(&w, w.design->nswitches - 1);
		assert_int_equal(count_alerts(&w, "adaptive-routing", rows[i].why), 1);
	}
	world_fini(&w);
}

static void it_goes_away_again_with_all_tables_in_place(void **state)
{
	struct world w;

	begin(&w, two_tiers(), 7);
	w.conf.routing.adaptive = 0;
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(count_on(&w), 0);
	assert_hardware_holds_the_tables(&w);
	assert_int_equal(dead_pairs(&w), 0);
	w.conf.routing.adaptive = 1;
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, 60 * SECOND_US);
	assert_on(&w, w.design->nswitches);
	world_fini(&w);
}

/* It is tried again, and the others are not turned on meanwhile. */
static void a_switch_that_is_not_turned_off_is_named(void **state)
{
	struct world w;
	guid_t guid;

	begin(&w, two_tiers(), 7);
	guid = w.design->nodes[far_leaf(&w)].guid;
	double_set_mute(w.hw, guid, WIRE_SET, WIRE_ADAPTIVE_INFO);
	w.conf.routing.adaptive = 0;
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(count_on(&w), 0); /* nor are the others on again */
	assert_true(wire_adaptive_on(double_adaptive(w.hw, guid)));
	assert_int_equal(count_alerts(&w, "adaptive-routing", "could not be turned off"), 1);
	double_set_mute(w.hw, 0, 0, 0);
	run_for(&w, 600 * SECOND_US);
	assert_false(wire_adaptive_on(double_adaptive(w.hw, guid)));
	assert_int_equal(count_on(&w), 0);
	assert_int_equal(count_alerts(&w, "adaptive-routing", ""), 0);
	assert_hardware_holds_the_tables(&w);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_ports_of_a_choice_are_named),
		cmocka_unit_test(hcas_get_the_masks_of_sls_that_use_it),
		cmocka_unit_test(an_hca_with_other_masks_is_named),
		cmocka_unit_test(with_it_off_masks_stay),
		cmocka_unit_test(it_goes_away_again_with_all_tables_in_place),
		cmocka_unit_test(a_switch_that_is_not_turned_off_is_named),
		cmocka_unit_test(what_was_found_is_not_used_once_it_was_edited),
		cmocka_unit_test(a_switch_that_contradicts_itself_stays_plain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
