/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whether an entry that ends at a port delivers to the LID's owner there.
 */
#include <stdio.h>
#include "routing/proof/check_own.h"

static void name_entry(struct check *c, const char *what, uint32_t sw, uint32_t lid)
{
	const struct topo *t = c->t;

	if (c->report->first[0])
		return;
	uint32_t port = lid <= c->lids->top ? c->lids->port_of_lid[lid] : TOPO_NONE;
	snprintf(c->report->first, sizeof(c->report->first),
		 "%s: from %s (0x%016llx) to LID %u (%s)", what, t->nodes[sw].name,
		 (unsigned long long)t->nodes[sw].guid, lid,
		 port == TOPO_NONE ? "nobody" : t->nodes[t->ports[port].node].name);
}

bool check_delivers(const struct check *c, uint32_t sw, unsigned out, uint32_t lid)
{
	uint32_t dest = lid <= c->lids->top ? c->lids->port_of_lid[lid] : TOPO_NONE;

	if (dest == TOPO_NONE || out > c->t->nodes[sw].nports)
		return false;
	if (out == 0)
		return c->t->ports[dest].node == sw;
	return topo_port(c->t, sw, out)->peer == dest && topo_port(c->t, sw, out)->link_up;
}

void check_inspect_end(struct check *c, uint32_t sw, uint32_t lid)
{
	if (check_delivers(c, sw, tables_row(c->tables, sw)[lid], lid))
		return;
	c->report->bad_ports++;
	c->walk[lid] = true;
	name_entry(c, "entry leads to a port with nothing or somebody else behind it", sw, lid);
}
