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
#include "topology/generate/generate.h"
#include "topology/snapshot/topo_builder.h"

#define DESIGNS 200

/* A generator of numbers, for designs that are the same in each run. */
static unsigned next_random(uint64_t *seed, unsigned below)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(*seed >> 33) % below;
}

static int add_switch(struct topo_builder *b, uint64_t *seed, const char *desc, unsigned nports)
{
	/* GUIDs in no order: neither leaves nor spines are found in that of their names. */
	struct topo_node attr = { .guid = (uint64_t)next_random(seed, 1u << 30) << 16 |
					  next_random(seed, 1u << 16),
				  .desc = desc,
				  .type = TOPO_SWITCH,
				  .nports = nports };

	return topo_builder_node(b, &attr);
}

/* On the first ports of leaf number `l`. */
static void add_hosts(struct topo_builder *b, int leaf, unsigned l, unsigned hosts)
{
	for (unsigned h = 0; h < hosts; h++) {
		struct topo_node attr = { .guid = 0x1000000 + l * 256 + h,
					  .desc = "host",
					  .type = TOPO_CA,
					  .nports = 1 };

		assert_int_equal(
			topo_builder_link(b, topo_builder_node(b, &attr), 1, leaf, h + 1, true), 0);
	}
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
		spine[s] = add_switch(b, &seed, "spine", nleaves * width[s]);
	}
	for (unsigned l = 0; l < nleaves; l++) {
		int leaf = add_switch(b, &seed, "leaf", 2 * hosts);
		unsigned up = hosts;

		add_hosts(b, leaf, l, hosts);
		for (unsigned s = 0; s < nspines; s++)
			for (unsigned lane = 0; lane < width[s]; lane++)
				assert_int_equal(topo_builder_link(b, leaf, ++up, spine[s],
								   l * width[s] + lane + 1, true),
						 0);
	}
	return topo_freeze(b);
}

#define CABLES 4 /* of each trunk */

/* A trunk from ports first + 1 .. of the lower switch to number `place` of the upper. */
static void add_trunk(struct topo_builder *b, int low, unsigned first, int high, unsigned place)
{
	for (unsigned lane = 1; lane <= CABLES; lane++)
		assert_int_equal(
			topo_builder_link(b, low, first + lane, high, place * CABLES + lane, true),
			0);
}

/* Pods of leaves and four spines; cores: four directors of a line card a pod, four spine cards. */
static struct topo *directors(unsigned pods, unsigned leaves)
{
	struct topo_builder *b = topo_builder_new();
	int spine[16][4], line[16][4], card[4][4];
	uint64_t seed = pods;

	for (unsigned pod = 0; pod < pods; pod++) {
		for (unsigned s = 0; s < 4; s++)
			spine[pod][s] = add_switch(b, &seed, "spine", (leaves + 4) * CABLES);
		for (unsigned l = 0; l < leaves; l++) {
			int leaf = add_switch(b, &seed, "leaf", 8 * CABLES);

			add_hosts(b, leaf, pod * leaves + l, 4 * CABLES);
			for (unsigned s = 0; s < 4; s++)
				add_trunk(b, leaf, (4 + s) * CABLES, spine[pod][s], l);
		}
	}
	for (unsigned d = 0; d < 4; d++) {
		for (unsigned c = 0; c < 4; c++)
			card[d][c] = add_switch(b, &seed, "card", pods * CABLES);
		for (unsigned pod = 0; pod < pods; pod++) {
			line[pod][d] = add_switch(b, &seed, "Line", 8 * CABLES);
			for (unsigned s = 0; s < 4; s++)
				add_trunk(b, spine[pod][s], (leaves + d) * CABLES, line[pod][d], s);
			for (unsigned c = 0; c < 4; c++)
				add_trunk(b, line[pod][d], (4 + c) * CABLES, card[d][c], pod);
		}
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

/*
 * Of links from switches whose name begins with one letter to those with another (0 = of all links
 * between switches): the most flows; *least: the fewest.
 */
static uint32_t most_flows(const struct flows *f, char from, char to, uint32_t *least)
{
	uint32_t most = 0;

	*least = UINT32_MAX;
	for (uint32_t p = 0; p < f->t->nports; p++) {
		uint32_t peer = f->t->ports[p].peer;

		if (peer == TOPO_NONE || f->t->nodes[f->t->ports[p].node].type != TOPO_SWITCH ||
		    f->t->nodes[f->t->ports[peer].node].type != TOPO_SWITCH)
			continue;
		if (from && (f->t->nodes[f->t->ports[p].node].desc[0] != from ||
			     f->t->nodes[f->t->ports[peer].node].desc[0] != to))
			continue;
		most = f->on[p] > most ? f->on[p] : most;
		*least = f->on[p] < *least ? f->on[p] : *least;
	}
	return most;
}

/* One flow from each host to each. */
static void send_all_to_all(struct flows *f)
{
	memset(f->on, 0, f->t->nports * sizeof(*f->on));
	for (uint32_t i = 0; i < f->nhosts; i++)
		for (uint32_t k = 0; k < f->nhosts; k++)
			if (i != k)
				send_flow(f, i, k);
}

/* Whether all links between switches carry the same. */
static bool all_to_all_is_even(struct flows *f)
{
	uint32_t least;

	send_all_to_all(f);
	return most_flows(f, 0, 0, &least) == least;
}

/* Hosts are in the order of their GUIDs, which is that of leaves and ports. */
static uint32_t most_of_shift(struct flows *f, uint32_t shift)
{
	uint32_t least;

	memset(f->on, 0, f->t->nports * sizeof(*f->on));
	for (uint32_t i = 0; i < f->nhosts; i++)
		send_flow(f, i, (i + shift) % f->nhosts);
	return most_flows(f, 0, 0, &least);
}

static uint32_t worst_of_shifts(struct flows *f)
{
	uint32_t worst = 0;

	for (uint32_t shift = 1; shift < f->nhosts; shift++) {
		uint32_t most = most_of_shift(f, shift);

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

static void whole_directors_as_cores_have_no_idle_link_and_even_tiers(void **state)
{
	const char *tiers[] = { "ls", "sl", "sL", "Ls", "Lc", "cL" };
	const unsigned designs[][2] = { { 8, 8 }, { 6, 4 }, { 5, 8 } };

	for (unsigned i = 0; i < 3; i++) {
		struct topo *t = directors(designs[i][0], designs[i][1]);
		struct lid_map *lids = lid_plan(t, NULL, 0);
		struct route *route = route_new();
		struct tables tables = { 0 };

		assert_int_equal(route_compute(route, t, lids, NULL, &tables), 0);
		struct flows f = flows_new(t, lids, &tables);

		send_all_to_all(&f);
		for (unsigned k = 0; k < 6; k++) {
			uint32_t least, most = most_flows(&f, tiers[k][0], tiers[k][1], &least);

			print_message("%u pods of %u leaves, %s: %u to %u flows\n", designs[i][0],
				      designs[i][1], tiers[k], least, most);
			assert_int_equal(least, most);
		}
		flows_free(&f);
		tables_fini(&tables);
		route_free(route);
		lid_map_free(lids);
		topo_unref(t);
	}
}

/* Units of 32, 31, 32, 20, 32, 7, 32 and 16 machines below 32 spines: numbers have no gaps. */
static struct topo *unequal_units(void)
{
	const unsigned hosts[] = { 32, 31, 32, 20, 32, 7, 32, 16 };
	struct topo_builder *b = topo_builder_new();
	uint64_t seed = 1;
	int spine[32];

	for (unsigned s = 0; s < 32; s++)
		spine[s] = add_switch(b, &seed, "spine", 8);
	for (unsigned l = 0; l < 8; l++) {
		int leaf = add_switch(b, &seed, "leaf", 64);

		add_hosts(b, leaf, l, hosts[l]);
		for (unsigned s = 0; s < 32; s++)
			assert_int_equal(topo_builder_link(b, leaf, 33 + s, spine[s], 1 + l, true),
					 0);
	}
	return topo_freeze(b);
}

static void a_port_may_have_several_lids_where_leaves_have_unequal_numbers_of_hosts(void **state)
{
	struct topo *t = unequal_units();
	struct lid_map *lids = lid_plan(t, NULL, 2);
	struct route *route = route_new();
	struct tables tables = { 0 };

	assert_int_equal(route_compute(route, t, lids, NULL, &tables), 0);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		for (uint32_t p = t->nswitch_ports; p < t->nports; p++)
			for (unsigned i = 0; lids->lid_of_port[p] && i < 4; i++)
				assert_int_not_equal(
					tables_row(&tables, sw)[lids->lid_of_port[p] + i],
					TABLES_NO_ROUTE);
	tables_fini(&tables);
	route_free(route);
	lid_map_free(lids);
	topo_unref(t);
}

static void leaves_with_unequal_numbers_of_hosts_share_the_spines_evenly(void **state)
{
	struct topo *t = unequal_units();
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct route *route = route_new();
	struct tables tables = { 0 };

	assert_int_equal(route_compute(route, t, lids, NULL, &tables), 0);
	struct flows f = flows_new(t, lids, &tables);
	uint32_t worst = worst_of_shifts(&f), least, most;

	send_all_to_all(&f);
	most = most_flows(&f, 'l', 's', &least);
	print_message("worst shift %u, all-to-all up %u\n", worst, most);
	assert_in_range(worst, 1, 2);
	assert_in_range(most, 1, 32 * 202 / 32 + 1); /* a whole leaf's to all others, its share */
	flows_free(&f);
	tables_fini(&tables);
	route_free(route);
	lid_map_free(lids);
	topo_unref(t);
}

/* Twelve leaves of nine hosts below nine spines; three leaves lack a cable or two. */
static void a_leaf_that_lacks_two_cables_lets_no_link_carry_two_whole_lids(void **state)
{
	const unsigned lacks[12] = { [3] = 2, [4] = 1, [9] = 1 };
	struct topo_builder *b = topo_builder_new();
	uint64_t seed = 1;
	int spine[9];

	for (unsigned s = 0; s < 9; s++)
		spine[s] = add_switch(b, &seed, "spine", 12);
	for (unsigned l = 0; l < 12; l++) {
		int leaf = add_switch(b, &seed, "leaf", 18);

		add_hosts(b, leaf, l, 9);
		for (unsigned s = lacks[l]; s < 9; s++)
			assert_int_equal(topo_builder_link(b, leaf, 10 + s, spine[s], 1 + l, true),
					 0);
	}
	struct topo *t = topo_freeze(b);
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct route *route = route_new();
	struct tables tables = { 0 };

	assert_int_equal(route_compute(route, t, lids, NULL, &tables), 0);
	struct flows f = flows_new(t, lids, &tables);
	uint32_t least, most, share = 9 * 99 / 7; /* of that leaf's flows: a link's */

	send_all_to_all(&f);
	most = most_flows(&f, 0, 0, &least);
	print_message("%u flows on the worst link, of a share of %u\n", most, share);
	assert_in_range(most, share, share * 115 / 100 + 1);
	flows_free(&f);
	tables_fini(&tables);
	route_free(route);
	lid_map_free(lids);
	topo_unref(t);
}

/*
 * Two directors of six line cards and six spine cards, of which one lacks a spine card. A leaf of
 * twelve hosts has half of its cables to a line card of each; all trunks are of six cables.
 */
static struct topo *directors_that_lack_a_card(void)
{
	struct topo_builder *b = topo_builder_new();
	uint64_t seed = 1;
	int leaf[36];

	for (unsigned l = 0; l < 36; l++) {
		leaf[l] = add_switch(b, &seed, "leaf", 24);
		add_hosts(b, leaf[l], l, 12);
	}
	for (unsigned d = 0; d < 2; d++) {
		int card[6], line = 0;

		for (unsigned c = 0; c < 6; c++)
			card[c] = add_switch(b, &seed, "card", 36);
		for (unsigned i = 0; i < 36; i++) {
			if (i % 6 == 0)
				line = add_switch(b, &seed, "line", 72);
			for (unsigned lane = 1; lane <= 6; lane++) {
				assert_int_equal(topo_builder_link(b, leaf[i], 12 + d * 6 + lane,
								   line, i % 6 * 6 + lane, true),
						 0);
				if (d || i % 6)
					assert_int_equal(topo_builder_link(b, line,
									   36 + i % 6 * 6 + lane,
									   card[i % 6],
									   i / 6 * 6 + lane, true),
							 0);
			}
		}
	}
	return topo_freeze(b);
}

/* LIDs of one leaf, to which a shift sends at once, are not moved to the same link. */
static void shifts_collide_little_where_all_to_all_is_made_even(void **state)
{
	struct topo *t = directors_that_lack_a_card();
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct route *route = route_new();
	struct tables tables = { 0 };
	uint32_t sum = 0, least, most;

	assert_int_equal(route_compute(route, t, lids, NULL, &tables), 0);
	struct flows f = flows_new(t, lids, &tables);

	send_all_to_all(&f);
	most = most_flows(&f, 0, 0, &least);
	for (uint32_t shift = 1; shift < f.nhosts; shift++)
		sum += most_of_shift(&f, shift);
	print_message("%.3f flows on the worst link of a shift, %u of all to all\n",
		      (double)sum / (f.nhosts - 1), most);
	assert_true(sum < 26 * (f.nhosts - 1) / 10);
	assert_in_range(most, 1, 500);
	flows_free(&f);
	tables_fini(&tables);
	route_free(route);
	lid_map_free(lids);
	topo_unref(t);
}

/*
 * Half-way to twice the spines: leaves that were not yet cabled again have two cables to each old
 * spine, the others one to each.
 */
static struct topo *half_grown(unsigned leaves, unsigned moved, unsigned old)
{
	struct topo_builder *b = topo_builder_new();
	uint64_t seed = leaves;
	int spine[32];

	for (unsigned s = 0; s < 2 * old; s++)
		spine[s] = add_switch(b, &seed, "spine", 2 * leaves);
	for (unsigned l = 0; l < leaves; l++) {
		int leaf = add_switch(b, &seed, "leaf", 4 * old);

		add_hosts(b, leaf, l, 2 * old);
		for (unsigned up = 0; up < 2 * old; up++) {
			unsigned s = l < moved ? up : up / 2;

			assert_int_equal(topo_builder_link(b, leaf, 2 * old + 1 + up, spine[s],
							   1 + 2 * l + (l < moved ? 0 : up % 2),
							   true),
					 0);
		}
	}
	return topo_freeze(b);
}

static void half_grown_fabrics_load_no_link_a_fifth_above_what_links_demand(void **state)
{
	for (unsigned seed = 0; seed < 60; seed++) {
		unsigned leaves = 4 + seed % 9, old = seed % 2 ? 8 : 4;
		unsigned moved = 1 + seed * 5 % (leaves - 1), hosts = 2 * old;
		struct topo *t = half_grown(leaves, moved, old);
		struct lid_map *lids = lid_plan(t, NULL, 0);
		struct route *route = route_new();
		struct tables tables = { 0 };

		assert_int_equal(route_compute(route, t, lids, NULL, &tables), 0);
		struct flows f = flows_new(t, lids, &tables);
		/* From a new leaf to old ones by old spines alone, or from a leaf to all others. */
		uint32_t least, crossing = hosts * (leaves - moved) * hosts / old;
		uint32_t others = hosts * (leaves - 1),
			 bound = crossing > others ? crossing : others;

		send_all_to_all(&f);
		uint32_t most = most_flows(&f, 0, 0, &least);

		print_message("%u leaves, %u of them new: %u flows for %u\n", leaves, moved, most,
			      bound);
		assert_in_range(most, 1, bound + bound / 5);
		flows_free(&f);
		tables_fini(&tables);
		route_free(route);
		lid_map_free(lids);
		topo_unref(t);
	}
}

/* Whether the tables differ for hosts where no entry of the first led by one of two ports. */
static bool moves_more(const struct topo *t, const struct lid_map *lids, const struct tables *a,
		       const struct tables *b, uint32_t port)
{
	uint32_t peer = t->ports[port].peer;

	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		for (uint32_t lid = 1; lid <= a->top; lid++) {
			if (t->ports[lids->port_of_lid[lid]].node < t->nswitches)
				continue;

			uint8_t out = tables_row(a, sw)[lid];
			uint32_t by = t->nodes[sw].port0 + out;

			/* Or its next switch has lost its way down. */
			if (out != tables_row(b, sw)[lid] && by != port && by != peer &&
			    t->ports[t->ports[by].peer].node != t->ports[peer].node)
				return true;
		}
	return false;
}

static void a_fault_moves_the_entries_of_its_link_alone_and_its_repair_moves_them_back(void **state)
{
	struct topo *t = half_grown(8, 3, 8);
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct route *route = route_new();
	struct tables whole = { 0 }, tables = { 0 }, again = { 0 };

	assert_int_equal(route_compute(route, t, lids, NULL, &whole), 0);
	for (uint32_t p = 0; p < t->nswitch_ports; p += 7) {
		if (t->ports[p].peer == TOPO_NONE || t->nodes[t->ports[p].node].level ||
		    t->ports[t->ports[p].peer].node >= t->nswitches)
			continue;
		struct topo *cut = topo_alike(t);
		struct route *fresh = route_new();

		topo_alike_cut(cut, p);
		assert_int_equal(route_compute(route, cut, lids, NULL, &tables), 0);
		assert_false(moves_more(t, lids, &whole, &tables, p));
		assert_int_equal(route_compute(fresh, cut, lids, NULL, &again), 0);
		for (uint32_t sw = 0; sw < t->nswitches; sw++)
			assert_memory_equal(tables_row(&tables, sw), tables_row(&again, sw),
					    tables.top + 1u);
		route_free(fresh);
		topo_unref(cut);
	}
	assert_int_equal(route_compute(route, t, lids, NULL, &tables), 0);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		assert_memory_equal(tables_row(&tables, sw), tables_row(&whole, sw),
				    whole.top + 1u);
	tables_fini(&whole);
	tables_fini(&tables);
	tables_fini(&again);
	route_free(route);
	lid_map_free(lids);
	topo_unref(t);
}

/*
 * 16 leaves of 16 hosts; of 16 spines every second has links of half the rate. With a cable between
 * two spines, which has not trained yet: its rate is unknown. `one_link`: a single link is slow.
 */
static struct topo *spines_of_two_rates(bool joined, bool one_link)
{
	struct topo_builder *b = topo_builder_new();
	uint64_t seed = 1;
	int spine[16];

	for (unsigned s = 0; s < 16; s++)
		spine[s] = add_switch(b, &seed, s % 2 ? "half" : "full", 17);
	for (unsigned l = 0; l < 16; l++) {
		int leaf = add_switch(b, &seed, "leaf", 32);

		add_hosts(b, leaf, l, 16);
		for (unsigned s = 0; s < 16; s++) {
			struct topo_port attr = { .width = 4,
						  .speed = (one_link ? l + s == 0 : s % 2)
								   ? TOPO_HDR
								   : TOPO_NDR };

			assert_int_equal(topo_builder_link(b, leaf, 17 + s, spine[s], 1 + l, true),
					 0);
			assert_int_equal(topo_builder_port(b, leaf, 17 + s, &attr), 0);
			assert_int_equal(topo_builder_port(b, spine[s], 1 + l, &attr), 0);
		}
	}
	if (joined)
		assert_int_equal(topo_builder_link(b, spine[0], 17, spine[1], 17, true), 0);
	return topo_freeze(b);
}

static void a_link_that_is_new_and_has_no_rate_yet_counts_as_a_fast_one(void **state)
{
	struct route *route = route_new();
	struct tables tables = { 0 };

	for (unsigned joined = 0; joined < 2; joined++) {
		struct topo *t = spines_of_two_rates(joined, false);
		struct lid_map *lids = lid_plan(t, NULL, 0);

		assert_int_equal(route_compute(route, t, lids, NULL, &tables), 0);
		lid_map_free(lids);
		topo_unref(t);
	}
	tables_fini(&tables);
	route_free(route);
}

static void spines_of_half_the_rate_carry_half_of_the_flows(void **state)
{
	struct topo *t = spines_of_two_rates(false, false);
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct route *route = route_new();
	struct tables tables = { 0 };
	uint64_t full = 0, half = 0;

	assert_int_equal(route_compute(route, t, lids, NULL, &tables), 0);
	struct flows f = flows_new(t, lids, &tables);

	send_all_to_all(&f);
	for (uint32_t p = 0; p < t->nswitch_ports; p++)
		if (t->ports[p].peer != TOPO_NONE && t->ports[p].width)
			*(t->ports[p].speed == TOPO_NDR ? &full : &half) += f.on[p];
	/* To each leaf 15 others send 16 x 16 flows each, by as much as 12 fast links. */
	for (uint32_t p = 0; p < t->nswitch_ports; p++)
		if (t->ports[p].peer != TOPO_NONE && t->ports[p].width)
			assert_int_equal(f.on[p], t->ports[p].speed == TOPO_NDR ? 320 : 160);
	print_message("%lu flows by fast links, %lu by slow ones\n", full, half);
	assert_in_range(full * 100 / half, 197, 206);
	flows_free(&f);
	tables_fini(&tables);
	route_free(route);
	lid_map_free(lids);
	topo_unref(t);
}

static void links_of_unlike_rates_that_carry_nothing_are_no_obstacle(void **state)
{
	char *words[] = { "mixed", "--size", "13,1", "--trunks", "3xNDR,1xEDR" }, err[128];
	struct topo *t = generate_parse(5, words, err, sizeof(err));
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct route *route = route_new();
	struct tables tables = { 0 };

	assert_int_equal(route_compute(route, t, lids, NULL, &tables), 0);
	tables_fini(&tables);
	route_free(route);
	lid_map_free(lids);
	topo_unref(t);
}

static void a_link_that_trained_down_leaves_an_even_design_as_it_is(void **state)
{
	struct topo *t = spines_of_two_rates(false, true);
	struct lid_map *lids = lid_plan(t, NULL, 0);
	struct route *route = route_new();
	struct tables tables = { 0 };

	assert_true(t->rates_differ);
	assert_int_equal(route_compute(route, t, lids, NULL, &tables), 0);
	assert_null(route_even(route));
	assert_false(route_is_irregular(route));
	tables_fini(&tables);
	route_free(route);
	lid_map_free(lids);
	topo_unref(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trunks_of_any_widths_give_full_bisection_from_the_first_tables),
		cmocka_unit_test(whole_directors_as_cores_have_no_idle_link_and_even_tiers),
		cmocka_unit_test(leaves_with_unequal_numbers_of_hosts_share_the_spines_evenly),
		cmocka_unit_test(
			a_port_may_have_several_lids_where_leaves_have_unequal_numbers_of_hosts),
		cmocka_unit_test(a_leaf_that_lacks_two_cables_lets_no_link_carry_two_whole_lids),
		cmocka_unit_test(shifts_collide_little_where_all_to_all_is_made_even),
		cmocka_unit_test(half_grown_fabrics_load_no_link_a_fifth_above_what_links_demand),
		cmocka_unit_test(
			a_fault_moves_the_entries_of_its_link_alone_and_its_repair_moves_them_back),
		cmocka_unit_test(spines_of_half_the_rate_carry_half_of_the_flows),
		cmocka_unit_test(a_link_that_is_new_and_has_no_rate_yet_counts_as_a_fast_one),
		cmocka_unit_test(links_of_unlike_rates_that_carry_nothing_are_no_obstacle),
		cmocka_unit_test(a_link_that_trained_down_leaves_an_even_design_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
