/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/fabric/view.h"

uint32_t fabric_view_port_of_lid(const struct fabric_view *view, uint16_t lid)
{
	return view->lids && lid && lid <= view->lids->top ? view->lids->port_of_lid[lid]
							   : TOPO_NONE;
}

const char *fabric_view_name_of_lid(const struct fabric_view *view, uint16_t lid)
{
	uint32_t port = fabric_view_port_of_lid(view, lid);

	return port == TOPO_NONE ? "unknown" : view->topo->nodes[view->topo->ports[port].node].name;
}

static bool find_partition(const void *arg, const char *name, unsigned *pkey)
{
	const struct partition *partition = partition_find_name(arg, name);

	*pkey = partition ? partition->base : 0;
	return partition;
}

struct what_scope fabric_view_scope(const struct fabric_view *view)
{
	return (struct what_scope){ .topo = view->topo,
				    .port_of_lid = view->lids ? view->lids->port_of_lid : NULL,
				    .top_lid = view->lids ? view->lids->top : 0,
				    .partition = view->partitions ? find_partition : NULL,
				    .partition_arg = view->partitions };
}
