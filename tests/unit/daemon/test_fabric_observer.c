/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * An observer beside a master: it sets nothing, and shows the LIDs and tables that devices hold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/control/answer.h"
#include "fm/perf/module.h"
#include "fm/sa/mcast_group.h"
#include "fm/sa/sa.h"
#include "tests/fabric/double_own.h"
#include "tests/lib/sm_pair.h"
#include "topology/base/text.h"

/* a is master, and up; b observes. */
static void begin(struct pair *p)
{
	pair_init(p, small_tree(), 0, 0);
	start_fabric(&p->a);
	run_for(&p->a, 20 * SECOND_US);
	assert_true(is_master_and_up(&p->a));
	p->b.conf.sm.observe = true;
	p->b.conf.sm.priority = 15;
	pair_start_b(p);
	run_for(&p->a, 20 * SECOND_US);
}

static bool has_text(const struct world *w, const char *key, const char *text)
{
	json_t *status = fabric_status(w->fabric);
	bool same = !strcmp(json_string_value(json_object_get(status, key)), text);

	json_decref(status);
	return same;
}

static void assert_it_only_looked(struct pair *p)
{
	assert_int_equal(double_sent_by(p->io_b, WIRE_SET, 0), 0);
	assert_int_equal(mad_stats(p->b.mad).refused, 0);
	assert_true(has_text(&p->b, "role", "observer"));
	assert_true(has_text(&p->b, "state", "observing"));
	assert_true(is_master_and_up(&p->a));
}

/* What it shows is what the double holds. */
static void assert_it_shows_what_is_held(const struct world *w)
{
	const struct topo *t = fabric_topo(w->fabric);
	const struct lid_map *lids = fabric_lids(w->fabric);

	assert_non_null(t);
	assert_int_equal(t->nswitches, w->design->nswitches);
	assert_int_equal(t->ncas, w->design->ncas);
	for (uint32_t i = 0; i < t->nports; i++)
		if (lids->lid_of_port[i])
			assert_int_equal(lids->lid_of_port[i],
					 double_port_info(w->hw, t->nodes[t->ports[i].node].guid,
							  t->ports[i].num)
						 ->lid);
	assert_int_equal(lids->without_lid, 0);
	assert_hardware_holds_the_tables(w);
}

static void it_shows_what_devices_hold_and_sets_nothing(void **state)
{
	struct pair p;

	begin(&p);
	assert_it_only_looked(&p);
	assert_it_shows_what_is_held(&p.b);
	assert_int_equal(fabric_view(p.b.fabric).proof->unreachable, 0);
	assert_true(fabric_view(p.b.fabric).proof->reachable > 0);
	assert_int_equal(count_alerts(&p.b, "", ""), 0);
	pair_fini(&p);
}

static void it_follows_faults_that_the_master_answers(void **state)
{
	const struct topo *t;
	struct pair p;
	uint32_t leaf;
	unsigned num = 1;

	begin(&p);
	t = p.a.design;
	leaf = far_leaf(&p.a);
	while (!topo_peer(t, topo_port(t, leaf, num)) ||
	       topo_peer(t, topo_port(t, leaf, num))->node >= t->nswitches)
		num++;
	double_cut(p.a.hw, t->nodes[leaf].guid, num);
	run_for(&p.a, 60 * SECOND_US);
	assert_int_equal(topo_links_down(fabric_topo(p.b.fabric)), 1);
	assert_it_shows_what_is_held(&p.b);
	assert_it_only_looked(&p);
	pair_fini(&p);
}

/* Nobody has brought it up yet: it has no tables, and its ports have changed. */
static void a_switch_that_has_booted_is_left_to_the_master(void **state)
{
	const struct topo_port *spine;
	struct pair p;
	uint32_t leaf;
	guid_t guid;

	begin(&p);
	leaf = far_leaf(&p.a);
	spine = topo_peer(p.a.design, topo_port(p.a.design, leaf, uplink_of(p.a.design, leaf)));
	guid = p.a.design->nodes[spine->node].guid;
	pair_stop(&p.a);
	double_set_power(p.b.hw, guid, false);
	run_for(&p.b, 60 * SECOND_US);
	double_set_power(p.b.hw, guid, true);
	run_for(&p.b, 120 * SECOND_US);
	assert_true(double_node(p.b.hw, guid)->ports[spine->num].info.state == TOPO_INIT);
	assert_int_equal(double_sent_by(p.io_b, WIRE_SET, 0), 0);
	assert_int_equal(mad_stats(p.b.mad).refused, 0);
	assert_int_equal(count_alerts(&p.b, "refusing", ""), 0);
	assert_int_equal(count_alerts(&p.b, "isolated", ""), 0);
	pair_fini(&p);
}

static void it_finds_a_loop_that_somebody_wrote(void **state)
{
	struct pair p;
	const struct topo *t;
	uint32_t leaf;
	uint16_t lid;
	unsigned num = 1;

	begin(&p);
	t = p.a.design;
	leaf = far_leaf(&p.a);
	lid = double_port_info(p.a.hw, t->nodes[leaf].guid, 0)->lid;
	assert_int_equal(count_alerts(&p.b, "unsound-tables", ""), 0);
	/* Packets to a switch are sent back by its neighbour, to where they may come from. */
	while (!topo_peer(t, topo_port(t, leaf, num)) ||
	       topo_peer(t, topo_port(t, leaf, num))->node >= t->nswitches)
		num++;
	double_set_lft(p.a.hw, t->nodes[leaf].guid, lid, num);
	run_for(&p.a, 60 * SECOND_US);
	assert_int_equal(count_alerts(&p.b, "unsound-tables", ""), 1);
	assert_it_only_looked(&p);
	pair_fini(&p);
}

/* ---- assess ---------------------------------------------------------------------------------- */

static void read_cb(void *arg, json_t *result, const char *error)
{
	assert_null(error);
	++*(int *)arg;
}

/* As fmctl asks for it: all is read first. The caller's. */
static json_t *assess(struct world *w)
{
	const struct command *command = command_find("assess");
	const struct command_env env = { .fabric = w->fabric };
	json_t *args = json_object(), *doc;
	char err[COMMAND_ERROR_SIZE] = "";
	int read = 0;

	command_begin(command, w->fabric, args, read_cb, &read);
	for (unsigned i = 0; !read && i < 50; i++)
		run_for(w, SECOND_US / 10);
	assert_int_equal(read, 1);
	doc = command_answer(&env, command, args, err);
	assert_non_null(doc);
	json_decref(args);
	return doc;
}

static unsigned findings(json_t *doc, const char *kind)
{
	unsigned count = 0;

	JSON_EACH (row, json_object_get(doc, "findings"))
		count += !*kind || !strcmp(json_text(row, "kind"), kind);
	return count;
}

static unsigned found(struct world *w, const char *kind)
{
	json_t *doc = assess(w);
	unsigned count = findings(doc, kind);

	json_decref(doc);
	return count;
}

/* The first leaf's, and its neighbour's by the same spines: ports of both ends of their links. */
static void flip_tree(struct pair *p, uint16_t mlid, unsigned uplinks, bool hosts)
{
	const struct topo *t = p->a.design;
	uint32_t leaf = far_leaf(&p->a), other = TOPO_NONE;
	unsigned flipped = 0;

	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		if (sw != leaf && t->nodes[sw].level == t->nodes[leaf].level)
			other = sw;
	for (unsigned num = 1; num <= t->nodes[leaf].nports; num++) {
		const struct topo_port *spine = topo_peer(t, topo_port(t, leaf, num));

		if (!spine)
			continue;
		if (spine->node >= t->nswitches) {
			if (hosts)
				double_flip_mft(p->a.hw, t->nodes[leaf].guid, mlid, num);
			hosts = false;
			continue;
		}
		if (flipped++ >= uplinks)
			continue;
		double_flip_mft(p->a.hw, t->nodes[leaf].guid, mlid, num);
		double_flip_mft(p->a.hw, t->nodes[spine->node].guid, mlid, spine->num);
		for (unsigned up = 1; up <= t->nodes[other].nports; up++) {
			const struct topo_port *far = topo_peer(t, topo_port(t, other, up));

			if (!far || far->node != spine->node)
				continue;
			double_flip_mft(p->a.hw, t->nodes[other].guid, mlid, up);
			double_flip_mft(p->a.hw, t->nodes[spine->node].guid, mlid, far->num);
			break;
		}
	}
	for (unsigned num = 1; other != TOPO_NONE && num <= t->nodes[other].nports; num++) {
		const struct topo_port *host = topo_peer(t, topo_port(t, other, num));

		if (!uplinks && host && host->node >= t->nswitches) {
			double_flip_mft(p->a.hw, t->nodes[other].guid, mlid, num);
			break;
		}
	}
}

static void what_somebody_wrote_is_in_the_report_that_is_asked_for_behind_it(void **state)
{
	const uint16_t mlid = 0xc000 + 70; /* not in the first block */
	struct pair p;
	guid_t one, two;
	json_t *doc;

	begin(&p);
	assert_int_equal(found(&p.b, ""), 0);
	flip_tree(&p, mlid, 1, true);
	doc = assess(&p.b);
	assert_int_equal(findings(doc, ""), 0);
	assert_int_equal(json_number(json_object_get(doc, "multicast"), "mlids"), 1);
	json_decref(doc);
	flip_tree(&p, mlid, 1, true);
	flip_tree(&p, mlid, 2, true);
	assert_int_equal(found(&p.b, "multicast-loop"), 1);
	flip_tree(&p, mlid, 2, true);
	flip_tree(&p, mlid, 0, true);
	assert_int_equal(found(&p.b, "multicast-split"), 1);
	flip_tree(&p, mlid, 0, true);

	one = sm_host(&p.a, 2);
	double_change_pkeys(p.a.hw, one, 1)[0] = 0x8001;
	doc = assess(&p.b);
	assert_int_equal(findings(doc, "pkey"), 1);
	assert_int_equal(json_array_size(json_object_get(doc, "partitions")), 2);
	json_decref(doc);
	double_change_pkeys(p.a.hw, one, 1)[0] = PKEY_DEFAULT;
	assert_int_equal(found(&p.b, ""), 0);

	two = sm_host(&p.a, 3);
	double_set_guid(p.a.hw, one, two);
	assert_int_equal(found(&p.b, "guid-twice"), 1);
	double_set_guid(p.a.hw, one, one);
	assert_it_only_looked(&p);
	pair_fini(&p);
}

/* Six hosts join a group; the leaf of one forgets it. */
static void members_of_groups_that_no_tree_reaches_are_found_by_the_masters_sa(void **state)
{
	const struct wire_mcmember attr = {
		.mgid = { 0xff12401bffff0000ull, 0x42 }, .pkey = 0xffff, .mtu = 4, .rate = 3
	};
	const uint16_t mlid = MCAST_FIRST_MLID + 70;
	const struct topo_port *port, *leaf;
	struct sa_groups *groups;
	struct sa_group *group;
	struct pair p;
	json_t *doc;
	guid_t at;

	begin(&p);
	groups = sa_mcast_groups(fabric_services(p.a.fabric).sa);
	group = sa_groups_create(groups, &attr, mlid, 0);
	for (unsigned i = 0; i < 6; i++)
		sa_groups_join(groups, group, sm_host(&p.a, 2 + 5 * i) + 1, WIRE_JOIN_FULL, false);
	run_for(&p.a, 5 * SECOND_US);
	doc = assess(&p.b);
	assert_int_equal(findings(doc, ""), 0);
	assert_int_equal(json_number(json_object_get(doc, "multicast"), "mlids"), 1);
	assert_int_equal(json_number(json_object_get(doc, "multicast"), "members"), 6);
	assert_int_equal(json_array_size(json_object_get(doc, "unreadable")), 0);
	json_decref(doc);

	port = topo_port(p.a.design, topo_find(p.a.design, sm_host(&p.a, 12)), 1);
	leaf = topo_peer(p.a.design, port);
	at = p.a.design->nodes[leaf->node].guid;
	double_flip_mft(p.a.hw, at, mlid, leaf->num);
	assert_int_equal(found(&p.b, ""), 1);
	assert_int_equal(found(&p.b, "multicast-member"), 1);
	double_flip_mft(p.a.hw, at, mlid, leaf->num);
	assert_int_equal(found(&p.b, ""), 0);
	assert_it_only_looked(&p);
	pair_fini(&p);
}

/* ---- Others that look ------------------------------------------------------------------------ */

static void a_standby_without_peers_shows_the_fabric(void **state)
{
	struct pair p;
	int read = 0;

	pair_init(&p, small_tree(), 1, 0);
	start_fabric(&p.a);
	run_for(&p.a, 20 * SECOND_US);
	pair_start_b(&p);
	run_for(&p.a, 10 * SECOND_US);
	assert_true(has_text(&p.b, "state", "standby"));
	assert_it_shows_what_is_held(&p.b);
	assert_int_equal(sets_by(p.io_b), 0);
	assert_true(is_master_and_up(&p.a));
	double_cut(p.a.hw, p.a.design->nodes[far_leaf(&p.a)].guid,
		   uplink_of(p.a.design, far_leaf(&p.a)));
	run_for(&p.a, 60 * SECOND_US);
	assert_int_equal(topo_links_down(fabric_topo(p.b.fabric)), 1);
	assert_it_shows_what_is_held(&p.b);
	assert_int_equal(sets_by(p.io_b), 0);
	run_for(&p.a, 120 * SECOND_US); /* a pass over the counters has ended */
	assert_int_equal(status_number(&p.b, "health", "ports_read"), 0);
	assert_true(status_number(&p.a, "health", "ports_read") > 0);
	link_health_read(p.b.fabric, read_cb, &read); /* an operator asks for them */
	run_for(&p.a, 30 * SECOND_US);
	assert_int_equal(read, 1);
	assert_true(status_number(&p.b, "health", "ports_read") > 0);
	pair_fini(&p);
}

static void one_with_peers_waits_for_what_they_send(void **state)
{
	struct pair p;

	pair_init(&p, small_tree(), 1, 0);
	start_fabric(&p.a);
	run_for(&p.a, 20 * SECOND_US);
	array_printf(p.b.conf.mirror.peers, "192.0.2.1:1");
	pair_start_b(&p);
	run_for(&p.a, 60 * SECOND_US);
	assert_true(has_text(&p.b, "state", "standby"));
	assert_null(fabric_topo(p.b.fabric));
	pair_fini(&p);
}

static void a_fabric_without_a_manager_stays_as_it_is(void **state)
{
	struct world w;
	const struct topo *t;

	world_init_stopped(&w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	w.conf.sm.observe = true;
	start_fabric(&w);
	run_for(&w, 60 * SECOND_US);
	t = fabric_topo(w.fabric);
	assert_non_null(t);
	assert_int_equal(t->nnodes, w.design->nnodes);
	assert_int_equal(fabric_lids(w.fabric)->top, 0);
	assert_int_equal(double_sent(w.hw, WIRE_SET, 0), 0);
	assert_int_equal(mad_stats(w.mad).refused, 0);
	assert_true(has_text(&w, "role", "observer"));
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_shows_what_devices_hold_and_sets_nothing),
		cmocka_unit_test(it_follows_faults_that_the_master_answers),
		cmocka_unit_test(a_switch_that_has_booted_is_left_to_the_master),
		cmocka_unit_test(it_finds_a_loop_that_somebody_wrote),
		cmocka_unit_test(what_somebody_wrote_is_in_the_report_that_is_asked_for_behind_it),
		cmocka_unit_test(
			members_of_groups_that_no_tree_reaches_are_found_by_the_masters_sa),
		cmocka_unit_test(a_standby_without_peers_shows_the_fabric),
		cmocka_unit_test(one_with_peers_waits_for_what_they_send),
		cmocka_unit_test(a_fabric_without_a_manager_stays_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
