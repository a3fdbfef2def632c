/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* inventory: cables, ways over them, and the snapshot. No MADs here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "fm/inventory/inventory.h"
#include "tests/lib/topo_equal.h"
#include "topology/snapshot/topo_builder.h"

/*
 *   ca --1 [a] 2 ---- 1 [b] 3 ---- 1 [d]
 *           3 ---- 1 [c] 2 ---- 2 ---'
 */
struct square {
	struct inventory inv;
	struct inv_node *ca, *a, *b, *c, *d;
};

static struct inv_node *add(struct inventory *inv, uint8_t type, guid_t guid, uint8_t nports)
{
	struct wire_node_info info = {
		.type = type, .node_guid = guid, .port_guid = guid + 1, .nports = nports
	};

	return inventory_add(inv, &info);
}

static void square_init(struct square *s)
{
	inventory_init(&s->inv);
	s->ca = add(&s->inv, TOPO_CA, 0x1, 2);
	s->a = add(&s->inv, TOPO_SWITCH, 0xa0, 8);
	s->b = add(&s->inv, TOPO_SWITCH, 0xb0, 8);
	s->c = add(&s->inv, TOPO_SWITCH, 0xc0, 8);
	s->d = add(&s->inv, TOPO_SWITCH, 0xd0, 8);
	s->inv.local = s->ca;
	s->inv.local_port = 1;
	inventory_link(&s->inv, s->ca, 1, s->a, 1);
	inventory_link(&s->inv, s->a, 2, s->b, 1);
	inventory_link(&s->inv, s->a, 3, s->c, 1);
	inventory_link(&s->inv, s->b, 3, s->d, 1);
	inventory_link(&s->inv, s->c, 2, s->d, 2);
	inventory_update_paths(&s->inv);
}

static void assert_path(struct square *s, const struct inv_node *node, uint8_t port,
			const char *ports)
{
	struct mad_path path;
	size_t i;

	assert_true(inventory_port_path(&s->inv, node, port, &path));
	assert_int_equal(path.hops, strlen(ports));
	for (i = 0; i < path.hops; i++)
		assert_int_equal(path.ports[i], ports[i] - '0');
}

static void paths_are_the_shortest(void **state)
{
	struct square s;

	square_init(&s);
	assert_path(&s, s.ca, 1, "");
	assert_path(&s, s.a, 0, "1");
	assert_path(&s, s.b, 0, "12");
	assert_path(&s, s.c, 0, "13");
	assert_path(&s, s.d, 0, "123");
	inventory_fini(&s.inv);
}

static void dead_link_moves_only_the_paths_over_it(void **state)
{
	struct square s;

	square_init(&s);
	inventory_link_down(&s.inv, s.d, 1);
	assert_path(&s, s.b, 0, "12");
	assert_path(&s, s.d, 0, "132");
	inventory_link(&s.inv, s.b, 3, s.d, 1); /* back: as good, so the way stays */
	inventory_update_paths(&s.inv);
	assert_path(&s, s.d, 0, "132");
	inventory_fini(&s.inv);
}

static void a_path_that_holds_is_not_sought_again(void **state)
{
	struct square s;
	uint32_t walks;

	square_init(&s);
	walks = s.inv.walks;
	inventory_link_down(&s.inv, s.c, 2);
	assert_path(&s, s.d, 0, "123");
	assert_path(&s, s.c, 0, "13");
	assert_int_equal(s.inv.walks, walks);
	inventory_path_result(&s.inv, &s.c->path, false,
			      s.inv.clock); /* as all ways go over its first cable */
	assert_path(&s, s.c, 0, "13");
	assert_int_equal(s.inv.walks, walks + 1);
	inventory_fini(&s.inv);
}

static void suspect_cables_are_the_last_resort(void **state)
{
	struct square s;
	struct mad_path path;

	square_init(&s);
	path = s.d->path;
	inventory_path_result(&s.inv, &path, false, s.inv.clock);
	assert_int_equal(s.inv.nsuspects, 3);
	assert_path(&s, s.d, 0, "132"); /* the first cable is needed all the same */
	assert_path(&s, s.b, 0, "12");	/* doubtful by both its cables */
	inventory_path_result(&s.inv, &s.c->path, true, s.inv.clock);
	assert_int_equal(s.inv.nsuspects, 2);
	inventory_path_result(&s.inv, &path, true, s.inv.clock);
	assert_int_equal(s.inv.nsuspects, 0);
	inventory_fini(&s.inv);
}

/* As many others are suspect: one loss says nothing of a cable, and a walk serves many of them. */
static void where_packets_get_lost_everywhere_a_loss_costs_no_walk(void **state)
{
	struct square s;
	struct mad_path path;
	uint32_t walks;

	square_init(&s);
	s.inv.nsuspects = 1000;
	s.inv.clock = 1;
	path = s.d->path;
	walks = s.inv.walks;
	for (unsigned lost = 0; lost < 20; lost++) {
		inventory_path_result(&s.inv, &path, false, s.inv.clock);
		assert_path(&s, s.d, 0, "123");
	}
	assert_int_equal(s.inv.walks, walks);
	s.inv.clock = 64;
	assert_path(&s, s.d, 0, "132"); /* what is lost again and again is gone around */
	assert_int_equal(s.inv.walks, walks + 1);
	inventory_link_down(&s.inv, s.d, 2);
	assert_path(&s, s.d, 0, "123"); /* the other has ended, and is left at once */
	inventory_fini(&s.inv);
}

static void cable_that_worked_meanwhile_is_not_blamed(void **state)
{
	struct square s;
	struct mad_path path;
	uint32_t left;

	square_init(&s);
	path = s.d->path;
	left = s.inv.clock;
	inventory_path_result(&s.inv, &s.b->path, true, s.inv.clock);
	inventory_path_result(&s.inv, &path, false, left);
	assert_int_equal(s.inv.nsuspects, 1); /* the last one */
	assert_path(&s, s.b, 0, "12");
	assert_path(&s, s.d, 0, "132");
	inventory_fini(&s.inv);
}

static void silent_switch_is_gone_around(void **state)
{
	struct square s;

	square_init(&s);
	s.b->silent = true;
	s.inv.paths_stale = true;
	assert_path(&s, s.d, 0, "132");
	inventory_fini(&s.inv);
}

static void node_without_cables_is_gone_and_comes_back(void **state)
{
	struct square s;
	struct mad_path path;

	square_init(&s);
	inventory_link_down(&s.inv, s.d, 1);
	inventory_link_down(&s.inv, s.d, 2);
	assert_false(inventory_port_path(&s.inv, s.d, 0, &path));
	assert_true(s.d->gone);
	assert_ptr_equal(s.d->ports[1].peer, s.b); /* the cable is known */
	inventory_link(&s.inv, s.b, 3, s.d, 1);
	inventory_update_paths(&s.inv);
	assert_false(s.d->gone);
	assert_path(&s, s.d, 0, "123");
	inventory_fini(&s.inv);
}

static void each_port_of_a_host_has_its_own_path(void **state)
{
	struct square s;
	struct inv_node *host;
	struct mad_path path;

	square_init(&s);
	host = add(&s.inv, TOPO_CA, 0x2, 2);
	inventory_link(&s.inv, host, 1, s.b, 7);
	inventory_link(&s.inv, host, 2, s.c, 7);
	inventory_update_paths(&s.inv);
	assert_path(&s, host, 1, "127");
	assert_path(&s, host, 2, "137");
	inventory_link_down(&s.inv, host, 2);
	assert_false(inventory_port_path(&s.inv, host, 2, &path));
	assert_path(&s, host, 1, "127");
	/* A host forwards nothing: what is behind it has no way. */
	assert_false(inventory_port_path(&s.inv, s.ca, 2, &path));
	inventory_fini(&s.inv);
}

static void moved_cable_leaves_its_old_place(void **state)
{
	struct square s;

	square_init(&s);
	inventory_link(&s.inv, s.b, 3, s.c, 5);
	assert_null(s.d->ports[1].peer);
	assert_ptr_equal(s.c->ports[5].peer, s.b);
	assert_ptr_equal(s.b->ports[3].peer, s.c);
	inventory_update_paths(&s.inv);
	assert_path(&s, s.d, 0, "132");
	inventory_fini(&s.inv);
}

static void moved_link_leaves_what_its_ports_answered(void **state)
{
	struct square s;

	square_init(&s);
	s.b->ports[3].state = TOPO_INIT;
	s.d->ports[1].state = TOPO_ARMED;
	s.c->ports[5].state = TOPO_INIT;
	inventory_link(&s.inv, s.b, 3, s.c, 5);
	assert_int_equal(s.b->ports[3].state, TOPO_INIT);
	assert_int_equal(s.c->ports[5].state, TOPO_INIT);
	assert_int_equal(s.d->ports[1].state, TOPO_ARMED); /* up: who is there now? */
	assert_false(s.d->ports[1].link_up);
	inventory_fini(&s.inv);
}

static void removed_node_takes_its_cables_along(void **state)
{
	struct square s;

	square_init(&s);
	inventory_remove(&s.inv, s.b);
	assert_null(inventory_find(&s.inv, 0xb0));
	assert_null(s.a->ports[2].peer);
	assert_null(s.d->ports[1].peer);
	assert_true(s.b->removed);
	assert_int_equal(s.inv.nswitches, 3);
	assert_path(&s, s.d, 0, "132");
	inventory_fini(&s.inv);
}

static void cable_of_a_switch_to_itself_is_harmless(void **state)
{
	struct square s;

	square_init(&s);
	inventory_link(&s.inv, s.a, 6, s.a, 7);
	inventory_update_paths(&s.inv);
	assert_path(&s, s.d, 0, "123");
	inventory_unlink(&s.inv, s.a, 7);
	assert_null(s.a->ports[6].peer);
	inventory_fini(&s.inv);
}

static void snapshot_shows_down_cables_as_such(void **state)
{
	struct square s;
	struct topo *t;
	uint32_t d;

	square_init(&s);
	inventory_set_desc(&s.inv, s.ca, "sharp Mellanox Technologies Aggregation Node");
	s.ca->port_guids[1] = 0x2;
	inventory_link_down(&s.inv, s.d, 1);
	t = topo_freeze(inventory_snapshot_builder(&s.inv));
	assert_int_equal(t->nnodes, 5);
	assert_int_equal(t->nlinks, 5);
	assert_int_equal(t->nlinks_down, 1);
	d = topo_find(t, 0xd0);
	assert_false(topo_port(t, d, 1)->link_up);
	assert_int_equal(topo_port(t, d, 1)->state, TOPO_DOWN);
	assert_true(topo_port(t, d, 2)->link_up);
	assert_true(t->nodes[topo_find(t, 0x1)].sharp);
	assert_int_equal(topo_port(t, topo_find(t, 0x1), 1)->guid, 0x2);
	topo_unref(t);
	inventory_fini(&s.inv);
}

/* What a port may say from one moment to the next, and a cable's fall. */
static void stir(struct square *s)
{
	struct inv_port *port = &s->b->ports[3];

	port->state = TOPO_ARMED;
	port->speed = TOPO_NDR;
	port->lanes = 2;
	port->mtu = 4;
	inv_port_mark(s->b, 3, INV_QUARANTINED, true);
	s->ca->ports[1].state = TOPO_ACTIVE;
	s->ca->ports[1].lid = 77;
	s->ca->ports[1].lmc = 1;
	s->ca->ports[1].capmask = 0x1234;
	s->a->ports[1].speed = TOPO_HDR; /* the host knows no extended speeds */
	s->a->ports[0].lid = 5;
	inv_port_mark(s->c, 5, INV_CORDONED, true);
	inventory_link_down(&s->inv, s->d, 2);
}

static void a_snapshot_made_again_is_the_same_as_a_new_one(void **state)
{
	struct square s;
	struct topo *first, *second, *again, *fresh;
	uint32_t shapes;

	square_init(&s);
	inventory_set_port_guid(&s.inv, s.ca, 1, 0x2);
	first = topo_freeze(inventory_snapshot_builder(&s.inv));
	shapes = s.inv.shapes;
	for (unsigned i = 0; i < 3; i++) {
		if (i < 2)
			stir(&s);
		if (i == 1)
			inventory_link(&s.inv, s.c, 2, s.d, 2);
		again = inventory_snapshot_ports(&s.inv, first, shapes);
		fresh = topo_freeze(inventory_snapshot_builder(&s.inv));
		assert_non_null(again);
		assert_true(topo_is_again(again, first));
		assert_same_topo(again, fresh);
		assert_memory_equal(again->ports, fresh->ports,
				    fresh->nports * sizeof(*fresh->ports));
		assert_int_equal(topo_find_port(again, 0x2), topo_find_port(fresh, 0x2));
		second = again;
		topo_unref(first);
		topo_unref(fresh);
		first = second;
	}
	topo_unref(first);
	inventory_fini(&s.inv);
}

static void rename_ca(struct square *s)
{
	inventory_set_desc(&s->inv, s->ca, "another");
}

static void give_port_guid(struct square *s)
{
	inventory_set_port_guid(&s->inv, s->ca, 2, 0x99);
}

static void add_cable(struct square *s)
{
	inventory_link(&s->inv, s->a, 8, s->b, 8);
}

static void lose_cable(struct square *s)
{
	inventory_unlink(&s->inv, s->a, 2);
}

static void add_node(struct square *s)
{
	add(&s->inv, TOPO_SWITCH, 0xe0, 8);
}

static void remove_node(struct square *s)
{
	inventory_remove(&s->inv, s->d);
}

static void grow_tables(struct square *s)
{
	s->a->sw.lft_cap = 100;
}

static void update_firmware(struct square *s)
{
	s->a->info.revision = 3;
}

static void what_is_more_than_ports_is_made_anew(void **state)
{
	void (*const changes[])(struct square * s) = { rename_ca,   give_port_guid, add_cable,
						       lose_cable,  add_node,	    remove_node,
						       grow_tables, update_firmware };

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct square s;
		struct topo *t;
		uint32_t shapes;

		square_init(&s);
		t = topo_freeze(inventory_snapshot_builder(&s.inv));
		shapes = s.inv.shapes;
		changes[i](&s);
		assert_null(inventory_snapshot_ports(&s.inv, t, shapes));
		topo_unref(t);
		inventory_fini(&s.inv);
	}
}

static void name_has_type_description_guid_and_port(void **state)
{
	struct square s;

	square_init(&s);
	assert_string_equal(inventory_name(s.a, 3).text, "sw 0x00000000000000a0 p3");
	inventory_set_desc(&s.inv, s.ca, "dgx-01 HCA-1");
	s.ca->have_desc = true;
	assert_string_equal(inventory_name(s.ca, -1).text, "ca dgx-01 HCA-1 0x0000000000000001");
	inventory_fini(&s.inv);
}

static const struct CMUnitTest tests_list[] = {
	cmocka_unit_test(paths_are_the_shortest),
	cmocka_unit_test(dead_link_moves_only_the_paths_over_it),
	cmocka_unit_test(a_path_that_holds_is_not_sought_again),
	cmocka_unit_test(suspect_cables_are_the_last_resort),
	cmocka_unit_test(where_packets_get_lost_everywhere_a_loss_costs_no_walk),
	cmocka_unit_test(cable_that_worked_meanwhile_is_not_blamed),
	cmocka_unit_test(silent_switch_is_gone_around),
	cmocka_unit_test(node_without_cables_is_gone_and_comes_back),
	cmocka_unit_test(each_port_of_a_host_has_its_own_path),
	cmocka_unit_test(moved_cable_leaves_its_old_place),
	cmocka_unit_test(moved_link_leaves_what_its_ports_answered),
	cmocka_unit_test(removed_node_takes_its_cables_along),
	cmocka_unit_test(cable_of_a_switch_to_itself_is_harmless),
	cmocka_unit_test(snapshot_shows_down_cables_as_such),
	cmocka_unit_test(a_snapshot_made_again_is_the_same_as_a_new_one),
	cmocka_unit_test(what_is_more_than_ports_is_made_anew),
	cmocka_unit_test(name_has_type_description_guid_and_port),
};

int main(void)
{
	return cmocka_run_group_tests(tests_list, NULL, NULL);
}
