/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Alias GUIDs by the whole daemon: what a host asks for gets into its port, again after the port
 * was off, and over a restart.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_sa.h"
#include "fm/sa/module.h"
#include "tests/lib/fabric_mcast_world.h"

#define ALIAS(n) (0xabcd000000000000ull + (n))

static void status_cb(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct heard *h = arg;

	h->count++;
	h->status = (uint16_t)(mad[4] << 8 | mad[5]);
}

/* Lets the host ask for an alias at an entry of its port's first block. */
static void ask_alias(struct world *w, unsigned host, unsigned entry, guid_t alias)
{
	const struct wire_mad header = { .mgmt_class = WIRE_SA,
					 .class_version = 2,
					 .method = WIRE_SET,
					 .tid = 1 + host,
					 .attr_id = WIRE_SA_GUID_INFO };
	const uint64_t mask = WIRE_BIT(WIRE_SA_LID) | WIRE_BIT(WIRE_GUID_BLOCK) |
			      WIRE_BIT(WIRE_GUID_FIRST + entry);
	const struct io_addr to = { .lid = lid_of(w, 0), .qp = 1, .qkey = QP1_QKEY };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };
	struct heard h = { 0 };

	wire_mad_encode(&header, mad);
	for (unsigned i = 0; i < 8; i++)
		mad[48 + i] = (uint8_t)(mask >> (56 - 8 * i));
	wire_put(mad + WIRE_SA_HEADER, 2, lid_of(w, host));
	wire_put(mad + WIRE_SA_HEADER + 8 + 8 * entry, 8, alias);
	double_inject(w->hw, node_of(w, host), 1, &to, mad, sizeof(mad), status_cb, &h);
	run_for(w, SECOND_US / 10);
	assert_int_equal(h.count, 1);
	assert_int_equal(h.status, WIRE_SA_OK);
}

static guid_t alias_of(const struct world *w, unsigned host, unsigned entry)
{
	return double_alias(w->hw, node_of(w, host), 1, entry);
}

static void the_port_gets_what_its_host_asked_for(void **state)
{
	struct world w;

	small_world(&w);
	ask_alias(&w, 5, 2, ALIAS(1));
	assert_true(alias_of(&w, 5, 2) == ALIAS(1));
	assert_true(alias_of(&w, 5, 1) == 0);
	ask_alias(&w, 5, 1, 0); /* whichever */
	assert_true(alias_of(&w, 5, 1) != 0);
	assert_true(alias_of(&w, 5, 2) == ALIAS(1));
	world_fini(&w);
}

static json_t *aliases_of(const struct world *w, guid_t port)
{
	json_t *known = sa_known_of_port(w->fabric, port), *rows;

	rows = json_incref(json_object_get(known, "alias_guids"));
	json_decref(known);
	return rows;
}

static void operators_see_the_aliases_of_a_port_and_find_it_by_them(void **state)
{
	struct world w;
	guid_t port;
	json_t *rows;

	small_world(&w);
	port = topo_port(w.design, w.design->nswitches + 5, 1)->guid;
	rows = aliases_of(&w, port);
	assert_int_equal(json_array_size(rows), 0);
	json_decref(rows);
	assert_true(sa_port_of_alias(w.fabric, ALIAS(1)) == 0);
	ask_alias(&w, 5, 2, ALIAS(1));
	rows = aliases_of(&w, port);
	assert_int_equal(json_array_size(rows), 1);
	assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "guid")),
			    "0xabcd000000000001");
	assert_int_equal(json_integer_value(json_object_get(json_array_get(rows, 0), "index")), 2);
	json_decref(rows);
	assert_true(sa_port_of_alias(w.fabric, ALIAS(1)) == port);
	world_fini(&w);
}

static void a_port_that_was_off_gets_its_table_again(void **state)
{
	struct world w;

	small_world(&w);
	ask_alias(&w, 5, 2, ALIAS(1));
	double_cut(w.hw, node_of(&w, 5), 1);
	run_for(&w, SECOND_US);
	double_reboot(w.hw, node_of(&w, 5));
	assert_true(alias_of(&w, 5, 2) == 0);
	double_join(w.hw, node_of(&w, 5), 1);
	run_for(&w, 12 * SECOND_US);
	assert_true(is_up(&w));
	assert_true(alias_of(&w, 5, 2) == ALIAS(1));
	world_fini(&w);
}

static void a_restart_forgets_no_alias(void **state)
{
	struct world w;

	small_world(&w);
	ask_alias(&w, 5, 2, ALIAS(1));
	stop_fabric(&w);
	double_reboot(w.hw, node_of(&w, 5));
	start_fabric(&w);
	run_for(&w, 12 * SECOND_US);
	assert_true(alias_of(&w, 5, 2) == ALIAS(1));
	world_fini(&w);
}

/*
 * A group of two functions of one port, and a third host: the tree leads to each port once, as long
 * as one function is in.
 */
static void trees_lead_to_members_by_alias(void **state)
{
	const struct mcast_tree *tree;
	struct wire_mcmember function;
	struct heard h = { 0 };
	struct model m = { 0 };
	struct world w;
	uint32_t leaf, port;

	small_world(&w);
	ask_alias(&w, 5, 2, ALIAS(1));
	model_join(&w, &m, 30, 0, WIRE_JOIN_FULL);
	function = member_of(&w, ALIAS(1), 0);
	ask_for(&w, 5, WIRE_SET, &function, &h);
	run_for(&w, 1000);
	assert_int_equal(h.status, WIRE_SA_OK);
	model_join(&w, &m, 5, 0, WIRE_JOIN_FULL);
	run_for(&w, SECOND_US / 2);
	assert_held(&w, &m);
	model_leave(&w, &m, 5, 0);
	run_for(&w, SECOND_US / 2);
	port = topo_find_port(fabric_topo(w.fabric), port_of(&w, 5));
	port = fabric_topo(w.fabric)->ports[port].peer;
	leaf = fabric_topo(w.fabric)->ports[port].node;
	tree = mcast_plan_tree(multicast_trees(w.fabric), m.mlid[0]);
	assert_true(tree->nhops > 0);
	assert_true(double_mft(w.hw, fabric_topo(w.fabric)->nodes[leaf].guid, m.mlid[0],
			       fabric_topo(w.fabric)->ports[port].num));
	double_cut(w.hw, node_of(&w, 5), 1); /* with its port goes the function */
	run_for(&w, SECOND_US);
	assert_int_equal(status_number(&w, "multicast", "members"), 1);
	world_fini(&w);
}

static void a_table_that_another_emptied_is_restored_and_told(void **state)
{
	struct world w;

	small_world(&w);
	w.conf.audit.rate = 100;
	w.conf.audit.after_ms = 1000;
	fabric_configure(w.fabric, &w.conf);
	ask_alias(&w, 5, 2, ALIAS(1));
	run_for(&w, 10 * SECOND_US);
	assert_int_equal(count_logged(&w, "audit", ""), 0);
	double_change_aliases(w.hw, node_of(&w, 5), 1)[2] = 0;
	double_sent_reset(w.hw);
	run_for(&w, 30 * SECOND_US);
	assert_true(alias_of(&w, 5, 2) == ALIAS(1));
	assert_int_equal(count_logged(&w, "audit", "GUIDInfo"), 1);
	assert_int_equal(double_sent(w.hw, WIRE_SET, 0), 1);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(double_sent(w.hw, WIRE_SET, 0), 1);
	world_fini(&w);
}

/* Two tries. */
static void a_port_that_does_not_keep_its_table_is_left_alone(void **state)
{
	struct world w;

	small_world(&w);
	ask_alias(&w, 5, 2, ALIAS(1));
	w.conf.audit.rate = 100;
	w.conf.audit.after_ms = 1000;
	fabric_configure(w.fabric, &w.conf);
	double_change_aliases(w.hw, node_of(&w, 5), 1)[2] = 0;
	double_set_feigns(w.hw, node_of(&w, 5), WIRE_GUID_INFO);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(count_logged(&w, "audit", "GUIDInfo"), 1);
	assert_int_equal(count_logged(&w, "guids-refused", "does not hold"), 1);
	double_sent_reset(w.hw);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(double_sent(w.hw, WIRE_SET, 0), 0);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_that_another_emptied_is_restored_and_told),
		cmocka_unit_test(a_port_that_does_not_keep_its_table_is_left_alone),
		cmocka_unit_test(the_port_gets_what_its_host_asked_for),
		cmocka_unit_test(operators_see_the_aliases_of_a_port_and_find_it_by_them),
		cmocka_unit_test(a_port_that_was_off_gets_its_table_again),
		cmocka_unit_test(a_restart_forgets_no_alias),
		cmocka_unit_test(trees_lead_to_members_by_alias),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
