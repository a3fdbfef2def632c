/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Pairs that are in force, against packets that are followed one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include "routing/ftree/route.h"
#include "routing/proof/check.h"
#include "routing/proof/in_force.h"
#include "tests/lib/fabrics.h"
#include "topology/base/mem.h"

struct world {
	struct topo *topo;
	struct lid_map *lids;
	struct tables tables;
	struct check_report report;
	bool *active;
};

static void world_init(struct world *w, struct topo *t)
{
	struct route *route = route_new();

	*w = (struct world){ .topo = t, .lids = lid_plan(t, NULL, 0) };
	assert_int_equal(route_compute(route, t, w->lids, NULL, &w->tables), 0);
	route_free(route);
	assert_true(check_tables(t, w->lids, &w->tables, &w->report));
	w->active = mem_alloc(t->nports, sizeof(bool));
	for (uint32_t p = 0; p < t->nports; p++)
		w->active[p] = t->ports[p].peer != TOPO_NONE && t->ports[p].link_up;
}

static void world_fini(struct world *w)
{
	free(w->active);
	topo_unref(w->topo);
	lid_map_free(w->lids);
	tables_fini(&w->tables);
}

static struct in_force in_force_of(const struct world *w, uint32_t destinations)
{
	const struct in_force_view view = {
		.topo = w->topo, .lids = w->lids, .held = &w->tables, .active = w->active
	};
	struct in_force_job *job = in_force_begin(&view);
	struct in_force sum;

	while (in_force_go(job, destinations))
		;
	in_force_end(job, &sum);
	return sum;
}

static bool arrives(const struct world *w, uint32_t from, uint32_t to)
{
	const struct topo *t = w->topo;
	uint32_t at = from;

	for (unsigned hops = 0; hops < 20; hops++) {
		if (!w->active[at] || t->ports[at].peer == TOPO_NONE)
			return false;
		at = t->ports[at].peer;
		if (at == to)
			return true;

		uint32_t sw = t->ports[at].node;
		unsigned out = sw < t->nswitches
				       ? tables_row(&w->tables, sw)[w->lids->lid_of_port[to]]
				       : 0;

		if (!out || out > t->nodes[sw].nports)
			return false;
		at = t->nodes[sw].port0 + out;
	}
	return false;
}

/* All pairs one by one; what does not arrive ends somewhere. */
static void assert_counted(const struct world *w, uint64_t fewer)
{
	const struct topo *t = w->topo;
	struct in_force sum = in_force_of(w, 7);
	const struct in_force_view view = {
		.topo = t, .lids = w->lids, .held = &w->tables, .active = w->active
	};
	uint64_t pairs = 0, arrive = 0, ends = 0;
	bool *reached = mem_alloc(t->nnodes, sizeof(bool));

	for (uint32_t from = 0; from < t->nports; from++)
		for (uint32_t to = 0; to < t->nports; to++)
			if (from != to && topo_is_host(t, t->ports[from].node) &&
			    topo_is_host(t, t->ports[to].node) && w->lids->lid_of_port[from] &&
			    w->lids->lid_of_port[to]) {
				bool there = arrives(w, from, to);

				pairs++;
				arrive += there;
				reached[t->ports[to].node] |= there;
				assert_true(there == (in_force_end_of(&view, from,
								      w->lids->lid_of_port[to]) ==
						      TOPO_NONE));
			}
	for (uint32_t n = 0; n < t->nnodes; n++) {
		ends += sum.ends[n];
		assert_true(n < t->nswitches || sum.cut_off[n] == !reached[n]);
	}
	free(reached);
	assert_int_equal(sum.pairs, pairs);
	assert_int_equal(sum.arrive, arrive);
	assert_int_equal(ends, pairs - arrive);
	assert_int_equal(w->report.reachable - arrive, fewer);
	free(sum.ends);
	free(sum.cut_off);
}

static struct topo *tree(void)
{
	char err[128];
	const unsigned m[] = { 4, 4, 2 }, up[] = { 1, 4, 2 }, lanes[] = { 1, 1, 1 };
	struct topo *t = generate_pgft(3, m, up, lanes, err, sizeof(err));

	assert_non_null(t);
	return t;
}

static void what_is_wanted_is_in_force_when_all_devices_hold_it(void **state)
{
	struct world w;

	world_init(&w, tree());
	assert_counted(&w, 0);
	world_fini(&w);
}

static void pairs_over_a_switch_that_holds_nothing_end_there(void **state)
{
	struct world w;
	struct in_force sum;
	uint32_t sw = 0;

	world_init(&w, tree());
	while (w.topo->nodes[sw].level != 1)
		sw++;
	memset(tables_row(&w.tables, sw), TABLES_NO_ROUTE, w.tables.stride);
	sum = in_force_of(&w, UINT32_MAX);
	assert_true(sum.ends[sw] > 0);
	assert_int_equal(sum.ends[sw], w.report.reachable - sum.arrive);
	assert_counted(&w, sum.ends[sw]);
	free(sum.ends);
	free(sum.cut_off);
	world_fini(&w);
}

static void a_host_whose_link_is_not_active_has_no_pair_in_force(void **state)
{
	struct world w;
	uint32_t ca, hosts;

	world_init(&w, tree());
	ca = w.topo->nswitches + 3;
	hosts = w.topo->ncas;
	w.active[w.topo->nodes[ca].port0 + 1] = false;
	w.active[w.topo->ports[w.topo->nodes[ca].port0 + 1].peer] = false;
	assert_counted(&w, 2 * (hosts - 1));
	world_fini(&w);
}

/* Entries at random, links out at random: loops, ends, and hosts that are cut off. */
static void any_tables_are_counted_as_packets_find_them(void **state)
{
	struct world w;

	srand(7);
	for (unsigned round = 0; round < 60; round++) {
		world_init(&w, tree());
		for (unsigned i = 0; i < 40; i++) {
			uint32_t sw = (uint32_t)rand() % w.topo->nswitches;

			tables_row(&w.tables, sw)[1 + rand() % w.tables.top] =
				rand() % 9 ? (uint8_t)(rand() % (w.topo->nodes[sw].nports + 1))
					   : TABLES_NO_ROUTE;
		}
		for (unsigned i = 0; i < round % 5; i++) {
			uint32_t port = (uint32_t)rand() % w.topo->nports;

			w.active[port] = false;
			if (w.topo->ports[port].peer != TOPO_NONE)
				w.active[w.topo->ports[port].peer] = false;
		}

		struct in_force sum = in_force_of(&w, UINT32_MAX);

		assert_counted(&w, w.report.reachable - sum.arrive);
		free(sum.ends);
		free(sum.cut_off);
		world_fini(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_wanted_is_in_force_when_all_devices_hold_it),
		cmocka_unit_test(pairs_over_a_switch_that_holds_nothing_end_there),
		cmocka_unit_test(a_host_whose_link_is_not_active_has_no_pair_in_force),
		cmocka_unit_test(any_tables_are_counted_as_packets_find_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
