/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Levels and roles that an operator would give, in trees that are not populated everywhere or have
 * leaves in odd places.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/fabric/damage.h"
#include "tests/lib/fabrics.h"
#include "topology/snapshot/topo_builder.h"

static struct topo *make(unsigned h, const unsigned *m, const unsigned *w)
{
	char err[256];

	return generate_pgft(h, m, w, NULL, err, sizeof(err));
}

/* Three tiers of four pods of four leaves. */
static struct topo *tree(void)
{
	static const unsigned m[] = { 4, 4, 4 }, w[] = { 1, 4, 4 };

	return make(3, m, w);
}

static bool starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Each switch is what its name says. */
static void assert_named(const struct topo *t)
{
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		const struct topo_node *node = &t->nodes[sw];
		enum topo_role role = starts(node->desc, "leaf")    ? TOPO_LEAF
				      : starts(node->desc, "spine") ? TOPO_SPINE
								    : TOPO_CORE;

		if (node->role != role)
			fail_msg("%s is a %s of level %u", node->desc, topo_role_name(node->role),
				 node->level);
	}
}

static void assert_level(const struct topo *t, const char *desc, unsigned level)
{
	const struct topo_node *node = node_named(t, desc);

	if (node->level != level)
		fail_msg("%s stands on level %u", desc, node->level);
}

/* Without the hosts of some leaves: first .. end - 1. */
static struct topo *without_hosts(struct topo *t, unsigned first, unsigned end)
{
	struct topo_builder *b = topo_builder_new();
	struct topo *less;

	for (uint32_t n = 0; n < t->nswitches || n < t->nnodes; n++) {
		const struct topo_node *old = &t->nodes[n];
		struct topo_node attr = { .guid = old->guid,
					  .desc = old->desc,
					  .type = old->type,
					  .nports = old->nports };
		struct topo_port port = { .guid = old->guid + 1 };
		int handle = topo_builder_node(b, &attr);

		assert_int_equal(handle, n);
		if (old->type == TOPO_CA)
			topo_builder_port(b, handle, 1, &port);
	}
	for (uint32_t i = 0; i < t->nports; i++) {
		const struct topo_port *p = &t->ports[i], *peer = topo_peer(t, p);
		bool host = peer && t->nodes[peer->node].type == TOPO_CA;

		if (!peer || p->peer < i || (host && p->node >= first && p->node < end))
			continue;
		topo_builder_link(b, (int)p->node, p->num, (int)peer->node, peer->num, true);
	}
	less = topo_freeze(b);
	topo_unref(t);
	return less;
}

/* A leaf of some hosts, cabled to switches of a kind by their free ports. */
static struct topo *with_leaf_on(struct topo *t, const char *kind, unsigned free_port)
{
	struct topo_builder *b = topo_builder_from(t);
	const struct topo_node attr = {
		.guid = 0xabc000, .desc = "leaf-management", .type = TOPO_SWITCH, .nports = 64
	};
	int leaf = topo_builder_node(b, &attr);
	unsigned num = 1;
	struct topo *more;

	for (unsigned h = 0; h < 24; h++) {
		struct topo_node ca = {
			.guid = 0xabd000 + 16 * h, .desc = "manager", .type = TOPO_CA, .nports = 1
		};
		struct topo_port port = { .guid = 0xabd001 + 16 * h };
		int handle = topo_builder_node(b, &ca);

		topo_builder_port(b, handle, 1, &port);
		topo_builder_link(b, leaf, num++, handle, 1, true);
	}
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		if (starts(t->nodes[sw].desc, kind))
			topo_builder_link(b, leaf, num++, (int)sw, free_port, true);
	more = topo_freeze(b);
	topo_unref(t);
	return more;
}

/* A tree whose cores have one port more than they need. */
static struct topo *tree_with_free_ports(void)
{
	struct topo *t = tree(), *more;
	struct topo_builder *b = topo_builder_new();

	for (uint32_t n = 0; n < t->nnodes; n++) {
		const struct topo_node *old = &t->nodes[n];
		struct topo_node attr = { .guid = old->guid,
					  .desc = old->desc,
					  .type = old->type,
					  .nports = n < t->nswitches ? 16 : 1 };
		struct topo_port port = { .guid = old->guid + 1 };
		int handle = topo_builder_node(b, &attr);

		if (old->type == TOPO_CA)
			topo_builder_port(b, handle, 1, &port);
	}
	for (uint32_t i = 0; i < t->nports; i++)
		if (t->ports[i].peer != TOPO_NONE && t->ports[i].peer > i)
			topo_builder_link(b, (int)t->ports[i].node, t->ports[i].num,
					  (int)t->ports[t->ports[i].peer].node,
					  t->ports[t->ports[i].peer].num, true);
	more = topo_freeze(b);
	topo_unref(t);
	return more;
}

static void a_regular_tree_has_its_tiers(void **state)
{
	static const unsigned m4[] = { 3, 3, 3, 3 }, w4[] = { 1, 3, 3, 3 };
	struct topo *t = tree(), *big = make(4, m4, w4), *unit = pod(9);

	assert_named(t);
	assert_named(unit);
	assert_int_equal(big->nlevels, 4);
	assert_level(big, "spine-0001", 1);
	assert_level(big, "spine3-0001", 2);
	assert_level(big, "core-0001", 3);
	topo_unref(t);
	topo_unref(big);
	topo_unref(unit);
}

static void leaves_without_hosts_are_leaves(void **state)
{
	struct topo *t = without_hosts(tree(), 0, 3);

	assert_named(t);
	topo_unref(t);
}

/*
 * Spines and leaves of it are cabled, and no host yet: they are no tiers above the cores, and the
 * cores are the top.
 */
static void a_pod_without_hosts_stands_where_the_others_do(void **state)
{
	struct topo *t = without_hosts(tree(), 0, 4);

	assert_int_equal(t->nlevels, 3);
	assert_named(t);
	topo_unref(t);
}

static void a_leaf_on_the_cores_pulls_none_of_them_down(void **state)
{
	struct topo *t = with_leaf_on(tree_with_free_ports(), "core", 16);

	assert_int_equal(t->nlevels, 3);
	assert_named(t);
	topo_unref(t);
}

/* The cores are directors of four line cards, of which edge switches use two. */
static void line_cards_that_nobody_uses_are_no_tier(void **state)
{
	static const unsigned m[] = { 4, 4, 4 }, w[] = { 1, 2, 4 };
	struct topo *t = without_hosts(make(3, m, w), 0, 8);

	assert_int_equal(t->nlevels, 3);
	assert_named(t);
	topo_unref(t);
}

/*
 * Nine-port chips: cards 1 to 5 are a director's line cards, tops 1 to 4 in it, and each edge
 * switch is cabled to three of the cards: more than half of them.
 */
static void a_directors_spines_are_no_leaves(void **state)
{
	struct topo_builder *b = topo_builder_new();
	int node[32];
	char name[32];

	for (unsigned n = 0; n < 19; n++) {
		struct topo_node attr = { .guid = 0x100 * (n + 1),
					  .desc = name,
					  .type = n < 14 ? TOPO_SWITCH : TOPO_CA,
					  .nports = n < 14 ? 9 : 1 };
		struct topo_port port = { .guid = attr.guid + 1 };

		snprintf(name, sizeof(name), "%s-%u",
			 n < 5	  ? "leaf"
			 : n < 10 ? "spine"
			 : n < 14 ? "core"
				  : "node",
			 n);
		node[n] = topo_builder_node(b, &attr);
		if (n >= 14)
			topo_builder_port(b, node[n], 1, &port);
	}
	for (unsigned edge = 0; edge < 5; edge++) {
		topo_builder_link(b, node[edge], 1, node[14 + edge], 1, true);
		for (unsigned k = 0; k < 3; k++)
			topo_builder_link(b, node[edge], 2 + k, node[5 + (edge + k) % 5], 1 + k,
					  true);
	}
	for (unsigned card = 0; card < 5; card++)
		for (unsigned top = 0; top < 4; top++)
			topo_builder_link(b, node[5 + card], 4 + top, node[10 + top], 1 + card,
					  true);
	struct topo *t = topo_freeze(b);

	assert_int_equal(t->nlevels, 3);
	assert_named(t);
	topo_unref(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_regular_tree_has_its_tiers),
		cmocka_unit_test(leaves_without_hosts_are_leaves),
		cmocka_unit_test(a_pod_without_hosts_stands_where_the_others_do),
		cmocka_unit_test(a_leaf_on_the_cores_pulls_none_of_them_down),
		cmocka_unit_test(line_cards_that_nobody_uses_are_no_tier),
		cmocka_unit_test(a_directors_spines_are_no_leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
