/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* An M_Key of its own for each port (IBA 14.2.4), derived from a secret. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/conf/m_keys.h"
#include "tests/lib/fabric_world.h"

static struct m_key_secret secret(const char *text)
{
	struct m_key_secret s = { .set = true, .length = (uint16_t)strlen(text) };

	memcpy(s.bytes, text, s.length);
	return s;
}

static unsigned end_port(const struct world *w, uint32_t node)
{
	return node < w->design->nswitches ? 0 : 1;
}

static guid_t key_guid(const struct world *w, uint32_t n)
{
	const struct topo_node *node = &w->design->nodes[n];

	return n < w->design->nswitches ? node->guid : w->design->ports[node->port0 + 1].guid;
}

static const struct wire_port_info *info_of(const struct world *w, uint32_t n)
{
	return double_port_info(w->hw, w->design->nodes[n].guid, end_port(w, n));
}

/* Nodes whose port holds the key that `conf` gives it, at its level. */
static unsigned holders(const struct world *w, const struct conf *conf)
{
	const struct m_key_conf source = conf_m_keys(conf);
	struct m_keys *keys = m_keys_new();
	unsigned count = 0;

	m_keys_configure(keys, &source);
	for (uint32_t n = 0; n < w->design->nnodes; n++)
		count += info_of(w, n)->mkey == m_keys_wanted(keys, key_guid(w, n)) &&
			 info_of(w, n)->mkey_protect == source.protect &&
			 info_of(w, n)->mkey_lease == source.lease_s;
	m_keys_free(keys);
	return count;
}

static unsigned violations(const struct world *w)
{
	unsigned count = 0;

	for (uint32_t n = 0; n < w->design->nnodes; n++)
		count += info_of(w, n)->mkey_violations;
	return count;
}

static void begin(struct world *w, int protect)
{
	world_init_stopped(w, small_tree());
	w->conf.sm.mkey_secret = secret("a secret of the site");
	w->conf.sm.mkey_per_port = true;
	w->conf.sm.mkey_protect = protect;
}

static void assert_works(struct world *w)
{
	assert_true(is_up(w));
	assert_int_equal(count_alerts(w, "", ""), 0);
	assert_hardware_holds_the_tables(w);
	assert_hardware_delivers(w, 1);
}

static void assert_held(struct world *w)
{
	assert_int_equal(holders(w, &w->conf), w->design->nnodes);
	assert_works(w);
}

static void restart(struct world *w)
{
	stop_fabric(w);
	start_fabric(w);
	run_for(w, 30 * SECOND_US);
}

static void each_port_gets_its_own_at_every_level_and_keeps_it_over_a_restart(void **state)
{
	for (int protect = 0; protect <= 3; protect++) {
		struct world w;

		begin(&w, protect);
		start_fabric(&w);
		run_for(&w, 30 * SECOND_US);
		assert_held(&w);
		assert_int_not_equal(info_of(&w, 0)->mkey, info_of(&w, 1)->mkey);
		assert_int_equal(violations(&w), 0);
		restart(&w);
		assert_held(&w);
		assert_int_equal(violations(&w), 0);
		world_fini(&w);
	}
}

static void a_host_that_lost_its_power_is_given_it_again(void **state)
{
	struct world w;
	guid_t host;

	begin(&w, 2);
	start_fabric(&w);
	run_for(&w, 30 * SECOND_US);
	host = w.design->nodes[w.design->nswitches + 5].guid;
	double_cut(w.hw, host, 1);
	run_for(&w, 5 * SECOND_US);
	double_hold_mkey(w.hw, host, 1, 0, 0, 0);
	double_join(w.hw, host, 1);
	run_for(&w, 30 * SECOND_US);
	assert_held(&w);
	world_fini(&w);
}

static void a_switch_that_begins_anew_is_given_it_again(void **state)
{
	struct world w;
	guid_t leaf;

	begin(&w, 2);
	start_fabric(&w);
	run_for(&w, 30 * SECOND_US);
	leaf = w.design->nodes[far_leaf(&w)].guid;
	double_reboot(w.hw, leaf);
	double_hold_mkey(w.hw, leaf, 0, 0, 0, 0);
	run_for(&w, 60 * SECOND_US);
	assert_held(&w);
	world_fini(&w);
}

/* Ports of another secret are left as they are. */
static void another_secret_s_fabric_is_told_and_left(void **state)
{
	for (int protect = 0; protect <= 1; protect++) {
		struct world w;
		struct conf theirs;

		begin(&w, protect);
		start_fabric(&w);
		run_for(&w, 30 * SECOND_US);
		stop_fabric(&w);
		remove_state(&w, "guid2mkey"); /* this manager has never seen their keys */
		theirs = w.conf;
		w.conf.sm.mkey_secret = secret("another site's secret");
		start_fabric(&w);
		run_for(&w, 60 * SECOND_US);
		assert_int_equal(
			count_alerts(&w, "foreign-m-key", "m_key_secret_file does not match"), 1);
		assert_int_equal(holders(&w, &theirs), w.design->nnodes);
		assert_int_equal(violations(&w), 0);
		world_fini(&w);
	}
}

static void rotate(struct world *w)
{
	w->conf.sm.old_mkey_secret = w->conf.sm.mkey_secret;
	w->conf.sm.mkey_secret = secret("the secret of next year");
}

/* Known ports are asked with what they hold: no port counts a violation. */
static void a_reload_moves_all_to_another_secret_without_a_wrong_key(void **state)
{
	for (int protect = 0; protect <= 3; protect++) {
		struct world w;

		begin(&w, protect);
		start_fabric(&w);
		run_for(&w, 30 * SECOND_US);
		rotate(&w);
		fabric_configure(w.fabric, &w.conf);
		run_for(&w, 60 * SECOND_US);
		assert_held(&w);
		assert_int_equal(violations(&w), 0);
		world_fini(&w);
	}
}

static unsigned holders_of_any(const struct world *w)
{
	unsigned count = 0;

	for (uint32_t n = 0; n < w->design->nnodes; n++)
		count += info_of(w, n)->mkey != 0 || info_of(w, n)->mkey_protect != 0;
	return count;
}

static void take_back(struct world *w)
{
	w->conf.sm.old_mkey_secret = w->conf.sm.mkey_secret;
	w->conf.sm.mkey_secret.set = false;
}

static void a_reload_takes_all_keys_back_without_a_wrong_key(void **state)
{
	for (int protect = 0; protect <= 3; protect++) {
		struct world w;

		begin(&w, protect);
		start_fabric(&w);
		run_for(&w, 30 * SECOND_US);
		assert_int_equal(holders_of_any(&w), w.design->nnodes);
		take_back(&w);
		fabric_configure(w.fabric, &w.conf);
		run_for(&w, 60 * SECOND_US);
		assert_works(&w);
		assert_int_equal(holders_of_any(&w), 0);
		assert_int_equal(violations(&w), 0);
		world_fini(&w);
	}
}

static void keys_whose_taking_back_was_cut_short_go_after_a_restart(void **state)
{
	for (int protect = 0; protect <= 3; protect++) {
		unsigned left;
		struct world w;

		begin(&w, protect);
		start_fabric(&w);
		run_for(&w, 30 * SECOND_US);
		take_back(&w);
		fabric_configure(w.fabric, &w.conf);
		left = w.design->nnodes;
		for (unsigned i = 0; i < 100000 && left == w.design->nnodes; i++) {
			run_for(&w, 20);
			left = holders_of_any(&w);
		}
		assert_in_range(left, 1, w.design->nnodes - 1);
		restart(&w);
		run_for(&w, 60 * SECOND_US);
		assert_works(&w);
		assert_int_equal(holders_of_any(&w), 0);
		world_fini(&w);
	}
}

/* Killed amid it: state_dir is as it was, and a part of the ports has moved. */
static void a_rotation_that_was_cut_short_goes_on_after_a_restart(void **state)
{
	for (int protect = 0; protect <= 3; protect++) {
		struct world w;
		unsigned moved;

		begin(&w, protect);
		start_fabric(&w);
		run_for(&w, 30 * SECOND_US);
		rotate(&w);
		fabric_configure(w.fabric, &w.conf);
		moved = 0;
		for (unsigned i = 0; i < 100000 && !moved; i++, moved = holders(&w, &w.conf))
			run_for(&w, 20);
		assert_in_range(moved, 1, w.design->nnodes - 1);
		restart(&w);
		run_for(&w, 60 * SECOND_US);
		assert_held(&w);
		world_fini(&w);
	}
}

static void one_key_of_all_becomes_one_of_each_port(void **state)
{
	for (int protect = 0; protect <= 2; protect++) {
		struct world w;

		begin(&w, protect);
		w.conf.sm.mkey_secret.set = false;
		w.conf.sm.mkey = 0x1234;
		start_fabric(&w);
		run_for(&w, 30 * SECOND_US);
		assert_held(&w);
		w.conf.sm.mkey_secret = secret("a secret of the site");
		w.conf.sm.old_mkey = 0x1234;
		w.conf.sm.mkey = 0;
		fabric_configure(w.fabric, &w.conf);
		run_for(&w, 60 * SECOND_US);
		assert_held(&w);
		world_fini(&w);
	}
}

/*
 * At a level at which a port does not say who it is without its key: the keys of those that are
 * missed are tried.
 */
static void hosts_that_exchanged_their_cables_are_known_again(void **state)
{
	struct world w;
	const struct topo *t;

	begin(&w, 2);
	t = w.design;
	start_fabric(&w);
	run_for(&w, 30 * SECOND_US);
	double_cut(w.hw, t->nodes[t->nswitches + 5].guid, 1);
	double_cut(w.hw, t->nodes[t->nnodes - 1].guid, 1);
	run_for(&w, 5 * SECOND_US);
	double_swap(w.hw, t->nodes[t->nswitches + 5].guid, 1, t->nodes[t->nnodes - 1].guid, 1);
	double_join(w.hw, t->nodes[t->nswitches + 5].guid, 1);
	double_join(w.hw, t->nodes[t->nnodes - 1].guid, 1);
	run_for(&w, 120 * SECOND_US);
	assert_held(&w);
	world_fini(&w);
}

static void protection_that_ended_while_nobody_was_there_is_set_again(void **state)
{
	struct world w;

	begin(&w, 2);
	start_fabric(&w);
	run_for(&w, 30 * SECOND_US);
	assert_held(&w);
	stop_fabric(&w);
	for (uint32_t n = 0; n < w.design->nnodes; n++) /* a lease of before has expired */
		((struct wire_port_info *)info_of(&w, n))->mkey_protect = 0;
	start_fabric(&w);
	run_for(&w, 60 * SECOND_US);
	assert_held(&w);
	world_fini(&w);
}

static void finish_rotation(struct world *w)
{
	rotate(w);
	fabric_configure(w->fabric, &w->conf);
	run_for(w, 60 * SECOND_US);
	w->conf.sm.old_mkey_secret.set = false;
	fabric_configure(w->fabric, &w->conf);
	run_for(w, 60 * SECOND_US);
}

/* The old secret is forgotten by then: what the host held is in guid2mkey. */
static void a_host_that_was_off_while_keys_were_changed_is_moved(void **state)
{
	for (unsigned restarted = 0; restarted < 2; restarted++)
		for (int protect = 1; protect <= 2; protect++) {
			struct world w;
			guid_t host;

			begin(&w, protect);
			host = w.design->nodes[w.design->nswitches + 5].guid;
			start_fabric(&w);
			run_for(&w, 30 * SECOND_US);
			double_cut(w.hw, host, 1);
			run_for(&w, 5 * SECOND_US);
			finish_rotation(&w);
			if (restarted)
				restart(&w);
			double_join(w.hw, host, 1);
			run_for(&w, 60 * SECOND_US);
			assert_held(&w);
			world_fini(&w);
		}
}

/* Each of its own, as if OpenSM had given them; and the file as OpenSM leaves it. */
static void keys_of_opensm_s_guid2mkey_are_known(void **state)
{
	char text[16384] = "";
	struct world w;

	begin(&w, 1);
	w.conf.sm.mkey_secret.set = false;
	w.conf.sm.mkey = 0x1234;
	for (uint32_t n = 0; n < w.design->nnodes; n++) {
		uint64_t key = 0x777000 + n;

		double_hold_mkey(w.hw, w.design->nodes[n].guid, end_port(&w, n), key, 1, 0);
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "0x%016llx 0x%016llx\n\n", (unsigned long long)key_guid(&w, n),
			 (unsigned long long)key);
	}
	start_fabric(&w);
	run_for(&w, 30 * SECOND_US);
	assert_int_equal(count_alerts(&w, "foreign-m-key", ""), 1);
	assert_int_equal(holders(&w, &w.conf), 0);
	assert_true(restart_with(&w, "guid2mkey", text));
	run_for(&w, 60 * SECOND_US);
	assert_held(&w);
	world_fini(&w);
}

static void what_all_ports_hold_is_a_row_of_opensm_s_form_each(void **state)
{
	unsigned count = 0;
	struct world w;
	char *rows, *rest = NULL;

	begin(&w, 1);
	start_fabric(&w);
	run_for(&w, 60 * SECOND_US);
	stop_fabric(&w);
	rows = state_lines(&w, "guid2mkey");
	for (char *line = strtok_r(rows, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		count += !strncmp(line, "0x", 2) && strlen(line) == 37;
	free(rows);
	assert_int_equal(count, w.design->nnodes);
	world_fini(&w);
}

static void nothing(void *arg, const struct mad_answer *answer)
{
}

/* Somebody at the last host tries a key at each port but its own, by one Set. */
static void try_a_key(struct world *w, struct mad *attacker, uint64_t key)
{
	const uint8_t data[WIRE_SMP_DATA] = { 0 };

	for (uint32_t n = 0; n + 1 < w->design->nnodes; n++)
		mad_send(attacker,
			 &(struct mad_request){ .lid = info_of(w, n)->lid,
						.method = WIRE_SET,
						.attr_id = WIRE_PORT_INFO,
						.attr_mod = end_port(w, n),
						.data = data,
						.key = key,
						.once = true },
			 nothing, NULL);
}

static struct mad *begin_attack(struct world *w, int protect, int lease_s)
{
	static const struct mad_conf conf = { .window_max = 64, .window_device = 16 };
	const struct topo *t;

	begin(w, protect);
	t = w->design;
	w->conf.sm.mkey_lease_s = lease_s;
	start_fabric(w);
	run_for(w, 30 * SECOND_US);
	return mad_new(w->loop, double_io_at(w->hw, t->nodes[t->nnodes - 1].guid, 1), &conf);
}

/* The lease runs from the first wrong key on, and 60 s later the key can be read (14.2.4.2). */
static void a_lease_is_renewed_while_somebody_tries_keys(void **state)
{
	for (int protect = 1; protect <= 3; protect++) {
		struct world w;
		struct mad *attacker = begin_attack(&w, protect, 60);

		for (unsigned i = 0; i < 60; i++) {
			try_a_key(&w, attacker, 0x6666);
			run_for(&w, 5 * SECOND_US);
			assert_int_equal(holders(&w, &w.conf), w.design->nnodes);
		}
		assert_in_range(violations(&w), 40 * (w.design->nnodes - 1), UINT32_MAX);
		assert_held(&w);
		assert_int_equal(status_number(&w, "m_keys", "expired"), 0);
		mad_free(attacker);
		world_fini(&w);
	}
}

/* Root on a host can see what comes to its own port. */
static void the_key_of_one_port_opens_no_other(void **state)
{
	for (int protect = 0; protect <= 3; protect++) {
		struct world w;
		struct mad *attacker = begin_attack(&w, protect, 0);
		uint64_t learnt = info_of(&w, w.design->nnodes - 1)->mkey;

		assert_int_not_equal(learnt, 0);
		try_a_key(&w, attacker, learnt);
		run_for(&w, 5 * SECOND_US);
		assert_int_equal(violations(&w), w.design->nnodes - 1);
		assert_held(&w);
		mad_free(attacker);
		world_fini(&w);
	}
}

static void a_port_whose_lease_expired_is_protected_again_and_told(void **state)
{
	struct world w;
	guid_t host;

	begin(&w, 1);
	w.conf.sm.mkey_lease_s = 60;
	start_fabric(&w);
	run_for(&w, 30 * SECOND_US);
	assert_held(&w);
	host = w.design->nodes[w.design->nswitches + 5].guid;
	double_hold_mkey(w.hw, host, 1, info_of(&w, w.design->nswitches + 5)->mkey, 0, 60);
	run_for(&w, 40 * SECOND_US);
	assert_held(&w);
	assert_int_equal(status_number(&w, "m_keys", "expired"), 1);
	assert_int_equal(count_logged(&w, "m-key-expired", "HCA"), 1);
	world_fini(&w);
}

/* Each port within a third of the lease; and none, where keys do not expire. */
static void renewal_costs_one_get_a_port_and_third_of_a_lease(void **state)
{
	for (int lease_s = 0; lease_s <= 60; lease_s += 60) {
		unsigned ports;
		double asked;
		struct world w;

		begin(&w, 1);
		w.conf.sm.mkey_lease_s = lease_s;
		start_fabric(&w);
		ports = w.design->nnodes;
		run_for(&w, 60 * SECOND_US);
		asked = status_number(&w, "m_keys", "asked");
		run_for(&w, 600 * SECOND_US);
		asked = status_number(&w, "m_keys", "asked") - asked;
		assert_in_range(asked, lease_s ? 27 * ports : 0, lease_s ? 31 * ports : 0);
		world_fini(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_port_gets_its_own_at_every_level_and_keeps_it_over_a_restart),
		cmocka_unit_test(a_host_that_lost_its_power_is_given_it_again),
		cmocka_unit_test(a_switch_that_begins_anew_is_given_it_again),
		cmocka_unit_test(another_secret_s_fabric_is_told_and_left),
		cmocka_unit_test(a_reload_moves_all_to_another_secret_without_a_wrong_key),
		cmocka_unit_test(a_reload_takes_all_keys_back_without_a_wrong_key),
		cmocka_unit_test(keys_whose_taking_back_was_cut_short_go_after_a_restart),
		cmocka_unit_test(a_rotation_that_was_cut_short_goes_on_after_a_restart),
		cmocka_unit_test(one_key_of_all_becomes_one_of_each_port),
		cmocka_unit_test(hosts_that_exchanged_their_cables_are_known_again),
		cmocka_unit_test(a_host_that_was_off_while_keys_were_changed_is_moved),
		cmocka_unit_test(keys_of_opensm_s_guid2mkey_are_known),
		cmocka_unit_test(what_all_ports_hold_is_a_row_of_opensm_s_form_each),
		cmocka_unit_test(a_lease_is_renewed_while_somebody_tries_keys),
		cmocka_unit_test(the_key_of_one_port_opens_no_other),
		cmocka_unit_test(a_port_whose_lease_expired_is_protected_again_and_told),
		cmocka_unit_test(renewal_costs_one_get_a_port_and_third_of_a_lease),
		cmocka_unit_test(protection_that_ended_while_nobody_was_there_is_set_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
