/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A fabric whose ports hold another manager's M_Key (IBA 14.2.4) when fmd starts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/fabric_world.h"

#define NEW_KEY	  0x1111222233334444ull
#define OLD_KEY	  0x5555666677778888ull
#define THIRD_KEY 0x9999aaaabbbbccccull

static unsigned end_port(const struct world *w, uint32_t node)
{
	return node < w->design->nswitches ? 0 : 1;
}

/* One node of `every` holds the key; the first host is the manager's own. */
static void hold(struct world *w, uint64_t key, uint8_t protect, unsigned every)
{
	for (uint32_t n = 0; n < w->design->nnodes; n += every)
		double_hold_mkey(w->hw, w->design->nodes[n].guid, end_port(w, n), key, protect, 0);
}

static unsigned holders(const struct world *w, uint64_t key)
{
	unsigned count = 0;

	for (uint32_t n = 0; n < w->design->nnodes; n++)
		count += double_port_info(w->hw, w->design->nodes[n].guid, end_port(w, n))->mkey ==
			 key;
	return count;
}

static unsigned violations(const struct world *w)
{
	unsigned count = 0;

	for (uint32_t n = 0; n < w->design->nnodes; n++)
		count += double_port_info(w->hw, w->design->nodes[n].guid, end_port(w, n))
				 ->mkey_violations;
	return count;
}

static bool status_is(const struct world *w, const char *state)
{
	json_t *status = fabric_status(w->fabric);
	bool is = !strcmp(json_string_value(json_object_get(status, "state")), state);

	json_decref(status);
	return is;
}

static void begin(struct world *w, uint64_t mkey, uint64_t old_mkey)
{
	world_init_stopped(w, small_tree());
	w->conf.sm.mkey = mkey;
	w->conf.sm.old_mkey = old_mkey;
}

static void assert_moved(struct world *w)
{
	assert_true(is_up(w));
	assert_int_equal(holders(w, NEW_KEY), w->design->nnodes);
	assert_int_equal(count_alerts(w, "", ""), 0);
	assert_hardware_holds_the_tables(w);
	assert_hardware_delivers(w, 1);
}

static void a_fabric_held_by_the_old_key_is_moved_to_the_new_one(void **state)
{
	for (uint8_t protect = 0; protect <= 3; protect++) {
		struct world w;

		begin(&w, NEW_KEY, OLD_KEY);
		hold(&w, OLD_KEY, protect, 1);
		start_fabric(&w);
		run_for(&w, 60 * SECOND_US);
		assert_moved(&w);
		world_fini(&w);
	}
}

static void some_hold_the_old_key_and_some_none(void **state)
{
	for (uint8_t protect = 1; protect <= 2; protect++) {
		struct world w;

		begin(&w, NEW_KEY, OLD_KEY);
		hold(&w, OLD_KEY, protect, 3);
		start_fabric(&w);
		run_for(&w, 60 * SECOND_US);
		assert_moved(&w);
		world_fini(&w);
	}
}

static void was_set(void *arg, const struct mad_answer *answer)
{
	assert_int_equal(answer->result, MAD_OK);
	++*(unsigned *)arg;
}

static void two_keys(void *arg, const struct mad_path *path, uint16_t lid, struct mad_keys *keys)
{
	*keys = (struct mad_keys){ .count = 2, .key = { NEW_KEY, OLD_KEY } };
}

/* Of the manager's own port: no switch is in between. */
static void a_set_that_moved_a_port_is_followed_by_the_new_key(void **state)
{
	const struct mad_conf conf = { .retries = 1 };
	const struct mad_path here = { 0 };
	uint8_t data[WIRE_SMP_DATA];
	struct wire_port_info info;
	unsigned done = 0;
	struct world w;
	guid_t own;

	begin(&w, NEW_KEY, OLD_KEY);
	hold(&w, OLD_KEY, 1, 1);
	own = w.design->nodes[w.design->nswitches].guid;
	info = *double_port_info(w.hw, own, 1);
	info.mkey = NEW_KEY;
	info.lid = info.sm_lid = info.neighbor_mtu = 1;
	info.state = info.phys_state = 0;
	wire_port_info_encode(&info, data);
	w.mad = mad_new(w.loop, double_io(w.hw), &conf);
	mad_set_keys(w.mad, two_keys, NULL);
	for (unsigned i = 0; i < 3; i++) {
		mad_send(w.mad,
			 &(struct mad_request){ .path = &here,
						.method = WIRE_SET,
						.attr_id = WIRE_PORT_INFO,
						.attr_mod = 1,
						.data = data,
						.device = own },
			 was_set, &done);
		run_for(&w, SECOND_US);
		assert_int_equal(done, i + 1);
		assert_int_equal(violations(&w), 1);
	}
	mad_free(w.mad);
	start_fabric(&w);
	world_fini(&w);
}

/* Nothing is tried twice once a device holds the new key. */
static void what_was_moved_is_asked_with_the_new_key(void **state)
{
	struct world w;
	unsigned before;

	begin(&w, NEW_KEY, OLD_KEY);
	hold(&w, OLD_KEY, 1, 1);
	start_fabric(&w);
	run_for(&w, 60 * SECOND_US);
	before = violations(&w);
	double_cut(w.hw, w.design->nodes[far_leaf(&w)].guid, 5);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(violations(&w), before);
	assert_hardware_holds_the_tables(&w);
	world_fini(&w);
}

static void is_locked_out(uint8_t protect, uint64_t mkey, const char *advice)
{
	struct world w;

	begin(&w, mkey, 0);
	hold(&w, OLD_KEY, protect, 1);
	start_fabric(&w);
	run_for(&w, 60 * SECOND_US);
	assert_true(status_is(&w, "foreign-m-key"));
	assert_int_equal(count_alerts(&w, "foreign-m-key", advice), 1);
	assert_int_equal(count_logged(&w, "alert", "foreign M_Key"), 1);
	assert_int_equal(holders(&w, OLD_KEY), w.design->nnodes);
	assert_int_equal(double_port_info(w.hw, w.design->nodes[w.design->nswitches].guid, 1)->lid,
			 0);
	assert_int_equal(violations(&w), 0);
	world_fini(&w);
}

static void without_it_nothing_is_written_and_an_alert_says_so(void **state)
{
	is_locked_out(0, NEW_KEY, "set old_m_key");
	is_locked_out(1, NEW_KEY, "set old_m_key");
	is_locked_out(1, 0, "set m_key to the key they hold");
}

static void configure(struct world *w)
{
	fabric_configure(w->fabric, &w->conf);
}

/* With these levels not even a Get is answered. */
static void a_switch_that_hides_all_behind_its_key_is_silent_and_the_alert_says_why(void **state)
{
	for (uint8_t protect = 2; protect <= 3; protect++) {
		struct world w;

		begin(&w, NEW_KEY, 0);
		hold(&w, OLD_KEY, protect, 1);
		double_hold_mkey(w.hw, w.design->nodes[w.design->nswitches].guid, 1, 0, 0, 0);
		start_fabric(&w);
		run_for(&w, 60 * SECOND_US);
		assert_int_equal(count_alerts(&w, "", "old_m_key"), 1);
		assert_int_equal(holders(&w, OLD_KEY), w.design->nnodes - 1);
		assert_int_equal(holders(&w, NEW_KEY), 0);
		w.conf.sm.old_mkey = OLD_KEY;
		configure(&w);
		run_for(&w, 60 * SECOND_US);
		assert_moved(&w);
		world_fini(&w);
	}
}

static void a_reload_that_brings_it_brings_the_fabric_up(void **state)
{
	struct world w;

	begin(&w, NEW_KEY, 0);
	w.conf.sweep.interval_ms = 0; /* the reload itself has it looked at */
	hold(&w, OLD_KEY, 1, 1);
	start_fabric(&w);
	run_for(&w, 10 * SECOND_US);
	assert_true(status_is(&w, "foreign-m-key"));
	w.conf.sm.old_mkey = OLD_KEY;
	configure(&w);
	run_for(&w, 60 * SECOND_US);
	assert_moved(&w);
	assert_int_equal(count_logged(&w, "alert-over", "foreign M_Key"), 1);
	world_fini(&w);
}

static void keys_that_go_away_let_it_come_up_by_itself(void **state)
{
	struct world w;

	begin(&w, NEW_KEY, 0);
	hold(&w, OLD_KEY, 1, 1);
	start_fabric(&w);
	run_for(&w, 30 * SECOND_US);
	assert_true(status_is(&w, "foreign-m-key"));
	hold(&w, 0, 0, 1);
	run_for(&w, 30 * SECOND_US);
	assert_moved(&w);
	world_fini(&w);
}

/* Who is root on a host can give its port a key. */
static void a_few_foreign_keys_stop_nobody(void **state)
{
	struct world w;
	guid_t host;

	begin(&w, NEW_KEY, 0);
	host = w.design->nodes[w.design->nswitches + 5].guid;
	double_hold_mkey(w.hw, host, 1, THIRD_KEY, 1, 0);
	start_fabric(&w);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(count_alerts(&w, "foreign-m-key", ""), 0);
	assert_int_equal(holders(&w, NEW_KEY), w.design->nnodes - 1);
	assert_int_equal(holders(&w, THIRD_KEY), 1);
	world_fini(&w);
}

/* Not by its links, that work; by its key, and it is sent nothing that it would count. */
static void a_port_with_a_foreign_key_is_named_and_not_fought(void **state)
{
	for (uint8_t protect = 0; protect <= 1; protect++) {
		struct world w;
		unsigned before;
		guid_t host;

		begin(&w, NEW_KEY, 0);
		host = w.design->nodes[w.design->nswitches + 5].guid;
		start_fabric(&w);
		run_for(&w, 30 * SECOND_US);
		double_cut(w.hw, host, 1);
		run_for(&w, 5 * SECOND_US);
		double_hold_mkey(w.hw, host, 1, THIRD_KEY, protect, 0);
		double_join(w.hw, host, 1);
		run_for(&w, 60 * SECOND_US);
		assert_true(is_up(&w));
		assert_int_equal(count_alerts(&w, "port-m-key", "HCA"), 1);
		assert_int_equal(status_number(&w, "m_keys", "foreign"), 1);
		before = violations(&w);
		run_for(&w, 600 * SECOND_US);
		assert_int_equal(violations(&w), before);
		assert_in_range(before, 0, 16);
		assert_hardware_delivers(&w, 1);
		double_hold_mkey(w.hw, host, 1, 0, 0, 0); /* its power was off */
		run_for(&w, 120 * SECOND_US);
		assert_moved(&w);
		assert_int_equal(status_number(&w, "m_keys", "foreign"), 0);
		world_fini(&w);
	}
}

static void an_old_key_that_does_not_fit_either_is_reported(void **state)
{
	for (uint8_t protect = 0; protect <= 1; protect++) {
		struct world w;

		begin(&w, NEW_KEY, THIRD_KEY);
		hold(&w, OLD_KEY, protect, 1);
		start_fabric(&w);
		run_for(&w, 30 * SECOND_US);
		assert_int_equal(
			count_alerts(&w, "foreign-m-key", "neither m_key nor old_m_key matches"),
			1);
		assert_int_equal(holders(&w, NEW_KEY), 0);
		assert_int_equal(violations(&w), 0);
		w.conf.sm.old_mkey = OLD_KEY;
		configure(&w);
		run_for(&w, 60 * SECOND_US);
		assert_moved(&w);
		world_fini(&w);
	}
}

/* No packet more than on a fabric without any keys. */
static void a_restart_on_its_own_keys_costs_nothing(void **state)
{
	double sent[2];

	for (unsigned with_key = 0; with_key < 2; with_key++) {
		struct world w;

		begin(&w, with_key ? NEW_KEY : 0, 0);
		start_fabric(&w);
		run_for(&w, 30 * SECOND_US);
		stop_fabric(&w);
		start_fabric(&w);
		run_for(&w, 30 * SECOND_US);
		assert_true(is_up(&w));
		assert_int_equal(violations(&w), 0);
		sent[with_key] = (double)mad_stats(w.mad).sent;
		world_fini(&w);
	}
	assert_int_equal(sent[1], sent[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fabric_held_by_the_old_key_is_moved_to_the_new_one),
		cmocka_unit_test(some_hold_the_old_key_and_some_none),
		cmocka_unit_test(a_set_that_moved_a_port_is_followed_by_the_new_key),
		cmocka_unit_test(what_was_moved_is_asked_with_the_new_key),
		cmocka_unit_test(without_it_nothing_is_written_and_an_alert_says_so),
		cmocka_unit_test(
			a_switch_that_hides_all_behind_its_key_is_silent_and_the_alert_says_why),
		cmocka_unit_test(a_reload_that_brings_it_brings_the_fabric_up),
		cmocka_unit_test(keys_that_go_away_let_it_come_up_by_itself),
		cmocka_unit_test(a_few_foreign_keys_stop_nobody),
		cmocka_unit_test(a_port_with_a_foreign_key_is_named_and_not_fought),
		cmocka_unit_test(an_old_key_that_does_not_fit_either_is_reported),
		cmocka_unit_test(a_restart_on_its_own_keys_costs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
