/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* plan: the links that an operator has planned. state_dir/plan is the file that was given. */
#include <stdlib.h>
#include <string.h>
#include "fm/inventory/inventory.h"
#include "fm/maintenance/maintenance.h"
#include "topology/cabling/cabling.h"

static void write_plan(const void *owner, FILE *out)
{
	fputs(((const struct plan *)owner)->text ?: "", out);
}

const struct state_kind plan_kind = { .name = "plan", .write = write_plan };

void plan_fini(struct plan *plan)
{
	free(plan->text);
	free(plan->guids);
	topo_unref(plan->topo);
	topo_unref(plan->of);
	*plan = (struct plan){ 0 };
}

bool plan_read(struct plan *plan, const struct topo *t, const char *name, char *err, size_t size)
{
	if (!plan->text || !*plan->text || !t || (plan->of && topo_is_again(plan->of, t)))
		return true;
	if (!plan->topo)
		plan->topo = cabling_plan_parse(name, plan->text, strlen(plan->text), t, err, size);
	if (!plan->topo)
		return false;
	free(plan->guids);
	plan->guids = cabling_plan_guids(plan->topo, t);
	topo_unref(plan->of);
	plan->of = topo_ref_frozen(t);
	return true;
}

/* The planned port at the other end of a cable at that port; NULL = none. */
static const struct topo_port *planned_at(const struct plan *plan, const struct wire_node_info *at,
					  bool *named)
{
	const struct topo *t = plan->topo;

	for (uint32_t n = 0; n < t->nnodes; n++)
		if (plan->guids[n] &&
		    (plan->guids[n] == at->node_guid || plan->guids[n] == at->port_guid)) {
			*named = true;
			return at->local_port > t->nodes[n].nports
				       ? NULL
				       : topo_peer(t, topo_port(t, n, at->local_port));
		}
	*named = false;
	return NULL;
}

/* Whether a planned port may not be that of a device which the plan has not, or only by name. */
static bool is_other(const struct plan *plan, const struct inventory *inv,
		     const struct topo_port *port, const struct wire_node_info *at, bool named)
{
	const struct inv_node *node = inventory_find(inv, plan->guids[port->node]);

	return named || (node && !node->gone) || port->num != at->local_port;
}

enum plan_verdict plan_judge(const struct plan *plan, const struct inventory *inv,
			     const struct wire_node_info *one, const struct wire_node_info *two)
{
	const struct topo_port *from_one, *from_two;
	bool one_named, two_named;
	guid_t guid;

	if (!plan->topo)
		return PLAN_SILENT;
	from_one = planned_at(plan, one, &one_named);
	from_two = planned_at(plan, two, &two_named);
	guid = from_one ? plan->guids[from_one->node] : 0;
	if (guid && (guid == two->node_guid || guid == two->port_guid) &&
	    from_one->num == two->local_port)
		return PLAN_HAS;
	if ((from_one && is_other(plan, inv, from_one, two, two_named)) ||
	    (from_two && is_other(plan, inv, from_two, one, one_named)))
		return PLAN_NOT;
	return from_one || from_two ? PLAN_MAY : PLAN_SILENT;
}
