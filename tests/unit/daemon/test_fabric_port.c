/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The manager's own port comes late, goes, and comes back elsewhere: what fmd says meanwhile, and
 * what it writes afterwards.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/sm/module.h"
#include "fm/audit/module.h"
#include "fm/sm/election.h"
#include "tests/lib/fabric_world.h"

#define HOUR_US	 (3600 * SECOND_US)
#define POLLS_US (30 * SECOND_US)

static guid_t host(const struct world *w, uint32_t number)
{
	return w->design->nodes[w->design->nswitches + number].guid;
}

/* Where the SM's cable ends. */
static const struct topo_port *seat(const struct world *w)
{
	return topo_peer(w->design, topo_port(w->design, w->design->nswitches, 1));
}

static guid_t own_leaf(const struct world *w)
{
	return w->design->nodes[seat(w)->node].guid;
}

static void world_open(struct world *w)
{
	world_init_stopped(w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
}

static const char *word_of(const struct world *w, const char *key)
{
	static char word[64];
	json_t *status = fabric_status(w->fabric);

	snprintf(word, sizeof(word), "%s", json_string_value(json_object_get(status, key)));
	json_decref(status);
	return word;
}

static uint64_t sets(const struct world *w)
{
	return double_sent(w->hw, WIRE_SET, 0);
}

static uint64_t blocks_written(const struct world *w)
{
	return double_sent(w->hw, WIRE_SET, WIRE_LFT);
}

static unsigned reregistered(const struct world *w)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < w->design->ncas; i++)
		count += double_reregistered(w->hw, host(w, i), 1);
	return count;
}

static void assert_manages_nothing(const struct world *w, const char *state)
{
	assert_string_equal(word_of(w, "state"), state);
	assert_string_not_equal(word_of(w, "sm"), "master");
	assert_true(count_alerts(w, state, ""));
	assert_non_null(sm_refuses(w->fabric));
}

static void assert_is_whole(const struct world *w)
{
	assert_true(is_up(w));
	assert_string_equal(word_of(w, "sm"), "master");
	assert_null(sm_refuses(w->fabric));
	assert_int_equal(status_number(w, NULL, "hcas"), w->design->ncas);
	assert_int_equal(status_number(w, NULL, "switches"), w->design->nswitches);
	assert_int_equal(status_number(w, NULL, "links_down"), 0);
	assert_int_equal(double_ports_not_active(w->hw), 0);
	assert_hardware_holds_the_tables(w);
	assert_hardware_delivers(w, 3);
}

/* ---- The link comes late --------------------------------------------------------------------- */

static void a_cable_that_comes_later_brings_the_fabric_up_by_itself(void **state)
{
	struct world w;

	world_open(&w);
	double_cut(w.hw, host(&w, 0), 1);
	start_fabric(&w);
	run_for(&w, 600 * SECOND_US);
	assert_manages_nothing(&w, "no-link");
	assert_int_equal(count_logged(&w, "alert", "has no link"), 1);
	assert_int_equal(sets(&w), 0);
	assert_int_equal(status_number(&w, NULL, "smps_sent"), 0);
	double_join(w.hw, host(&w, 0), 1);
	run_for(&w, 2 * SECOND_US);
	assert_is_whole(&w);
	assert_false(count_alerts(&w, "no-link", ""));
	world_fini(&w);
}

/*
 * A site comes back after a power cut: what was remembered is there, and the server is quicker than
 * its switch.
 */
static void so_it_does_with_a_fabric_that_is_remembered(void **state)
{
	struct world w;
	uint64_t written;

	world_open(&w);
	start_fabric(&w);
	run_for(&w, 120 * SECOND_US);
	assert_is_whole(&w);
	stop_fabric(&w);
	double_cut(w.hw, host(&w, 0), 1);
	start_fabric(&w);
	run_for(&w, 60 * SECOND_US);
	assert_manages_nothing(&w, "no-link");
	written = blocks_written(&w);
	double_join(w.hw, host(&w, 0), 1);
	run_for(&w, 2 * SECOND_US);
	assert_is_whole(&w);
	assert_int_equal(blocks_written(&w), written);
	world_fini(&w);
}

static void a_neighbour_that_answers_later_is_waited_for(void **state)
{
	struct world w;
	struct answer swept = { 0 };

	world_open(&w);
	double_set_silent(w.hw, own_leaf(&w), true);
	start_fabric(&w);
	run_for(&w, 60 * SECOND_US);
	assert_string_equal(word_of(&w, "state"), "starting");
	assert_string_equal(word_of(&w, "sm"), "discovering");
	assert_true(count_alerts(&w, "neighbour-silent", ""));
	fabric_sweep(w.fabric, operation_cb, &swept);
	run_for(&w, 5 * SECOND_US);
	assert_true(swept.count == 1 && swept.failed);
	double_set_silent(w.hw, own_leaf(&w), false);
	run_for(&w, 3 * SECOND_US);
	assert_is_whole(&w);
	assert_false(count_alerts(&w, "neighbour-silent", ""));
	world_fini(&w);
}

/* ---- The link goes --------------------------------------------------------------------------- */

static void a_master_without_a_link_is_none_and_is_one_again_with_it(void **state)
{
	struct world w;
	uint64_t written;
	unsigned asked;

	world_init(&w, small_tree());
	run_for(&w, 20 * SECOND_US);
	log_set_level(-1, LOG_ERR - 1);
	written = blocks_written(&w);
	asked = reregistered(&w);
	double_cut(w.hw, host(&w, 0), 1);
	run_for(&w, 1100000);
	assert_manages_nothing(&w, "no-link");
	run_for(&w, 600 * SECOND_US);
	assert_manages_nothing(&w, "no-link");
	double_join(w.hw, host(&w, 0), 1);
	run_for(&w, 2 * SECOND_US);
	assert_is_whole(&w);
	assert_int_equal(blocks_written(&w), written);
	assert_int_equal(reregistered(&w), asked + 1); /* its own port was armed */
	world_fini(&w);
}

/* .. and whatever it has learned is known then, though it was not on disk yet. */
static void so_it_is_when_nothing_was_written_to_files_yet(void **state)
{
	struct world w;
	uint64_t written;

	world_open(&w);
	start_fabric(&w);
	run_for(&w, SECOND_US / 2);
	assert_is_whole(&w);
	written = blocks_written(&w);
	double_cut(w.hw, host(&w, 0), 1);
	run_for(&w, 3 * SECOND_US);
	assert_manages_nothing(&w, "no-link");
	double_join(w.hw, host(&w, 0), 1);
	run_for(&w, 2 * SECOND_US);
	assert_is_whole(&w);
	assert_int_equal(blocks_written(&w), written);
	assert_int_equal(count_logged(&w, "alert", "state.db"), 0);
	world_fini(&w);
}

/* An operator's sweep meanwhile changes nothing of that. */
static json_int_t count_of(const struct world *w, const char *part, const char *name)
{
	json_t *status = fabric_status(w->fabric);
	json_int_t count = json_integer_value(
		json_object_get(part ? json_object_get(status, part) : status, name));

	json_decref(status);
	return count;
}

static void what_counts_from_the_start_goes_on_when_the_port_is_back(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	run_for(&w, 20 * SECOND_US);
	log_set_level(-1, LOG_ERR - 1);
	for (unsigned i = 0; i < 2; i++) {
		json_int_t blocks = count_of(&w, NULL, "lft_blocks_written"),
			   polls = count_of(&w, NULL, "polls"),
			   traps = count_of(&w, "traps", "received");

		assert_true(blocks > 0 && polls > 0);
		double_cut(w.hw, host(&w, 0), 1);
		run_for(&w, 3 * SECOND_US);
		double_join(w.hw, host(&w, 0), 1);
		run_for(&w, 20 * SECOND_US);
		assert_is_whole(&w);
		assert_true(count_of(&w, NULL, "lft_blocks_written") >= blocks);
		assert_true(count_of(&w, NULL, "polls") > polls);
		assert_true(count_of(&w, "traps", "received") >= traps);
	}
	world_fini(&w);
}

static void a_sweep_without_a_link_is_refused(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	double_cut(w.hw, host(&w, 0), 1);
	run_for(&w, 20 * SECOND_US);
	assert_non_null(strstr(sm_refuses(w.fabric), "has no link"));
	double_join(w.hw, host(&w, 0), 1);
	run_for(&w, 2 * SECOND_US);
	assert_is_whole(&w);
	world_fini(&w);
}

/* ---- It leads elsewhere ---------------------------------------------------------------------- */

static void moved(struct world *w, uint64_t out_us)
{
	uint32_t last = w->design->ncas - 1;

	double_cut(w->hw, host(w, 0), 1);
	double_cut(w->hw, host(w, last), 1);
	if (out_us)
		run_for(w, out_us);
	double_swap(w->hw, host(w, 0), 1, host(w, last), 1);
	double_join(w->hw, host(w, 0), 1);
	double_join(w->hw, host(w, last), 1);
}

/* Each switch holds what it should, read back from the switch that has the GUID. */
static void assert_reads_back(struct world *w)
{
	struct reply r = { 0 };

	audit_readback(w->fabric, reply_cb, &r);
	run_for(w, 5 * SECOND_US);
	assert_int_equal(r.count, 1);
	assert_int_equal(json_integer_value(json_object_get(r.result, "differ")), 0);
	assert_int_equal(json_integer_value(json_object_get(r.result, "failed")), 0);
	json_decref(r.result);
}

static void a_cable_moved_to_another_leaf_writes_nothing_wrong(void **state)
{
	static const uint64_t outs[] = { 0, 1000, 300000, SECOND_US, 20 * SECOND_US };

	for (unsigned i = 0; i < sizeof(outs) / sizeof(outs[0]); i++) {
		struct world w;

		world_init(&w, small_tree());
		run_for(&w, 20 * SECOND_US);
		log_set_level(-1, LOG_ERR - 1);
		moved(&w, outs[i]);
		run_for(&w, 3 * SECOND_US);
		assert_is_whole(&w);
		assert_reads_back(&w);
		run_for(&w, 600 * SECOND_US);
		assert_is_whole(&w);
		world_fini(&w);
	}
}

/* Whatever the moment, for the port is read once a second. */
static void a_cable_that_is_moved_within_half_a_second_is_noticed(void **state)
{
	for (unsigned phase = 0; phase < 20; phase++) {
		struct world w;

		world_init(&w, small_tree());
		run_for(&w, 20 * SECOND_US + phase * SECOND_US / 20);
		log_set_level(-1, LOG_ERR - 1);
		moved(&w, SECOND_US / 2);
		run_for(&w, 2 * SECOND_US);
		assert_is_whole(&w);
		assert_reads_back(&w);
		world_fini(&w);
	}
}

/* As if it came from the wire. */
static void hear_of_switch(struct world *w, guid_t sw)
{
	const struct wire_mad header = { .mgmt_class = WIRE_SMI_LID,
					 .class_version = 1,
					 .method = WIRE_TRAP,
					 .attr_id = WIRE_NOTICE,
					 .tid = 7 };
	const struct wire_notice notice = { .generic = true,
					    .type = 1,
					    .producer = TOPO_SWITCH,
					    .trap = 128,
					    .lid = double_port_info(w->hw, sw, 0)->lid };
	const struct io_addr from = { .lid = notice.lid };
	struct io *io = double_io(w->hw);
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };

	wire_mad_encode(&header, mad);
	wire_notice_encode(&notice, wire_smp_data(mad));
	io->recv(io->arg, &from, mad, sizeof(mad));
}

/*
 * A trap has it look between two readings of the port: that is read ahead of it, so that nothing
 * goes by the ways of before.
 */
static void nothing_is_sent_by_paths_that_are_gone(void **state)
{
	struct world w;
	uint64_t before;

	world_init(&w, small_tree());
	run_for(&w,
		20 * SECOND_US + SECOND_US / 10); /* it was read just now, and is next in a while */
	log_set_level(-1, LOG_ERR - 1);
	moved(&w, 0);
	before = sets(&w);
	hear_of_switch(&w, own_leaf(&w));
	for (unsigned i = 0; i < 100 && !strcmp(word_of(&w, "sm"), "master"); i++)
		run_for(&w, 100);
	assert_string_not_equal(word_of(&w, "sm"), "master");
	assert_int_equal(sets(&w), before);
	world_fini(&w);
}

/* Nothing is heard of it by traps, and the port is Active again before it is read. */
static void a_moved_port_is_recognised_by_its_neighbour_without_traps(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	run_for(&w, 20 * SECOND_US);
	log_set_level(-1, LOG_ERR - 1);
	double_set_traps(w.hw, false);
	moved(&w, 0);
	double_activate(w.hw, host(&w, 0), 1);
	run_for(&w, POLLS_US);
	assert_is_whole(&w);
	assert_reads_back(&w);
	world_fini(&w);
}

static void another_leaf_in_the_place_of_the_own_one_is_met(void **state)
{
	struct world w;
	guid_t leaf;

	world_init(&w, small_tree());
	run_for(&w, 20 * SECOND_US);
	log_set_level(-1, LOG_ERR - 1);
	leaf = own_leaf(&w);
	for (unsigned n = 1; n <= w.design->nodes[seat(&w)->node].nports; n++)
		if (topo_peer(w.design, topo_port(w.design, seat(&w)->node, n)))
			double_cut(w.hw, leaf, n);
	run_for(&w, 120 * SECOND_US);
	assert_manages_nothing(&w, "no-link");
	double_replace(w.hw, leaf, 0xbeef000);
	for (unsigned n = 1; n <= w.design->nodes[seat(&w)->node].nports; n++)
		if (topo_peer(w.design, topo_port(w.design, seat(&w)->node, n)))
			double_join(w.hw, leaf, n);
	run_for(&w, 10 * SECOND_US);
	assert_true(is_up(&w));
	assert_int_not_equal(topo_find(fabric_topo(w.fabric), 0xbeef000), TOPO_NONE);
	assert_int_equal(double_ports_not_active(w.hw), 0);
	assert_reads_back(&w);
	world_fini(&w);
}

/* ---- The device ------------------------------------------------------------------------------ */

static void a_device_that_is_back_after_30_s_finds_all_as_it_was(void **state)
{
	struct world w;
	uint64_t written, changed;

	world_init(&w, small_tree());
	run_for(&w, 120 * SECOND_US);
	log_set_level(-1, LOG_ERR - 1);
	written = blocks_written(&w);
	changed = double_sent(w.hw, WIRE_SET, WIRE_PORT_INFO);
	double_unplug(double_io(w.hw), true);
	run_for(&w, 10000);
	assert_manages_nothing(&w, "no-device");
	run_for(&w, 30 * SECOND_US);
	assert_manages_nothing(&w, "no-device");
	assert_int_equal(count_logged(&w, "alert", "the device has gone"), 1);
	double_unplug(double_io(w.hw), false);
	run_for(&w, 5 * SECOND_US);
	assert_is_whole(&w);
	assert_int_equal(blocks_written(&w), written);
	assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_PORT_INFO), changed);
	assert_int_equal(count_logged(&w, "alert-over", ""), 1);
	world_fini(&w);
}

/*
 * .. but for its own port, which has forgotten its LID: nobody else was master, so no host is asked
 * to register anew.
 */
static void an_own_port_that_lost_its_lid_has_no_other_host_register_anew(void **state)
{
	struct world w;
	uint64_t written;
	unsigned asked;

	world_init(&w, small_tree());
	run_for(&w, 120 * SECOND_US);
	log_set_level(-1, LOG_ERR - 1);
	written = blocks_written(&w);
	asked = reregistered(&w);
	double_unplug(double_io(w.hw), true);
	run_for(&w, 5 * SECOND_US);
	double_reboot(w.hw, host(&w, 0));
	run_for(&w, 25 * SECOND_US);
	double_unplug(double_io(w.hw), false);
	run_for(&w, 5 * SECOND_US);
	assert_is_whole(&w);
	assert_int_equal(blocks_written(&w), written);
	assert_int_equal(reregistered(&w), asked + 1);
	world_fini(&w);
}

static void a_device_that_comes_later_is_opened(void **state)
{
	struct world w;

	world_open(&w);
	double_unplug(double_io(w.hw), true);
	start_fabric(&w);
	run_for(&w, 600 * SECOND_US);
	assert_manages_nothing(&w, "no-device");
	double_unplug(double_io(w.hw), false);
	run_for(&w, 2 * SECOND_US);
	assert_is_whole(&w);
	world_fini(&w);
}

static void a_port_that_another_manager_holds_is_reported_as_such(void **state)
{
	struct world w;

	world_open(&w);
	double_occupy(double_io(w.hw), true);
	start_fabric(&w);
	run_for(&w, 60 * SECOND_US);
	assert_manages_nothing(&w, "port-busy");
	double_occupy(double_io(w.hw), false);
	run_for(&w, 2 * SECOND_US);
	assert_is_whole(&w);
	world_fini(&w);
}

/* A driver that began anew has forgotten it. */
static void a_manager_that_is_not_shown_any_more_is_shown_again(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	double_forget_sm(double_io(w.hw));
	run_for(&w, 5 * SECOND_US);
	assert_true(double_port_info(w.hw, host(&w, 0), 1)->capmask & WIRE_CAP_IS_SM);
	world_fini(&w);
}

/* ---- What it costs --------------------------------------------------------------------------- */

/*
 * One sweep, no more, and nobody's NodeInfo twice, but for the own neighbour's: the light sweep
 * behind links that came up begins there.
 */
static void a_start_costs_what_the_sweep_costs(void **state)
{
	struct world w;
	uint32_t ends = 0;

	world_init(&w, small_tree());
	for (uint32_t p = 0; p < w.design->nports; p++)
		ends += w.design->ports[p].peer != TOPO_NONE;
	assert_int_equal(double_sent(w.hw, WIRE_GET, WIRE_NODE_INFO), 1 + ends / 2 + 1);
	world_fini(&w);
}

static void at_rest_a_poll_costs_one_packet_more_and_reading_the_port_none(void **state)
{
	struct world w;
	uint64_t before, read;

	world_init(&w, small_tree());
	w.conf.perf.interval_ms = 0; /* its passes read PortInfo, too */
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, 60 * SECOND_US); /* what was answered once is asked again in quiet */
	before = (uint64_t)status_number(&w, NULL, "smps_sent");
	read = double_sent(w.hw, WIRE_GET, WIRE_PORT_INFO);
	run_for(&w, 100 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "smps_sent") - before,
			 10 * (w.design->nswitches + 1));
	assert_in_range(double_sent(w.hw, WIRE_GET, WIRE_PORT_INFO) - read, 99, 111);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cable_that_comes_later_brings_the_fabric_up_by_itself),
		cmocka_unit_test(so_it_does_with_a_fabric_that_is_remembered),
		cmocka_unit_test(a_neighbour_that_answers_later_is_waited_for),
		cmocka_unit_test(a_master_without_a_link_is_none_and_is_one_again_with_it),
		cmocka_unit_test(so_it_is_when_nothing_was_written_to_files_yet),
		cmocka_unit_test(what_counts_from_the_start_goes_on_when_the_port_is_back),
		cmocka_unit_test(a_sweep_without_a_link_is_refused),
		cmocka_unit_test(a_cable_moved_to_another_leaf_writes_nothing_wrong),
		cmocka_unit_test(nothing_is_sent_by_paths_that_are_gone),
		cmocka_unit_test(a_cable_that_is_moved_within_half_a_second_is_noticed),
		cmocka_unit_test(a_moved_port_is_recognised_by_its_neighbour_without_traps),
		cmocka_unit_test(another_leaf_in_the_place_of_the_own_one_is_met),
		cmocka_unit_test(a_device_that_is_back_after_30_s_finds_all_as_it_was),
		cmocka_unit_test(an_own_port_that_lost_its_lid_has_no_other_host_register_anew),
		cmocka_unit_test(a_device_that_comes_later_is_opened),
		cmocka_unit_test(a_port_that_another_manager_holds_is_reported_as_such),
		cmocka_unit_test(a_manager_that_is_not_shown_any_more_is_shown_again),
		cmocka_unit_test(a_start_costs_what_the_sweep_costs),
		cmocka_unit_test(at_rest_a_poll_costs_one_packet_more_and_reading_the_port_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
