/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * adaptive_routing = "calibrate": how switches select blocks of their tables is learned from what
 * one leaf forwards as it comes up. What a double holds, and which host a packet comes to, judge.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/adaptive/module.h"
#include "fm/mad/wire_optional.h"
#include "tests/fabric/double_own.h"
#include "tests/lib/restart_world.h"
#include "tests/lib/sm_pair.h"

#define SEEDS 40
#define TOP   1000

/* Eight leaves with four hosts, and two links to each of four spines. */
static struct topo *design(void)
{
	static const unsigned m[] = { 4, 8 }, up[] = { 1, 4 }, links[] = { 1, 2 };
	char err[256];

	return generate_pgft(2, m, up, links, err, sizeof(err));
}

static void able(const struct world *w, uint64_t seed)
{
	const struct double_packing packing = double_packing_draw(seed, TOP);

	for (uint32_t sw = 0; sw < w->design->nswitches; sw++)
		double_adaptive_able(w->hw, w->design->nodes[sw].guid, &packing, NULL);
}

/* All switches were just switched on, and no manager runs. */
static void begin(struct world *w, uint64_t seed)
{
	world_init(w, design());
	run_for(w, 5 * SECOND_US);
	stop_fabric(w);
	for (uint32_t sw = 0; sw < w->design->nswitches; sw++)
		double_reboot(w->hw, w->design->nodes[sw].guid);
	able(w, seed);
	w->conf.routing.adaptive = CONF_CALIBRATE;
	log_set_level(LOG_CORE, getenv("NOISY") ? LOG_DEBUG : LOG_ERR - 1);
	start_fabric(w);
}

static unsigned count_on(const struct world *w)
{
	unsigned count = 0;

	for (uint32_t sw = 0; sw < w->design->nswitches; sw++)
		count += adaptive_forwards(double_node(w->hw, w->design->nodes[sw].guid));
	return count;
}

/* What was kept is how the doubles do it. */
static void assert_row(const struct world *w, uint64_t seed)
{
	const struct double_packing packing = double_packing_draw(seed, TOP);
	char *rows = state_lines(w, "ar_packing"), want[64];

	snprintf(want, sizeof(want), "\"lft\":{\"bit\":%u,", packing.lft_block);
	assert_non_null(strstr(rows, want));
	snprintf(want, sizeof(want), "\"group\":{\"bit\":%u,", packing.group_block);
	assert_non_null(strstr(rows, want));
	free(rows);
}

/* By data, which passes Active links alone. */
static unsigned data_lost(const struct world *w, guid_t but_of)
{
	const struct topo *t = w->design;
	unsigned lost = 0;

	for (uint32_t a = t->nswitches; a < t->nnodes; a++)
		for (uint32_t b = t->nswitches; b < t->nnodes; b++) {
			guid_t from = topo_peer(t, topo_port(t, a, 1))->node, to;

			from = t->nodes[from].guid;
			to = t->nodes[topo_peer(t, topo_port(t, b, 1))->node].guid;
			lost += a != b && from != but_of && to != but_of &&
				double_trace_data(w->hw, t->nodes[a].guid, 1,
						  lid_of(w, b - t->nswitches)) < 0;
		}
	return lost;
}

static void assert_all_is_plain(const struct world *w)
{
	for (uint32_t sw = 0; sw < w->design->nswitches; sw++)
		assert_false(wire_adaptive_on(double_adaptive(w->hw, w->design->nodes[sw].guid)));
	assert_true(is_up(w));
	assert_hardware_holds_the_tables(w);
	assert_int_equal(data_lost(w, 0), 0);
}

/* The leaf that is on while all others are not; NULL = there is none. */
static struct dnode *leaf_on(const struct world *w)
{
	for (uint32_t sw = 0; sw < w->design->nswitches; sw++)
		if (wire_adaptive_on(double_adaptive(w->hw, w->design->nodes[sw].guid)))
			return double_node(w->hw, w->design->nodes[sw].guid);
	return NULL;
}

/* Some time after it was turned on, which tries many places. */
static struct dnode *run_into(struct world *w, unsigned later_us)
{
	for (unsigned i = 0; i < 2000000 && !leaf_on(w); i++)
		run_for(w, 10);
	assert_non_null(leaf_on(w));
	run_for(w, later_us);
	assert_non_null(leaf_on(w));
	return leaf_on(w);
}

static unsigned not_calibrated(const struct world *w, const char *why)
{
	return count_logged(w, "adaptive-routing-off", why);
}

static void assert_nothing_is_kept(const struct world *w)
{
	char *rows = state_lines(w, "ar_packing");

	assert_string_equal(rows, "");
	free(rows);
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void packings_are_learned_and_all_switches_join(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct world w;

		begin(&w, seed);
		run_for(&w, 120 * SECOND_US);
		if (count_logged(&w, "adaptive-routing-on", "calibrated") != 1)
			fail_msg("seed %u", (unsigned)seed);
		assert_row(&w, seed);
		assert_int_equal(count_on(&w), w.design->nswitches);
		assert_int_equal(data_lost(&w, 0), 0);
		world_fini(&w);
	}
}

struct watch {
	const struct world *w;
	unsigned on, lost, in_use;
};

/* While a leaf is tried its own HCAs carry no data, and nobody else misses anything. */
static void set_seen(void *arg, guid_t guid, uint16_t attr_id, uint32_t attr_mod)
{
	struct watch *watch = arg;
	struct dnode *leaf = leaf_on(watch->w);

	if (!leaf)
		return;
	watch->on++;
	watch->lost += data_lost(watch->w, leaf->guid);
	for (unsigned num = 1; num <= leaf->ni.nports; num++)
		watch->in_use += leaf->ports[num].peer && !is_switch(leaf->ports[num].peer->node) &&
				 leaf->ports[num].info.state != TOPO_INIT;
}

static void nobody_misses_a_packet_meanwhile(void **state)
{
	struct watch watch = { 0 };

	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct world w;

		begin(&w, seed);
		watch.w = &w;
		double_on_set(w.hw, set_seen, &watch);
		for (unsigned i = 0; i < 2000000 && !count_logged(&w, "adaptive-routing-on", "");
		     i++)
			run_for(&w, 10);
		double_on_set(w.hw, NULL, NULL);
		assert_int_equal(watch.lost + watch.in_use, 0);
		world_fini(&w);
	}
	assert_true(watch.on > 40);
}

/* Those that answer nonsense, refuse, or do not forward by what they hold. */
static void a_switch_that_does_otherwise_is_left_plain(void **state)
{
	for (enum double_ar_answers how = DOUBLE_AR_TRUE; how < DOUBLE_AR_ANSWERS; how++) {
		struct world w;

		begin(&w, 6);
		for (uint32_t sw = 0; sw < w.design->nswitches; sw++) {
			guid_t guid = w.design->nodes[sw].guid;

			double_adaptive_answers(w.hw, guid, how);
			double_node(w.hw, guid)->ar->by_lft = how == DOUBLE_AR_TRUE;
		}
		run_for(&w, 120 * SECOND_US);
		assert_int_equal(not_calibrated(&w, "no place of entries"), 1);
		assert_nothing_is_kept(&w);
		assert_all_is_plain(&w);
		world_fini(&w);
	}
}

/* At each of many moments: what is left behind is turned off by who starts next. */
static void who_dies_meanwhile_leaves_nothing_on(void **state)
{
	for (unsigned i = 0; i < 30; i++) {
		struct world w;
		struct dnode *leaf;

		begin(&w, 7 + i % 3);
		leaf = run_into(&w, i * 137);
		double_set_silent(w.hw, leaf->guid,
				  true); /* nothing more comes, as after kill -9 */
		stop_fabric(&w);
		run_for(&w, SECOND_US);
		double_set_silent(w.hw, leaf->guid, false);
		assert_ptr_equal(leaf_on(&w), leaf);
		w.conf.routing.adaptive = i % 2 ? CONF_CALIBRATE : 0;
		start_fabric(&w);
		run_for(&w, 120 * SECOND_US);
		if (i % 2)
			assert_int_equal(count_on(&w), w.design->nswitches);
		else
			assert_all_is_plain(&w);
		assert_int_equal(data_lost(&w, 0), 0);
		world_fini(&w);
	}
}

static void a_change_of_role_turns_it_off(void **state)
{
	static const struct fabric_role_change anew = { .role = FABRIC_ROLE_MASTER, .anew = true };

	for (unsigned i = 0; i < 8; i++) {
		struct world w;
		struct dnode *leaf;

		begin(&w, 7 + i % 3);
		leaf = run_into(&w, i * 137);
		fabric_change_role(w.fabric, &anew, "test");
		for (unsigned k = 0; k < 1000 && leaf_on(&w); k++)
			run_for(&w, 10);
		assert_null(leaf_on(&w));
		assert_int_equal(leaf->ports[1].info.state, TOPO_INIT);
		run_for(&w, 120 * SECOND_US); /* its HCAs are still in Init: it is tried again */
		assert_int_equal(count_on(&w), w.design->nswitches);
		assert_int_equal(data_lost(&w, 0), 0);
		world_fini(&w);
	}
}

static void who_ends_meanwhile_turns_it_off(void **state)
{
	for (unsigned i = 0; i < 20; i++) {
		struct world w;

		begin(&w, 7 + i % 3);
		run_into(&w, i * 137);
		stop_fabric(&w);
		run_for(&w, SECOND_US);
		assert_null(leaf_on(&w));
		start_fabric(&w);
		run_for(&w, 120 * SECOND_US);
		assert_int_equal(data_lost(&w, 0), 0);
		world_fini(&w);
	}
}

/* Anything that comes between is the end of it. */
static void other_tables_and_a_silent_switch_end_it(void **state)
{
	static const char *const why[] = { "tables have changed", "it does not answer",
					   "tables have changed", "it boots, or is gone" };

	for (unsigned i = 0; i < ARRAY_SIZE(why); i++) {
		struct world w;
		struct dnode *leaf;

		begin(&w, 8);
		leaf = run_into(&w, 300);
		if (i == 0)
			double_cut(w.hw, leaf->guid,
				   uplink_of(w.design, topo_find(w.design, leaf->guid)));
		else if (i == 1)
			double_set_mute(w.hw, leaf->guid, WIRE_SET, WIRE_AR_LFT);
		else if (i == 2)
			cut_all_of(&w, topo_find(w.design, leaf->guid));
		else
			double_reboot(w.hw, leaf->guid);
		run_for(&w, 20 * SECOND_US);
		if (!not_calibrated(&w, why[i]))
			fail_msg("%s", why[i]);
		double_set_mute(w.hw, 0, 0, 0);
		for (unsigned num = 1; i == 2 && num <= leaf->ni.nports; num++)
			double_join(w.hw, leaf->guid, num);
		run_for(&w, 120 * SECOND_US);
		if (i < 3) {
			assert_all_is_plain(&w);
			assert_nothing_is_kept(&w);
		} else { /* it comes up again, and is tried again */
			assert_int_equal(count_on(&w), w.design->nswitches);
		}
		assert_int_equal(data_lost(&w, 0), 0);
		world_fini(&w);
	}
}

static void sets_seen(void *arg, guid_t guid, uint16_t attr_id, uint32_t attr_mod)
{
	*(unsigned *)arg += attr_id == WIRE_AR_LFT || attr_id == WIRE_AR_GROUPS ||
			    attr_id == WIRE_ADAPTIVE_INFO;
}

/* HCAs in use are left alone, and so is a leaf whose kind of device is known, or has none of it. */
static void a_leaf_in_use_and_one_that_is_known_are_left_alone(void **state)
{
	struct world w;
	unsigned sets = 0;
	char *rows;
	guid_t leaf;

	begin(&w, 9);
	run_for(&w, 120 * SECOND_US);
	rows = state_lines(&w, "ar_packing");
	assert_true(*rows);
	leaf = w.design->nodes[far_leaf(&w)].guid;
	double_reboot(w.hw, leaf);
	run_for(&w, 120 * SECOND_US);
	assert_int_equal(count_logged(&w, "adaptive-routing-on", "calibrated"), 1);
	assert_int_equal(count_on(&w), w.design->nswitches);
	assert_int_equal(data_lost(&w, 0), 0);
	free(rows);

	w.conf.routing.adaptive = 0;
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(count_on(&w), 0);
	w.conf.routing.adaptive = CONF_CALIBRATE;
	double_on_set(w.hw, sets_seen, &sets);
	assert_true(restart_with(&w, "ar_packing", ""));
	run_for(&w, 120 * SECOND_US);
	assert_int_equal(sets, 0);
	assert_int_equal(not_calibrated(&w, ""), not_calibrated(&w, "turned it off"));
	assert_all_is_plain(&w);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packings_are_learned_and_all_switches_join),
		cmocka_unit_test(nobody_misses_a_packet_meanwhile),
		cmocka_unit_test(a_switch_that_does_otherwise_is_left_plain),
		cmocka_unit_test(who_dies_meanwhile_leaves_nothing_on),
		cmocka_unit_test(a_change_of_role_turns_it_off),
		cmocka_unit_test(who_ends_meanwhile_turns_it_off),
		cmocka_unit_test(other_tables_and_a_silent_switch_end_it),
		cmocka_unit_test(a_leaf_in_use_and_one_that_is_known_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
