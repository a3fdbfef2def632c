/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Links that are known over a restart: this room alone, with a pipe that only looks like one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "fm/restart/links_own.h"
#include "fm/restart/module.h"
#include "tests/lib/fake_pipe.h"
#include "topology/snapshot/topo_builder.h"

#define LEAF  0x100ull
#define SPINE 0x200ull
#define HOST  0x300ull

static struct inv_node *add(struct fabric *f, guid_t guid, uint8_t type, uint8_t ports)
{
	const struct wire_node_info info = { .base_version = 1,
					     .class_version = 1,
					     .type = type,
					     .nports = ports,
					     .node_guid = guid,
					     .port_guid = guid };
	struct inv_node *node = inventory_add(&f->inventory, &info);

	snprintf(node->desc, sizeof(node->desc), "node %x", (unsigned)guid);
	node->have_desc = true;
	if (type == TOPO_CA)
		inventory_set_port_guid(&f->inventory, node, 1, guid);
	return node;
}

/* A leaf with a host and two links to a spine, of which one is down. */
static void three_nodes(struct fabric *f)
{
	struct inv_node *leaf = add(f, LEAF, TOPO_SWITCH, 8);
	struct inv_node *spine = add(f, SPINE, TOPO_SWITCH, 8);
	struct inv_node *host = add(f, HOST, TOPO_CA, 1);

	inventory_link(&f->inventory, leaf, 1, host, 1);
	inventory_link(&f->inventory, leaf, 5, spine, 1);
	inventory_link(&f->inventory, leaf, 6, spine, 2);
	inventory_link_down(&f->inventory, leaf, 6);
}

static void publish(struct fabric *f)
{
	topo_unref(f->view.topo);
	f->view.topo = topo_freeze(inventory_snapshot_builder(&f->inventory));
	f->module->settled(f->room, FABRIC_SETTLED_LATER);
}

static json_t *since_of_the_only_row(const struct fabric *f)
{
	json_t *rows = links_down(f), *since;

	assert_int_equal(json_array_size(rows), 1);
	since = json_incref(json_object_get(json_array_get(rows, 0), "since"));
	json_decref(rows);
	return since;
}

static void nodes_and_links_of_an_earlier_life_are_gone_and_down_until_they_are_met(void **state)
{
	struct fabric f;
	struct inv_node *leaf;

	fake_pipe_init(&f, &restart_module, NULL);
	three_nodes(&f);
	publish(&f);
	fake_pipe_restart(&f);
	assert_null(inventory_first(&f.inventory));
	f.module->load(f.room, FABRIC_RESTORE);
	leaf = inventory_find(&f.inventory, LEAF);
	assert_non_null(leaf);
	assert_true(leaf->gone);
	assert_string_equal(leaf->desc, "node 100");
	assert_ptr_equal(leaf->ports[5].peer, inventory_find(&f.inventory, SPINE));
	assert_ptr_equal(leaf->ports[1].peer, inventory_find(&f.inventory, HOST));
	assert_false(leaf->ports[5].link_up || leaf->ports[6].link_up);
	assert_int_equal(f.asked.sweeps + f.asked.reroutes + f.asked.refreshes, 0);
	fake_pipe_fini(&f);
}

static void since_when_a_link_is_down_is_kept(void **state)
{
	struct fabric f;
	json_t *before, *after;

	fake_pipe_init(&f, &restart_module, NULL);
	three_nodes(&f);
	publish(&f);
	before = since_of_the_only_row(&f);
	assert_true(json_is_string(before));
	fake_pipe_restart(&f);
	f.module->load(f.room, FABRIC_RESTORE);
	after = since_of_the_only_row(&f);
	assert_true(json_equal(before, after));
	json_decref(before);
	json_decref(after);
	fake_pipe_fini(&f);
}

static void assert_row(const struct fabric *f, bool down)
{
	char *rows = rows_known(f->services.state, "cables");
	const char *row = strstr(rows, "0x0000000000000100 5 ");
	long since = -1;
	int used = 0;

	assert_non_null(row);
	sscanf(row, "0x0000000000000100 5 0x0000000000000200 1 %ld\n%n", &since, &used);
	assert_true(used > 0);
	assert_int_equal(since != 0, down);
	free(rows);
}

static void a_link_that_falls_or_comes_back_is_another_row_at_once(void **state)
{
	struct inv_node *leaf;
	struct fabric f;
	uint64_t number;

	fake_pipe_init(&f, &restart_module, NULL);
	three_nodes(&f);
	publish(&f);
	state_flush(f.services.state);
	assert_row(&f, false);
	number = state_number(f.services.state);
	leaf = inventory_find(&f.inventory, LEAF);
	inventory_link_down(&f.inventory, leaf, 5);
	publish(&f);
	assert_row(&f, true);
	inventory_link(&f.inventory, leaf, 5, inventory_find(&f.inventory, SPINE), 1);
	publish(&f);
	assert_row(&f, false);
	assert_int_equal(state_number(f.services.state), number + 2); /* no other row */
	fake_pipe_fini(&f);
}

/* Since when the leaf's link is down, by that row; "" = it is not known to be. */
static void read_since(const char *value, char since[KNOWN_LINKS_SINCE])
{
	struct fabric f;

	since[0] = '\0';
	fake_pipe_init(&f, &restart_module, NULL);
	three_nodes(&f);
	publish(&f);
	fake_pipe_restart(&f);
	assert_true(state_take(f.services.state, "cables", "0x0000000000000100 5", value));
	f.module->load(f.room, FABRIC_RESTORE);
	assert_non_null(inventory_find(&f.inventory, LEAF));
	topo_unref(f.view.topo);
	f.view.topo = topo_freeze(inventory_snapshot_builder(&f.inventory));
	for (uint32_t p = 0; p < f.view.topo->nports; p++)
		if (f.view.topo->nodes[f.view.topo->ports[p].node].guid == LEAF &&
		    f.view.topo->ports[p].num == 5)
			link_down_since(&f, p, since);
	fake_pipe_fini(&f);
}

/* As another manager has it. */
static void a_row_says_since_when_a_link_is_down(void **state)
{
	char since[KNOWN_LINKS_SINCE];

	read_since("0x0000000000000200 1 1750000001", since);
	assert_string_equal(since, "2025-06-15T15:06:41Z");
	read_since("0x0000000000000200 1 0", since);
	assert_string_equal(since, "");
}

static void assert_cabled(const struct fabric *f, guid_t a, unsigned port_a, guid_t b,
			  unsigned port_b)
{
	const struct inv_node *node = inventory_find(&f->inventory, a);

	assert_non_null(node);
	assert_ptr_equal(node->ports[port_a].peer, b ? inventory_find(&f->inventory, b) : NULL);
	if (b)
		assert_int_equal(node->ports[port_a].peer_port, port_b);
}

#define NEW_HOST  0x050ull /* ahead of all others */
#define FORGOTTEN 0x400ull

static void what_came_went_moved_or_was_renamed_is_there_after_a_kill(void **state)
{
	struct inv_node *leaf, *spine, *host;
	struct fabric f;

	fake_pipe_init(&f, &restart_module, NULL);
	three_nodes(&f);
	leaf = inventory_find(&f.inventory, LEAF);
	spine = inventory_find(&f.inventory, SPINE);
	inventory_link(&f.inventory, leaf, 3, add(&f, FORGOTTEN, TOPO_CA, 1), 1);
	publish(&f);
	state_flush(f.services.state);
	inventory_link(&f.inventory, leaf, 2, add(&f, NEW_HOST, TOPO_CA, 1), 1);
	inventory_link(&f.inventory, leaf, 7, spine, 2); /* it was at leaf 6, and is down no more */
	inventory_unlink(&f.inventory, leaf, 3);
	inventory_remove(&f.inventory, inventory_find(&f.inventory, FORGOTTEN));
	host = inventory_find(&f.inventory, HOST);
	snprintf(host->desc, sizeof(host->desc), "another name");
	publish(&f);
	fake_run_for(&f, 0);
	fake_pipe_kill(&f);
	f.module->load(f.room, FABRIC_RESTORE);
	assert_cabled(&f, LEAF, 2, NEW_HOST, 1);
	assert_cabled(&f, LEAF, 7, SPINE, 2);
	assert_cabled(&f, LEAF, 5, SPINE, 1);
	assert_cabled(&f, LEAF, 6, 0, 0);
	assert_cabled(&f, LEAF, 3, 0, 0);
	assert_null(inventory_find(&f.inventory, FORGOTTEN));
	assert_int_equal(inventory_find(&f.inventory, NEW_HOST)->port_guids[1], NEW_HOST);
	assert_string_equal(inventory_find(&f.inventory, HOST)->desc, "another name");
	fake_pipe_fini(&f);
}

static void the_first_rows_wait_for_nothing(void **state)
{
	struct fabric f;

	fake_pipe_init(&f, &restart_module, NULL);
	three_nodes(&f);
	publish(&f);
	fake_run_for(&f, 10000);
	assert_true(state_is_kept(f.services.state));
	fake_pipe_kill(&f);
	f.module->load(f.room, FABRIC_RESTORE);
	assert_cabled(&f, LEAF, 5, SPINE, 1);
	fake_pipe_fini(&f);
}

/* The pipe gives these LIDs. */
static void learn(struct fabric *f, const struct lid_entry *entries, unsigned count)
{
	f->lids.entries = mem_alloc(count, sizeof(*entries));
	memcpy(f->lids.entries, entries, count * sizeof(*entries));
	f->lids.count = count;
	f->lids.changes++;
	f->module->published(f->room, FABRIC_PUBLISHED, NULL);
}

static void lids_of_ports_that_are_away_are_in_the_inventory(void **state)
{
	static const struct lid_entry entries[] = {
		{ .port_guid = LEAF, .lid = 7 },
		{ .port_guid = HOST, .lid = 9, .lmc = 1, .away = 1750000000 },
	};
	struct fabric f;

	fake_pipe_init(&f, &restart_module, NULL);
	three_nodes(&f);
	publish(&f);
	learn(&f, entries, 2);
	fake_pipe_restart(&f);
	assert_int_equal(f.lids.count, 0);
	f.module->load(f.room, FABRIC_RESTORE);
	assert_int_equal(f.lids.count, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(f.lids.entries[i].port_guid, entries[i].port_guid);
		assert_int_equal(f.lids.entries[i].away, entries[i].away);
	}
	assert_int_equal(inventory_find(&f.inventory, LEAF)->ports[0].lid, 7);
	assert_int_equal(inventory_find(&f.inventory, HOST)->ports[1].lid, 9);
	assert_int_equal(inventory_find(&f.inventory, HOST)->ports[1].lmc, 1);
	fake_pipe_fini(&f);
}

static void a_lid_that_two_ports_have_is_the_first_ones(void **state)
{
	static const struct lid_entry entries[] = { { .port_guid = LEAF, .lid = 7 },
						    { .port_guid = HOST, .lid = 7 } };
	struct fabric f;

	fake_pipe_init(&f, &restart_module, NULL);
	learn(&f, entries, 2);
	fake_pipe_restart(&f);
	f.module->load(f.room, FABRIC_RESTORE);
	assert_int_equal(f.lost, 1);
	assert_int_equal(f.lids.count, 1);
	assert_int_equal(f.lids.entries[0].port_guid, LEAF);
	fake_pipe_fini(&f);
}

static void a_damaged_row_is_lost_with_what_depends_on_it_alone(void **state)
{
	struct fabric f;

	fake_pipe_init(&f, &restart_module, NULL);
	three_nodes(&f);
	publish(&f);
	state_flush(f.services.state);
	fake_pipe_end(&f);
	assert_int_equal(rows_run(f.folder, "UPDATE state SET value = value || '!' WHERE "
					    "kind = 'nodes' AND key = '0x0000000000000200'"),
			 1);
	fake_pipe_begin(&f);
	f.module->load(f.room, FABRIC_RESTORE);
	assert_int_equal(f.lost, 2); /* nodes, and cables to that one */
	assert_null(inventory_find(&f.inventory, SPINE));
	assert_cabled(&f, LEAF, 1, HOST, 1);
	assert_cabled(&f, LEAF, 5, 0, 0);
	fake_pipe_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			nodes_and_links_of_an_earlier_life_are_gone_and_down_until_they_are_met),
		cmocka_unit_test(since_when_a_link_is_down_is_kept),
		cmocka_unit_test(a_link_that_falls_or_comes_back_is_another_row_at_once),
		cmocka_unit_test(a_row_says_since_when_a_link_is_down),
		cmocka_unit_test(what_came_went_moved_or_was_renamed_is_there_after_a_kill),
		cmocka_unit_test(the_first_rows_wait_for_nothing),
		cmocka_unit_test(lids_of_ports_that_are_away_are_in_the_inventory),
		cmocka_unit_test(a_lid_that_two_ports_have_is_the_first_ones),
		cmocka_unit_test(a_damaged_row_is_lost_with_what_depends_on_it_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
