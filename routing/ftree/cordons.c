/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* cordons: what stays reachable by cordoned links alone (see cordons.h). */
#include <stdlib.h>
#include "routing/ftree/cordons.h"
#include "topology/mem.h"

/* ---- Entries of other tables ----------------------------------------------------------------- */

static uint32_t home_of(const struct topo *t, uint32_t port)
{
	const struct topo_port *p = &t->ports[port];

	if (p->node < t->nswitches)
		return p->node;
	return p->peer == TOPO_NONE ? TOPO_NONE : t->ports[p->peer].node;
}

/* By switch: some host's port hangs on it, which aggregation nodes are not. */
static bool *find_hosts(const struct topo *t)
{
	bool *hosts = mem_alloc(t->nswitches + 1, sizeof(*hosts));

	for (uint32_t i = 0; i < t->nports; i++) {
		uint32_t node = t->ports[i].node;
		uint32_t home = topo_is_host(t, node) ? home_of(t, i) : TOPO_NONE;

		if (home < t->nswitches)
			hosts[home] = true;
	}
	return hosts;
}

/* All switches' entries for the LIDs behind the chosen destinations. */
static void copy_columns(const struct topo *t, const struct lid_map *lids, const bool *chosen,
			 const struct tables *from, struct tables *to)
{
	for (uint32_t lid = 1; lid <= to->top; lid++) {
		uint32_t port = lids->port_of_lid[lid];
		uint32_t home = port == TOPO_NONE ? TOPO_NONE : home_of(t, port);

		if (home >= t->nswitches || !chosen[home])
			continue;
		for (uint32_t sw = 0; sw < t->nswitches; sw++)
			tables_row(to, sw)[lid] = tables_row(from, sw)[lid];
	}
}

/*
 * A drained switch's own way to hosts, which nobody else uses: taken when from the next switch on
 * both tables agree.
 */
static void copy_entry(const struct topo *t, uint32_t sw, uint32_t lid, const struct tables *from,
		       struct tables *to)
{
	uint8_t out = tables_row(from, sw)[lid];
	const struct topo_port *peer;

	if (out == TABLES_NO_ROUTE || tables_row(to, sw)[lid] != TABLES_NO_ROUTE)
		return;
	peer = topo_peer(t, topo_port(t, sw, out));
	if (peer && peer->node < t->nswitches &&
	    tables_row(to, peer->node)[lid] == tables_row(from, peer->node)[lid])
		tables_row(to, sw)[lid] = out;
}

static void copy_hosts_of(const struct topo *t, const struct lid_map *lids, const struct gap *gap,
			  const struct tables *from, struct tables *to)
{
	for (unsigned num = 1; num <= t->nodes[gap->d].nports; num++) {
		uint32_t host = topo_port(t, gap->d, num)->peer;
		uint32_t lid = host == TOPO_NONE ? 0 : lids->lid_of_port[host];

		for (uint32_t n = 0; lid && n < 1u << lids->lmc; n++)
			copy_entry(t, gap->sw, lid + n, from, to);
	}
}

/* Whether the tables lead from the gap's switch to its destination, or to a host there. */
static bool is_closed_by(const struct topo *t, const struct lid_map *lids, const struct gap *gap,
			 const struct tables *from)
{
	const uint8_t *row = tables_row(from, gap->sw);

	for (unsigned num = 0; num <= t->nodes[gap->d].nports; num++) {
		uint32_t self = t->nodes[gap->d].port0 + num;
		uint32_t port = num ? t->ports[self].peer : self;
		uint32_t lid = port == TOPO_NONE ? 0 : lids->lid_of_port[port];

		if (lid && home_of(t, port) == gap->d && row[lid] != TABLES_NO_ROUTE)
			return true;
	}
	return false;
}

void cordons_fill(const struct topo *t, const struct lid_map *lids, const struct gaps *gaps,
		  const struct tables *from, struct tables *to)
{
	bool *hosts = find_hosts(t);
	bool *columns = mem_alloc(t->nswitches + 1, sizeof(*columns));

	for (uint32_t i = 0; i < gaps->count; i++)
		columns[gaps->list[i].d] |=
			hosts[gaps->list[i].sw] && is_closed_by(t, lids, &gaps->list[i], from);
	copy_columns(t, lids, columns, from, to);
	for (uint32_t i = 0; i < gaps->count; i++)
		if (!columns[gaps->list[i].d])
			copy_hosts_of(t, lids, &gaps->list[i], from, to);
	free(hosts);
	free(columns);
}

/* ---- Cordons that are exempt ----------------------------------------------------------------- */

static bool is_transit(const struct topo *t, uint32_t sw, const struct topo_port *peer)
{
	return peer && peer->node < t->nswitches && peer->node != sw;
}

/*
 * Of a switch's links to others: all cordoned at its own end, and none without any cordon and up.
 */
static void scan_links(const struct topo *t, uint32_t sw, bool *drained, bool *shut)
{
	*drained = *shut = true;
	for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
		const struct topo_port *port = topo_port(t, sw, num), *peer = topo_peer(t, port);

		if (!is_transit(t, sw, peer))
			continue;
		*drained &= port->cordoned;
		*shut &= !port->link_up || port->cordoned || peer->cordoned;
	}
}

static unsigned lift_links(const struct topo *t, uint32_t sw, const bool *drained, bool *exempt)
{
	unsigned count = 0;

	for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
		const struct topo_port *port = topo_port(t, sw, num), *peer = topo_peer(t, port);

		if (!is_transit(t, sw, peer) || drained[peer->node] || !port->link_up ||
		    port->quarantined || peer->quarantined)
			continue;
		exempt[port - t->ports] = true;
		count++;
	}
	return count;
}

bool *cordons_find_exempt(const struct topo *t)
{
	bool *hosts = find_hosts(t), *exempt = mem_alloc(t->nports + 1, sizeof(*exempt));
	bool *drained = mem_alloc(t->nswitches + 1, sizeof(*drained));
	bool *shut = mem_alloc(t->nswitches + 1, sizeof(*shut));
	unsigned count = 0;

	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		scan_links(t, sw, &drained[sw], &shut[sw]);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		if (hosts[sw] && shut[sw])
			count += lift_links(t, sw, drained, exempt);
	free(hosts);
	free(drained);
	free(shut);
	if (count)
		return exempt;
	free(exempt);
	return NULL;
}
