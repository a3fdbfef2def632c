/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cabling_plan: compares a fabric with its plan. A planned node is the node of the same name; nodes
 * whose name is not unique on both sides are left out. A node that is missing or not planned is one
 * finding, which stands for its cables too.
 */
#include <stdlib.h>
#include <string.h>
#include "topology/cabling/cabling_own.h"
#include "topology/base/mem.h"
#include "topology/base/names.h"

#define AMBIGUOUS (TOPO_NONE - 1)

struct side {
	const struct topo *t;
	uint32_t *name;		/* by node: id of the name that it is known by */
	uint32_t *node_of_name; /* by name: the node, TOPO_NONE or AMBIGUOUS */
	uint32_t *other; /* by node: the same node on the other side, TOPO_NONE or AMBIGUOUS */
};

/*
 * A plan may call a node by its NodeDescription or by its name of the node-name-map: that one
 * counts where the plan has it, and the plan's names are in the set before those of the fabric.
 */
static uint32_t name_of(const struct topo_node *node, struct names *names)
{
	uint32_t label = names_find(names, node->label, strlen(node->label));

	return label != NAMES_NONE ? label : names_id(names, node->desc, strlen(node->desc));
}

/* SHARP aggregation nodes are inside of switches and have no cables: no name stands for one. */
static void find_names(struct side *side, struct names *names, uint32_t room)
{
	side->name = mem_alloc(side->t->nnodes + 1, sizeof(uint32_t));
	side->node_of_name = mem_alloc(room, sizeof(uint32_t));
	memset(side->node_of_name, 0xff, room * sizeof(uint32_t));
	for (uint32_t n = 0; n < side->t->nnodes; n++) {
		const struct topo_node *node = &side->t->nodes[n];
		uint32_t id = side->name[n] = name_of(node, names);
		bool names_it = names->list[id].len && !node->sharp;

		side->node_of_name[id] =
			names_it && side->node_of_name[id] == TOPO_NONE ? n : AMBIGUOUS;
	}
}

static void find_others(struct side *side, const struct side *across)
{
	side->other = mem_alloc(side->t->nnodes + 1, sizeof(uint32_t));
	for (uint32_t n = 0; n < side->t->nnodes; n++) {
		uint32_t id = side->name[n];

		side->other[n] =
			side->node_of_name[id] == AMBIGUOUS ? AMBIGUOUS : across->node_of_name[id];
	}
}

static bool is_node(uint32_t other)
{
	return other < AMBIGUOUS;
}

static void list_nodes(struct cabling *c, const struct side *side, enum cabling_kind kind)
{
	for (uint32_t n = 0; n < side->t->nnodes; n++) {
		struct cabling_end end = { .name = side->t->nodes[n].name };

		c->not_unique += side->other[n] == AMBIGUOUS && !side->t->nodes[n].sharp;
		if (side->other[n] == TOPO_NONE)
			cabling_add(c, &(struct cabling_item){ .kind = kind,
							       .at = end,
							       .a = end,
							       .rail = -1,
							       .leaf_rail = -1 });
	}
}

/* The vertex of a planned port; a new one where the fabric's node has no port of that number. */
static uint32_t planned_end(struct wiring *w, const struct side *plan, const struct topo_port *port)
{
	uint32_t node = plan->other[port->node];

	if (port->num <= w->t->nodes[node].nports)
		return w->t->nodes[node].port0 + port->num;
	return wiring_add_end(w, node, w->t->nodes[node].name, port->num);
}

static void expect_planned(struct wiring *w, const struct side *plan)
{
	for (uint32_t p = 0; p < plan->t->nports; p++) {
		const struct topo_port *port = &plan->t->ports[p], *peer = topo_peer(plan->t, port);

		if (!peer || port->peer < p || !is_node(plan->other[port->node]) ||
		    !is_node(plan->other[peer->node]))
			continue;
		wiring_expect(w, planned_end(w, plan, port), planned_end(w, plan, peer),
			      (struct wiring_votes){ 0 });
	}
}

/* Marks cables between planned nodes that are not planned; reports planned ones that are down. */
static void judge_found(struct wiring *w, const struct side *real)
{
	for (uint32_t p = 0; p < w->t->nports; p++) {
		uint32_t peer = w->found[p];

		if (peer == TOPO_NONE || peer < p)
			continue;
		if (!is_node(real->other[w->node[p]]) || !is_node(real->other[w->node[peer]]))
			continue;
		if (w->want[p] == TOPO_NONE && w->want[peer] == TOPO_NONE)
			w->stray[p] = w->stray[peer] = true;
		else if (w->want[p] == peer && !w->t->ports[p].link_up)
			cabling_add(w->result, &(struct cabling_item){ .kind = CABLING_DOWN,
								       .at = w->ends[p],
								       .found = w->ends[peer],
								       .a = w->ends[p],
								       .b = w->ends[peer],
								       .a_found = w->ends[peer],
								       .b_found = w->ends[p] });
	}
}

struct cabling *cabling_compare(const struct topo *plan_topo, const struct topo *t)
{
	struct side plan = { .t = plan_topo }, real = { .t = t };
	uint32_t room = plan_topo->nnodes + t->nnodes + 1;
	struct names names = { 0 };
	struct wiring w;

	wiring_init(&w, t);
	w.planned = true;
	find_names(&plan, &names, room);
	find_names(&real, &names, room);
	find_others(&plan, &real);
	find_others(&real, &plan);
	list_nodes(w.result, &plan, CABLING_ABSENT);
	expect_planned(&w, &plan);
	judge_found(&w, &real);
	cabling_report(&w, NULL);
	list_nodes(w.result, &real, CABLING_UNKNOWN);
	cabling_sort(w.result);
	free(plan.name);
	free(plan.node_of_name);
	free(plan.other);
	free(real.name);
	free(real.node_of_name);
	free(real.other);
	names_fini(&names);
	wiring_fini(&w);
	return w.result;
}
