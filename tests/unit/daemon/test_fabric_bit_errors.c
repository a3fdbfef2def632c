/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How many bits are wrong, as the registers of ports have it, and which firmware devices run: how
 * often that is read, what the health of links makes of it, and that a device which started again
 * is told from links that were lost.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/control/answer.h"
#include "fm/mad/wire_registers.h"
#include "fm/registers/module.h"
#include "tests/fabric/double_own.h"
#include "tests/lib/fabric_world.h"
#include "tests/lib/fabrics.h"
#include "topology/base/text.h"

#define MINUTE_US (60 * SECOND_US)
#define REBOOTED  "device-rebooted"

struct link { /* of a leaf without the manager, to a spine */
	guid_t leaf, spine;
	unsigned port, far;
};

static double counted(const struct world *w, const char *of, const char *key)
{
	json_t *doc = fabric_status(w->fabric);
	double value = json_number(json_object_get(json_object_get(doc, "registers"), of), key);

	json_decref(doc);
	return value;
}

static unsigned active_ports(const struct world *w)
{
	unsigned count = 0;

	for (uint32_t p = 0; p < w->design->nports; p++)
		count += w->design->ports[p].link_up && w->design->ports[p].num;
	return count;
}

static struct link uplink(const struct world *w)
{
	uint32_t leaf = far_leaf(w);
	unsigned port = uplink_of(w->design, leaf);
	const struct topo_port *peer = topo_peer(w->design, topo_port(w->design, leaf, port));

	return (struct link){ .leaf = w->design->nodes[leaf].guid,
			      .spine = w->design->nodes[peer->node].guid,
			      .port = port,
			      .far = peer->num };
}

/* Until each port was read. */
static struct link begin(struct world *w)
{
	world_init(w, small_tree());
	run_for(w, 120 * SECOND_US);
	return uplink(w);
}

static json_t *rates(const struct world *w, guid_t node, unsigned port)
{
	json_t *row = link_bit_errors(w->fabric, node, (uint8_t)port);

	assert_non_null(row);
	return row;
}

static json_t *show(const struct world *w, guid_t node, unsigned port)
{
	char what[64], err[COMMAND_ERROR_SIZE] = "";
	const struct command_env env = { .fabric = w->fabric };
	json_t *args, *doc;

	array_printf(what, "0x%016" PRIx64 ":%u", node, port);
	args = json_pack("{ss}", "what", what);
	doc = command_answer(&env, command_find("show"), args, err);
	json_decref(args);
	if (!doc)
		print_message("%s\n", err);
	assert_non_null(doc);
	return doc;
}

/* ---- How often ------------------------------------------------------------------------------- */

static void each_end_is_read_once_and_then_each_hour(void **state)
{
	struct world w;
	unsigned ports;

	begin(&w);
	ports = active_ports(&w);
	assert_int_equal(counted(&w, "bit_errors", "read"), ports);
	run_for(&w, 50 * MINUTE_US);
	assert_int_equal(counted(&w, "bit_errors", "read"), ports);
	run_for(&w, 20 * MINUTE_US);
	assert_int_equal(counted(&w, "bit_errors", "read"), 2 * ports);
	assert_int_equal(counted(&w, "histograms", "asked"), 0);
	assert_int_equal(w.hw->sets[WIRE_VENDOR], 0);
	world_fini(&w);
}

/* With the pass over the counters, as long as a window has errors. */
static void a_port_whose_error_counters_move_is_read_with_the_counters(void **state)
{
	struct world w;
	struct link l = begin(&w);
	double before;

	run_for(&w, 5 * MINUTE_US);
	before = counted(&w, "bit_errors", "read");
	double_set_counter(w.hw, l.leaf, l.port, PERF_SYMBOL, 1);
	run_for(&w, 10 * MINUTE_US);
	assert_in_range(counted(&w, "bit_errors", "read"), before + 8, before + 11);
	run_for(&w, 30 * MINUTE_US);
	assert_in_range(counted(&w, "bit_errors", "read"), before + 36, before + 42);
	world_fini(&w);
}

/* ---- What is shown --------------------------------------------------------------------------- */

static void rates_are_those_of_the_register(void **state)
{
	struct world w;
	struct link l = begin(&w);
	json_t *row = rates(&w, l.leaf, l.port), *doc, *ends;
	double raw = json_real_value(json_object_get(row, "raw_ber"));

	assert_true(raw > 0.9e-10 && raw < 1e-7);
	assert_true(json_real_value(json_object_get(row, "effective_ber")) == 0);
	assert_true(json_real_value(json_object_get(row, "symbol_ber")) == 0);
	assert_true(!json_array_size(json_object_get(row, "histogram")));
	json_decref(row);
	doc = show(&w, l.leaf, l.port);
	ends = json_object_get(doc, "bit_errors");
	assert_int_equal(json_array_size(ends), 2);
	assert_true(json_real_value(json_object_get(json_array_get(ends, 0), "raw_ber")) == raw);
	assert_int_equal(json_number(json_array_get(ends, 1), "port"), l.far);
	assert_int_equal(json_array_size(json_object_get(doc, "fec_histogram")), 0);
	json_decref(doc);
	world_fini(&w);
}

static void done_cb(void *arg, json_t *result, const char *error)
{
	assert_null(error);
	++*(unsigned *)arg;
}

static void the_histogram_is_read_when_it_is_asked_for(void **state)
{
	struct world w;
	struct link l = begin(&w);
	unsigned done = 0;
	uint64_t before;
	json_t *doc, *bins;

	before = w.hw->vendor_gets;
	link_bit_errors_read(w.fabric, l.leaf, (uint8_t)l.port, done_cb, &done);
	assert_int_equal(done, 0);
	run_for(&w, SECOND_US);
	assert_int_equal(done, 1);
	assert_int_equal(w.hw->vendor_gets - before, 4); /* both ends; rates, and the histogram */
	doc = show(&w, l.leaf, l.port);
	bins = json_object_get(doc, "fec_histogram");
	assert_in_range(json_array_size(bins), 2, WIRE_HISTOGRAM_BINS);
	for (size_t i = 1; i < json_array_size(bins); i++) {
		assert_int_equal(json_number(json_array_get(bins, i), "symbols"), i);
		assert_true(json_number(json_array_get(bins, i), "here") <
			    json_number(json_array_get(bins, i - 1), "here") / 100);
	}
	json_decref(doc);
	double_cut(w.hw, l.leaf, l.port); /* an end that is down has nothing to be read */
	run_for(&w, 2 * SECOND_US);
	link_bit_errors_read(w.fabric, l.leaf, (uint8_t)l.port, done_cb, &done);
	assert_int_equal(done, 2);
	assert_null(link_bit_errors(w.fabric, l.leaf, (uint8_t)l.port));
	world_fini(&w);
}

static void who_waits_for_a_reading_hears_of_a_change_of_role_and_not_of_the_end(void **state)
{
	struct reply answered = { 0 }, unanswered = { 0 };
	struct world w;
	struct link l = begin(&w);

	link_bit_errors_read(w.fabric, l.leaf, (uint8_t)l.port, reply_cb, &answered);
	registers_module.role(fabric_room(w.fabric, &registers_module), FABRIC_ROLE_MASTER,
			      FABRIC_ROLE_LEFT);
	assert_int_equal(answered.count, 1);
	assert_string_equal(answered.error, FABRIC_ROLE_CHANGED);
	link_bit_errors_read(w.fabric, l.leaf, (uint8_t)l.port, reply_cb, &unanswered);
	world_fini(&w);
	assert_int_equal(answered.count, 1);
	assert_int_equal(unanswered.count, 0);
}

/* ---- The health of links --------------------------------------------------------------------- */

/* Three in 12 minutes are over the limit of 1e-14 at NDR. */
static void the_effective_rate_is_the_registers_and_is_named_so(void **state)
{
	struct world w;
	struct link l = begin(&w);
	json_t *doc, *row;

	run_for(&w, 3 * MINUTE_US);
	double_set_fec(w.hw, l.leaf, l.port, WIRE_FEC_UNCORRECTED, 4);
	double_set_counter(w.hw, l.leaf, l.port, PERF_RCV_ERRORS, 1); /* which moves with them */
	run_for(&w, 4 * MINUTE_US);
	assert_int_equal(count_logged(&w, "link-errors", "effective BER"), 1);
	assert_int_equal(count_logged(&w, "link-errors", "by the port's register in"), 1);
	doc = link_health(w.fabric);
	row = json_object_get(json_array_get(json_object_get(doc, "links"), 0), "ber");
	assert_string_equal(json_text(row, "effective_by"), "register");
	json_decref(doc);
	world_fini(&w);
}

static void without_the_register_blocks_count_as_before(void **state)
{
	const struct wire_perf_caps caps = { .fec = true };
	struct world w;
	struct link l;
	json_t *doc, *row;

	world_init(&w, small_tree());
	l = uplink(&w);
	double_set_no_registers(w.hw, l.leaf, true);
	double_set_perf_caps(w.hw, l.leaf, &caps);
	run_for(&w, 5 * MINUTE_US);
	double_set_fec(w.hw, l.leaf, l.port, WIRE_FEC_UNCORRECTED, 500);
	run_for(&w, 3 * MINUTE_US);
	assert_int_equal(count_logged(&w, "link-errors", "effective BER"), 1);
	assert_int_equal(count_logged(&w, "link-errors", "register"), 0);
	doc = link_health(w.fabric);
	row = json_object_get(json_array_get(json_object_get(doc, "links"), 0), "ber");
	assert_string_equal(json_text(row, "effective_by"), "counters");
	json_decref(doc);
	world_fini(&w);
}

/* What came before the link was trained again does not count. */
static void errors_of_training_do_not_count(void **state)
{
	struct world w;
	struct link l = begin(&w);

	run_for(&w, 3 * MINUTE_US);
	double_set_fec(w.hw, l.leaf, l.port, WIRE_FEC_UNCORRECTED, 5000);
	double_set_counter(w.hw, l.leaf, l.port, PERF_RECOVERED, 1);
	run_for(&w, 10 * MINUTE_US);
	assert_int_equal(count_logged(&w, "link-errors", ""), 0);
	world_fini(&w);
}

/* ---- Answers that can not be ----------------------------------------------------------------- */

static void answers_that_can_not_be_are_counted_and_nothing_else(void **state)
{
	static const struct {
		unsigned spoilt;
		bool garbage;
	} kinds[] = { { DOUBLE_ALL, true },
		      { DOUBLE_PAGE, true },
		      { DOUBLE_HALF, false },
		      { DOUBLE_OTHER_PORT, false } };

	for (unsigned kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
		unsigned done = 0;
		struct world w;
		struct link l;

		l = begin(&w);
		w.hw->register_spoilt = kinds[kind].spoilt;
		w.hw->register_garbage = kinds[kind].garbage ? 37 + kind : 0;
		double_set_counter(w.hw, l.leaf, l.port, PERF_RCV_ERRORS, 1);
		run_for(&w, 70 * MINUTE_US);
		assert_true(counted(&w, "bit_errors", "malformed") >= active_ports(&w));
		assert_int_equal(counted(&w, "bit_errors", "read"), active_ports(&w));
		assert_null(link_bit_errors(w.fabric, l.leaf, (uint8_t)l.port));
		assert_int_equal(count_logged(&w, "link-errors", ""), 0);
		assert_int_equal(count_logged(&w, REBOOTED, ""), 0);
		link_bit_errors_read(w.fabric, l.leaf, (uint8_t)l.port, done_cb, &done);
		run_for(&w, SECOND_US);
		assert_int_equal(done, 1);
		world_fini(&w);
	}
}

/* ---- Planes of XDR --------------------------------------------------------------------------- */

static void an_hca_of_xdr_is_asked_for_each_plane_where_somebody_asks(void **state)
{
	struct world w;
	struct link l;
	guid_t hca;
	unsigned done = 0;
	uint64_t before;
	json_t *row, *planes, *doc;

	struct topo *design = small_tree();
	struct topo_port *ports = (struct topo_port *)design->ports;
	uint32_t last = design->nodes[design->nnodes - 1].port0 + 1;

	ports[last].speed = ports[ports[last].peer].speed = TOPO_XDR;
	world_init_stopped(&w, design);
	hca = w.design->nodes[w.design->nnodes - 1].guid;
	start_fabric(&w);
	run_for(&w, 120 * SECOND_US);
	l = uplink(&w);
	double_node(w.hw, hca)->ports[1].fec[WIRE_FEC_UNCORRECTED] = 500;
	before = w.hw->vendor_gets;
	link_bit_errors_read(w.fabric, hca, 1, done_cb, &done);
	run_for(&w, SECOND_US);
	assert_int_equal(done, 1);
	assert_int_equal(w.hw->vendor_gets, before + 4 + WIRE_PLANES_MOST);
	row = rates(&w, hca, 1);
	assert_int_equal(json_number(row, "effective_errors"), 500);
	planes = json_object_get(row, "planes");
	assert_int_equal(json_array_size(planes), WIRE_PLANES_MOST);
	JSON_EACH (plane, planes) {
		bool wrong = plane_at + 1 == DOUBLE_WRONG_PLANE;

		assert_int_equal(json_number(plane, "plane"), plane_at + 1);
		assert_int_equal(json_number(plane, "effective_errors"), wrong ? 500 : 0);
		assert_int_equal(json_real_value(json_object_get(plane, "effective_ber")) > 0,
				 wrong);
	}
	json_decref(row);
	doc = show(&w, hca, 1);
	assert_int_equal(json_array_size(json_object_get(doc, "bit_errors")), 2 + WIRE_PLANES_MOST);
	json_decref(doc);

	before = w.hw->vendor_gets; /* others have none */
	link_bit_errors_read(w.fabric, l.leaf, (uint8_t)l.port, done_cb, &done);
	run_for(&w, SECOND_US);
	assert_int_equal(done, 2);
	assert_int_equal(w.hw->vendor_gets, before + 4);
	row = rates(&w, l.leaf, l.port);
	assert_int_equal(json_array_size(json_object_get(row, "planes")), 0);
	json_decref(row);
	w.hw->register_garbage = 37; /* what is no rate is none of a plane */
	link_bit_errors_read(w.fabric, hca, 1, done_cb, &done);
	run_for(&w, SECOND_US);
	assert_int_equal(done, 3);
	row = rates(&w, hca, 1);
	assert_int_equal(json_array_size(json_object_get(row, "planes")), 0);
	json_decref(row);
	assert_int_equal(w.hw->sets[WIRE_VENDOR], 0);
	world_fini(&w);
}

/* ---- Devices --------------------------------------------------------------------------------- */

static void devices_report_their_firmware_and_how_long_they_run(void **state)
{
	struct world w;
	struct link l = begin(&w);
	json_t *leaf, *hca, *doc;

	assert_int_equal(counted(&w, "devices", "read"), w.design->nnodes);
	leaf = device_facts(w.fabric, l.leaf);
	hca = device_facts(w.fabric, w.design->nodes[w.design->nswitches].guid);
	assert_memory_equal(json_text(leaf, "firmware"), "31.20", 5);
	assert_memory_equal(json_text(hca, "firmware"), "28.20", 5);
	assert_string_equal(json_text(leaf, "psid"), "SIMULATED");
	assert_in_range(json_number(leaf, "up_s"), 100, 140);
	doc = show(&w, l.leaf, l.port);
	assert_null(json_object_get(doc, "firmware")); /* of a port it is none */
	json_decref(doc);
	json_decref(leaf);
	json_decref(hca);
	world_fini(&w);
}

static double flaps_of(const struct world *w, guid_t node, unsigned port)
{
	json_t *row = link_module(w->fabric, node, (uint8_t)port);
	double flaps = json_number(row, "flaps");

	json_decref(row);
	return flaps;
}

static void a_device_that_rebooted_is_told_from_links_that_were_lost(void **state)
{
	struct world w;
	struct link l = begin(&w);

	run_for(&w, 10 * MINUTE_US);
	double_cut(w.hw, l.leaf, l.port);
	run_for(&w, SECOND_US);
	double_join(w.hw, l.leaf, l.port);
	run_for(&w, MINUTE_US);
	assert_int_equal(count_logged(&w, REBOOTED, ""), 0);
	assert_int_equal(flaps_of(&w, l.leaf, l.port), 1);

	double_node(w.hw, l.leaf)->firmware[0] = 31;
	double_node(w.hw, l.leaf)->firmware[1] = 2099;
	double_node(w.hw, l.leaf)->firmware[2] = 7;
	double_set_power(w.hw, l.leaf, false);
	run_for(&w, 5 * SECOND_US);
	double_set_power(w.hw, l.leaf, true);
	run_for(&w, 3 * MINUTE_US);
	assert_true(is_up(&w));
	assert_int_equal(count_logged(&w, REBOOTED, ""), 1);
	assert_int_equal(count_logged(&w, REBOOTED, "firmware 31.2099.0007 is new"), 1);
	assert_int_equal(flaps_of(&w, l.leaf, l.port), 1);
	world_fini(&w);
}

/* "cage 9/1" of a switch that has no HierarchyInfo: each port's once, as its registers have it. */
static void the_cages_of_ports_are_those_of_their_modules(void **state)
{
	struct world w;
	struct link l;
	const struct topo *t;
	uint64_t asked;
	uint32_t leaf;

	world_init_stopped(&w, small_tree());
	l = uplink(&w);
	double_set_labels(w.hw, l.leaf, DOUBLE_MODULES);
	start_fabric(&w);
	run_for(&w, 5 * MINUTE_US);
	t = fabric_topo(w.fabric);
	leaf = topo_find(t, l.leaf);
	for (unsigned num = 1; num <= t->nodes[leaf].nports; num++) {
		char label[64];

		array_printf(label, "cage %u/%u", (num + 1) / 2, 2 - num % 2);
		assert_string_equal(topo_port_label(t, t->nodes[leaf].port0 + num), label);
	}
	assert_string_equal(topo_port_label(t, topo_port_of(t, l.spine, (uint8_t)l.far)), "");
	asked = counted(&w, "devices", "asked");
	run_for(&w, 5 * MINUTE_US);
	assert_int_equal(counted(&w, "devices", "asked"), asked);
	assert_true(is_up(&w));
	world_fini(&w);
}

static void without_the_vs_key_of_agents_nothing_is_known_and_with_it_all(void **state)
{
	for (unsigned with = 0; with < 2; with++) {
		struct world w;

		world_init_stopped(&w, small_tree());
		w.hw->vs_key = 0x1122334455667788;
		w.conf.sm.vs_key = with ? w.hw->vs_key : 0;
		start_fabric(&w);
		run_for(&w, 120 * SECOND_US);
		assert_int_equal(counted(&w, "devices", "read"), with ? w.design->nnodes : 0);
		assert_int_equal(counted(&w, "bit_errors", "read"), with ? active_ports(&w) : 0);
		assert_int_equal(w.hw->sets[WIRE_VENDOR], 0);
		world_fini(&w);
	}
}

static void general_info_that_can_not_be_is_counted(void **state)
{
	struct world w;
	struct link l = begin(&w);
	json_t *before, *after;

	before = device_facts(w.fabric, l.leaf);
	w.hw->register_spoilt = DOUBLE_INFO;
	w.hw->register_garbage = 41;
	double_cut(w.hw, l.leaf, l.port);
	run_for(&w, SECOND_US);
	double_join(w.hw, l.leaf, l.port);
	run_for(&w, MINUTE_US);
	after = device_facts(w.fabric, l.leaf);
	assert_int_equal(counted(&w, "devices", "malformed"), 2);
	assert_string_equal(json_text(before, "firmware"), json_text(after, "firmware"));
	assert_int_equal(count_logged(&w, REBOOTED, ""), 0);
	json_decref(before);
	json_decref(after);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_end_is_read_once_and_then_each_hour),
		cmocka_unit_test(a_port_whose_error_counters_move_is_read_with_the_counters),
		cmocka_unit_test(rates_are_those_of_the_register),
		cmocka_unit_test(the_histogram_is_read_when_it_is_asked_for),
		cmocka_unit_test(
			who_waits_for_a_reading_hears_of_a_change_of_role_and_not_of_the_end),
		cmocka_unit_test(the_effective_rate_is_the_registers_and_is_named_so),
		cmocka_unit_test(without_the_register_blocks_count_as_before),
		cmocka_unit_test(errors_of_training_do_not_count),
		cmocka_unit_test(answers_that_can_not_be_are_counted_and_nothing_else),
		cmocka_unit_test(an_hca_of_xdr_is_asked_for_each_plane_where_somebody_asks),
		cmocka_unit_test(the_cages_of_ports_are_those_of_their_modules),
		cmocka_unit_test(without_the_vs_key_of_agents_nothing_is_known_and_with_it_all),
		cmocka_unit_test(devices_report_their_firmware_and_how_long_they_run),
		cmocka_unit_test(a_device_that_rebooted_is_told_from_links_that_were_lost),
		cmocka_unit_test(general_info_that_can_not_be_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
