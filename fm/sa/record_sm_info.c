/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * SMInfoRecord (IBA 15.2.5): this subnet manager, and the others that election knows of.
 */
#include <string.h>
#include "fm/mad/wire_sa_comp.h"
#include "fm/sa/sa_impl.h"
#include "topology/mem.h"

static const uint16_t sm_info_comps[] = { WIRE_LID | 16, WIRE_R | 16, 64, 64, 32, 4, 4 };

enum { COMP_GUID = 2, COMP_ACT_COUNT = 4, COMP_PRIORITY, COMP_STATE };

void sa_set_managers(struct sa *sa, const struct sa_manager *list, unsigned count)
{
	sa->managers = mem_resize(sa->managers, count + 1u, sizeof(*list));
	if (count)
		memcpy(sa->managers, list, count * sizeof(*list));
	sa->nmanagers = count;
}

/* This one, then the others. */
static enum wire_sa_status sm_walk(struct sa_query *q)
{
	q->item = 0;
	q->end = 1 + q->sa->nmanagers;
	return WIRE_SA_OK;
}

/* What answers as SA is master (IBA 15.4.1). */
static struct sa_manager this_manager(const struct sa *sa, uint32_t port)
{
	return (struct sa_manager){ .lid = sa->view.sm_lid,
				    .guid = sa->view.topo->ports[port].guid,
				    .info = { .act_count = (uint32_t)mad_stats(sa->mad).sent,
					      .priority = sa->conf.sm_priority,
					      .state = 3 } };
}

/* No SM_Key is shown. */
static void sm_emit(struct sa_query *q, uint32_t item)
{
	const struct wire_sa_layout *layout = &q->record->layout;
	const struct sa *sa = q->sa;
	uint8_t *row = sa_row(q);
	struct sa_manager m = { 0 };
	uint32_t port;

	if (item && item <= sa->nmanagers)
		m = sa->managers[item - 1];
	port = item ? sa_port_by_guid(sa, m.guid) : sa_port_by_lid(sa, sa->view.sm_lid);
	if (port == TOPO_NONE || !row || !sa_shown(q, port))
		return;
	if (!item)
		m = this_manager(sa, port);
	memset(row, 0, layout->size);
	wire_sa_put(layout, WIRE_SA_LID, sa_port_lid(sa, port), row);
	wire_sa_put(layout, COMP_GUID, m.guid, row);
	wire_sa_put(layout, COMP_ACT_COUNT, m.info.act_count, row);
	wire_sa_put(layout, COMP_PRIORITY, m.info.priority, row);
	wire_sa_put(layout, COMP_STATE, m.info.state, row);
	sa_row_keep(q);
}

const struct sa_record sa_record_sm_info = {
	.attr_id = WIRE_SA_SM_INFO,
	.methods = SA_GET | SA_TABLE,
	.layout = SA_COMPONENTS(sm_info_comps),
	.prepare = sm_walk,
	.emit = sm_emit,
};
