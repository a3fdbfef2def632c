/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Switches of the fabric double that have adaptive routing: their tables, and how they forward. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/fabric/double_own.h"
#include "tests/fabric/double_world.h"
#include "tests/lib/fabric_world.h"

#define SEEDS 200

/* ---- Tables ---------------------------------------------------------------------------------- */

static uint32_t lft_mod(const struct double_packing *p, unsigned block, unsigned plft)
{
	return block << p->lft_block | plft << p->lft_plft;
}

static uint32_t group_mod(const struct double_packing *p, unsigned block, unsigned table,
			  unsigned plft)
{
	return block << p->group_block | table << p->group_table | plft << p->group_plft;
}

static void fill(uint8_t data[64], unsigned with)
{
	memset(data, (int)with, 64);
}

static bool reads(struct double_world *w, uint16_t attr_id, uint32_t mod, unsigned byte)
{
	uint8_t all[64];

	fill(all, byte);
	return double_world_get(w, &to_spine, attr_id, mod) == MAD_OK &&
	       !memcmp(w->data, all, sizeof(all));
}

/* A bit of the modifier that no field has; 0 = there is none. */
static uint32_t odd_bit(const struct double_packing *p)
{
	uint32_t used = ((1u << p->lft_bits) - 1) << p->lft_block | 0xffu << p->lft_plft;

	return ~used & -~used;
}

static void blocks_lie_where_the_packing_has_them(void **state)
{
	struct double_world w;
	unsigned strict = 0, lenient = 0;
	uint8_t data[64];

	double_world_init(&w, NULL);
	double_world_bring_up(&w);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct double_packing p = double_packing_draw(seed, 47);
		uint32_t odd = odd_bit(&p);

		double_adaptive_able(w.d, SPINE, &p, NULL);
		for (unsigned plft = 0; plft < 2; plft++) {
			fill(data, 0x11 + plft);
			assert_int_equal(double_world_set(&w, &to_spine, WIRE_AR_LFT,
							  lft_mod(&p, 1, plft), data),
					 MAD_OK);
			for (unsigned table = 0; table < 2; table++) {
				fill(data, 0x21 + plft * 2 + table);
				assert_int_equal(double_world_set(&w, &to_spine, WIRE_AR_GROUPS,
								  group_mod(&p, 5, table, plft),
								  data),
						 MAD_OK);
			}
		}
		assert_true(reads(&w, WIRE_AR_LFT, lft_mod(&p, 0, 0), 0));
		for (unsigned plft = 0; plft < 2; plft++) {
			assert_true(reads(&w, WIRE_AR_LFT, lft_mod(&p, 1, plft), 0x11 + plft));
			for (unsigned table = 0; table < 2; table++)
				assert_true(reads(&w, WIRE_AR_GROUPS, group_mod(&p, 5, table, plft),
						  0x21 + plft * 2 + table));
		}
		if (!odd)
			continue;
		strict += !p.lenient;
		lenient += p.lenient;
		assert_int_equal(reads(&w, WIRE_AR_LFT, lft_mod(&p, 1, 0) | odd, 0x11), p.lenient);
	}
	assert_true(strict > 20 && lenient > 20);
	double_world_fini(&w);
}

static struct wire_ar_info info(struct double_world *w)
{
	struct wire_ar_info out;

	assert_int_equal(double_world_get(w, &to_spine, WIRE_ADAPTIVE_INFO, 0), MAD_OK);
	wire_ar_info_decode(w->data, &out);
	return out;
}

static enum mad_result set_info(struct double_world *w, const struct wire_ar_info *want)
{
	uint8_t data[64];

	wire_ar_info_encode(want, data);
	return double_world_set(w, &to_spine, WIRE_ADAPTIVE_INFO, 0, data);
}

static void a_manager_sets_what_it_may_and_no_more_than_the_switch_can(void **state)
{
	const struct double_packing p = double_packing_draw(1, 47);
	const struct double_ar_caps caps = { .groups = 8, .subgroups = 1 };
	struct double_world w;
	struct wire_ar_info want;

	double_world_init(&w, NULL);
	double_world_bring_up(&w);
	double_adaptive_able(w.d, SPINE, &p, &caps);
	want = info(&w);
	assert_int_equal(want.group_cap, 8);
	assert_false(want.on);
	want.group_cap = 100; /* is the switch's */
	want.on = want.fr = true;
	want.group_top = 7;
	want.sl_mask = 0xfffe;
	assert_int_equal(set_info(&w, &want), MAD_OK);
	assert_int_equal(info(&w).group_cap, 8);
	assert_true(info(&w).on && info(&w).fr);
	assert_int_equal(info(&w).sl_mask, 0xfffe);
	want.group_top = 8;
	assert_int_equal(set_info(&w, &want), MAD_STATUS);
	want.group_top = 7;
	want.subgroups = 2;
	assert_int_equal(set_info(&w, &want), MAD_STATUS);
	assert_int_equal(double_world_get(&w, &to_spine, WIRE_AR_GROUPS, group_mod(&p, 3, 0, 0)),
			 MAD_OK);
	assert_int_equal(double_world_get(&w, &to_spine, WIRE_AR_GROUPS, group_mod(&p, 4, 0, 0)),
			 MAD_STATUS); /* of eight groups */
	double_adaptive_answers(w.d, SPINE, DOUBLE_AR_REFUSES);
	assert_int_equal(double_world_get(&w, &to_spine, WIRE_AR_GROUPS, 0), MAD_STATUS);
	double_world_fini(&w);
}

static void a_group_is_copied_and_a_reboot_forgets_all(void **state)
{
	const struct double_packing p = double_packing_draw(3, 47);
	struct wire_ar_info want;
	struct double_world w;
	uint8_t data[64];

	double_world_init(&w, NULL);
	double_world_bring_up(&w);
	double_adaptive_able(w.d, SPINE, &p, NULL);
	want = info(&w);
	want.on = true;
	assert_int_equal(set_info(&w, &want), MAD_OK);
	fill(data, 0x5a);
	assert_int_equal(
		double_world_set(&w, &to_spine, WIRE_AR_GROUPS, group_mod(&p, 1, 0, 0), data),
		MAD_OK);
	memset(data, 0, sizeof(data));
	data[1] = data[3] = 4; /* groups 4 to 4 become as group 2, the first of that block */
	assert_int_equal(double_world_set(&w, &to_spine, 0xffbd, 2, data), MAD_OK);
	assert_int_equal(double_world_get(&w, &to_spine, WIRE_AR_GROUPS, group_mod(&p, 2, 0, 0)),
			 MAD_OK);
	assert_int_equal(w.data[0], 0x5a);
	assert_int_equal(w.data[32], 0);
	double_reboot(w.d, SPINE);
	assert_false(info(&w).on);
	assert_true(reads(&w, WIRE_AR_GROUPS, group_mod(&p, 1, 0, 0), 0));
	double_world_fini(&w);
}

/* ---- Forwarding ------------------------------------------------------------------------------ */

static uint16_t lid_at(const struct world *w, uint32_t ca)
{
	return double_port_info(w->hw, w->design->nodes[w->design->nswitches + ca].guid, 1)->lid;
}

/* Pairs whose packets do not arrive. */
static unsigned dead(const struct world *w)
{
	unsigned count = 0;

	for (uint32_t a = 0; a < w->design->ncas; a++)
		for (uint32_t b = 0; b < w->design->ncas; b++)
			count +=
				a != b &&
				double_trace(w->hw, w->design->nodes[w->design->nswitches + a].guid,
					     1, lid_at(w, b)) < 0;
	return count;
}

/* Tables and LIDs of fmd, which has stopped; then groups as of another manager. */
static void begin(struct world *w, const struct double_ar_plan *plan)
{
	const struct double_packing p = double_packing_draw(7, 100);

	world_init(w, small_tree());
	run_for(w, 20 * SECOND_US);
	assert_true(is_up(w));
	stop_fabric(w);
	for (uint32_t sw = 0; sw < w->design->nswitches; sw++)
		double_adaptive_able(w->hw, w->design->nodes[sw].guid, &p, NULL);
	double_adaptive_run(w->hw, plan);
}

static void groups_lead_everywhere_and_the_least_loaded_port_is_taken(void **state)
{
	struct world w;
	const struct topo *t;
	const struct dnode *leaf;
	unsigned used = 0;

	begin(&w, &(struct double_ar_plan){ .own_numbers = true, .subgroups = 2 });
	t = w.design;
	assert_int_equal(dead(&w), 0);
	leaf = double_node(w.hw, t->nodes[0].guid);
	/* All hosts of the first leaf send to one host far away: each by a port of its own. */
	for (uint32_t h = 0; h < 4; h++)
		double_load_pair(w.hw, t->nodes[t->nswitches + h].guid, 1,
				 t->nodes[t->nnodes - 1].guid, 1, 1000);
	double_load(w.hw);
	for (unsigned num = 1; num <= leaf->ni.nports; num++)
		if (is_switch(leaf->ports[num].peer->node))
			used += load_offered(w.hw, &leaf->ports[num]) > 0;
	assert_int_equal(used, 4);
	world_fini(&w);
}

/* With the link of a static port cut; FR: fast recovery. */
static unsigned dead_behind_a_cut(bool fr)
{
	struct world w;
	struct dnode *leaf;
	unsigned count;

	begin(&w, &(struct double_ar_plan){ .thin = true });
	leaf = double_node(w.hw, w.design->nodes[0].guid);
	leaf->adaptive[3] = fr ? 1 << 0 | 1 << 4 : 1 << 0;
	for (unsigned num = 1; num <= leaf->ni.nports; num++)
		if (is_switch(leaf->ports[num].peer->node)) {
			double_cut(w.hw, leaf->guid, num);
			break;
		}
	count = dead(&w);
	world_fini(&w);
	return count;
}

static void fast_recovery_leaves_a_dead_port_out(void **state)
{
	unsigned without = dead_behind_a_cut(false), with = dead_behind_a_cut(true);

	assert_true(without > 0);
	assert_true(with < without); /* what comes from the other end has one link at some spines */
}

/* Of 1,000 flows: with the link of a leaf to a spine cut. */
static struct double_load behind_a_cut(enum double_recovery how)
{
	struct double_load before, after;
	struct world w;
	struct dnode *leaf;

	begin(&w, &(struct double_ar_plan){ .thin = true });
	double_adaptive_recovery(w.hw, how);
	double_load_random(w.hw, 1000, 3, 10);
	double_load_at_once(w.hw);
	before = double_load(w.hw);
	assert_int_equal(before.flows, 1000);
	assert_int_equal(before.losing + before.stopped, 0);
	assert_true(before.lost_packets <= 0);
	leaf = double_node(w.hw, w.design->nodes[0].guid);
	for (unsigned num = 1; num <= leaf->ni.nports; num++)
		if (is_switch(leaf->ports[num].peer->node)) {
			double_cut(w.hw, leaf->guid, num);
			break;
		}
	run_for(&w, SECOND_US);
	after = double_load(w.hw);
	world_fini(&w);
	return after;
}

static void flows_lose_packets_behind_a_cut_until_switches_notify_each_other(void **state)
{
	struct double_load off = behind_a_cut(DOUBLE_RECOVERY_OFF);
	struct double_load fr = behind_a_cut(DOUBLE_RECOVERY_FR);
	struct double_load rn = behind_a_cut(DOUBLE_RECOVERY_RN);

	assert_true(off.losing > fr.losing && off.lost_packets > fr.lost_packets);
	assert_true(fr.losing > 0 && fr.lost_packets > 0); /* what comes down to the leaf */
	assert_int_equal(rn.losing, 0);
	assert_true(rn.lost_packets <= 0);
}

static void random_pairs_get_more_by_groups_than_by_tables(void **state)
{
	struct world w;
	struct double_ebb groups, tables;

	begin(&w, &(struct double_ar_plan){ .thin = false });
	groups = double_ebb(w.hw, 20, 1);
	for (uint32_t sw = 0; sw < w.design->nswitches; sw++)
		wire_adaptive_off(double_node(w.hw, w.design->nodes[sw].guid)->adaptive);
	tables = double_ebb(w.hw, 20, 1);
	assert_int_equal(groups.flows, w.design->ncas);
	assert_int_equal(groups.stopped + tables.stopped, 0);
	assert_true(groups.mean > 0.999 && groups.slowest_tenth > 0.999);
	assert_true(groups.worst_link < 1.001 && tables.worst_link > 1.9);
	assert_true(tables.mean < 0.9);
	world_fini(&w);
}

static void a_text_that_is_not_of_this_fabric_is_refused_by_its_line(void **state)
{
	static const struct {
		const char *text;
		unsigned line; /* 0 = it is taken */
	} cases[] = {
		{ "File version: 1\nSwitch 0x%llx x\nGroups Definition:\nGroup Sub\n---\n"
		  "3 0 0 1,2,\nLFT Definition:\nPLFT_NUM: 0, top: 5\nLID Static\n---\n"
		  "0x0001 2 Free 3\n",
		  0 },
		{ "Switch 0x1\n# %llx\n", 1 },
		{ "3 0 0 1,2,\n# %llx\n", 1 },
		{ "Switch 0x%llx\nGroups Definition:\n3 0 0 1,99,\n", 3 },
		{ "Switch 0x%llx\nGroups Definition:\n5000 0 0 1,\n", 3 },
		{ "Switch 0x%llx\nGroups Definition:\nnonsense\n", 3 },
		{ "Switch 0x%llx\nLFT Definition:\n0x01 1 Maybe 0\n", 3 },
		{ "Switch 0x%llx\nLFT Definition:\n0x12345 1 Static 0\n", 3 },
	};
	const struct double_packing p = double_packing_draw(3, 100);
	struct double_world w;

	double_world_init(&w, NULL);
	double_adaptive_able(w.d, SPINE, &p, NULL);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[512], err[256] = "", want[32];
		FILE *in;
		int count;

		snprintf(text, sizeof(text), cases[i].text, (unsigned long long)SPINE);
		in = fmemopen(text, strlen(text), "r");
		count = double_adaptive_read(w.d, in, err, sizeof(err));
		fclose(in);
		snprintf(want, sizeof(want), "line %u is", cases[i].line);
		assert_int_equal(count, cases[i].line ? -1 : 1);
		if (cases[i].line)
			assert_memory_equal(err, want, strlen(want));
		else
			assert_true(
				double_adaptive_entry(w.d, SPINE, 1, &(struct wire_ar_entry){ 0 }));
	}
	double_world_fini(&w);
}

static void entries_say_what_another_manager_would(void **state)
{
	struct world w;
	struct wire_ar_entry entry;
	unsigned free_ones = 0, fixed = 0;
	guid_t leaf;

	begin(&w, &(struct double_ar_plan){ .tables = 2, .subgroups = 1 });
	leaf = w.design->nodes[0].guid;
	for (uint16_t lid = 1; lid <= 48; lid++) {
		struct double_ports exits;
		bool has = false;

		assert_true(double_adaptive_entry(w.hw, leaf, lid, &entry));
		assert_int_equal(entry.port, double_lft(w.hw, leaf, lid));
		if (entry.state == WIRE_AR_STATIC) {
			fixed++;
			continue;
		}
		assert_int_equal(entry.state, WIRE_AR_FREE);
		adaptive_exits(double_node(w.hw, leaf), lid, &exits);
		has = double_ports_next(&exits, entry.port) == entry.port;
		assert_true(has);
		free_ones++;
	}
	assert_true(free_ones > 0 && fixed > 0);
	/* The first plain block ends it. */
	double_reboot(w.hw, leaf);
	assert_false(double_adaptive_entry(w.hw, leaf, 1, &entry));
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_lie_where_the_packing_has_them),
		cmocka_unit_test(a_manager_sets_what_it_may_and_no_more_than_the_switch_can),
		cmocka_unit_test(a_group_is_copied_and_a_reboot_forgets_all),
		cmocka_unit_test(groups_lead_everywhere_and_the_least_loaded_port_is_taken),
		cmocka_unit_test(fast_recovery_leaves_a_dead_port_out),
		cmocka_unit_test(flows_lose_packets_behind_a_cut_until_switches_notify_each_other),
		cmocka_unit_test(random_pairs_get_more_by_groups_than_by_tables),
		cmocka_unit_test(a_text_that_is_not_of_this_fabric_is_refused_by_its_line),
		cmocka_unit_test(entries_say_what_another_manager_would),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
