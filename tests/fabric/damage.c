/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * damage: see damage.h. Randomness is a seeded splitmix64, so that a failing case can be named and
 * repeated.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/fabric/damage.h"
#include "topology/generate/generate.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/snapshot/topo_builder.h"

unsigned damage_stride(unsigned sanitized)
{
#ifdef __SANITIZE_ADDRESS__
	return getenv("LONG") ? 1 : sanitized;
#else
	return 1;
#endif
}

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

struct topo *damage_moment(const struct topo *t, uint64_t seed)
{
	struct topo *now = topo_with_ports(t);
	bool *down = mem_alloc(t->nports, sizeof(*down));

	for (uint32_t i = 0; i < t->nports; i++) {
		const struct topo_port *port = &t->ports[i];
		struct topo_port attr = { .lid = port->lid, .state = port->state };

		if (port->peer == TOPO_NONE || port->peer > i)
			down[i] = damage_random(&seed) % 10 == 0;
		else
			down[i] = down[port->peer];
		attr.cordoned = seed % 4 == 0 && damage_random(&seed) % 16 == 0;
		topo_with_port(now, i, &attr, !down[i]);
	}
	free(down);
	return now;
}

static struct topo_node attr_of(const struct topo_node *n, guid_t guid)
{
	return (struct topo_node){ .guid = guid,
				   .sys_guid = guid,
				   .desc = n->desc,
				   .type = n->type,
				   .nports = n->nports,
				   .lft_cap = n->lft_cap,
				   .sharp = n->sharp };
}

/* Its nodes without cables; seed NULL = by their GUIDs. */
static struct topo_builder *nodes_alone(const struct topo *t, uint64_t *seed)
{
	struct topo_builder *b = topo_builder_new();

	for (uint32_t n = 0; n < t->nnodes; n++) {
		guid_t guid = seed ? damage_random(seed) | 1 : t->nodes[n].guid;
		struct topo_node attr = attr_of(&t->nodes[n], guid);
		int handle = topo_builder_node(b, &attr);

		assert(handle == (int)n);
		for (unsigned num = 0; num <= t->nodes[n].nports; num++) {
			struct topo_port port = { .guid = attr.guid + num, .state = TOPO_INIT };

			if (num == 0 ? attr.type == TOPO_SWITCH : attr.type != TOPO_SWITCH)
				topo_builder_port(b, handle, num, &port);
		}
	}
	return b;
}

struct topo *damage_new_guids(const struct topo *t, uint64_t seed)
{
	struct topo_builder *b = nodes_alone(t, &seed);

	for (uint32_t i = 0; i < t->nports; i++) {
		const struct topo_port *p = &t->ports[i];

		if (p->peer != TOPO_NONE && p->peer > i)
			topo_builder_link(b, p->node, p->num, t->ports[p->peer].node,
					  t->ports[p->peer].num, p->link_up);
	}
	return topo_freeze(b);
}

/* Swaps the far ends of each cable and some other one, or itself, between the same switches. */
static void swap_ends(const struct topo *t, uint32_t *peer, uint64_t *seed)
{
	for (uint32_t i = 0; i < t->nports; i++) {
		const struct topo_node *node = &t->nodes[t->ports[i].node];
		uint32_t other = node->port0 + damage_random(seed) % (node->nports + 1u);
		uint32_t end = peer[i];

		if (!first_end_of_isl(t, i) || !first_end_of_isl(t, other) ||
		    t->ports[peer[other]].node != t->ports[end].node)
			continue;
		peer[i] = peer[other];
		peer[other] = end;
	}
}

/* As swap_ends(), of which one is up. */
static void swap_states(const struct topo *t, bool *up, uint64_t *seed)
{
	for (uint32_t i = 0; i < t->nports; i++) {
		const struct topo_node *node = &t->nodes[t->ports[i].node];
		uint32_t other = node->port0 + damage_random(seed) % (node->nports + 1u);
		bool state = up[i];

		if (!first_end_of_isl(t, i) || !first_end_of_isl(t, other) ||
		    t->ports[t->ports[other].peer].node != t->ports[t->ports[i].peer].node)
			continue;
		up[i] = up[other];
		up[other] = state;
	}
}

struct topo *damage_remove(const struct topo *t, unsigned percent, uint64_t seed)
{
	struct topo_builder *b = nodes_alone(t, NULL);

	for (uint32_t i = 0; i < t->nports; i++) {
		const struct topo_port *p = &t->ports[i];

		if (p->peer == TOPO_NONE || p->peer < i ||
		    (first_end_of_isl(t, i) && damage_random(&seed) % 100 < percent))
			continue;
		topo_builder_link(b, p->node, p->num, t->ports[p->peer].node, t->ports[p->peer].num,
				  p->link_up);
	}
	return topo_freeze(b);
}

struct topo *damage_new_cables(const struct topo *t, uint64_t seed)
{
	struct topo_builder *b = nodes_alone(t, NULL);
	uint32_t *peer = mem_alloc(t->nports, sizeof(*peer));
	bool *up = mem_alloc(t->nports, sizeof(*up));

	for (uint32_t i = 0; i < t->nports; i++) {
		peer[i] = t->ports[i].peer;
		up[i] = t->ports[i].link_up;
	}
	swap_ends(t, peer, &seed);
	swap_states(t, up, &seed);
	for (uint32_t i = 0; i < t->nports; i++)
		if (t->ports[i].peer != TOPO_NONE && t->ports[i].peer > i)
			topo_builder_link(b, t->ports[i].node, t->ports[i].num,
					  t->ports[peer[i]].node, t->ports[peer[i]].num, up[i]);
	free(peer);
	free(up);
	return topo_freeze(b);
}

struct lid_map *damage_new_lids(const struct topo *t, uint64_t seed)
{
	struct lid_map *plan = lid_plan(t, NULL, 0), *shuffled;
	struct lid_memory memory = { 0 };

	lid_memory_learn(&memory, t, plan, 0);
	for (uint32_t i = memory.count; i > 1; i--) {
		uint32_t k = damage_random(&seed) % i;
		uint16_t lid = memory.entries[i - 1].lid;

		memory.entries[i - 1].lid = memory.entries[k].lid;
		memory.entries[k].lid = lid;
	}
	shuffled = lid_plan(t, &memory, 0);
	lid_map_free(plan);
	lid_memory_fini(&memory);
	return shuffled;
}

static int add_attr(struct topo_builder *b, const struct topo_node *attr)
{
	struct topo_port port = { .guid = attr->guid, .state = TOPO_INIT };
	int handle = topo_builder_node(b, attr);

	topo_builder_port(b, handle, attr->type == TOPO_SWITCH ? 0 : 1, &port);
	return handle;
}

static int add_node(struct topo_builder *b, enum topo_type type, guid_t guid, unsigned nports,
		    const char *name)
{
	return add_attr(b, &(struct topo_node){ .guid = guid,
						.sys_guid = guid,
						.desc = name,
						.type = type,
						.nports = nports });
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

/* Ports of a pod's switches: its own first, by number of the peer, then a spine's cores. */
static void add_crossed_pod(struct topo_builder *b, unsigned pod, unsigned wide, int first_core)
{
	int first = 0;
	char name[48];

	for (unsigned s = 0; s < 2 * wide; s++) {
		snprintf(name, sizeof(name), "%s-%u-%u", s < wide ? "leaf" : "spine", pod,
			 s % wide);
		int sw = add_node(b, TOPO_SWITCH, 0x1000 + pod * 0x100 + s, 2 * wide, name);
		first = s ? first : sw;
	}
	for (unsigned l = 0; l < wide; l++)
		for (unsigned s = 0; s < wide; s++) {
			snprintf(name, sizeof(name), "host-%u-%u-%u HCA-1", pod, l, s);
			int host = add_node(b, TOPO_CA, 0x100000 + pod * 0x10000 + l * 0x100 + s, 1,
					    name);

			topo_builder_link(b, first + l, 1 + s, first + wide + s, 1 + l, true);
			topo_builder_link(b, first + l, 1 + wide + s, host, 1, true);
		}
	for (unsigned s = 0; s < wide; s++)
		for (unsigned core = s % 2; core < wide; core += 2)
			topo_builder_link(b, first + wide + s, 1 + wide + core, first_core + core,
					  1 + pod * wide + s, true);
}

struct topo *damage_crossed_pods(unsigned pods, unsigned wide)
{
	struct topo_builder *b = topo_builder_new();
	char name[32];

	for (unsigned core = 0; core < wide; core++) {
		snprintf(name, sizeof(name), "core-%u", core);
		add_node(b, TOPO_SWITCH, 0x100 + core, pods * wide, name);
	}
	for (unsigned pod = 0; pod < pods; pod++)
		add_crossed_pod(b, pod, wide, 0);
	return topo_freeze(b);
}

#define TANGLE_PORTS 12

/* One of four is a SHARP aggregation node. */
static void add_tangle_hosts(struct topo_builder *b, unsigned s, uint64_t *seed)
{
	unsigned hosts = damage_random(seed) % 4;
	char name[48];

	for (unsigned h = 0; h < hosts; h++) {
		struct topo_node attr = { .guid = 0x100000 + s * 0x100 + h,
					  .desc = name,
					  .type = TOPO_CA,
					  .nports = 1,
					  .sharp = damage_random(seed) % 4 == 0 };

		attr.sys_guid = attr.guid;
		snprintf(name, sizeof(name), "host-%u-%u HCA-1", s, h);
		topo_builder_link(b, s, 1 + h, add_attr(b, &attr), 1, true);
	}
}

struct topo *damage_tangle(uint64_t seed)
{
	struct topo_builder *b = topo_builder_new();
	unsigned switches = 2 + damage_random(&seed) % 9;
	char name[32];

	for (unsigned s = 0; s < switches; s++) {
		snprintf(name, sizeof(name), "tangle-%u", s);
		add_node(b, TOPO_SWITCH, 0x100 + damage_random(&seed) % 4096 * 16 + s, TANGLE_PORTS,
			 name);
	}
	for (unsigned s = 0; s < switches; s++)
		add_tangle_hosts(b, s, &seed);
	for (unsigned n = 0; n < switches * 6; n++) {
		unsigned a = damage_random(&seed) % switches, z = damage_random(&seed) % switches;

		/* A port that is taken stays as it is. */
		topo_builder_link(b, a, 1 + damage_random(&seed) % TANGLE_PORTS, z,
				  1 + damage_random(&seed) % TANGLE_PORTS,
				  damage_random(&seed) % 8 != 0);
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
