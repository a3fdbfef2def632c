/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* adaptive_routing = "on" where switches have several sub-groups in use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_optional.h"
#include "tests/fabric/double_own.h"
#include "tests/lib/ar_world.h"
#include "tests/lib/sm_pair.h"

struct off {
	const struct world *w;
	unsigned count;
};

static void set_seen(void *arg, guid_t node, uint16_t attr_id, uint32_t attr_mod)
{
	struct off *off = arg;

	off->count +=
		attr_id == WIRE_ADAPTIVE_INFO && !adaptive_forwards(double_node(off->w->hw, node));
}

/* A port of the set of ports of a group that an entry names. */
static bool holds(const struct dnode *sw, unsigned group, unsigned sub, unsigned num)
{
	struct wire_ar_info info;
	uint32_t set;

	wire_ar_info_decode(sw->adaptive, &info);
	set = sw->ar->packing.stacked ? sub * info.group_cap + group : group * info.subgroups + sub;
	return set / 2 < sw->ar->groups[0][0].count &&
	       wire_ar_has(sw->ar->groups[0][0].blocks + set * WIRE_AR_PORTS, num);
}

/* Whichever of its sub-groups a switch takes, it has the ports that were verified. */
static void assert_sub_groups_are_alike(const struct world *w)
{
	for (uint32_t i = 0; i < w->design->nswitches; i++)
		for (uint32_t host = 0; host < w->design->ncas; host++) {
			const struct dnode *sw = double_node(w->hw, w->design->nodes[i].guid);
			struct wire_ar_info info;
			struct wire_ar_entry entry;

			wire_ar_info_decode(sw->adaptive, &info);
			if (!double_adaptive_entry(w->hw, w->design->nodes[i].guid, lid_of(w, host),
						   &entry) ||
			    entry.state != WIRE_AR_FREE)
				continue;
			for (unsigned sub = 1; sub < info.subgroups; sub++)
				for (unsigned num = 0; num <= sw->ni.nports; num++)
					assert_int_equal(holds(sw, entry.group, sub, num),
							 holds(sw, entry.group, 0, num));
		}
}

/* What another manager left in the second is all links to switches. */
static void all_sub_groups_hold_what_was_verified(void **state)
{
	const struct double_ar_plan plan = { .second = true, .subgroups = 2 };
	bool met[2] = { false };

	for (uint64_t seed = 1; seed <= 12 && !(met[0] && met[1]); seed++) {
		bool stacked = double_packing_draw(seed, AR_TOP).stacked;
		struct off off = { 0 };
		struct world w;
		guid_t leaf;

		if (met[stacked])
			continue;
		met[stacked] = true;
		begin(&w, two_tiers(), seed);
		stop_fabric(&w);
		double_adaptive_run(w.hw, &plan);
		off.w = &w;
		double_on_set(w.hw, set_seen, &off);
		start_fabric(&w);
		run_for(&w, 120 * SECOND_US);
		assert_on(&w, w.design->nswitches);
		assert_int_equal(off.count != 0, stacked);
		assert_sub_groups_are_alike(&w);
		leaf = w.design->nodes[far_leaf(&w)].guid;
		double_cut(w.hw, leaf, uplink_of(w.design, far_leaf(&w)));
		run_for(&w, 60 * SECOND_US);
		double_on_set(w.hw, NULL, NULL);
		assert_on(&w, w.design->nswitches);
		assert_sub_groups_are_alike(&w);
		world_fini(&w);
	}
	assert_true(met[0] && met[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_sub_groups_hold_what_was_verified),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
