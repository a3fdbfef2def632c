/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Rails of a director: each rail has line cards of its own, and a host's HCAs are on any of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "topology/cabling/cabling.h"
#include "topology/snapshot/topo.h"
#include "topology/snapshot/topo_builder.h"

#define RAILS  4
#define CARDS  5 /* of a rail */
#define LEAVES (RAILS * CARDS)
#define SPINES 3
#define HOSTS  40
#define PORTS  40

struct plan {
	struct topo_builder *b;
	int leaf[LEAVES], spine[SPINES];
	unsigned next[LEAVES]; /* free port */
};

static int add_switch(struct plan *p, unsigned number)
{
	struct topo_node attr = {
		.guid = 0x1000 * (number + 1), .desc = "chip", .type = TOPO_SWITCH, .nports = PORTS
	};

	return topo_builder_node(p->b, &attr);
}

static void add_chips(struct plan *p)
{
	for (unsigned i = 0; i < LEAVES; i++) {
		p->leaf[i] = add_switch(p, i);
		p->next[i] = SPINES + 1;
	}
	for (unsigned s = 0; s < SPINES; s++) {
		p->spine[s] = add_switch(p, LEAVES + s);
		for (unsigned i = 0; i < LEAVES; i++)
			topo_builder_link(p->b, p->leaf[i], s + 1, p->spine[s], i + 1, true);
	}
}

static void add_hca(struct plan *p, unsigned host, unsigned rail, unsigned leaf, const char *device)
{
	char desc[32];
	struct topo_node attr = { .guid = 0x1000000 + 0x1000 * host + 0x10 * rail,
				  .desc = desc,
				  .type = TOPO_CA,
				  .nports = 1 };
	struct topo_port port = { .guid = attr.guid + 1 };
	int hca;

	snprintf(desc, sizeof(desc), "node%02u %s%u", host, device, rail);
	hca = topo_builder_node(p->b, &attr);
	topo_builder_port(p->b, hca, 1, &port);
	topo_builder_link(p->b, p->leaf[leaf], p->next[leaf]++, hca, 1, true);
}

/*
 * Host by host some card of each rail, another rail's being no hint; one host's first two HCAs may
 * be exchanged.
 */
static struct topo *director(int exchanged)
{
	static const unsigned strides[RAILS] = { 1, 2, 3, 4 };
	struct plan p = { .b = topo_builder_new() };

	add_chips(&p);
	for (unsigned host = 0; host < HOSTS; host++)
		for (unsigned rail = 0; rail < RAILS; rail++) {
			unsigned on = (int)host == exchanged && rail < 2 ? 1 - rail : rail;

			add_hca(&p, host, rail,
				on * CARDS + (host * strides[on] + host / CARDS * on) % CARDS,
				"mlx5_");
		}
	return topo_freeze(p.b);
}

static void all_line_cards_have_the_rail_of_their_hcas(void **state)
{
	struct topo *t = director(-1);

	for (uint32_t n = 0; n < t->nnodes; n++) {
		const struct topo_node *node = &t->nodes[n];
		int rail = node->type == TOPO_CA ? node->desc[strlen(node->desc) - 1] - '0'
			   : n < LEAVES		 ? (int)n / CARDS
						 : -1;

		if (node->rail != rail)
			fail_msg("node %u, %s: rail %d, not %d", n, node->desc, node->rail, rail);
	}
	topo_unref(t);
}

static void hcas_on_cards_of_another_rail_are_found(void **state)
{
	struct topo *t = director(-1), *wrong = director(3);
	struct cabling *c = cabling_pattern(t);
	char text[512];

	assert_int_equal(c->count, 0);
	cabling_free(c);
	c = cabling_pattern(wrong);
	assert_int_equal(c->count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(c->items[i].kind, CABLING_RAIL);
		assert_int_equal(c->items[i].rail, 1 - c->items[i].leaf_rail);
	}
	cabling_instruct(&c->items[0], text, sizeof(text));
	assert_non_null(strstr(text, " belongs on a leaf of rail "));
	cabling_free(c);
	topo_unref(t);
	topo_unref(wrong);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_line_cards_have_the_rail_of_their_hcas),
		cmocka_unit_test(hcas_on_cards_of_another_rail_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
