/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* damage: see damage.h. Randomness is a seeded splitmix64, so that a failing case can be named and repeated. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/fabric/damage.h"
#include "topology/generate.h"
#include "topology/mem.h"
#include "topology/random.h"

uint64_t damage_random(uint64_t *state)
{
	return random_next(state);
}

/* Each cable between switches once: at its lower port index. */
static bool first_end_of_isl(const struct topo *t, uint32_t port)
{
	const struct topo_port *p = &t->ports[port];

	return p->peer != TOPO_NONE && p->peer > port && p->node < t->nswitches &&
	       t->ports[p->peer].node < t->nswitches;
}

struct topo *damage_links(const struct topo *t, unsigned percent, uint64_t seed)
{
	struct topo_builder *b = topo_builder_from(t);

	for (uint32_t i = 0; i < t->nports; i++)
		if (first_end_of_isl(t, i) && damage_random(&seed) % 100 < percent)
			topo_builder_link_down(b, t->ports[i].node, t->ports[i].num);
	return topo_freeze(b);
}

struct topo *damage_cut(const struct topo *t, uint32_t node, unsigned port)
{
	struct topo_builder *b = topo_builder_from(t);

	for (unsigned num = 1; num <= t->nodes[node].nports; num++)
		if ((!port || num == port) && topo_port(t, node, num)->peer != TOPO_NONE)
			topo_builder_link_down(b, node, num);
	return topo_freeze(b);
}

static struct topo_node_attr attr_of(const struct topo_node *n, guid_t guid)
{
	return (struct topo_node_attr){ .guid = guid,
					.sys_guid = guid,
					.desc = n->desc,
					.type = n->type,
					.nports = n->nports,
					.lft_cap = n->lft_cap,
					.sharp = n->sharp };
}

struct topo *damage_new_guids(const struct topo *t, uint64_t seed)
{
	struct topo_builder *b = topo_builder_new();

	for (uint32_t n = 0; n < t->nnodes; n++) {
		struct topo_node_attr attr = attr_of(&t->nodes[n], damage_random(&seed) | 1);
		int handle = topo_builder_node(b, &attr);

		assert(handle == (int)n);
		for (unsigned num = 0; num <= t->nodes[n].nports; num++) {
			struct topo_port_attr port = { .guid = attr.guid + num,
						       .state = TOPO_INIT };

			if (num == 0 ? attr.type == TOPO_SWITCH : attr.type != TOPO_SWITCH)
				topo_builder_port(b, handle, num, &port);
		}
	}
	for (uint32_t i = 0; i < t->nports; i++) {
		const struct topo_port *p = &t->ports[i];

		if (p->peer != TOPO_NONE && p->peer > i)
			topo_builder_link(b, p->node, p->num, t->ports[p->peer].node,
					  t->ports[p->peer].num, p->link_up);
	}
	return topo_freeze(b);
}

struct lid_map *damage_new_lids(const struct topo *t, uint64_t seed)
{
	struct lid_map *plan = lid_plan(t, NULL), *shuffled;
	struct lid_memory memory = { 0 };

	lid_memory_learn(&memory, t, plan);
	for (uint32_t i = memory.count; i > 1; i--) {
		uint32_t k = damage_random(&seed) % i;
		uint16_t lid = memory.entries[i - 1].lid;

		memory.entries[i - 1].lid = memory.entries[k].lid;
		memory.entries[k].lid = lid;
	}
	shuffled = lid_plan(t, &memory);
	lid_map_free(plan);
	lid_memory_fini(&memory);
	return shuffled;
}

static int add_node(struct topo_builder *b, enum topo_type type, guid_t guid, unsigned nports,
		    const char *name)
{
	struct topo_node_attr attr = {
		.guid = guid, .sys_guid = guid, .desc = name, .type = type, .nports = nports
	};
	struct topo_port_attr port = { .guid = guid, .state = TOPO_INIT };
	int handle = topo_builder_node(b, &attr);

	topo_builder_port(b, handle, type == TOPO_SWITCH ? 0 : 1, &port);
	return handle;
}

struct topo *damage_ring(unsigned switches, unsigned hosts_each)
{
	struct topo_builder *b = topo_builder_new();

	for (unsigned s = 0; s < switches; s++) {
		char name[32];

		snprintf(name, sizeof(name), "ring-%u", s);
		add_node(b, TOPO_SWITCH, 0x100 + s, hosts_each + 2, name);
	}
	for (unsigned s = 0; s < switches; s++) {
		topo_builder_link(b, s, 1, (s + 1) % switches, 2, true);
		for (unsigned h = 0; h < hosts_each; h++) {
			char name[48];

			snprintf(name, sizeof(name), "host-%u-%u HCA-1", s, h);
			int host = add_node(b, TOPO_CA, 0x10000 + s * 0x100 + h, 1, name);
			topo_builder_link(b, s, 3 + h, host, 1, true);
		}
	}
	return topo_freeze(b);
}

struct topo *damage_random_pgft(uint64_t seed)
{
	unsigned tiers = 2 + damage_random(&seed) % 2;
	unsigned m[3], w[3] = { 1 }, p[3] = { 1, 1, 1 };
	char err[256];

	for (unsigned i = 0; i < tiers; i++)
		m[i] = 1 + damage_random(&seed) % 6;
	for (unsigned i = 1; i < tiers; i++) {
		w[i] = 1 + damage_random(&seed) % 5;
		p[i] = 1 + damage_random(&seed) % 3;
	}
	m[tiers - 1]++;
	return generate_pgft(tiers, m, w, p, err, sizeof(err));
}
