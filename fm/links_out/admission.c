/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * admission: what the judge of new links goes by: the fabric behind a link, and the plan of links.
 *
 * While a link to another fabric is held the kind `held` has a line
 * `beyond GUID PRIORITY FIRST LAST` for each range of the LIDs of that fabric, with its manager.
 * The kind `plan` is the file that was given.
 */
#include <inttypes.h>
#include "fm/links_out/rules.h"
#include "fm/restart/module.h"
#include "fm/sweep/sweep.h"
#include "routing/lid_plan.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/text.h"
#include "topology/cabling/cabling.h"

/* ---- The fabric behind a link ---------------------------------------------------------------- */

void beyond_clear(struct admission *a)
{
	a->sight.out = mem_resize(a->sight.out, LID_SPACE, 1);
	memset(a->sight.out, 0xff, LID_SPACE);
	a->sight.whole = false;
}

bool beyond_take(struct admission *a, const char *line)
{
	unsigned priority, first, last;
	guid_t guid;
	char rest;

	if (sscanf(line, "beyond 0x%" SCNx64 " %u %u %u %c", &guid, &priority, &first, &last,
		   &rest) != 4 ||
	    priority > 15 || first > last || last >= LID_SPACE)
		return false;
	if (!a->sight.whole)
		beyond_clear(a);
	memset(a->sight.out + first, 0, last - first + 1);
	a->sight.sm.guid = guid;
	a->sight.sm.priority = priority;
	a->sight.whole = true;
	return true;
}

void beyond_write(const struct admission *a, FILE *out)
{
	for (unsigned first = 1, last; first < LID_SPACE; first = last + 1) {
		last = first;
		if (a->sight.out[first] == UINT8_MAX)
			continue;
		while (last + 1 < LID_SPACE && a->sight.out[last + 1] != UINT8_MAX)
			last++;
		fprintf(out, "beyond 0x%016" PRIx64 " %u %u %u\n", a->sight.sm.guid,
			a->sight.sm.priority, first, last);
	}
}

/* LID of the master before this one, which the own port shows until it is brought up; else 0. */
uint16_t beyond_predecessor(const struct admission *a)
{
	const struct inventory *inv = a->services->inventory;
	const struct inv_port *own = inv->local ? &inv->local->ports[inv->local_port] : NULL;

	return own && own->sm_lid != own->lid ? own->sm_lid : 0;
}

/*
 * Whether that LID of an unknown switch was set by the manager of another fabric. It is ours where
 * the manager that this one took over from has set it, from another part of the fabric: that
 * manager's LID and the switch's are nobody's here.
 */
bool beyond_is_foreign(const struct admission *a, guid_t guid, const struct wire_port_info *port0)
{
	const struct lid_memory *lids = a->services->lids;
	bool twice = false;

	if (!port0->lid || (beyond_predecessor(a) && port0->sm_lid == beyond_predecessor(a)))
		return false;
	for (uint32_t i = 0; i < lids->count; i++) {
		const struct lid_entry *it = &lids->entries[i];

		if (it->port_guid == guid)
			return false;
		/* What is below the first one of its LIDs is far above the last. */
		twice |= (uint16_t)(port0->lid - it->lid) < 1u << it->lmc ||
			 (uint16_t)(a->predecessor - it->lid) < 1u << it->lmc;
	}
	return twice || !a->predecessor || port0->sm_lid != a->predecessor;
}

json_t *beyond_moves(const struct admission *a, bool is_master, unsigned *others)
{
	const struct fabric_view view = fabric_view(a->fabric);
	const struct lid_memory *memory = a->services->lids;
	uint8_t taken[2 * LID_SPACE] = { 0 }, moving[LID_SPACE] = { 0 };
	unsigned own = 0, last = memory->last ? memory->last : LID_SPACE - 1, by;
	json_t *rows = json_array();

	for (uint32_t i = 0; i < memory->count; i++)
		memset(taken + memory->entries[i].lid, 1, 1u << memory->entries[i].lmc);
	for (unsigned lid = 1; lid < LID_SPACE; lid++) {
		bool here = fabric_view_port_of_lid(&view, lid) != TOPO_NONE;
		bool there = a->sight.out[lid] != UINT8_MAX;

		own += here;
		*others += there;
		taken[lid] |= there;
		moving[lid] = here && there;
	}

	bool ours = own < *others || (own == *others && !is_master);

	by = lid_distance(taken, moving, memory->last ? memory->first : 1, last);
	for (unsigned lid = 1; lid < LID_SPACE; lid++)
		if (moving[lid])
			json_add(rows, "{si so sb so*}", "lid", lid, "to",
				 by ? json_integer((lid + by) % LID_SPACE) : json_null(), "ours",
				 ours, "name",
				 ours ? json_string(fabric_view_name_of_lid(&view, lid)) : NULL);
	return rows;
}

static bool is_listed(const struct admission *a, guid_t node, unsigned port)
{
	OUT_ROWS (a->table, it)
		if (it->rule->group == OUT_NOT_ADMITTED && it->node == node && it->port == port)
			return true;
	return false;
}

/* PortStateChange is set, and each link of the switch that was up still is. */
bool beyond_missed(const struct admission *a, struct inv_node *node, uint8_t *only)
{
	const struct topo *t = fabric_view(a->fabric).topo;
	unsigned down = 0;

	if (!inv_is_switch(node) || node->gone || !sweep_node(node)->had_change)
		return false;
	for (unsigned p = 1; p <= node->nports; p++) {
		const struct inv_port *port = &node->ports[p];
		char since[LINK_SINCE] = "";

		if (port->state == TOPO_ACTIVE || is_listed(a, node->guid, p))
			continue;
		if (port->peer)
			link_down_since(a->fabric, topo_port_of(t, node->guid, p), since);
		if (port->state != TOPO_DOWN || (port->peer && !*since))
			return false;
		*only = down++ ? 0 : (uint8_t)p;
	}
	return down && !is_listed(a, node->guid, *only);
}

/* ---- The plan of links ----------------------------------------------------------------------- */

static uint64_t write_plan(const void *owner, uint64_t from, FILE *out)
{
	fputs(((const struct plan *)owner)->text ?: "", out);
	return 0;
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
	bool one_named, two_named;

	if (!plan->topo)
		return PLAN_SILENT;

	const struct topo_port *from_one = planned_at(plan, one, &one_named);
	const struct topo_port *from_two = planned_at(plan, two, &two_named);
	guid_t guid = from_one ? plan->guids[from_one->node] : 0;

	if (guid && (guid == two->node_guid || guid == two->port_guid) &&
	    from_one->num == two->local_port)
		return PLAN_HAS;
	if ((from_one && is_other(plan, inv, from_one, two, two_named)) ||
	    (from_two && is_other(plan, inv, from_two, one, one_named)))
		return PLAN_NOT;
	return from_one || from_two ? PLAN_MAY : PLAN_SILENT;
}
