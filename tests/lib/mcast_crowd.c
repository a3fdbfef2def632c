/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/mcast_crowd.h"

void crowd_fini(struct crowd *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		free((void *)c->groups[i].members);
	free(c->groups);
}

/* Ports that may be members: of CAs, and port 0 of switches. */
static uint32_t list_ends(const struct topo *t, bool only_hosts, uint32_t *ends)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->nports; i++) {
		const struct topo_port *port = &t->ports[i];

		if (port->node < t->nswitches ? port->num == 0 && !only_hosts
					      : port->peer != TOPO_NONE)
			ends[n++] = i;
	}
	return n;
}

struct crowd random_groups_of(const struct topo *t, bool only_hosts, uint32_t ngroups,
			      uint32_t nmembers, uint64_t seed)
{
	struct crowd c = { ngroups, mem_alloc(ngroups, sizeof(*c.groups)) };
	uint32_t *ends = mem_alloc(t->nports, sizeof(*ends)), n = list_ends(t, only_hosts, ends);

	for (uint32_t g = 0; g < ngroups; g++) {
		uint32_t count = nmembers < n ? nmembers : n;
		struct mcast_member *members = mem_alloc(count, sizeof(*members));

		for (uint32_t i = 0; i < count; i++) {
			uint32_t k = i + damage_random(&seed) % (n - i), end = ends[k];

			ends[k] = ends[i];
			ends[i] = end;
			members[i] = (struct mcast_member){ end, damage_random(&seed) % 5 == 0 };
		}
		c.groups[g] = (struct mcast_group){ MLID(g), count, members, false };
	}
	free(ends);
	return c;
}

struct crowd random_groups(const struct topo *t, uint32_t ngroups, uint32_t nmembers, uint64_t seed)
{
	return random_groups_of(t, false, ngroups, nmembers, seed);
}

void assert_right(const struct topo *t, const struct mcast_group *group,
		  const struct mcast_tree *tree)
{
	char err[256];

	if (!mcast_tree_check(t, group, tree, err, sizeof(err)))
		fail_msg("MLID 0x%x: %s", group->mlid, err);
}

void assert_plan_right(const struct topo *t, const struct crowd *c, const struct mcast_plan *plan)
{
	assert_int_equal(plan->ntrees, c->n);
	for (uint32_t i = 0; i < c->n; i++)
		assert_right(t, &c->groups[i], &plan->trees[i]);
}

struct topo *pgft(unsigned h, const unsigned *m, const unsigned *w, const unsigned *p)
{
	char err[256];

	return generate_pgft(h, m, w, p, err, sizeof(err));
}

struct topo *two_tier_tree(void)
{
	static const unsigned m[] = { 4, 4 }, w[] = { 1, 3 }, p[] = { 1, 1 };

	return pgft(2, m, w, p);
}

uint32_t switch_of_level(const struct topo *t, unsigned level, unsigned n)
{
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		if (t->nodes[sw].level == level && n-- == 0)
			return sw;
	fail_msg("no switch %u of level %u", n, level);
	return 0;
}

uint32_t host_at(const struct topo *t, uint32_t sw, unsigned num)
{
	assert_int_not_equal(topo_port(t, sw, num)->peer, TOPO_NONE);
	return topo_port(t, sw, num)->peer;
}

const struct mcast_hop *hop_at(const struct mcast_tree *tree, uint32_t sw)
{
	for (uint32_t i = 0; i < tree->nhops; i++)
		if (tree->hops[i].sw == sw)
			return &tree->hops[i];
	return NULL;
}

struct mcast_tree tree_for(const struct topo *t, const struct mcast_group *group)
{
	struct mcast *m = mcast_new(t, GRAPH_BY_LEVEL);
	struct mcast_tree tree;

	mcast_tree_start(m, group, NULL, &tree);
	while (!mcast_tree_step(m))
		;
	mcast_free(m);
	return tree;
}
