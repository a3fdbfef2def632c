/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "tests/fabric/disguise.h"
#include <assert.h>
#include <stdlib.h>
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/snapshot/topo_builder.h"

struct disguised {
	const struct topo *t;
	struct topo_builder *b;
	uint32_t *guid, *name; /* by node: whose it has */
	uint32_t *port;	       /* by port index: its number now */
	int *handle;
};

/* Puts list[first .. end) into any order. */
static void shuffle(uint32_t *list, uint32_t first, uint32_t end, uint64_t *state)
{
	for (uint32_t i = end; i > first + 1; i--) {
		uint32_t at = first + random_next(state) % (i - first), last = list[i - 1];

		list[i - 1] = list[at];
		list[at] = last;
	}
}

static uint32_t *count_to(uint32_t n)
{
	uint32_t *list = mem_alloc(n + 1, sizeof(*list));

	for (uint32_t i = 0; i < n; i++)
		list[i] = i;
	return list;
}

static void choose_ports(struct disguised *d, bool permute, uint64_t *state)
{
	d->port = mem_alloc(d->t->nports + 1, sizeof(*d->port));
	for (uint32_t n = 0; n < d->t->nnodes; n++) {
		uint32_t *port = d->port + d->t->nodes[n].port0;

		for (unsigned num = 0; num <= d->t->nodes[n].nports; num++)
			port[num] = num;
		if (permute && n < d->t->nswitches)
			shuffle(port, 1, d->t->nodes[n].nports + 1u, state);
	}
}

static void add_node(struct disguised *d, uint32_t n)
{
	const struct topo_node *node = &d->t->nodes[n], *other = &d->t->nodes[d->guid[n]];
	struct topo_node attr = { .guid = other->guid,
				  .sys_guid = other->sys_guid,
				  .desc = d->t->nodes[d->name[n]].desc,
				  .vendor = node->vendor,
				  .device = node->device,
				  .type = node->type,
				  .nports = node->nports,
				  .enhanced_port0 = node->enhanced_port0,
				  .sharp = node->sharp };

	d->handle[n] = topo_builder_node(d->b, &attr);
	assert(d->handle[n] >= 0);
	for (unsigned num = 0; num <= node->nports; num++) {
		const struct topo_port *port = topo_port(d->t, n, num);
		struct topo_port p = { .state = port->state,
				       .speed = port->speed,
				       .width = port->width,
				       .mtu = port->mtu };

		if (n >= d->t->nswitches && num)
			p.guid = other->guid + num;
		topo_builder_port(d->b, d->handle[n], d->port[node->port0 + num], &p);
	}
}

static void add_links(struct disguised *d)
{
	for (uint32_t i = 0; i < d->t->nports; i++) {
		const struct topo_port *port = &d->t->ports[i], *peer = topo_peer(d->t, port);

		if (peer && port->peer > i && d->handle[port->node] >= 0 &&
		    d->handle[peer->node] >= 0)
			topo_builder_link(d->b, d->handle[port->node], d->port[i],
					  d->handle[peer->node], d->port[port->peer],
					  port->link_up);
	}
}

static void begin(struct disguised *d)
{
	d->b = topo_builder_new();
	d->guid = count_to(d->t->nnodes);
	d->name = count_to(d->t->nnodes);
	d->handle = mem_alloc(d->t->nnodes + 1, sizeof(*d->handle));
}

static struct topo *finish(struct disguised *d)
{
	add_links(d);
	free(d->guid);
	free(d->name);
	free(d->port);
	free(d->handle);
	return topo_freeze(d->b);
}

struct topo *disguise(const struct topo *t, unsigned what, uint64_t seed)
{
	struct disguised d = { .t = t };
	uint32_t *order = count_to(t->nnodes);

	begin(&d);
	choose_ports(&d, what & DISGUISE_PORTS, &seed);
	if (what & DISGUISE_GUIDS) {
		shuffle(d.guid, 0, t->nswitches, &seed);
		shuffle(d.guid, t->nswitches, t->nnodes, &seed);
	}
	if (what & DISGUISE_NAMES)
		shuffle(d.name, 0, t->nswitches, &seed);
	if (what & DISGUISE_ORDER)
		shuffle(order, 0, t->nnodes, &seed);
	for (uint32_t i = 0; i < t->nnodes; i++)
		add_node(&d, order[i]);
	free(order);
	return finish(&d);
}

/* It has cables, and all of them lead to the switch. */
static bool hangs_on(const struct topo *t, uint32_t n, uint32_t sw)
{
	bool any = false;

	for (unsigned num = 1; num <= t->nodes[n].nports; num++) {
		const struct topo_port *peer = topo_peer(t, topo_port(t, n, num));

		if (peer && peer->node != sw)
			return false;
		any |= peer != NULL;
	}
	return any;
}

struct topo *disguise_without(const struct topo *t, uint32_t sw)
{
	struct disguised d = { .t = t };
	uint64_t seed = 0;

	begin(&d);
	choose_ports(&d, false, &seed);
	for (uint32_t n = 0; n < t->nnodes; n++) {
		d.handle[n] = -1;
		if (n != sw && !hangs_on(t, n, sw))
			add_node(&d, n);
	}
	return finish(&d);
}
