/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Switches that acknowledge multicast blocks and do not hold them: an alert names them and trees
 * avoid them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/fabric/double_own.h"
#include "tests/lib/fabric_mcast_world.h"

struct forger {
	struct world *w;
	guid_t sw;
	bool on;
	unsigned sets;
};

/* It answers that the block is set, and its table is empty. */
static void forge_block(void *arg, guid_t guid, uint16_t attr_id, uint32_t attr_mod)
{
	struct forger *forger = arg;
	struct dnode *node = double_node(forger->w->hw, guid);

	if (guid != forger->sw || attr_id != WIRE_MFT)
		return;
	forger->sets++;
	if (forger->on)
		memset(node->mft, 0, (size_t)node->si.mft_cap * node->columns * sizeof(*node->mft));
}

static void forger_init(struct forger *forger, struct world *w, guid_t sw)
{
	*forger = (struct forger){ .w = w, .sw = sw, .on = true };
	double_on_set(w->hw, forge_block, forger);
}

static const char *desc_of(const struct world *w, guid_t guid)
{
	return w->design->nodes[topo_find(w->design, guid)].desc;
}

static bool leads_through(const struct world *w, uint16_t mlid, guid_t sw)
{
	const struct mcast_tree *tree = mcast_plan_tree(multicast_trees(w->fabric), mlid);

	for (uint32_t h = 0; h < tree->nhops; h++)
		if (tree->hops[h].guid == sw)
			return true;
	return false;
}

/* A spine that the tree leads over. */
static guid_t spine_of(const struct world *w, uint16_t mlid)
{
	for (uint32_t sw = 0; sw < w->design->nswitches; sw++)
		if (w->design->nodes[sw].level == 1 &&
		    leads_through(w, mlid, w->design->nodes[sw].guid))
			return w->design->nodes[sw].guid;
	fail_msg("no spine forwards MLID 0x%x", mlid);
	return 0;
}

static void audited_world(struct world *w, struct model *m)
{
	small_world(w);
	log_set_level(-1, LOG_ERR - 1);
	for (unsigned i = 4; i < HOSTS; i += 4)
		model_join(w, m, i, 0, WIRE_JOIN_FULL);
	w->conf.audit.rate = 1000;
	w->conf.audit.after_ms = 1000;
	fabric_configure(w->fabric, &w->conf);
	run_for(w, 4 * SECOND_US);
}

/*
 * A world in which a spine of the group's tree lost its multicast table and holds nothing that is
 * written there; for long enough that it shows. Its name.
 */
static const char *forge(struct forger *forger, struct world *w, struct model *m)
{
	audited_world(w, m);
	forger_init(forger, w, spine_of(w, m->mlid[0]));
	double_lose_mft(w->hw, forger->sw);
	run_for(w, 20 * SECOND_US);
	return desc_of(w, forger->sw);
}

static void a_block_that_is_acknowledged_and_not_held_isolates_its_switch(void **state)
{
	struct forger forger;
	struct model m = { 0 };
	const char *name;
	struct world w;

	name = forge(&forger, &w, &m);
	assert_int_equal(count_alerts(&w, "isolated", name), 1);
	assert_false(leads_through(&w, m.mlid[0], forger.sw));
	assert_held(&w, &m);
	forger.sets = 0;
	run_for(&w, 600 * SECOND_US);
	assert_in_range(forger.sets, 1, 22); /* once a minute it is tried: a change, and back */
	assert_int_equal(count_alerts(&w, "isolated", name), 1);
	assert_int_equal(count_logged(&w, "audit", ""), 0);
	assert_held(&w, &m);
	forger.on = false;
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(count_alerts(&w, "", name), 0);
	assert_true(is_up(&w));
	assert_held(&w, &m);
	double_on_set(w.hw, NULL, NULL);
	world_fini(&w);
}

static void start_again(struct world *w)
{
	stop_fabric(w);
	start_fabric(w);
	for (unsigned i = 0; i < 1000 && !is_up(w); i++)
		run_for(w, SECOND_US / 100);
	assert_true(is_up(w));
}

/* Without an audit that could find it again. */
static void a_switch_with_wrong_tables_stays_isolated_over_a_restart_until_repaired(void **state)
{
	struct forger forger;
	struct model m = { 0 };
	const char *name;
	struct world w;

	name = forge(&forger, &w, &m);
	w.conf.audit.rate = 0;
	start_again(&w);
	run_for(&w, SECOND_US);
	assert_int_equal(count_alerts(&w, "isolated", name), 1);
	assert_false(leads_through(&w, m.mlid[0], forger.sw));
	run_for(&w, 300 * SECOND_US);
	assert_int_equal(count_alerts(&w, "isolated", name), 1);
	forger.on = false;
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(count_alerts(&w, "", name), 0);
	run_for(&w, SECOND_US);
	start_again(&w);
	run_for(&w, SECOND_US);
	assert_int_equal(count_alerts(&w, "", name), 0);
	assert_held(&w, &m);
	double_on_set(w.hw, NULL, NULL);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_that_is_acknowledged_and_not_held_isolates_its_switch),
		cmocka_unit_test(
			a_switch_with_wrong_tables_stays_isolated_over_a_restart_until_repaired),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
