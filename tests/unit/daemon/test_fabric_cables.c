/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which cables there are, as the modules of ports report them: how often they are read, what
 * happens when one is replaced, moved or hot, and that flaps go with the cable, over a restart too.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_registers.h"
#include "fm/registers/module.h"
#include "tests/fabric/double_own.h"
#include "tests/lib/fabric_world.h"
#include "topology/base/text.h"

#define CHANGED "cable-changed"
#define MOVED	"cable-moved"
#define HOT	"modules-hot"

struct link { /* a leaf's n-th host port that is used */
	guid_t leaf, host;
	unsigned port, far;
};

static double modules(const struct world *w, const char *key)
{
	json_t *doc = fabric_status(w->fabric);
	double value =
		json_number(json_object_get(json_object_get(doc, "registers"), "modules"), key);

	json_decref(doc);
	return value;
}

static struct link host_link(const struct world *w, unsigned nth)
{
	const struct topo *t = w->design;

	for (uint32_t n = t->nnodes; n-- > t->nswitches;) {
		const struct topo_port *peer = topo_peer(t, topo_port(t, n, 1));

		if (peer && !nth--)
			return (struct link){ .leaf = t->nodes[peer->node].guid,
					      .host = t->nodes[n].guid,
					      .port = peer->num,
					      .far = 1 };
	}
	fail();
	return (struct link){ 0 };
}

/* Until each port was read: two laps, as fast as requests may be sent. */
static void begin(struct world *w)
{
	world_init(w, small_tree());
	run_for(w, 120 * SECOND_US);
}

static json_t *module(const struct world *w, guid_t node, unsigned port)
{
	return link_module(w->fabric, node, (uint8_t)port);
}

static void serial_of(const struct world *w, guid_t node, unsigned port, char serial[32])
{
	json_t *row = module(w, node, port);

	*serial = '\0';
	if (row)
		snprintf(serial, 32, "%s", json_text(row, "serial"));
	json_decref(row);
}

static void assert_flaps(const struct world *w, guid_t node, unsigned port, unsigned flaps,
			 unsigned ports)
{
	json_t *row = module(w, node, port);

	assert_non_null(row);
	assert_int_equal(json_number(row, "flaps"), flaps);
	assert_int_equal(json_number(row, "flap_ports"), ports);
	json_decref(row);
}

/* Pulled and plugged in again, and read. */
static void flap(struct world *w, const struct link *l)
{
	double_cut(w->hw, l->leaf, l->port);
	run_for(w, SECOND_US);
	double_join(w->hw, l->leaf, l->port);
	run_for(w, 60 * SECOND_US);
}

static unsigned active_ports(const struct world *w)
{
	unsigned count = 0;

	for (uint32_t p = 0; p < w->design->nports; p++)
		count += w->design->ports[p].link_up && w->design->ports[p].num;
	return count;
}

static void each_port_is_read_once_and_then_at_its_pace(void **state)
{
	struct world w;
	uint64_t before;
	unsigned ports;

	begin(&w);
	ports = active_ports(&w);
	assert_int_equal(modules(&w, "read"), ports);
	run_for(&w, 60 * SECOND_US); /* cages are asked for when nothing else is due */
	before = w.hw->vendor_gets;
	run_for(&w, 120 * SECOND_US); /* nothing is due */
	assert_int_equal(w.hw->vendor_gets, before);
	run_for(&w, 600 * SECOND_US);
	assert_int_equal(modules(&w, "read"), 2 * ports);
	assert_int_equal(w.hw->sets[WIRE_VENDOR], 0);
	world_fini(&w);
}

/* No second of the first reading has more requests than are allowed. */
static void requests_are_paced(void **state)
{
	struct world w;
	uint64_t before;

	world_init(&w, small_tree());
	for (unsigned s = 0; s < 60; s++) {
		before = w.hw->vendor_gets;
		run_for(&w, SECOND_US);
		assert_true(w.hw->vendor_gets - before <= 30 + 6);
	}
	world_fini(&w);
}

static void a_module_is_reported_as_it_is(void **state)
{
	struct world w;
	struct link l;
	json_t *here, *there;

	begin(&w);
	l = host_link(&w, 0);
	here = module(&w, l.leaf, l.port);
	there = module(&w, l.host, l.far);
	assert_string_equal(json_text(here, "serial"), json_text(there, "serial"));
	assert_string_equal(json_text(here, "kind"), "passive copper");
	assert_string_equal(json_text(here, "identifier"), "OSFP");
	assert_string_equal(json_text(here, "vendor"), "SIMULATED");
	assert_string_equal(json_text(here, "part"), "SIM-DAC-2M");
	assert_true(json_real_value(json_object_get(here, "length_m")) == 2.0);
	assert_true(json_real_value(json_object_get(here, "limit_c")) == 75.0);
	assert_true(json_is_null(json_object_get(here, "rx_dbm")));
	assert_true(json_is_null(json_object_get(here, "firmware")));
	json_decref(here);
	json_decref(there);
	world_fini(&w);
}

static void a_cable_that_is_replaced_is_one_event(void **state)
{
	struct world w;
	struct link l;
	char was[32], is[32];

	begin(&w);
	l = host_link(&w, 0);
	serial_of(&w, l.leaf, l.port, was);
	double_cut(w.hw, l.leaf, l.port);
	run_for(&w, SECOND_US);
	strcpy(double_port(w.hw, l.leaf, l.port)->module.serial, "NEW 1");
	strcpy(double_port(w.hw, l.host, l.far)->module.serial, "NEW 1");
	double_join(w.hw, l.leaf, l.port);
	run_for(&w, 60 * SECOND_US);
	serial_of(&w, l.leaf, l.port, is);
	assert_string_equal(is, "NEW_1");
	assert_int_equal(count_logged(&w, CHANGED, was), 1);
	assert_int_equal(count_logged(&w, CHANGED, "NEW_1 (SIMULATED SIM-DAC-2M) took"), 1);
	assert_int_equal(count_logged(&w, MOVED, ""), 0);
	assert_flaps(&w, l.leaf, l.port, 0, 0);
	world_fini(&w);
}

/* Two cables, each to the other's host. */
static void swap(struct world *w, const struct link *a, const struct link *b)
{
	double_cut(w->hw, a->leaf, a->port);
	double_cut(w->hw, b->leaf, b->port);
	run_for(w, SECOND_US);
	for (unsigned host = 0; host < 2; host++) { /* both ends of both */
		struct dmodule *x =
			&double_port(w->hw, host ? a->host : a->leaf, host ? a->far : a->port)
				 ->module;
		struct dmodule *y =
			&double_port(w->hw, host ? b->host : b->leaf, host ? b->far : b->port)
				 ->module;
		struct dmodule z = *x;

		*x = *y;
		*y = z;
	}
	double_join(w->hw, a->leaf, a->port);
	double_join(w->hw, b->leaf, b->port);
	run_for(w, 90 * SECOND_US);
}

static void cables_that_change_places_have_moved_with_their_flaps(void **state)
{
	struct world w;
	struct link a, b;
	char first[32], is[32];

	begin(&w);
	a = host_link(&w, 0);
	b = host_link(&w, 1);
	serial_of(&w, a.leaf, a.port, first);
	for (unsigned i = 0; i < 3; i++)
		flap(&w, &a);
	assert_flaps(&w, a.leaf, a.port, 3, 2);
	assert_flaps(&w, a.host, a.far, 3, 2);
	assert_flaps(&w, b.leaf, b.port, 0, 0);
	swap(&w, &a, &b);
	serial_of(&w, b.leaf, b.port, is);
	assert_string_equal(is, first);
	assert_int_equal(count_logged(&w, MOVED, ""), 2);
	assert_int_equal(count_logged(&w, MOVED, first), 1);
	assert_int_equal(count_logged(&w, CHANGED, ""), 0);
	assert_flaps(&w, b.leaf, b.port, 4, 2);
	assert_flaps(&w, a.leaf, a.port, 1, 2);
	flap(&w, &b);
	assert_flaps(&w, b.leaf, b.port, 5, 4);
	assert_int_equal(count_logged(&w, MOVED, ""), 2);
	world_fini(&w);
}

static void one_end_that_goes_to_another_port_has_moved_the_cable(void **state)
{
	struct world w;
	struct link a, b;
	char first[32], is[32];

	begin(&w);
	a = host_link(&w, 0);
	b = host_link(&w, 1);
	serial_of(&w, a.leaf, a.port, first);
	double_cut(w.hw, a.leaf, a.port);
	double_cut(w.hw, b.leaf, b.port);
	run_for(&w, SECOND_US);
	double_plug(w.hw, a.leaf, a.port, b.host, b.far);
	run_for(&w, 90 * SECOND_US);
	serial_of(&w, b.host, b.far, is);
	assert_string_equal(is, first);
	assert_int_equal(count_logged(&w, MOVED, first), 1);
	assert_int_equal(count_logged(&w, MOVED, ""), 1);
	world_fini(&w);
}

static void what_is_known_of_cables_survives_a_restart(void **state)
{
	struct world w;
	struct link a, b;
	char first[32];

	begin(&w);
	a = host_link(&w, 0);
	b = host_link(&w, 1);
	serial_of(&w, a.leaf, a.port, first);
	flap(&w, &a);
	flap(&w, &a);
	stop_fabric(&w);
	start_fabric(&w);
	run_for(&w, SECOND_US);
	assert_flaps(&w, a.leaf, a.port, 2, 2); /* before it is read */
	run_for(&w, 120 * SECOND_US);
	assert_flaps(&w, a.leaf, a.port, 2, 2);
	assert_int_equal(count_logged(&w, MOVED, ""), 0);

	stop_fabric(&w);
	for (unsigned host = 0; host < 2; host++) { /* meanwhile they change places */
		struct dmodule *x =
			&double_port(w.hw, host ? a.host : a.leaf, host ? a.far : a.port)->module;
		struct dmodule *y =
			&double_port(w.hw, host ? b.host : b.leaf, host ? b.far : b.port)->module;
		struct dmodule z = *x;

		*x = *y;
		*y = z;
	}
	start_fabric(&w);
	run_for(&w, 180 * SECOND_US);
	assert_flaps(&w, b.leaf, b.port, 2, 2);
	assert_int_equal(count_logged(&w, MOVED, first), 1);
	assert_int_equal(count_logged(&w, MOVED, ""), 2);
	world_fini(&w);
}

static void rows_that_can_not_be_are_an_alert(void **state)
{
	struct world w;

	begin(&w);
	restart_with_corrupted(&w, "modules", "SERIAL none");
	restart_with_corrupted(&w, "modules", "SERIAL 1 0x12 300 1");
	restart_with_corrupted(&w, "modules", "SERIAL 1 0x12 3");
	world_fini(&w);
}

static void a_module_above_its_limit_is_an_alert_until_it_is_below(void **state)
{
	struct world w;
	struct link l;

	begin(&w);
	l = host_link(&w, 0);
	assert_int_equal(count_alerts(&w, HOT, ""), 0);
	double_port(w.hw, l.leaf, l.port)->heat = 81;
	run_for(&w, 700 * SECOND_US);
	assert_int_equal(count_alerts(&w, HOT, "at 81 C, limit 75 C"), 1);
	assert_true(link_module_celsius(w.fabric, l.leaf, (uint8_t)l.port) == 81.0);
	double_port(w.hw, l.leaf, l.port)->heat = 76;
	run_for(&w, 90 * SECOND_US);
	assert_int_equal(count_alerts(&w, HOT, "at 76 C"), 1);
	double_port(w.hw, l.leaf, l.port)->heat = 74;
	run_for(&w, 90 * SECOND_US);
	assert_int_equal(count_alerts(&w, HOT, ""), 0);
	world_fini(&w);
}

/* What is wrong with what a device answers has no effect but a count. */
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
		struct world w;
		struct link l;
		char *before, *after;

		begin(&w);
		l = host_link(&w, 0);
		before = state_lines(&w, "modules");
		w.hw->register_spoilt = kinds[kind].spoilt;
		w.hw->register_garbage = kinds[kind].garbage ? 37 + kind : 0;
		run_for(&w, 720 * SECOND_US);
		assert_int_equal(modules(&w, "malformed"), active_ports(&w));
		after = state_lines(&w, "modules");
		assert_string_equal(before, after);
		assert_int_equal(count_logged(&w, CHANGED, ""), 0);
		assert_int_equal(count_logged(&w, MOVED, ""), 0);
		assert_int_equal(count_alerts(&w, HOT, ""), 0);
		assert_true(isnan(link_module_celsius(w.fabric, l.leaf, (uint8_t)l.port)));
		free(before);
		free(after);
		world_fini(&w);
	}
}

/* Each is asked once what it can do, and then not for an hour. */
static void devices_without_registers_are_left_alone(void **state)
{
	struct world w;
	uint64_t before;

	world_init(&w, small_tree());
	for (uint32_t n = 0; n < w.design->nnodes; n++)
		double_set_no_registers(w.hw, w.design->nodes[n].guid, true);
	run_for(&w, 120 * SECOND_US);
	before = w.hw->vendor_gets;
	assert_int_equal(before, w.design->nnodes);
	run_for(&w, 3400 * SECOND_US);
	assert_int_equal(w.hw->vendor_gets, before);
	assert_int_equal(modules(&w, "asked"), 0);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_port_is_read_once_and_then_at_its_pace),
		cmocka_unit_test(requests_are_paced),
		cmocka_unit_test(a_module_is_reported_as_it_is),
		cmocka_unit_test(a_cable_that_is_replaced_is_one_event),
		cmocka_unit_test(cables_that_change_places_have_moved_with_their_flaps),
		cmocka_unit_test(one_end_that_goes_to_another_port_has_moved_the_cable),
		cmocka_unit_test(what_is_known_of_cables_survives_a_restart),
		cmocka_unit_test(rows_that_can_not_be_are_an_alert),
		cmocka_unit_test(a_module_above_its_limit_is_an_alert_until_it_is_below),
		cmocka_unit_test(answers_that_can_not_be_are_counted_and_nothing_else),
		cmocka_unit_test(devices_without_registers_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
