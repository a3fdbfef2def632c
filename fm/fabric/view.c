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
