/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who gets which LID: kept, held, topological. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "tests/fabric/damage.h"
#include "tests/lib/fabrics.h"
#include "topology/generate/generate.h"
#include "topology/base/mem.h"
#include "topology/snapshot/topo_builder.h"

static uint16_t lid_of_host(const struct topo *t, const struct lid_map *map, uint32_t host)
{
	return map->lid_of_port[t->nodes[t->nswitches + host].port0 + 1];
}

static void every_end_port_has_one_and_none_is_wasted(void **state)
{
	struct topo *t = pod(16);
	struct lid_map *map = lid_plan(t, NULL, 0);
	uint8_t *seen = mem_alloc(TABLES_MAX_LID + 1, 1);

	assert_int_equal(map->without_lid, 0);
	assert_int_equal(map->top, t->nnodes);
	for (uint32_t i = 0; i < t->nports; i++)
		if (map->lid_of_port[i]) {
			assert_int_equal(seen[map->lid_of_port[i]]++, 0);
			assert_int_equal(map->port_of_lid[map->lid_of_port[i]], i);
		}
	free(seen);
	lid_map_free(map);
	topo_unref(t);
}

static void hosts_of_a_leaf_share_one_block(void **state)
{
	struct topo *t = pod(16);
	struct lid_map *map = lid_plan(t, NULL, 0);

	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		uint16_t low = UINT16_MAX, high = 0;

		for (unsigned num = 1; num <= t->nodes[sw].nports && t->nodes[sw].level == 0;
		     num++) {
			uint32_t peer = topo_port(t, sw, num)->peer;
			uint16_t lid = peer == TOPO_NONE ? 0 : map->lid_of_port[peer];

			if (!lid || !topo_is_host(t, t->ports[peer].node))
				continue;
			low = lid < low ? lid : low;
			high = lid > high ? lid : high;
		}
		if (high) {
			assert_int_equal(high - low, 31);
			assert_int_equal(low / TABLES_BLOCK, high / TABLES_BLOCK);
		}
	}
	lid_map_free(map);
	topo_unref(t);
}

static void remembered_lids_win_over_held_ones(void **state)
{
	struct topo *t = pod(1);
	struct lid_map *map = lid_plan(t, NULL, 0), *again;
	struct lid_memory memory = { 0 };
	struct topo_builder *b = topo_builder_from(t);
	const struct topo_node *node = &t->nodes[t->nswitches + 5];
	struct topo_port attr = { .guid = topo_port(t, t->nswitches + 5, 1)->guid,
				  .lid = 999,
				  .state = TOPO_INIT };

	lid_memory_learn(&memory, t, map, 0);
	topo_builder_port(b, t->nswitches + 5, 1, &attr);
	struct topo *moved = topo_freeze(b);
	again = lid_plan(moved, &memory, 0);
	assert_int_equal(again->lid_of_port[node->port0 + 1], map->lid_of_port[node->port0 + 1]);
	assert_memory_equal(map->lid_of_port, again->lid_of_port, t->nports * sizeof(uint16_t));
	lid_map_free(map);
	lid_map_free(again);
	lid_memory_fini(&memory);
	topo_unref(moved);
	topo_unref(t);
}

static struct topo *with_held(const struct topo *t, uint32_t host, uint16_t lid)
{
	struct topo_builder *b = topo_builder_from(t);
	struct topo_port attr = { .guid = topo_port(t, t->nswitches + host, 1)->guid,
				  .lid = lid,
				  .state = TOPO_ACTIVE };

	assert_int_equal(topo_builder_port(b, t->nswitches + host, 1, &attr), 0);
	return topo_freeze(b);
}

static void a_valid_held_lid_is_kept(void **state)
{
	struct topo *t = pod(1), *held = with_held(t, 7, 4711);
	struct lid_map *map = lid_plan(held, NULL, 0);

	assert_int_equal(lid_of_host(held, map, 7), 4711);
	assert_int_equal(map->top, 4711);
	lid_map_free(map);
	topo_unref(held);
	topo_unref(t);
}

static void a_lid_held_twice_is_nobodys(void **state)
{
	struct topo *t = pod(1), *one = with_held(t, 7, 4711), *two = with_held(one, 8, 4711);
	struct lid_map *map = lid_plan(two, NULL, 0);

	assert_int_not_equal(lid_of_host(two, map, 7), 4711);
	assert_int_not_equal(lid_of_host(two, map, 8), 4711);
	lid_map_free(map);
	topo_unref(two);
	topo_unref(one);
	topo_unref(t);
}

/* One comes in Init with the LID of a port that runs. */
static void a_running_port_keeps_its_lid_beside_one_in_init(void **state)
{
	struct topo *t = pod(1), *one = with_held(t, 7, 4711);
	struct topo_builder *b = topo_builder_from(one);
	struct topo_port attr = { .guid = topo_port(t, t->nswitches + 8, 1)->guid,
				  .lid = 4711,
				  .state = TOPO_INIT };

	assert_int_equal(topo_builder_port(b, t->nswitches + 8, 1, &attr), 0);
	struct topo *two = topo_freeze(b);
	struct lid_map *map = lid_plan(two, NULL, 0);

	assert_int_equal(lid_of_host(two, map, 7), 4711);
	assert_int_not_equal(lid_of_host(two, map, 8), 4711);
	lid_map_free(map);
	topo_unref(two);
	topo_unref(one);
	topo_unref(t);
}

/* Two ports hold each other's LIDs, and one of them is to keep what it holds. */
static void the_memory_yields_to_ports_that_are_to_keep_theirs_alone(void **state)
{
	struct topo *t = pod(1);
	struct lid_map *map = lid_plan(t, NULL, 0), *again;
	struct lid_memory memory = { 0 };
	uint16_t x = lid_of_host(t, map, 5), y = lid_of_host(t, map, 6);
	struct topo *one = with_held(t, 5, y), *two = with_held(one, 6, x);
	bool *kept = mem_alloc(t->nports, sizeof(*kept));

	lid_memory_learn(&memory, t, map, 0);
	lid_memory_yield(&memory, two, kept);
	assert_int_equal(memory.count, t->nnodes);
	kept[t->nodes[t->nswitches + 5].port0 + 1] = true;
	lid_memory_yield(&memory, two, kept);
	assert_int_equal(memory.count, t->nnodes - 2);
	again = lid_plan(two, &memory, 0);
	assert_int_equal(lid_of_host(two, again, 5), y);
	assert_int_equal(lid_of_host(two, again, 6), x);
	lid_map_free(again);
	lid_map_free(map);
	lid_memory_fini(&memory);
	free(kept);
	topo_unref(two);
	topo_unref(one);
	topo_unref(t);
}

static void a_multicast_lid_is_not_kept(void **state)
{
	struct topo *t = pod(1), *held = with_held(t, 7, 0xC001);
	struct lid_map *map = lid_plan(held, NULL, 0);

	assert_true(lid_of_host(held, map, 7) <= TABLES_MAX_LID);
	lid_map_free(map);
	topo_unref(held);
	topo_unref(t);
}

static void the_lid_of_one_who_is_away_is_not_given_to_another(void **state)
{
	struct lid_entry away = { .port_guid = 0xabcdef, .lid = 3 };
	struct lid_memory memory = { 0 };
	struct topo *t = pod(1);
	struct lid_map *map;

	memory.entries = mem_alloc(1, sizeof(away));
	memory.entries[0] = away;
	memory.count = 1;
	map = lid_plan(t, &memory, 0);
	assert_int_equal(map->port_of_lid[3], TOPO_NONE);
	lid_memory_learn(&memory, t, map, 0);
	assert_int_equal(memory.count, 1 + t->nnodes);
	assert_int_equal(memory.entries[0].port_guid, 0xabcdef);
	lid_map_free(map);
	lid_memory_fini(&memory);
	topo_unref(t);
}

/* All LIDs but 100, by ports that are away, the last ones for longer. */
static void lids_of_the_longest_away_are_taken_back_when_none_is_left(void **state)
{
	struct lid_memory memory = { 0 };
	struct topo *t = pod(1);
	struct lid_map *map;
	uint32_t oldest;

	memory.count = TABLES_MAX_LID - 100;
	oldest = memory.count - t->nnodes;
	memory.entries = mem_alloc(memory.count, sizeof(*memory.entries));
	for (uint32_t i = 0; i < memory.count; i++)
		memory.entries[i] = (struct lid_entry){ .port_guid = i + 1,
							.lid = (uint16_t)(i + 1),
							.away = i < oldest ? 200 : 100 };
	map = lid_plan(t, &memory, 0);
	assert_int_equal(map->without_lid, 0);
	assert_int_equal(map->taken_back, t->nnodes - 100);
	for (uint32_t p = 0; p < map->nports; p++)
		assert_true(!map->lid_of_port[p] || map->lid_of_port[p] > oldest);
	assert_true(lid_memory_learn(&memory, t, map, 300));
	assert_int_equal(memory.count, TABLES_MAX_LID);
	assert_false(lid_memory_learn(&memory, t, map, 400));
	lid_map_free(map);
	lid_memory_fini(&memory);
	topo_unref(t);
}

static void an_exhausted_space_is_counted_and_nothing_breaks(void **state)
{
	struct topo *t = pod(2);
	struct lid_map *map = lid_plan(t, NULL, 7);

	assert_in_range(map->without_lid, t->nnodes - TABLES_MAX_LID / 128 - t->nswitches,
			t->nnodes);
	lid_map_free(map);
	topo_unref(t);
}

/* Those that are kept are outside of it; where it has too few, ports stay without one. */
static void new_lids_are_from_the_range_alone(void **state)
{
	struct topo *t = pod(1), *held = with_held(t, 7, 4711);
	struct lid_memory memory = { .first = 1000, .last = 1000 + (uint16_t)t->nnodes };
	struct lid_map *map = lid_plan(held, &memory, 0);

	assert_int_equal(lid_of_host(held, map, 7), 4711);
	assert_int_equal(map->without_lid, 0);
	for (uint32_t i = 0; i < map->nports; i++)
		if (map->lid_of_port[i] && map->lid_of_port[i] != 4711)
			assert_in_range(map->lid_of_port[i], memory.first, memory.last);
	lid_map_free(map);
	memory.last = 1009;
	map = lid_plan(held, &memory, 0);
	assert_int_equal(map->without_lid, t->nnodes - 11);
	lid_map_free(map);
	topo_unref(held);
	topo_unref(t);
}

/* By one distance, which leads all to LIDs that are free and in the range; else there is none. */
static void lids_that_move_together_keep_their_places_in_blocks(void **state)
{
	uint8_t *taken = mem_alloc(LID_SPACE, 1), *moving = mem_alloc(LID_SPACE, 1);

	memset(taken + 1, 1, 280);
	memset(moving + 1, 1, 280);
	assert_int_equal(lid_distance(taken, moving, 1, LID_SPACE - 1), 384);
	taken[400] = 1;
	assert_int_equal(lid_distance(taken, moving, 1, LID_SPACE - 1), 512);
	assert_int_equal(lid_distance(taken, moving, 10000, 10500), 10112);
	assert_int_equal(lid_distance(taken, moving, 10000, 10200), 0);
	memset(moving, 0, LID_SPACE);
	memset(moving + 20000, 1, 10);
	assert_int_equal((20000 + lid_distance(taken, moving, 1, 1000)) % LID_SPACE, 288);
	free(taken);
	free(moving);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_end_port_has_one_and_none_is_wasted),
		cmocka_unit_test(hosts_of_a_leaf_share_one_block),
		cmocka_unit_test(remembered_lids_win_over_held_ones),
		cmocka_unit_test(a_valid_held_lid_is_kept),
		cmocka_unit_test(a_lid_held_twice_is_nobodys),
		cmocka_unit_test(a_running_port_keeps_its_lid_beside_one_in_init),
		cmocka_unit_test(the_memory_yields_to_ports_that_are_to_keep_theirs_alone),
		cmocka_unit_test(a_multicast_lid_is_not_kept),
		cmocka_unit_test(the_lid_of_one_who_is_away_is_not_given_to_another),
		cmocka_unit_test(lids_of_the_longest_away_are_taken_back_when_none_is_left),
		cmocka_unit_test(an_exhausted_space_is_counted_and_nothing_breaks),
		cmocka_unit_test(new_lids_are_from_the_range_alone),
		cmocka_unit_test(lids_that_move_together_keep_their_places_in_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
