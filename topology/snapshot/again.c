/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * again: snapshots that share all but their ports with an older one. A fault changes the attributes
 * of some ports and nothing else: nodes, names and links stay, and so does all that is derived from
 * them (levels, rails, hosts, the index of GUIDs; known-but-down links count there). Such a
 * snapshot has ports of its own and a reference to the frozen snapshot that has the rest. It never
 * refers to another snapshot of its own sort, so at most one older list of ports is kept.
 */
#include <string.h>
#include "topology/base/mem.h"
#include "topology/snapshot/topo.h"
#include "topology/snapshot/topo_builder.h"
#include "topology/snapshot/topo_own.h"

struct topo *topo_alike(const struct topo *older)
{
	const struct topo_own *was = (const struct topo_own *)older;
	struct arena *arena = arena_new();
	struct topo_own *own = arena_alloc(arena, 1, sizeof(*own));
	struct topo_port *ports = arena_alloc(arena, older->nports, sizeof(*ports));
	struct topo_end *ends = arena_alloc(arena, older->nswitch_ports, sizeof(*ends));

	memcpy(ports, older->ports, older->nports * sizeof(*ports));
	memcpy(ends, older->ends, older->nswitch_ports * sizeof(*ends));
	*own = *was;
	own->refs = 1;
	own->arena = arena;
	own->base = topo_ref(was->base ? was->base : older);
	own->pub.ports = ports;
	own->pub.ends = ends;
	return &own->pub;
}

struct topo *topo_with_ports(const struct topo *older)
{
	struct topo *t = topo_alike(older);

	t->nlinks_down = t->nlinks_special_down = t->ncordoned = 0;
	return t;
}

struct topo *topo_ref_frozen(const struct topo *t)
{
	const struct topo *base = ((const struct topo_own *)t)->base;

	return topo_ref(base ? base : t);
}

static void set_link(struct topo *t, uint32_t i, bool up)
{
	((struct topo_port *)t->ports)[i].link_up = up;
	if (i < t->nswitch_ports)
		((struct topo_end *)t->ends)[i].up = up;
}

static void count_down(struct topo *t, const struct topo_port *port)
{
	t->nlinks_down++;
	t->nlinks_special_down +=
		t->nodes[port->node].sharp || t->nodes[t->ports[port->peer].node].sharp;
}

void topo_alike_cut(struct topo *t, uint32_t i)
{
	const struct topo_port *port = &t->ports[i];

	if (!port->link_up)
		return;
	set_link(t, i, false);
	set_link(t, port->peer, false);
	count_down(t, port);
}

void topo_with_port(struct topo *t, uint32_t i, const struct topo_port_attr *attr, bool up)
{
	struct topo_port *port = (struct topo_port *)&t->ports[i];

	topo_port_take(port, attr);
	set_link(t, i, port->peer != TOPO_NONE && up);
	t->ncordoned += port->cordoned;
	if (!port->link_up && port->peer != TOPO_NONE && port->peer > i)
		count_down(t, port);
}
