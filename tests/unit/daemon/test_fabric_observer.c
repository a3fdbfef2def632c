/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * An observer beside a master: it sets nothing, and shows the LIDs and tables that devices hold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/sm_pair.h"

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
		cmocka_unit_test(it_finds_a_loop_that_somebody_wrote),
		cmocka_unit_test(a_fabric_without_a_manager_stays_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
