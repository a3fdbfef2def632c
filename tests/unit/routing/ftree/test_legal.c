/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Minimal up/down paths: what is asked of one port agrees with the list of all that begin one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "routing/ftree/legal.h"
#include "tests/fabric/damage.h"

struct count {
	uint64_t like, other;
};

static void judge_entry(const struct legal *l, const struct legal_exits *exits, uint32_t sw,
			uint16_t lid, struct count *count)
{
	uint8_t chosen = tables_row(&l->tables, sw)[lid];
	struct legal_ports ports;

	legal_ports(l->g, &l->r, sw, l->d.sw[lid], &ports);
	for (unsigned port = 0; port < 256; port++) {
		bool is = memchr(ports.port, port, ports.n) != NULL;

		if (legal_is_like(l->g, &l->r, exits, l->d.sw[lid], port, chosen) != is)
			fail_msg("switch %u port %u to LID %u: %d", sw, port, lid, !is);
		*(is ? &count->like : &count->other) += 1;
	}
}

static void judge(const struct topo *t, struct count *count)
{
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct legal l;

	legal_init(&l, t, lids, &(struct route_params){ 0 },
		   (struct graph_how){ .orientation = GRAPH_BY_LEVEL });
	legal_fill(&l);
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		struct legal_exits exits;

		legal_find_exits(l.g, sw, &exits);
		for (uint16_t lid = 1; lid <= lids->top; lid += 3)
			if (l.d.sw[lid] != TOPO_NONE)
				judge_entry(&l, &exits, sw, lid, count);
	}
	legal_fini(&l);
	lid_map_free(lids);
}

static void a_port_is_like_the_chosen_one_where_it_begins_a_shortest_path(void **state)
{
	struct count count = { 0 };

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct topo *whole = damage_random_pgft(seed),
			    *t = damage_links(whole, seed * 7 % 50, seed),
			    *tangle = damage_tangle(seed);

		judge(t, &count);
		judge(tangle, &count);
		topo_unref(whole);
		topo_unref(t);
		topo_unref(tangle);
	}
	assert_true(count.like > 10000 && count.other > 10000);
}

static void no_port_is_like_one_that_leads_to_no_switch(void **state)
{
	struct topo *t = damage_ring(4, 2);
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct legal_exits exits;
	struct legal l;

	legal_init(&l, t, lids, &(struct route_params){ 0 },
		   (struct graph_how){ .orientation = GRAPH_BY_LEVEL });
	legal_fill(&l);
	legal_find_exits(l.g, 0, &exits);
	for (unsigned port = 0; port < 256; port++) {
		assert_false(legal_is_like(l.g, &l.r, &exits, 1, port, 0));
		assert_false(legal_is_like(l.g, &l.r, &exits, 1, port, TABLES_NO_ROUTE));
	}
	legal_fini(&l);
	lid_map_free(lids);
	topo_unref(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_port_is_like_the_chosen_one_where_it_begins_a_shortest_path),
		cmocka_unit_test(no_port_is_like_one_that_leads_to_no_switch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
