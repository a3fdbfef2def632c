/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Tier: long. Devices that refuse are waited for. */
/*
 * Devices that refuse or ignore Sets: alerts name them, they cost few SMPs, and the rest of the
 * fabric is managed as without them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/audit/module.h"
#include "tests/fabric/fault.h"
#include "tests/lib/fabric_world.h"
#include "topology/snapshot/topo_builder.h"

static guid_t host_guid(const struct world *w, uint32_t host)
{
	return w->design->nodes[w->design->nswitches + host].guid;
}

static guid_t leaf_guid(const struct world *w)
{
	return w->design->nodes[far_leaf(w)].guid;
}

static const char *known_as(const struct world *w, guid_t guid)
{
	const struct topo *t = fabric_topo(w->fabric);

	return t->nodes[topo_find(t, guid)].desc;
}

/* So many alerts whose text has that in it. */
static uint64_t events_logged(const struct world *w)
{
	json_t *events = fabric_events(w->fabric, 1);
	uint64_t seq = json_integer_value(json_object_get(json_array_get(events, 0), "seq"));

	json_decref(events);
	return seq;
}

static uint64_t smps_in(struct world *w, uint64_t seconds)
{
	uint64_t before = status_number(w, NULL, "smps_sent");

	run_for(w, seconds * SECOND_US);
	return status_number(w, NULL, "smps_sent") - before;
}

/*
 * Microseconds from the cut of an uplink elsewhere to the last block; the cable is back afterwards.
 */
static double cut_answered_in(struct world *w)
{
	double ms;

	double_cut(w->hw, leaf_guid(w), uplink_of(w->design, far_leaf(w)));
	run_for(w, 5 * SECOND_US);
	ms = status_number(w, "last_fault", "detected_to_programmed_ms");
	double_join(w->hw, leaf_guid(w), uplink_of(w->design, far_leaf(w)));
	run_for(w, 5 * SECOND_US);
	return ms;
}

/* Seconds until an entry that a switch changed by itself is right again; at most `most`. */
static unsigned audited_in(struct world *w, unsigned most)
{
	uint16_t lid = lid_of(w, 0);
	uint8_t right = double_lft(w->hw, leaf_guid(w), lid);
	unsigned s = 0;

	double_set_lft(w->hw, leaf_guid(w), lid, 255);
	while (s < most && double_lft(w->hw, leaf_guid(w), lid) != right) {
		run_for(w, SECOND_US);
		s++;
	}
	return s;
}

struct costs {		       /* of a fabric, with or without a faulty device */
	uint64_t smps, events; /* in 10 minutes, without the audit's */
	double fault_ms;
	unsigned audit_s;
};

static struct costs costs_of(struct world *w)
{
	struct costs c;

	c.events = events_logged(w);
	double_sent_reset(w->hw);
	c.smps = smps_in(w, 600);
	c.smps -= double_sent(w->hw, WIRE_GET, WIRE_LFT) + double_sent(w->hw, WIRE_GET, WIRE_MFT);
	c.events = events_logged(w) - c.events;
	c.fault_ms = cut_answered_in(w);
	run_for(w, 120 * SECOND_US);
	c.audit_s = audited_in(w, 600);
	return c;
}

/* With idle polls alone: no counters, one audit in the place where it is asked for. */
static void world_for_costs(struct world *w)
{
	world_init(w, small_tree());
	w->conf.perf.interval_ms = 0;
	w->conf.audit.rate = 1;
	fabric_configure(w->fabric, &w->conf);
	run_for(w, 120 * SECOND_US);
}

static void one_adapter_that_takes_no_set_costs_little(void **state)
{
	struct costs healthy, faulty;
	struct world w;

	world_for_costs(&w);
	healthy = costs_of(&w);
	fault_set(w.hw, fault_find("deaf"), host_guid(&w, 9), 1, 1);
	w.conf.ports.subnet_timeout--; /* all ports are to be set anew */
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, 120 * SECOND_US);
	assert_true(is_up(&w));
	assert_int_equal(count_logged(&w, "links-failed", ""), 1);
	assert_int_equal(count_alerts(&w, "", known_as(&w, host_guid(&w, 9))), 1);
	faulty = costs_of(&w);
	print_message("10 min idle, without the audit: %llu SMPs, with it %llu; a fault: %.3f ms, "
		      "with it %.3f; audit: "
		      "%u s, with it %u\n",
		      (unsigned long long)healthy.smps, (unsigned long long)faulty.smps,
		      healthy.fault_ms, faulty.fault_ms, healthy.audit_s, faulty.audit_s);
	/* 5: where nothing else is asked, it is made sure that anybody answers. */
	assert_true(faulty.smps <= healthy.smps + 11 + 5);
	assert_int_equal(faulty.events, 0);
	assert_true(faulty.fault_ms <= 1.1 * healthy.fault_ms);
	assert_true(faulty.audit_s < 600);
	assert_int_equal(count_logged(&w, "links-failed", ""), 1);
	assert_true(is_up(&w));
	fault_set(w.hw, fault_find("deaf"), host_guid(&w, 9), 1, 0);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(count_alerts(&w, "", known_as(&w, host_guid(&w, 9))), 0);
	assert_int_equal(double_port_info(w.hw, host_guid(&w, 9), 1)->subnet_timeout,
			 w.conf.ports.subnet_timeout);
	world_fini(&w);
}

/* As world_init(), with switches that announce SwitchPortStateTable. */
static void world_with_state_tables(struct world *w)
{
	struct topo *design = small_tree();

	world_init(w, design);
	for (uint32_t sw = 0; sw < design->nswitches; sw++)
		double_set_state_table(w->hw, design->nodes[sw].guid, true);
	stop_fabric(w);
	remove_state(w, "cables");
	start_fabric(w);
	run_for(w, 2 * SECOND_US);
}

static void state_table_that_is_not_answered_counts_as_not_there(void **state)
{
	struct world w;

	world_with_state_tables(&w);
	assert_true(double_sent(w.hw, WIRE_GET, WIRE_PORT_STATE_TABLE) > 0);
	stop_fabric(&w);
	remove_state(&w, "cables");
	double_set_mute(w.hw, 0, WIRE_GET, WIRE_PORT_STATE_TABLE);
	start_fabric(&w);
	run_for(&w, 10 * SECOND_US);
	assert_true(is_up(&w));
	assert_int_equal(status_number(&w, NULL, "switches"), w.design->nswitches);
	assert_int_equal(status_number(&w, NULL, "hcas"), w.design->ncas);
	assert_int_equal(double_ports_not_active(w.hw), 0);
	double_sent_reset(w.hw);
	for (unsigned i = 0; i < 4; i++) {
		fabric_sweep(w.fabric, NULL, NULL);
		run_for(&w, 10 * SECOND_US);
	}
	double_sent_reset(w.hw);
	fabric_sweep(w.fabric, NULL, NULL);
	run_for(&w, 10 * SECOND_US);
	assert_int_equal(double_sent(w.hw, WIRE_GET, WIRE_PORT_STATE_TABLE), 0);
	world_fini(&w);
}

static void one_switch_without_its_state_table_is_read_port_by_port(void **state)
{
	struct world w;

	world_with_state_tables(&w);
	double_set_mute(w.hw, leaf_guid(&w), WIRE_GET, WIRE_PORT_STATE_TABLE);
	double_cut(w.hw, leaf_guid(&w), uplink_of(w.design, far_leaf(&w)));
	run_for(&w, 2 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "links_down"), 1);
	fabric_sweep(w.fabric, NULL, NULL);
	run_for(&w, 5 * SECOND_US);
	assert_true(is_up(&w));
	assert_int_equal(status_number(&w, NULL, "hcas"), w.design->ncas);
	assert_int_equal(status_number(&w, NULL, "links_down"), 1);
	assert_int_equal(status_number(&w, NULL, "partial"), 0);
	world_fini(&w);
}

static void renamed_nodes_are_known_by_their_new_names(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	double_set_desc(w.hw, leaf_guid(&w), "leaf with its new name"); /* trap 144 */
	run_for(&w, 5 * SECOND_US);
	assert_string_equal(known_as(&w, leaf_guid(&w)), "leaf with its new name");
	double_set_traps(w.hw, false);
	double_set_desc(w.hw, leaf_guid(&w), "leaf renamed again");
	double_set_desc(w.hw, host_guid(&w, 4), "host with its new name");
	fabric_sweep(w.fabric, NULL, NULL);
	run_for(&w, 5 * SECOND_US);
	assert_string_equal(known_as(&w, leaf_guid(&w)), "leaf renamed again");
	assert_string_equal(known_as(&w, host_guid(&w, 4)), "host with its new name");
	world_fini(&w);
}

static void what_a_readback_finds_is_repaired(void **state)
{
	struct reply r = { 0 };
	struct world w;
	uint16_t lid;
	uint8_t right;

	world_init(&w, small_tree());
	lid = lid_of(&w, 0);
	right = double_lft(w.hw, leaf_guid(&w), lid);
	double_set_lft(w.hw, leaf_guid(&w), lid, 255);
	audit_readback(w.fabric, reply_cb, &r);
	run_for(&w, 5 * SECOND_US);
	assert_int_equal(r.count, 1);
	assert_int_equal(json_integer_value(json_object_get(r.result, "differ")), 1);
	assert_int_equal(double_lft(w.hw, leaf_guid(&w), lid), right);
	assert_int_equal(count_logged(&w, "audit", known_as(&w, leaf_guid(&w))), 1);
	json_decref(r.result);
	world_fini(&w);
}

/*
 * Of ports that nobody has seen for years: all LIDs but the lowest; those from 1000 on were away
 * first.
 */
static void write_absent(const struct world *w)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (unsigned lid = 60; lid <= 49151; lid++)
		fprintf(out, "0x%016llx %u 0 %u\n", 0xabc0000000000000ull + lid, lid,
			lid >= 1000 && lid < 1100 ? 1000000 : 2000000);
	fclose(out);
	rows_replace(w->state_dir, "lids", text);
	free(text);
}

static unsigned lids_remembered(const struct world *w)
{
	char *rows = state_lines(w, "lids");
	unsigned count = 0;

	for (const char *c = rows; *c; c++)
		count += *c == '\n';
	free(rows);
	return count;
}

static void lids_of_the_absent_are_taken_back_oldest_first(void **state)
{
	const struct lid_map *lids;
	struct reply r = { 0 };
	struct world w;

	world_init(&w, small_tree());
	for (uint32_t n = 0; n < w.design->nnodes; n++)
		double_reboot(w.hw, w.design->nodes[n].guid);
	stop_fabric(&w);
	write_absent(&w);
	start_fabric(&w);
	run_for(&w, 10 * SECOND_US);
	assert_true(is_up(&w));
	assert_int_equal(double_ports_not_active(w.hw), 0);
	assert_int_equal(count_logged(&w, "lids-exhausted", ""), 0);
	assert_int_equal(count_logged(&w, "lids-taken-back", ""), 1);
	lids = fabric_lids(w.fabric);
	assert_int_equal(lids->without_lid, 0);
	for (uint32_t p = 0; p < lids->nports; p++)
		assert_true(lids->lid_of_port[p] < 60 ||
			    (lids->lid_of_port[p] >= 1000 && lids->lid_of_port[p] < 1100));
	run_for(&w, 10 * SECOND_US);
	assert_true(lids_remembered(&w) > 40000);
	links_out_forget(w.fabric, NULL, reply_cb, &r);
	run_for(&w, 10 * SECOND_US);
	assert_int_equal(r.count, 1);
	assert_int_equal(lids_remembered(&w), w.design->nswitches + w.design->ncas);
	json_decref(r.result);
	world_fini(&w);
}

/* A switch that makes something else of entries above its LinearFDBTop, which nobody looks at. */
static void normalise(void *arg, guid_t node, uint16_t attr_id, uint32_t attr_mod)
{
	struct world *w = arg;
	uint32_t end = (attr_mod + 1) * 64;

	if (attr_id != WIRE_LFT || node != leaf_guid(w))
		return;
	for (uint32_t lid = double_switch_info(w->hw, node)->lft_top + 1u; lid < end; lid++)
		if (lid >= attr_mod * 64)
			double_set_lft(w->hw, node, (uint16_t)lid, 0);
}

static void entries_above_the_top_may_be_anything(void **state)
{
	struct reply r = { 0 };
	struct world w;

	world_init(&w, small_tree());
	stop_fabric(&w);
	remove_state(&w, "tables");
	double_reboot(w.hw, leaf_guid(&w));
	double_on_set(w.hw, normalise, &w);
	start_fabric(&w);
	run_for(&w, 5 * SECOND_US);
	assert_true(is_up(&w));
	assert_int_equal(count_logged(&w, "program-failed", ""), 0);
	assert_hardware_holds_the_tables(&w);
	audit_readback(w.fabric, reply_cb, &r);
	run_for(&w, 2 * SECOND_US);
	assert_int_equal(json_integer_value(json_object_get(r.result, "differ")), 0);
	json_decref(r.result);
	world_fini(&w);
}

/* More multicast entries than there are MLIDs, and all of them in use. */
static void multicast_tables_end_where_mlids_do(void **state)
{
	guid_t leaf;
	struct world w;

	world_init(&w, small_tree());
	leaf = leaf_guid(&w);
	stop_fabric(&w);
	((struct wire_switch_info *)double_switch_info(w.hw, leaf))->mft_cap = 0xffff;
	double_grow_mft(w.hw, leaf);
	for (unsigned mlid = 0xc000; mlid <= 0xffff; mlid += 32)
		double_flip_mft(w.hw, leaf, (uint16_t)mlid, 1);
	start_fabric(&w);
	run_for(&w, 10 * SECOND_US);
	assert_true(is_up(&w));
	assert_true(double_switch_info(w.hw, leaf)->mft_top <= 0xfffe);
	for (unsigned mlid = 0xc000; mlid <= 0xffff; mlid += 32)
		assert_false(double_mft(w.hw, leaf, (uint16_t)mlid, 1));
	world_fini(&w);
}

static void second_port_of_the_managers_adapter_comes_up(void **state)
{
	struct topo_builder *b = topo_builder_new();
	struct topo_node sw = { .guid = 0x100,
				.desc = "sw1",
				.type = TOPO_SWITCH,
				.nports = 8,
				.lft_cap = 49151,
				.mft_cap = 1024 };
	int s = topo_builder_node(b, &sw);
	struct world w;

	for (unsigned i = 0; i < 3; i++) {
		struct topo_node ca = {
			.guid = 0x1000 + 0x10 * i, .desc = "h", .type = TOPO_CA, .nports = 2
		};
		int h = topo_builder_node(b, &ca);

		for (unsigned p = 1; p <= 2; p++) {
			topo_builder_port(b, h, p,
					  &(struct topo_port){ .guid = ca.guid + p,
							       .state = TOPO_ACTIVE,
							       .speed = TOPO_HDR,
							       .width = 4 });
			topo_builder_link(b, s, 2 * i + p, h, p, true);
		}
	}
	world_init(&w, topo_freeze(b));
	run_for(&w, 5 * SECOND_US);
	assert_int_equal(double_ports_not_active(w.hw), 0);
	assert_true(double_port_info(w.hw, 0x1000, 2)->lid > 0);
	world_fini(&w);
}

static void active_link_with_unequal_vls_is_left_alone(void **state)
{
	struct wire_port_info *info;
	struct world w;

	world_init(&w, small_tree());
	stop_fabric(&w);
	info = (struct wire_port_info *)double_port_info(w.hw, host_guid(&w, 9), 1);
	info->op_vls = 3;
	start_fabric(&w);
	run_for(&w, 5 * SECOND_US);
	assert_true(is_up(&w));
	assert_int_equal(info->op_vls, 3); /* it would be 4 if the link had been taken down */
	assert_int_equal(info->state, TOPO_ACTIVE);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(state_table_that_is_not_answered_counts_as_not_there),
		cmocka_unit_test(one_switch_without_its_state_table_is_read_port_by_port),
		cmocka_unit_test(one_adapter_that_takes_no_set_costs_little),
		cmocka_unit_test(renamed_nodes_are_known_by_their_new_names),
		cmocka_unit_test(what_a_readback_finds_is_repaired),
		cmocka_unit_test(lids_of_the_absent_are_taken_back_oldest_first),
		cmocka_unit_test(entries_above_the_top_may_be_anything),
		cmocka_unit_test(multicast_tables_end_where_mlids_do),
		cmocka_unit_test(second_port_of_the_managers_adapter_comes_up),
		cmocka_unit_test(active_link_with_unequal_vls_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
