/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cabling: what is not where it should be.
 *
 * Rails need no plan: an HCA's rail comes from its device's name, a leaf's from the majority of its
 * HCAs (rail.c). Against a plan, a cable is told once, by its planned ends; a found cable only
 * where the plan tells nothing at either of its ports. So two swapped cables are two lines, not
 * four.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "topology/cabling.h"
#include "topology/mem.h"
#include "topology/names.h"

#define AMBIGUOUS (TOPO_NONE - 1)

static void add(struct cabling *c, const struct cabling_item *item)
{
	/* Doubled whenever the count is a power of two. */
	if ((c->count & (c->count - 1)) == 0)
		c->items = mem_resize(c->items, c->count ? c->count * 2 : 1, sizeof(*c->items));
	c->items[c->count++] = *item;
}

static struct cabling_end end_of(const struct topo *t, const struct topo_port *port)
{
	if (!port)
		return (struct cabling_end){ 0 };
	return (struct cabling_end){ t->nodes[port->node].desc, port->num };
}

/* ---- Rails ----------------------------------------------------------------------------------- */

static const struct topo_port *first_cabled(const struct topo *t, uint32_t ca)
{
	for (unsigned num = 1; num <= t->nodes[ca].nports; num++)
		if (topo_peer(t, topo_port(t, ca, num)))
			return topo_port(t, ca, num);
	return NULL;
}

/* The leaf of a rail in a scalable unit, or NULL. */
static const char *leaf_of_rail(const struct topo *t, int su, int rail)
{
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		if (t->nodes[sw].level == 0 && t->nodes[sw].su == su && t->nodes[sw].rail == rail)
			return t->nodes[sw].desc;
	return NULL;
}

struct cabling *cabling_rails(const struct topo *t)
{
	struct cabling *c = mem_alloc(1, sizeof(*c));

	for (uint32_t n = t->nswitches; n < t->nnodes; n++) {
		const struct topo_node *ca = &t->nodes[n];
		const struct topo_port *port = ca->rail < 0 ? NULL : first_cabled(t, n);
		const struct topo_port *peer = port ? topo_peer(t, port) : NULL;
		const struct topo_node *leaf = peer ? &t->nodes[peer->node] : NULL;

		if (!leaf || leaf->rail < 0)
			continue;
		c->compared++;
		if (leaf->rail == ca->rail)
			continue;
		add(c, &(struct cabling_item){ .kind = CABLING_RAIL,
					       .a = end_of(t, port),
					       .b = end_of(t, peer),
					       .a_found.name = leaf_of_rail(t, ca->su, ca->rail),
					       .rail = ca->rail,
					       .leaf_rail = leaf->rail });
	}
	return c;
}

/* ---- A plan ---------------------------------------------------------------------------------- */

struct side {
	const struct topo *t;
	uint32_t *node_of_name; /* by name: the node, TOPO_NONE or AMBIGUOUS */
	uint32_t *other;	/* by node: the same node on the other side, or those */
};

/* Aggregation nodes are inside of switches and not cabled by anybody: no name stands for one. */
static void find_names(struct side *side, struct names *names, uint32_t room)
{
	side->node_of_name = mem_alloc(room, sizeof(uint32_t));
	memset(side->node_of_name, 0xff, room * sizeof(uint32_t));
	for (uint32_t n = 0; n < side->t->nnodes; n++) {
		const char *desc = side->t->nodes[n].desc;
		uint32_t id = names_id(names, desc, strlen(desc));

		bool names_it = *desc && !side->t->nodes[n].sharp;

		side->node_of_name[id] =
			names_it && side->node_of_name[id] == TOPO_NONE ? n : AMBIGUOUS;
	}
}

/* Every description is in the set by now: names_id() adds none. */
static void find_others(struct side *side, const struct side *across, struct names *names)
{
	side->other = mem_alloc(side->t->nnodes + 1, sizeof(uint32_t));
	for (uint32_t n = 0; n < side->t->nnodes; n++) {
		const char *desc = side->t->nodes[n].desc;
		uint32_t id = names_id(names, desc, strlen(desc));

		side->other[n] =
			side->node_of_name[id] == AMBIGUOUS ? AMBIGUOUS : across->node_of_name[id];
	}
}

static bool is_node(uint32_t other)
{
	return other < AMBIGUOUS;
}

static void tell_nodes(struct cabling *c, const struct side *side, enum cabling_kind kind)
{
	for (uint32_t n = 0; n < side->t->nnodes; n++) {
		c->not_unique += side->other[n] == AMBIGUOUS && !side->t->nodes[n].sharp;
		if (side->other[n] == TOPO_NONE)
			add(c, &(struct cabling_item){ .kind = kind,
						       .a.name = side->t->nodes[n].desc });
	}
}

/* What the same port of the other side leads to, or NULL. */
static const struct topo_port *leads_to(const struct side *side, const struct side *across,
					const struct topo_port *port)
{
	uint32_t node = side->other[port->node];

	if (!is_node(node) || port->num > across->t->nodes[node].nports)
		return NULL;
	return topo_peer(across->t, topo_port(across->t, node, port->num));
}

/* Both ends are known on both sides, so that the plan's cable speaks for them. */
static bool is_told(const struct side *side, const struct topo_port *port,
		    const struct topo_port *peer)
{
	return is_node(side->other[port->node]) && is_node(side->other[peer->node]);
}

static void compare_cable(struct cabling *c, const struct side *plan, const struct side *real,
			  const struct topo_port *port)
{
	const struct topo_port *peer = topo_peer(plan->t, port);
	const struct topo_port *a = leads_to(plan, real, port), *b = leads_to(plan, real, peer);
	struct cabling_item item = { .a = end_of(plan->t, port),
				     .b = end_of(plan->t, peer),
				     .a_found = end_of(real->t, a),
				     .b_found = end_of(real->t, b) };

	c->compared++;
	if (!a || a->node != plan->other[peer->node] || a->num != peer->num)
		item.kind = a || b ? CABLING_ELSEWHERE : CABLING_MISSING;
	else if (!a->link_up)
		item.kind = CABLING_DOWN;
	else
		return;
	add(c, &item);
}

static bool plan_speaks_for(const struct side *plan, const struct side *real,
			    const struct topo_port *port)
{
	const struct topo_port *planned = leads_to(real, plan, port);

	return planned && is_told(plan, planned, topo_peer(plan->t, planned));
}

static void tell_extra(struct cabling *c, const struct side *plan, const struct side *real,
		       const struct topo_port *port)
{
	const struct topo_port *peer = topo_peer(real->t, port);

	if (!plan_speaks_for(plan, real, port) && !plan_speaks_for(plan, real, peer))
		add(c, &(struct cabling_item){ .kind = CABLING_EXTRA,
					       .a = end_of(real->t, port),
					       .b = end_of(real->t, peer) });
}

typedef void cable_fn(struct cabling *c, const struct side *plan, const struct side *real,
		      const struct topo_port *port);

/* Each cable of one side whose nodes are on both. */
static void each_cable(struct cabling *c, const struct side *plan, const struct side *real,
		       const struct side *of, cable_fn *fn)
{
	for (uint32_t p = 0; p < of->t->nports; p++) {
		const struct topo_port *port = &of->t->ports[p];

		if (port->peer != TOPO_NONE && port->peer > p &&
		    is_told(of, port, topo_peer(of->t, port)))
			fn(c, plan, real, port);
	}
}

struct cabling *cabling_compare(const struct topo *plan_topo, const struct topo *t)
{
	struct cabling *c = mem_alloc(1, sizeof(*c));
	struct side plan = { .t = plan_topo }, real = { .t = t };
	uint32_t room = plan_topo->nnodes + t->nnodes + 1;
	struct names names = { 0 };

	find_names(&plan, &names, room);
	find_names(&real, &names, room);
	find_others(&plan, &real, &names);
	find_others(&real, &plan, &names);
	tell_nodes(c, &plan, CABLING_ABSENT);
	each_cable(c, &plan, &real, &plan, compare_cable);
	each_cable(c, &plan, &real, &real, tell_extra);
	tell_nodes(c, &real, CABLING_UNKNOWN);
	free(plan.node_of_name);
	free(plan.other);
	free(real.node_of_name);
	free(real.other);
	names_fini(&names);
	return c;
}

void cabling_free(struct cabling *c)
{
	if (!c)
		return;
	free(c->items);
	free(c);
}

/* ---- Words ----------------------------------------------------------------------------------- */

const char *cabling_kind_name(enum cabling_kind kind)
{
	static const char *const names[] = { "rail", "node-absent", "elsewhere",   "missing",
					     "down", "extra",	    "node-unknown" };

	return names[kind];
}

static int describe_rail(const struct cabling_item *i, char *buf, size_t size)
{
	return snprintf(buf, size, "%s p%u is of rail %d, and on %s p%u of rail %d%s%s", i->a.name,
			i->a.port, i->rail, i->b.name, i->b.port, i->leaf_rail,
			i->a_found.name ? "; it belongs on " : "",
			i->a_found.name ? i->a_found.name : "");
}

/* Where one end of a planned link is connected. */
static void describe_end(const struct cabling_end *from, const struct cabling_end *to,
			 const struct cabling_end *expected, char *buf, size_t size)
{
	if (to->name)
		snprintf(buf, size, "%s p%u is connected to %s p%u, expected %s p%u", from->name,
			 from->port, to->name, to->port, expected->name, expected->port);
	else
		snprintf(buf, size, "%s p%u is not connected, expected %s p%u", from->name,
			 from->port, expected->name, expected->port);
}

int cabling_describe(const struct cabling_item *i, char *buf, size_t size)
{
	static const char *const ends[] = { [CABLING_ABSENT] = "missing",
					    [CABLING_MISSING] = "missing",
					    [CABLING_DOWN] = "down",
					    [CABLING_EXTRA] = "not planned",
					    [CABLING_UNKNOWN] = "not planned" };
	char a[256], b[256];

	switch (i->kind) {
	case CABLING_RAIL:
		return describe_rail(i, buf, size);
	case CABLING_ABSENT:
	case CABLING_UNKNOWN:
		return snprintf(buf, size, "%s: %s", i->a.name, ends[i->kind]);
	case CABLING_ELSEWHERE:
		describe_end(&i->a, &i->a_found, &i->b, a, sizeof(a));
		describe_end(&i->b, &i->b_found, &i->a, b, sizeof(b));
		return snprintf(buf, size, "%s; %s", a, b);
	default:
		return snprintf(buf, size, "%s p%u - %s p%u: %s", i->a.name, i->a.port, i->b.name,
				i->b.port, ends[i->kind]);
	}
}
