/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * From groups to trees and tables, and who stays a member: the room alone, on a double's switches,
 * with a pipe that only looks like one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "fm/multicast/module.h"
#include "fm/multicast/room.h"
#include "fm/program/mft.h"
#include "fm/sa/sa.h"
#include "routing/ftree/route.h"
#include "routing/proof/check_change.h"
#include "tests/lib/fake_pipe.h"
#include "tests/lib/sweep_bench.h"
#include "topology/snapshot/topo_builder.h"

#define SECOND_US  1000000ull
#define PER_LEAF   4
#define FIRST_HOST PER_LEAF /* members are not at the manager's own leaf, the first one */
#define MEMBERS	   12

struct rig {
	struct bench b;
	struct fabric f;
	struct loop *own; /* the fake pipe's; the room runs on the double's */
	struct loop_timer *stop;
};

static void run_for(struct rig *r, uint64_t us)
{
	loop_timer_set(r->stop, us);
	loop_run(r->b.loop);
}

static void room_new(struct rig *r)
{
	struct inventory *inv = sweep_inventory(r->b.sweep);
	const struct sa_conf conf = { .gid_prefix = 0xfe80000000000000, .subnet_timeout = 18 };

	r->f.services.sa = sa_new(r->b.loop, r->b.mad, inv, &conf);
	r->f.services.mft = mft_new(r->b.loop, r->b.mad, inv);
	r->f.room = r->f.module->init(&r->f);
	r->f.module->load(r->f.room, FABRIC_RESTORE);
}

static void room_free(struct rig *r)
{
	r->f.module->fini(r->f.room);
	r->f.room = NULL;
	mft_free(r->f.services.mft);
	sa_free(r->f.services.sa);
}

static void rig_init(struct rig *r)
{
	bench_init(&r->b, design_pgft2(), NULL);
	bench_discover(&r->b);
	fake_pipe_prepare(&r->f, &multicast_module, NULL, r->b.mad, NULL);
	r->own = r->f.services.loop;
	r->f.services.loop = r->b.loop;
	r->f.services.inventory = sweep_inventory(r->b.sweep);
	r->f.services.proofs = check_base_new(1); /* no proof: trees are planned without */
	r->stop = loop_timer_new(r->b.loop, fake_stop, r->b.loop);
	room_new(r);
}

static void rig_fini(struct rig *r)
{
	room_free(r);
	check_base_free(r->f.services.proofs);
	loop_timer_free(r->stop);
	r->f.services.loop = r->own;
	fake_pipe_fini(&r->f);
	bench_fini(&r->b);
}

/* As after a restart: files are on disk; no other memory is left. */
static void restart(struct rig *r)
{
	struct fabric *f = &r->f;

	state_flush(f->services.state);
	room_free(r);
	state_close(f->services.state);
	fake_open_state(f);
	topo_unref(f->view.topo);
	f->view = (struct fabric_view){ 0 };
	memset(&f->asked, 0, sizeof(f->asked));
	room_new(r);
}

static void swept(void *arg, const struct sweep_result *result)
{
	struct rig *r = arg;

	if (!result->rest)
		loop_stop(r->b.loop); /* timers of the room stay armed */
}

/* All is asked again, and what was found is published; tables are in place at once. */
static void sweep_and_publish(struct rig *r)
{
	const struct program_result result = { 0 };
	struct topo *before = (struct topo *)r->f.view.topo;

	sweep_discover(r->b.sweep, swept, r);
	loop_run(r->b.loop);
	r->f.view.topo = topo_freeze(inventory_snapshot_builder(sweep_inventory(r->b.sweep)));
	r->f.module->published(r->f.room, FABRIC_PUBLISHED, before);
	r->f.module->programmed(r->f.room, &(struct fabric_programmed){ .tables = &result });
	topo_unref(before);
}

static guid_t host_guid(const struct rig *r, unsigned host)
{
	const struct topo *t = r->b.design;

	return t->ports[t->nodes[t->nswitches + FIRST_HOST + host].port0 + 1].guid;
}

/* A group of that many hosts of the leaves behind the first. */
static struct sa_group *join(struct rig *r, unsigned number, unsigned count)
{
	struct sa_groups *groups = sa_mcast_groups(r->f.services.sa);
	const struct wire_mcmember attr = {
		.mgid = { 0xff12401bffff0000, 1 + number }, .pkey = 0xffff, .mtu = 4, .rate = 3
	};
	struct sa_group *group = sa_groups_create(groups, &attr, 0, loop_now_us(r->b.loop));

	for (unsigned i = 0; i < count; i++)
		sa_groups_join(groups, group, host_guid(r, i), WIRE_JOIN_FULL, false);
	return group;
}

static unsigned members(const struct rig *r)
{
	return sa_groups_use(sa_mcast_groups(r->f.services.sa))->members;
}

static json_int_t figure(const struct rig *r, const char *key)
{
	json_t *doc = json_object();
	json_int_t value;

	r->f.module->status(r->f.room, doc);
	value = json_integer_value(json_object_get(json_object_get(doc, "multicast"), key));
	json_decref(doc);
	return value;
}

/* Members whose leaf forwards the group to them. */
static unsigned served(const struct rig *r, uint16_t mlid)
{
	const struct topo *t = r->b.design;
	unsigned count = 0;

	for (unsigned host = 0; host < MEMBERS; host++) {
		const struct topo_port *leaf =
			topo_peer(t, &t->ports[topo_find_port(t, host_guid(r, host))]);

		count += double_mft(r->b.d, t->nodes[leaf->node].guid, mlid, leaf->num);
	}
	return count;
}

/* ---- Trees ----------------------------------------------------------------------------------- */

static void trees_are_written_behind_unicast_tables(void **state)
{
	const struct program_result result = { 0 };
	struct rig r;
	uint16_t mlid;

	rig_init(&r);
	mlid = join(&r, 0, MEMBERS)->mlid;
	run_for(&r, SECOND_US);
	assert_int_equal(multicast_trees(&r.f)->ntrees, 0); /* nothing is published */
	r.f.programming = true;
	sweep_and_publish(&r);
	run_for(&r, SECOND_US);
	assert_int_equal(multicast_trees(&r.f)->ntrees, 0);
	r.f.programming = false;
	r.f.module->programmed(r.f.room, &(struct fabric_programmed){ .tables = &result });
	run_for(&r, SECOND_US);
	assert_int_equal(multicast_trees(&r.f)->ntrees, 1);
	assert_int_equal(served(&r, mlid), MEMBERS);
	assert_int_equal(r.f.asked.mft_written, 1);
	assert_int_equal(r.f.asked.retries, 0);
	rig_fini(&r);
}

static void without_members_no_planner_is_made(void **state)
{
	const struct multicast *m;
	struct rig r;
	uint16_t mlid;

	rig_init(&r);
	m = r.f.room;
	join(&r, 0, 0);
	sweep_and_publish(&r);
	run_for(&r, SECOND_US);
	assert_int_equal(m->trees.rounds, 1);
	assert_null(m->trees.planner);
	assert_null(m->trees.proof);
	assert_int_equal(multicast_trees(&r.f)->ntrees, 1);
	mlid = join(&r, 1, MEMBERS)->mlid;
	run_for(&r, SECOND_US);
	assert_non_null(m->trees.planner);
	assert_int_equal(multicast_trees(&r.f)->ntrees, 2);
	assert_int_equal(served(&r, mlid), MEMBERS);
	rig_fini(&r);
}

/*
 * Nobody is a member when a fault's tables are proven: the graph of those in force is not copied
 * then. The tables of the fault are refused, and the first member comes.
 */
static void trees_after_refused_tables_are_proven_beside_those_in_force(void **state)
{
	const struct multicast *m;
	struct check_report report;
	struct lid_map *lids;
	struct tables tables = { 0 };
	struct route *route;
	struct rig r;

	rig_init(&r);
	m = r.f.room;
	route = route_new();
	lids = lid_plan(r.b.design, NULL, 0);
	assert_int_equal(route_compute(route, r.b.design, lids, NULL, &tables), 0);
	assert_true(check_change(r.f.services.proofs, r.b.design, lids, &tables, &report));
	sweep_and_publish(&r);
	r.f.view.lids = lids;
	r.f.view.tables = &tables;
	run_for(&r, SECOND_US);
	r.f.module->published(r.f.room, FABRIC_PROVING, NULL);
	assert_null(m->trees.published);
	check_change_begin(r.f.services.proofs, r.b.design, lids, &tables);
	join(&r, 0, MEMBERS);
	run_for(&r, SECOND_US);
	assert_non_null(m->trees.proof);
	assert_int_equal(multicast_trees(&r.f)->ntrees, 1);
	r.f.view.tables = NULL;
	r.f.view.lids = NULL;
	rig_fini(&r);
	tables_fini(&tables);
	lid_map_free(lids);
	route_free(route);
}

/* The first group comes while a snapshot that shows other states of ports is already in force. */
static void a_snapshot_that_replaces_another_before_the_first_plan_gets_its_trees(void **state)
{
	struct topo *before;
	struct rig r;

	rig_init(&r);
	sweep_and_publish(&r);
	run_for(&r, SECOND_US);
	join(&r, 0, MEMBERS);
	for (unsigned ms = 0; ms < 50 && !multicast_busy(&r.f); ms++)
		run_for(&r, 1000);
	before = (struct topo *)r.f.view.topo;
	r.f.view.topo = topo_freeze(inventory_snapshot_builder(sweep_inventory(r.b.sweep)));
	r.f.module->published(r.f.room, FABRIC_SHOWN, before);
	topo_unref(before);
	run_for(&r, SECOND_US);
	assert_int_equal(multicast_trees(&r.f)->ntrees, 1);
	rig_fini(&r);
}

static void joins_that_come_together_take_one_round(void **state)
{
	struct rig r;
	json_int_t rounds;

	rig_init(&r);
	sweep_and_publish(&r);
	run_for(&r, SECOND_US);
	rounds = figure(&r, "rounds");
	for (unsigned i = 0; i < 50; i++)
		join(&r, i, 3);
	assert_false(multicast_busy(&r.f)); /* a join leaves a mark, and no more */
	run_for(&r, SECOND_US);
	assert_int_equal(figure(&r, "rounds"), rounds + 1);
	assert_int_equal(multicast_trees(&r.f)->ntrees, 50);
	rig_fini(&r);
}

static void a_block_that_a_switch_does_not_hold_is_written_again(void **state)
{
	struct rig r;
	json_int_t rounds, blocks;
	uint16_t masks[MCAST_BLOCK] = { 0 };
	uint16_t mlid;
	guid_t leaf;

	rig_init(&r);
	mlid = join(&r, 0, MEMBERS)->mlid;
	sweep_and_publish(&r);
	run_for(&r, SECOND_US);
	rounds = figure(&r, "rounds");
	blocks = figure(&r, "mft_blocks_written");
	leaf = multicast_trees(&r.f)->trees[0].hops[0].guid;
	double_lose_mft(r.b.d, leaf);
	mft_found(r.f.services.mft, leaf, 0, 0, masks);
	multicast_rewrite(&r.f);
	run_for(&r, SECOND_US);
	assert_int_equal(figure(&r, "rounds"), rounds + 1);
	assert_true(figure(&r, "mft_blocks_written") > blocks);
	assert_int_equal(served(&r, mlid), MEMBERS);
	rig_fini(&r);
}

static void a_switch_that_takes_no_blocks_is_logged_once_and_tried_again(void **state)
{
	struct rig r;

	rig_init(&r);
	double_set_mute(r.b.d, 0, WIRE_SET, WIRE_MFT);
	join(&r, 0, MEMBERS);
	sweep_and_publish(&r);
	run_for(&r, 20 * SECOND_US);
	assert_true(r.f.asked.retries > 0);
	assert_int_equal(fake_events(&r.f, "mcast-failed", NULL), 1);
	sweep_and_publish(&r);
	run_for(&r, 20 * SECOND_US);
	assert_int_equal(fake_events(&r.f, "mcast-failed", NULL), 1);
	rig_fini(&r);
}

/* ---- Over a restart -------------------------------------------------------------------------- */

static void hosts_register_anew_where_groups_are_not_known_and_only_there(void **state)
{
	struct rig r;

	rig_init(&r);
	assert_int_equal(r.f.asked.reregisters, 1);
	restart(&r);
	assert_int_equal(r.f.asked.reregisters, 0);
	rig_fini(&r);
}

static void a_restart_keeps_groups_and_writes_no_block(void **state)
{
	struct rig r;
	uint16_t mlid;

	rig_init(&r);
	mlid = join(&r, 0, MEMBERS)->mlid;
	join(&r, 1, 2);
	sweep_and_publish(&r);
	run_for(&r, SECOND_US);
	restart(&r);
	assert_int_equal(members(&r), MEMBERS + 2);
	sweep_and_publish(&r);
	run_for(&r, SECOND_US);
	assert_int_equal(figure(&r, "rounds"), 1);
	assert_int_equal(figure(&r, "mft_blocks_written"), 0);
	assert_int_equal(served(&r, mlid), MEMBERS);
	assert_int_equal(r.f.asked.reregisters, 0);
	rig_fini(&r);
}

static void tables_that_lead_to_strangers_have_hosts_register_anew(void **state)
{
	struct rig r;

	rig_init(&r);
	join(&r, 0, MEMBERS);
	sweep_and_publish(&r);
	run_for(&r, SECOND_US);
	restart(&r);
	sa_groups_clear(sa_mcast_groups(r.f.services.sa)); /* the file was behind */
	sweep_and_publish(&r);
	run_for(&r, SECOND_US);
	assert_int_equal(r.f.asked.reregisters, 1);
	assert_int_equal(fake_events(&r.f, "mcast-strangers", NULL), 1);
	rig_fini(&r);
}

static void groups_without_members_are_made_in_advance_until_partitions_say_otherwise(void **state)
{
	struct rig r;

	rig_init(&r);
	sa_groups_preset(sa_mcast_groups(r.f.services.sa), join(&r, 0, 0), true, 0);
	restart(&r);
	assert_int_equal(sa_groups_use(sa_mcast_groups(r.f.services.sa))->groups, 1);
	sa_mcast_preset(r.f.services.sa, NULL, 0);
	assert_int_equal(sa_groups_use(sa_mcast_groups(r.f.services.sa))->groups, 0);
	rig_fini(&r);
}

/* ---- Who stays a member ---------------------------------------------------------------------- */

/* The leaf of the first members: all that leads from it to other switches. */
static void cut_leaf(struct rig *r, bool on)
{
	const struct topo *t = r->b.design;
	uint32_t leaf = topo_peer(t, &t->ports[topo_find_port(t, host_guid(r, 0))])->node;

	for (unsigned num = 1; num <= t->nodes[leaf].nports; num++) {
		const struct topo_port *peer = topo_peer(t, topo_port(t, leaf, num));

		if (peer && peer->node < t->nswitches)
			(on ? double_cut : double_join)(r->b.d, t->nodes[leaf].guid, num);
	}
}

static void who_is_said_to_be_down_has_left(void **state)
{
	const struct topo *t;
	struct rig r;
	uint32_t host;

	rig_init(&r);
	t = r.b.design;
	join(&r, 0, MEMBERS);
	sweep_and_publish(&r);
	host = t->ports[topo_find_port(t, host_guid(&r, 0))].node;
	double_cut(r.b.d, t->nodes[host].guid, 1);
	sweep_and_publish(&r);
	assert_int_equal(members(&r), MEMBERS - 1);
	assert_int_equal(figure(&r, "waiting"), 0);
	double_join(r.b.d, t->nodes[host].guid, 1);
	sweep_and_publish(&r);
	assert_int_equal(r.f.asked.port_reregisters, 1);
	assert_int_equal(r.f.asked.refreshed, t->nodes[host].guid);
	rig_fini(&r);
}

static void who_can_not_be_reached_stays_for_ten_minutes(void **state)
{
	struct rig r;

	rig_init(&r);
	join(&r, 0, MEMBERS);
	sweep_and_publish(&r);
	cut_leaf(&r, true);
	sweep_and_publish(&r);
	assert_int_equal(figure(&r, "waiting"), PER_LEAF);
	assert_int_equal(fake_events(&r.f, "mcast-waiting", NULL), 1);
	run_for(&r, 590 * SECOND_US);
	assert_int_equal(members(&r), MEMBERS);
	run_for(&r, 20 * SECOND_US);
	assert_int_equal(members(&r), MEMBERS - PER_LEAF);
	assert_int_equal(fake_events(&r.f, "mcast-dropped", NULL), 1);
	rig_fini(&r);
}

static void who_is_back_in_time_was_a_member_all_along_and_is_not_asked(void **state)
{
	struct rig r;

	rig_init(&r);
	join(&r, 0, MEMBERS);
	sweep_and_publish(&r);
	cut_leaf(&r, true);
	sweep_and_publish(&r);
	cut_leaf(&r, false);
	sweep_and_publish(&r);
	assert_int_equal(members(&r), MEMBERS);
	assert_int_equal(figure(&r, "waiting"), 0);
	assert_int_equal(fake_events(&r.f, "mcast-returned", NULL), 1);
	assert_int_equal(r.f.asked.port_reregisters, 0);
	rig_fini(&r);
}

/* ---- Room for groups ------------------------------------------------------------------------- */

static void the_smallest_table_limits_groups_and_four_fifths_are_an_event(void **state)
{
	struct inventory *inv;
	struct rig r;
	unsigned made = 0;

	rig_init(&r);
	inv = sweep_inventory(r.b.sweep);
	sweep_and_publish(&r);
	inventory_find(inv, r.b.design->nodes[2].guid)->sw.mft_cap = 20;
	topo_unref(r.f.view.topo);
	r.f.view.topo = topo_freeze(inventory_snapshot_builder(inv));
	r.f.module->published(r.f.room, FABRIC_PUBLISHED, r.f.view.topo);
	assert_int_equal(figure(&r, "mlids_room"), 20);
	for (; made < 15; made++)
		join(&r, made, 1);
	assert_int_equal(fake_events(&r.f, "mlids", NULL), 0);
	for (; made < 20; made++)
		join(&r, made, 1);
	assert_int_equal(fake_events(&r.f, "mlids", NULL),
			 2); /* at four fifths, and when all are in use */
	rig_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_are_written_behind_unicast_tables),
		cmocka_unit_test(without_members_no_planner_is_made),
		cmocka_unit_test(trees_after_refused_tables_are_proven_beside_those_in_force),
		cmocka_unit_test(
			a_snapshot_that_replaces_another_before_the_first_plan_gets_its_trees),
		cmocka_unit_test(joins_that_come_together_take_one_round),
		cmocka_unit_test(a_block_that_a_switch_does_not_hold_is_written_again),
		cmocka_unit_test(a_switch_that_takes_no_blocks_is_logged_once_and_tried_again),
		cmocka_unit_test(hosts_register_anew_where_groups_are_not_known_and_only_there),
		cmocka_unit_test(a_restart_keeps_groups_and_writes_no_block),
		cmocka_unit_test(tables_that_lead_to_strangers_have_hosts_register_anew),
		cmocka_unit_test(
			groups_without_members_are_made_in_advance_until_partitions_say_otherwise),
		cmocka_unit_test(who_is_said_to_be_down_has_left),
		cmocka_unit_test(who_can_not_be_reached_stays_for_ten_minutes),
		cmocka_unit_test(who_is_back_in_time_was_a_member_all_along_and_is_not_asked),
		cmocka_unit_test(the_smallest_table_limits_groups_and_four_fifths_are_an_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
