/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Groups of adaptive routing: which ports are members, their numbers, their proof, their text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "routing/adaptive/groups.h"
#include "routing/ftree/legal.h"
#include "routing/ftree/route.h"
#include "routing/proof/check.h"
#include "routing/report/congestion.h"
#include "tests/fabric/damage.h"
#include "tests/lib/fabrics.h"
#include "tests/lib/far_judge.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/generate/generate.h"
#include "topology/snapshot/topo_builder.h"

struct scene {
	struct topo *t;
	struct lid_map *lids;
	struct tables tables;
	struct ar_groups *groups;
};

/* Takes the snapshot; LIDs of another scene (NULL = its own). */
static struct scene scene_of(struct topo *t, const struct lid_map *lids, const uint16_t *caps)
{
	struct scene s = { .t = t, .lids = lids ? lid_map_copy(lids) : lid_plan(t, NULL, 0) };
	struct route *route = route_new();
	const struct ar_params params = { .caps = caps };

	assert_int_equal(route_compute(route, t, s.lids, NULL, &s.tables), 0);
	assert_string_equal(route_outcome(route)->engine, "ftree");
	route_free(route);
	s.groups = ar_groups_new(t, s.lids, &params);
	return s;
}

static void drop(struct scene *s)
{
	ar_groups_free(s->groups);
	tables_fini(&s->tables);
	lid_map_free(s->lids);
	topo_unref(s->t);
}

static struct topo *superpod(enum generate_system system, unsigned su)
{
	char err[128];
	struct topo *t = generate_superpod(system, su, true, err, sizeof(err));

	assert_non_null(t);
	return t;
}

static struct topo *pgft(unsigned h, const unsigned *m, const unsigned *w, const unsigned *p)
{
	char err[128];
	struct topo *t = generate_pgft(h, m, w, p, err, sizeof(err));

	assert_non_null(t);
	return t;
}

static bool is_sound(const struct scene *s, struct check_report *report)
{
	return check_groups(s->t, s->lids, &s->tables, s->groups, report);
}

static const struct ar_group *group_of(const struct scene *s, uint32_t sw, uint32_t lid)
{
	uint32_t dest = s->groups->dest[lid];
	unsigned place =
		dest == TOPO_NONE ? 0 : s->groups->entry[(size_t)sw * s->groups->ndests + dest];

	return place ? &s->groups->list[s->groups->first[sw] + place - 1] : NULL;
}

static struct ar_group *any_group(const struct scene *s, unsigned level, uint32_t *sw)
{
	for (*sw = 0; *sw < s->t->nswitches; ++*sw)
		if (s->t->nodes[*sw].level == level &&
		    s->groups->first[*sw + 1] > s->groups->first[*sw])
			return &s->groups->list[s->groups->first[*sw]];
	fail();
	return NULL;
}

/* ---- Members --------------------------------------------------------------------------------- */

/* Against the engine's own list of minimal ports, which is made in another way. */
static void judge_members(const struct scene *s)
{
	static const struct route_params defaults;
	struct legal legal;
	struct legal_ports ports;
	unsigned groups = 0;

	legal_init(&legal, s->t, s->lids, &defaults,
		   (struct graph_how){ .orientation = GRAPH_BY_LEVEL });
	legal_fill(&legal);
	for (uint32_t sw = 0; sw < s->t->nswitches; sw++)
		for (uint32_t lid = 1; lid <= s->lids->top; lid++) {
			const struct ar_ports *members = ar_members(s->groups, sw, lid);
			uint32_t port = s->lids->port_of_lid[lid];
			struct ar_ports want = { 0 };

			if (port == TOPO_NONE || !topo_is_host(s->t, s->t->ports[port].node) ||
			    !s->t->ports[port].link_up) {
				assert_null(members);
				continue;
			}
			legal_ports(legal.g, &legal.r, sw, legal.d.sw[lid], &ports);
			for (unsigned i = 0; i < ports.n; i++)
				want.word[ports.port[i] / 64] |= 1ull << (ports.port[i] % 64);
			if (ports.n < 2) {
				assert_null(members);
				continue;
			}
			assert_non_null(members);
			assert_memory_equal(members, &want, sizeof(want));
			assert_true(ar_has(members, tables_row(&s->tables, sw)[lid]));
			groups++;
		}
	assert_true(groups > 0);
	legal_fini(&legal);
}

static void members_are_all_minimal_ports(void **state)
{
	for (unsigned i = 0; i < 10; i++) {
		const unsigned m[] = { 4, 4, 3 }, w[] = { 1, 4, 2 }, p[] = { 1, i % 2 + 1, 2 };
		struct topo *whole = i < 4   ? pgft(3, m, w, p)
				     : i < 8 ? superpod(GENERATE_H100, i % 2 + 1)
					     : damage_crossed_pods(3, 4);
		struct topo *t = i % 4 ? damage_links(whole, 2 * (i % 4), i) : topo_ref(whole);
		struct scene s = scene_of(t, NULL, NULL);

		judge_members(&s);
		drop(&s);
		topo_unref(whole);
	}
}

static void storage_stays_on_its_port(void **state)
{
	struct scene s = scene_of(superpod(GENERATE_H100, 1), NULL, NULL);
	uint8_t *classes = mem_array(classes, s.t->nports);
	uint32_t node = s.t->nswitches;
	uint16_t lid;

	while (!topo_is_host(s.t, node))
		node++;
	lid = s.lids->lid_of_port[s.t->nodes[node].port0 + 1];
	classes[s.t->nodes[node].port0 + 1] = ROUTE_STORAGE;
	assert_int_not_equal(s.groups->dest[lid], TOPO_NONE);
	ar_groups_free(s.groups);
	s.groups = ar_groups_new(s.t, s.lids, &(struct ar_params){ .classes = classes });
	assert_int_equal(s.groups->dest[lid], TOPO_NONE);
	free(classes);
	drop(&s);
}

/* ---- Numbers --------------------------------------------------------------------------------- */

static void a_fault_renumbers_nothing(void **state)
{
	const unsigned m[] = { 8, 8, 4 }, w[] = { 1, 4, 4 }, p[] = { 1, 1, 1 };
	struct scene before = scene_of(pgft(3, m, w, p), NULL, NULL);
	uint32_t leaf;

	any_group(&before, 0, &leaf);
	for (uint64_t seed = 0; seed <= 5; seed++) {
		struct topo *t = seed ? damage_links(before.t, 3, seed)
				      : damage_cut(before.t, leaf, uplink_of(before.t, leaf));
		struct scene after = scene_of(t, before.lids, NULL);
		unsigned same = 0, moved = 0;

		for (uint32_t sw = 0; sw < t->nswitches; sw++)
			for (uint32_t lid = 1; lid <= before.lids->top; lid++) {
				const struct ar_group *a = group_of(&before, sw, lid);
				const struct ar_group *b = group_of(&after, sw, lid);

				if (!a || !b)
					continue;
				/* It stays in its group, which may lose ports, or has its own. */
				for (unsigned k = 0; k < 4; k++)
					assert_false(b->ports.word[k] & ~a->ports.word[k]);
				same += a->id == b->id;
				moved += a->id != b->id;
				for (uint32_t i = 1; a->id != b->id && i <= before.lids->top; i++)
					if (group_of(&after, sw, i) == b)
						assert_int_equal(after.groups->dest[i],
								 after.groups->dest[lid]);
			}
		assert_true(moved > 0 && same > 0);
		/* Of one cable those move that lie behind it. */
		assert_true(seed || same > 10 * moved);

		/* What has its own number keeps it through further faults; cables are single. */
		struct scene worse = scene_of(damage_links(t, 3, seed + 50), before.lids, NULL);

		for (uint32_t sw = 0; sw < t->nswitches; sw++)
			for (uint32_t lid = 1; lid <= before.lids->top; lid++) {
				const struct ar_group *a = group_of(&after, sw, lid);
				const struct ar_group *b = group_of(&worse, sw, lid);

				assert_true(!a || !b || !a->id || !b->id || a->id == b->id);
			}
		drop(&worse);
		drop(&after);
	}
	drop(&before);
}

static void one_group_serves_all_that_all_links_up_lead_to(void **state)
{
	struct scene s = scene_of(superpod(GENERATE_H100, 16), NULL, NULL);

	for (uint32_t sw = 0; sw < s.t->nswitches; sw++) {
		uint32_t n = s.groups->first[sw + 1] - s.groups->first[sw];

		if (s.t->nodes[sw].level == 0)
			assert_int_equal(n, 1);
		assert_true(n <= 64);
	}
	drop(&s);
}

static void few_numbers_are_shared_and_all_is_still_proven(void **state)
{
	struct topo *whole = superpod(GENERATE_H100, 2);
	struct topo *t = damage_links(whole, 5, 7);
	struct scene plenty = scene_of(topo_ref(t), NULL, NULL);

	assert_int_equal(plenty.groups->coarse + plenty.groups->fixed, 0);
	for (unsigned cap = 0; cap <= 16; cap += cap < 4 ? 1 : 4) {
		uint16_t *caps = mem_array(caps, t->nswitches);
		struct check_report report;
		struct scene s;

		for (uint32_t sw = 0; sw < t->nswitches; sw++)
			caps[sw] = cap;
		s = scene_of(topo_ref(t), plenty.lids, caps);
		assert_true(is_sound(&s, &report));
		assert_true(cap > 1 || s.groups->first[t->nswitches] == 0);
		for (uint32_t i = 0; i < s.groups->first[t->nswitches]; i++)
			assert_true(s.groups->list[i].id < cap);
		for (uint32_t sw = 0; sw < t->nswitches; sw++)
			for (uint32_t lid = 1; lid <= s.lids->top; lid++) {
				const struct ar_ports *few = ar_members(s.groups, sw, lid);
				const struct ar_ports *all = ar_members(plenty.groups, sw, lid);

				for (unsigned w = 0; few && w < 4; w++)
					assert_true(all && !(few->word[w] & ~all->word[w]));
			}
		if (cap == 2)
			assert_true(s.groups->coarse > 0);
		free(caps);
		drop(&s);
	}
	drop(&plenty);
	topo_unref(t);
	topo_unref(whole);
}

static void assert_alike(const struct ar_groups *a, const struct ar_groups *b)
{
	uint32_t n = a->nswitches;

	assert_int_equal(n, b->nswitches);
	assert_int_equal(a->ndests, b->ndests);
	assert_int_equal(a->coarse, b->coarse);
	assert_int_equal(a->fixed, b->fixed);
	assert_memory_equal(a->dest, b->dest, (a->top + 1u) * sizeof(*a->dest));
	assert_memory_equal(a->first, b->first, (n + 1) * sizeof(*a->first));
	for (uint32_t i = 0; i < a->first[n]; i++) {
		assert_int_equal(a->list[i].id, b->list[i].id);
		assert_memory_equal(&a->list[i].ports, &b->list[i].ports, sizeof(struct ar_ports));
	}
	assert_memory_equal(a->entry, b->entry, (size_t)n * a->ndests * sizeof(*a->entry));
}

/* Links come and go, few or many; at times a switch has fewer numbers, or hosts other LIDs. */
static void what_is_kept_of_earlier_groups_changes_nothing(void **state)
{
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct topo *whole = seed % 3 == 0   ? superpod(GENERATE_H100, 5)
				     : seed % 3 == 1 ? damage_crossed_pods(3, 8)
						     : damage_random_pgft(seed);
		struct lid_map *plan = lid_plan(whole, NULL, 0),
			       *other = damage_new_lids(whole, seed);
		uint16_t *caps = mem_array(caps, whole->nswitches);
		struct ar_maker *maker = NULL;
		struct topo *t = topo_ref(whole);

		for (uint64_t step = 1; step <= 12; step++) {
			uint64_t random = seed * 100 + step;
			uint32_t sw = damage_random(&random) % t->nswitches;
			const struct lid_map *lids = step == 6 ? other : plan;
			struct ar_groups *kept, *anew;
			struct topo *next = step % 4 == 0 ? damage_moment(whole, random)
							  : topo_alike(step == 7 ? whole : t);

			for (unsigned cuts = 0; step % 4 && cuts < step; cuts++)
				topo_alike_cut(next, damage_random(&random) % t->nports);
			assert_true(topo_is_again(next, whole));
			topo_unref(t);
			t = next;
			for (uint32_t i = 0; i < t->nswitches; i++)
				caps[i] = i == sw ? 2 + step : AR_GROUPS_MAX;

			const struct ar_params params = { .caps = step % 5 ? NULL : caps };

			kept = ar_groups_make(&maker, t, lids, &params);
			anew = ar_groups_new(t, lids, &params);
			assert_alike(kept, anew);
			ar_groups_free(kept);
			ar_groups_free(anew);
		}
		ar_maker_free(maker);
		free(caps);
		lid_map_free(plan);
		lid_map_free(other);
		topo_unref(t);
		topo_unref(whole);
	}
}

/* ---- The proof ------------------------------------------------------------------------------- */

static void the_proof_refuses_what_is_wrong(void **state)
{
	const unsigned m[] = { 4, 4, 3 }, w[] = { 1, 4, 2 }, p[] = { 1, 2, 1 };
	struct scene s = scene_of(pgft(3, m, w, p), NULL, NULL);
	struct check_report report;
	struct ar_group *group, kept;
	uint32_t sw;

	assert_true(is_sound(&s, &report));
	assert_string_equal(report.first, "");

	/* A leaf's group with one of its hosts' ports: nothing that leads on. */
	group = any_group(&s, 0, &sw);
	kept = *group;
	for (unsigned num = 1; num <= s.t->nodes[sw].nports; num++)
		if (topo_port(s.t, sw, num)->peer >= s.t->nswitch_ports)
			group->ports.word[0] |= 1ull << num;
	assert_false(is_sound(&s, &report));
	assert_true(report.bad_ports > 0);

	/* One member alone. */
	*group = kept;
	while (__builtin_popcountll(group->ports.word[0]) > 1)
		group->ports.word[0] &= group->ports.word[0] - 1;
	assert_false(is_sound(&s, &report));
	assert_non_null(strstr(report.first, "empties"));

	/* Without the static ports of some LIDs. */
	*group = kept;
	group->ports.word[0] &= group->ports.word[0] - 1;
	assert_false(is_sound(&s, &report));
	assert_non_null(strstr(report.first, "no member"));

	/* A spine's group with a link up, or down to another leaf. */
	*group = kept;
	group = any_group(&s, 1, &sw);
	kept = *group;
	for (unsigned num = 1; num <= s.t->nodes[sw].nports; num++)
		group->ports.word[0] |= 1ull << num;
	assert_false(is_sound(&s, &report));
	assert_true(report.loops + report.credit_cycles > 0);
	*group = kept;
	assert_true(is_sound(&s, &report));
	drop(&s);
}

static char *text_of(const struct scene *s)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(ar_far_write(s->t, s->lids, &s->tables, s->groups, out), 0);
	fclose(out);
	return text;
}

/* A port more or less in a group, or an entry with another group of its switch, or with none. */
static void spoil(struct scene *s, uint64_t *random)
{
	struct ar_groups *g = s->groups;
	uint32_t at = random_next(random) % g->first[g->nswitches], sw = 0;
	unsigned what = random_next(random) % 4, num;
	uint16_t *entry;

	while (g->first[sw + 1] <= at)
		sw++;
	num = 1 + random_next(random) % s->t->nodes[sw].nports;
	entry = &g->entry[(size_t)sw * g->ndests + random_next(random) % g->ndests];
	if (what < 2)
		g->list[at].ports.word[num / 64] ^= 1ull << (num % 64);
	else if (what == 2)
		*entry = random_next(random) % (g->first[sw + 1] - g->first[sw] + 1);
	else /* a link to another switch more */
		for (unsigned tries = 0; tries < 64; tries++) {
			num = 1 + random_next(random) % s->t->nodes[sw].nports;
			if (topo_port(s->t, sw, num)->peer >= s->t->nswitch_ports ||
			    ar_has(&g->list[at].ports, num))
				continue;
			g->list[at].ports.word[num / 64] |= 1ull << (num % 64);
			break;
		}
}

static void what_another_judge_refuses_of_spoilt_groups_the_proof_refuses(void **state)
{
	const unsigned m[] = { 3, 4, 3 }, w[] = { 1, 4, 2 }, p[] = { 1, 2, 1 };
	struct topo *whole = pgft(3, m, w, p);
	unsigned refused = 0, cyclic = 0, passed = 0, wary = 0;

	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct scene s =
			scene_of(damage_links(whole, 2 * (seed % 4), seed / 8), NULL, NULL);
		uint64_t random = seed;
		struct check_report report;
		struct far_verdict v;
		char *text;
		bool sound;

		assert_true(is_sound(&s, &report));
		if (report.unreachable) {
			drop(&s);
			continue;
		}
		for (unsigned n = seed % 2 + 1; n; n--)
			spoil(&s, &random);
		sound = is_sound(&s, &report);
		text = text_of(&s);
		v = far_judge(s.t, s.lids->port_of_lid, s.lids->top, text);
		if (v.bad_lines || v.lost || v.loops || v.thin || v.circular) {
			if (sound)
				fail_msg("seed %u: bad %u, lost %lu, loops %lu, thin %lu, cycles "
					 "%lu",
					 (unsigned)seed, v.bad_lines, v.lost, v.loops, v.thin,
					 v.circular);
			refused++;
			cyclic += !v.bad_lines && !v.thin && v.circular;
		} else {
			passed += sound;
			wary += !sound;
		}
		assert_int_equal(!sound, report.first[0] != 0);
		free(text);
		drop(&s);
	}
	assert_true(refused > 100 && cyclic > 50 && passed > 20);
	assert_int_equal(wary, 0);
	topo_unref(whole);
}

static void a_member_whose_link_has_died_is_refused(void **state)
{
	struct scene s = scene_of(superpod(GENERATE_H100, 1), NULL, NULL);
	struct topo *cut;
	struct check_report report;
	struct scene later;
	uint32_t sw;

	any_group(&s, 0, &sw);
	cut = damage_cut(s.t, sw, s.t->nodes[sw].nports - 1);
	later = scene_of(cut, s.lids, NULL);
	assert_true(is_sound(&later, &report));
	ar_groups_free(later.groups);
	later.groups = s.groups;
	assert_false(is_sound(&later, &report));
	later.groups = NULL;
	drop(&later);
	drop(&s);
}

/* ---- As text --------------------------------------------------------------------------------- */

static void judge_text(struct topo *t, bool intact)
{
	struct scene s = scene_of(t, NULL, NULL);
	struct check_report report;
	char *text = text_of(&s);
	struct far_verdict v = far_judge(s.t, s.lids->port_of_lid, s.lids->top, text);

	assert_true(is_sound(&s, &report));
	assert_int_equal(v.bad_lines, 0);
	assert_int_equal(v.loops, 0);
	assert_int_equal(v.circular, 0);
	assert_int_equal(v.thin, 0);
	assert_true(v.free_entries > 0 && v.pairs > 0);
	assert_int_equal(v.lost > 0, report.unreachable + report.disconnected > 0);
	if (intact)
		assert_int_equal(v.lost, 0);
	free(text);
	drop(&s);
}

static void another_judge_finds_no_loop_and_all_pairs(void **state)
{
	static const enum generate_system systems[] = { GENERATE_A100, GENERATE_H100,
							GENERATE_B200 };

	for (unsigned i = 0; i < ARRAY_SIZE(systems); i++) {
		struct topo *t = superpod(systems[i], 4);

		judge_text(damage_new_guids(t, 3 + i), true);
		judge_text(damage_links(t, 2, 9 + i), false);
		judge_text(t, true);
	}
}

static void what_was_written_is_read_again(void **state)
{
	struct topo *whole = superpod(GENERATE_H100, 2);
	struct scene s = scene_of(damage_links(whole, 3, 4), NULL, NULL), again = s;
	struct check_report report;
	char *text = text_of(&s), err[256];
	FILE *in = fmemopen(text, strlen(text), "r");

	again.tables = (struct tables){ 0 };
	again.groups = ar_far_read(s.t, s.lids, "x", in, &again.tables, err, sizeof(err));
	fclose(in);
	assert_non_null(again.groups);
	for (uint32_t sw = 0; sw < s.t->nswitches; sw++)
		for (uint32_t lid = 1; lid <= s.lids->top; lid++) {
			const struct ar_ports *a = ar_members(s.groups, sw, lid);
			const struct ar_ports *b = ar_members(again.groups, sw, lid);

			assert_int_equal(!a, !b);
			if (a)
				assert_memory_equal(a, b, sizeof(*a));
			assert_int_equal(tables_row(&s.tables, sw)[lid],
					 tables_row(&again.tables, sw)[lid]);
		}
	assert_true(is_sound(&again, &report));
	ar_groups_free(again.groups);
	tables_fini(&again.tables);
	free(text);
	drop(&s);
	topo_unref(whole);
}

#define HEAD                                                                                       \
	"File version: 1\nSwitch 0x%lx x\nGroups Definition:\nGroup Sub Group WHBF Ports\n---\n"
#define LFT "LFT Definition:\nPLFT_NUM: 0, top: 0x10\nLID Static Port Lid State Group\n---\n"

static void a_text_of_another_fabric_is_refused_with_the_line(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "", "x:0: it is empty" },
		{ "nonsense\n", "x:1: what is that?" },
		{ "File version: 1\nSwitch 0x1 x\n", "x:2: the fabric has no such switch" },
		{ HEAD "0 0 0 1,250,\n", "x:6: the switch has no such port" },
		{ HEAD "1 0 0 1,2,\n0 0 0 1,2,\n", "x:7: groups do not ascend" },
		{ HEAD "5000 0 0 1,2,\n", "x:6: a group" },
		{ HEAD "0 0 0 1;2\n", "x:6: a group" },
		{ HEAD "0 0 0 1,2,\n" LFT "0x01 1 Free 7\n", "x:11: the switch has no such group" },
		{ HEAD LFT "0xbfff 1 Static 0\n", "x:10: no port of this fabric has the LID" },
		{ HEAD LFT "0x01 250 Static 0\n", "x:10: the switch has no such port" },
		{ HEAD LFT "0x01 1 Maybe 0\n", "x:10: a LID" },
	};
	struct scene s = scene_of(superpod(GENERATE_H100, 1), NULL, NULL);

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[512], err[256] = "";
		struct tables tables = { 0 };
		FILE *in;

		snprintf(text, sizeof(text), cases[i].text, (unsigned long)s.t->nodes[0].guid);
		in = fmemopen(text, strlen(text) + !*text, "r");
		assert_null(ar_far_read(s.t, s.lids, "x", in, &tables, err, sizeof(err)));
		if (*text && strncmp(err, cases[i].why, strlen(cases[i].why)))
			fail_msg("%s, not %s", err, cases[i].why);
		fclose(in);
		tables_fini(&tables);
	}
	drop(&s);
}

/* ---- What they give -------------------------------------------------------------------------- */

static void random_pairs_get_their_bandwidth_with_groups(void **state)
{
	struct topo *whole = superpod(GENERATE_H100, 4);

	for (unsigned percent = 0; percent <= 1; percent++) {
		struct scene s = scene_of(damage_links(whole, percent, 5), NULL, NULL);
		const struct congestion_scene scene = { s.t, s.lids, &s.tables, NULL };
		struct ebb plain, adaptive;

		ebb_measure(&scene, NULL, &plain);
		ebb_measure(&scene, s.groups, &adaptive);
		assert_true(plain.of[EBB_BISECTION].mean < 0.7);
		assert_true(adaptive.of[EBB_BISECTION].mean > (percent ? 0.9 : 0.999));
		assert_true(adaptive.of[EBB_BISECTION].slowest_tenth > (percent ? 0.85 : 0.999));
		drop(&s);
	}
	topo_unref(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_are_all_minimal_ports),
		cmocka_unit_test(storage_stays_on_its_port),
		cmocka_unit_test(a_fault_renumbers_nothing),
		cmocka_unit_test(one_group_serves_all_that_all_links_up_lead_to),
		cmocka_unit_test(few_numbers_are_shared_and_all_is_still_proven),
		cmocka_unit_test(what_is_kept_of_earlier_groups_changes_nothing),
		cmocka_unit_test(the_proof_refuses_what_is_wrong),
		cmocka_unit_test(what_another_judge_refuses_of_spoilt_groups_the_proof_refuses),
		cmocka_unit_test(a_member_whose_link_has_died_is_refused),
		cmocka_unit_test(another_judge_finds_no_loop_and_all_pairs),
		cmocka_unit_test(what_was_written_is_read_again),
		cmocka_unit_test(a_text_of_another_fabric_is_refused_with_the_line),
		cmocka_unit_test(random_pairs_get_their_bandwidth_with_groups),
	};

	return cmocka_run_group_tests_name("groups", tests, NULL, NULL);
}
