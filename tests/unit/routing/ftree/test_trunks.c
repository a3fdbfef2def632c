/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Trees whose trunks are not equally wide: flows are counted link by link on the tables alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "routing/ftree/route.h"
#include "tests/lib/fabrics.h"
#include "topology/base/mem.h"
#include "topology/snapshot/topo_builder.h"

#define DESIGNS 200

/* A generator of numbers, for designs that are the same in each run. */
static unsigned next_random(uint64_t *seed, unsigned below)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(*seed >> 33) % below;
}

static int add_switch(struct topo_builder *b, uint64_t *seed, unsigned nports)
{
	/* GUIDs in no order: neither leaves nor spines are found in that of their names. */
	struct topo_node_attr attr = { .guid = (uint64_t)next_random(seed, 1u << 30) << 16 |
					       next_random(seed, 1u << 16),
				       .desc = "switch",
				       .type = TOPO_SWITCH,
				       .nports = nports };

	return topo_builder_node(b, &attr);
}

/* Two tiers of full bisection: each leaf has the same trunk to a spine, the spines' differ. */
static struct topo *full_bisection(uint64_t seed)
{
	unsigned nspines = 2 + next_random(&seed, 7), nleaves = 2 + next_random(&seed, 15);
	unsigned width[8], hosts = 0;
	struct topo_builder *b = topo_builder_new();
	int spine[8];

	for (unsigned s = 0; s < nspines; s++) {
		width[s] = 1 + next_random(&seed, 6);
		hosts += width[s];
		spine[s] = add_switch(b, &seed, nleaves * width[s]);
	}
	for (unsigned l = 0; l < nleaves; l++) {
		int leaf = add_switch(b, &seed, 2 * hosts);
		unsigned up = hosts;

		for (unsigned h = 0; h < hosts; h++) {
			struct topo_node_attr attr = { .guid = 0x1000000 + l * 256 + h,
						       .desc = "host",
						       .type = TOPO_CA,
						       .nports = 1 };

			assert_int_equal(topo_builder_link(b, topo_builder_node(b, &attr), 1, leaf,
							   h + 1, true),
					 0);
		}
		for (unsigned s = 0; s < nspines; s++)
			for (unsigned lane = 0; lane < width[s]; lane++)
				assert_int_equal(topo_builder_link(b, leaf, ++up, spine[s],
								   l * width[s] + lane + 1, true),
						 0);
	}
	return topo_freeze(b);
}

struct flows {
	const struct topo *t;
	const struct tables *tables;
	uint32_t *on; /* by port: flows that leave the switch by it */
	uint32_t *hosts;
	uint16_t *lid;
	uint32_t nhosts;
};

static struct flows flows_new(const struct topo *t, const struct lid_map *lids,
			      const struct tables *tables)
{
	struct flows f = { .t = t, .tables = tables };

	f.on = mem_alloc(t->nports, sizeof(*f.on));
	f.hosts = mem_alloc(t->nnodes, sizeof(*f.hosts));
	f.lid = mem_alloc(t->nnodes, sizeof(*f.lid));
	for (uint32_t n = 0; n < t->nnodes; n++) {
		if (t->nodes[n].type != TOPO_CA)
			continue;
		f.lid[f.nhosts] = lids->lid_of_port[t->nodes[n].port0 + 1];
		f.hosts[f.nhosts++] = t->nodes[n].port0 + 1;
	}
	return f;
}

static void flows_free(struct flows *f)
{
	free(f->on);
	free(f->hosts);
	free(f->lid);
}

/* Counts one flow on each link that it takes. */
static void send_flow(struct flows *f, uint32_t from, uint32_t to)
{
	uint32_t at = f->t->ports[f->hosts[from]].peer;

	for (unsigned hop = 0; hop < 8; hop++) {
		uint32_t sw = f->t->ports[at].node;
		uint32_t out = f->t->nodes[sw].port0 + tables_row(f->tables, sw)[f->lid[to]];

		assert_true(f->t->nodes[sw].type == TOPO_SWITCH);
		f->on[out]++;
		at = f->t->ports[out].peer;
		if (at == f->hosts[to])
			return;
	}
	fail_msg("no path from host %u to %u", from, to);
}

/* Of links between switches: the most flows; *least: the fewest. */
static uint32_t most_flows(const struct flows *f, uint32_t *least)
{
	uint32_t most = 0;

	*least = UINT32_MAX;
	for (uint32_t p = 0; p < f->t->nports; p++) {
		uint32_t peer = f->t->ports[p].peer;

		if (peer == TOPO_NONE || f->t->nodes[f->t->ports[p].node].type != TOPO_SWITCH ||
		    f->t->nodes[f->t->ports[peer].node].type != TOPO_SWITCH)
			continue;
		most = f->on[p] > most ? f->on[p] : most;
		*least = f->on[p] < *least ? f->on[p] : *least;
	}
	return most;
}

/* Whether all links between switches carry the same when each host sends to each. */
static bool all_to_all_is_even(struct flows *f)
{
	uint32_t least, most;

	memset(f->on, 0, f->t->nports * sizeof(*f->on));
	for (uint32_t i = 0; i < f->nhosts; i++)
		for (uint32_t k = 0; k < f->nhosts; k++)
			if (i != k)
				send_flow(f, i, k);
	most = most_flows(f, &least);
	return most == least;
}

/* Hosts are in the order of their GUIDs, which is that of leaves and ports. */
static uint32_t worst_of_shifts(struct flows *f)
{
	uint32_t worst = 0, least;

	for (uint32_t shift = 1; shift < f->nhosts; shift++) {
		memset(f->on, 0, f->t->nports * sizeof(*f->on));
		for (uint32_t i = 0; i < f->nhosts; i++)
			send_flow(f, i, (i + shift) % f->nhosts);
		uint32_t most = most_flows(f, &least);

		worst = most > worst ? most : worst;
	}
	return worst;
}

static void trunks_of_any_widths_give_full_bisection_from_the_first_tables(void **state)
{
	unsigned uneven = 0, collide = 0;

	for (uint64_t seed = 1; seed <= DESIGNS; seed++) {
		struct topo *t = full_bisection(seed);
		struct lid_map *lids = lid_plan(t, NULL, 0);
		struct route *route = route_new();
		struct tables tables = { 0 };

		assert_int_equal(route_compute(route, t, lids, NULL, &tables), 0);
		struct flows f = flows_new(t, lids, &tables);

		uneven += !all_to_all_is_even(&f);
		collide += worst_of_shifts(&f) > 1;
		flows_free(&f);
		tables_fini(&tables);
		route_free(route);
		lid_map_free(lids);
		topo_unref(t);
	}
	print_message("of %u designs: all-to-all uneven on %u, shifts collide on %u\n", DESIGNS,
		      uneven, collide);
	assert_int_equal(uneven + collide, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trunks_of_any_widths_give_full_bisection_from_the_first_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
