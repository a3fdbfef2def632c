/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A switch dies with all its links: new tables do not wait for answers that can't come from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/fabric/double_judge.h"
#include "tests/lib/aggregation_nodes.h"
#include "tests/lib/fabric_world.h"

#define AT_ONCE_US     10000 /* no request got a time-out */
#define ONE_SILENCE_US 100000
#define FIRST_LEAF     0

struct watch {
	struct loop *loop;
	uint64_t since_us, last_us; /* last: when a switch took its latest LFT block */
};

static void set_seen(void *arg, guid_t node, uint16_t attr_id, uint32_t attr_mod)
{
	struct watch *watch = arg;

	if (attr_id == WIRE_LFT)
		watch->last_us = loop_now_us(watch->loop);
}

/* Three tiers: spines have 8 leaves and 16 links to core switches; all have aggregation nodes. */
static void begin(struct world *w)
{
	static const unsigned m[] = { 8, 8, 2 }, up[] = { 1, 8, 4 }, cables[] = { 1, 1, 4 };
	char err[256];
	struct topo *bare = generate_pgft(3, m, up, cables, err, sizeof(err));

	world_init(w, with_aggregation_nodes(bare));
	topo_unref(bare);
}

/* The n-th switch above the manager's leaf. */
static uint32_t spine_of(const struct world *w, unsigned n)
{
	unsigned num = uplink_of(w->design, FIRST_LEAF) + n;

	return topo_peer(w->design, topo_port(w->design, FIRST_LEAF, num))->node;
}

static void cut_all(struct world *w, uint32_t sw)
{
	for (unsigned num = 1; num <= w->design->nodes[sw].nports; num++)
		if (topo_peer(w->design, topo_port(w->design, sw, num)))
			double_cut(w->hw, w->design->nodes[sw].guid, num);
}

/* From the cut of all links of that switch to the last block. */
static uint64_t rerouted_us(struct world *w, uint32_t sw)
{
	struct watch watch = { .loop = w->loop, .since_us = loop_now_us(w->loop) };

	double_on_set(w->hw, set_seen, &watch);
	cut_all(w, sw);
	run_for(w, SECOND_US);
	double_on_set(w->hw, NULL, NULL);
	assert_true(watch.last_us > 0);
	assert_int_equal(dead_pairs(w), 0);
	assert_int_equal(status_number(w, "proof", "unreachable"), 0);
	return watch.last_us - watch.since_us;
}

/* Traps of all leaves arrive, those of the core switches do not: their way leads over the dead. */
static void the_tables_do_not_wait_for_a_dead_spine(void **state)
{
	struct world w;

	begin(&w);
	assert_in_range(rerouted_us(&w, spine_of(&w, 1)), 1, AT_ONCE_US);
	world_fini(&w);
}

/*
 * The traps of all other switches lead over the dead one to the manager's LID. The first tables
 * still have it, and blocks for it are on their way.
 */
static void one_trap_alone_costs_no_more_than_one_silence(void **state)
{
	struct world w;

	begin(&w);
	assert_in_range(rerouted_us(&w, spine_of(&w, 0)), 1, ONE_SILENCE_US);
	world_fini(&w);
}

/* The traps of the other leaves are lost: they go by way of that spine. */
static void a_spine_that_boots_and_is_slow_then_is_avoided_at_once(void **state)
{
	struct verdict verdict;
	struct world w;
	guid_t spine;

	world_init(&w, pod(1));
	spine = w.design->nodes[find_desc(w.design, "spine-01")].guid;
	double_set_time(w.hw, spine, SECOND_US);
	double_reboot(w.hw, spine);
	run_for(&w, SECOND_US);
	double_judge(w.hw, 0, NULL, false, &verdict);
	assert_int_equal(verdict.alive, verdict.pairs);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tables_do_not_wait_for_a_dead_spine),
		cmocka_unit_test(one_trap_alone_costs_no_more_than_one_silence),
		cmocka_unit_test(a_spine_that_boots_and_is_slow_then_is_avoided_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
