/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <stdio.h>
#include <string.h>
#include "routing/proof/check_own.h"

/*
 * Whether an entry that ends at a port delivers to the LID's owner there.
 */

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

/*
 * check_walk: who reaches whom.
 *
 * Connected parts by union-find over live links between switches: only pairs within a part can be
 * asked of the tables. No packet goes through an adapter: two planes that adapters with two ports
 * join are two parts. Two adapters back to back are a part without a table. A LID that is not plain
 * is followed from every switch; each switch is settled once, by the outcome of the next, so a LID
 * costs as many steps as there are switches. What a walk found is kept by LID, so that a later
 * proof (check_change.c) need not walk it again.
 */

enum arrival { UNSEEN, WALKING, ARRIVES, STRANDED, LOOPS };

/* ---- Connected parts ------------------------------------------------------------------------- */

static uint32_t part_of(uint32_t *part, uint32_t node)
{
	while (part[node] != node)
		node = part[node] = part[part[node]];
	return node;
}

uint32_t check_part(const struct check *c, uint32_t node)
{
	return part_of(c->part, node);
}

static bool is_host_port(const struct topo *t, const struct topo_port *port)
{
	return port->link_up && port->node >= t->nswitches &&
	       t->ports[port->peer].node < t->nswitches;
}

/* A link leads straight to another host, both with a LID: their packets need no table. */
static bool is_back_to_back(const struct check *c, const struct topo_port *port)
{
	return port->link_up && c->t->ports[port->peer].node >= c->t->nswitches &&
	       c->lids->lid_of_port[port - c->t->ports] && c->lids->lid_of_port[port->peer];
}

static void count_host_port(struct check *c, uint32_t index)
{
	const struct topo *t = c->t;
	const struct topo_port *port = &t->ports[index];
	bool special = t->nodes[port->node].sharp;
	uint32_t home;

	if (!is_host_port(t, port)) {
		c->back_to_back += is_back_to_back(c, port);
		return;
	}
	home = t->ports[port->peer].node;
	if (!c->lids->lid_of_port[index]) {
		c->part_lidless[part_of(c->part, home)] += !special;
		return;
	}
	(special ? c->specials : c->hosts)[home]++;
	(special ? c->part_specials : c->part_hosts)[part_of(c->part, home)]++;
	c->all_hosts += !special;
}

void check_find_leads(struct check *c)
{
	for (uint32_t i = 0; i < c->t->nports; i++) {
		uint32_t channel = c->cdg.channel[i];

		c->leads[i] = channel != TOPO_NONE && c->t->ports[i].link_up ? c->cdg.to[channel]
									     : TOPO_NONE;
	}
}

void check_find_parts(struct check *c)
{
	const struct topo *t = c->t;

	for (uint32_t n = 0; n < t->nnodes; n++)
		c->part[n] = n;
	for (uint32_t i = 0; i < t->nports; i++) {
		const struct topo_port *port = &t->ports[i];

		if (port->link_up && i < port->peer && port->node < t->nswitches &&
		    t->ports[port->peer].node < t->nswitches)
			c->part[part_of(c->part, port->node)] =
				part_of(c->part, t->ports[port->peer].node);
	}
	for (uint32_t n = t->nswitches; n < t->nnodes; n++)
		for (unsigned num = 1; num <= t->nodes[n].nports; num++)
			count_host_port(c, t->nodes[n].port0 + num);
}

const struct topo_port *check_host_port(const struct check *c, uint32_t lid)
{
	uint32_t port = lid <= c->lids->top ? c->lids->port_of_lid[lid] : TOPO_NONE;

	return port != TOPO_NONE && is_host_port(c->t, &c->t->ports[port]) ? &c->t->ports[port]
									   : NULL;
}

/* ---- Walking one destination ----------------------------------------------------------------- */

static enum arrival next_step(const struct check *c, uint32_t sw, uint32_t lid, uint32_t *next)
{
	unsigned out = tables_row(c->tables, sw)[lid];

	if (out > c->t->nodes[sw].nports)
		return STRANDED;
	if (out && check_is_channel(c, c->t->nodes[sw].port0 + out)) {
		*next = c->leads[c->t->nodes[sw].port0 + out];
		return UNSEEN;
	}
	return check_delivers(c, sw, out, lid) ? ARRIVES : STRANDED;
}

/* Follows the packet from sw until something known, and writes the outcome back along the trail. */
static void walk_one(struct check *c, uint32_t sw, uint32_t lid)
{
	uint32_t n = 0;
	enum arrival end = UNSEEN;
	uint16_t hops = 0;

	while (end == UNSEEN) {
		uint32_t next = sw;

		if (c->arrival[sw] != UNSEEN) {
			end = c->arrival[sw] == WALKING ? LOOPS : c->arrival[sw];
			hops = c->hops[sw];
			break;
		}
		c->arrival[sw] = WALKING;
		c->trail[n++] = sw;
		end = next_step(c, sw, lid, &next);
		sw = next;
	}
	while (n--) {
		c->arrival[c->trail[n]] = end;
		c->hops[c->trail[n]] = ++hops;
		c->report->loops += end == LOOPS;
	}
}

void check_walk_loops(struct check *c, uint32_t lid)
{
	memset(c->arrival, UNSEEN, c->t->nswitches);
	for (uint32_t sw = 0; sw < c->t->nswitches; sw++)
		if (c->arrival[sw] == UNSEEN)
			walk_one(c, sw, lid);
}

static void note_hops(struct check *c, uint32_t sw)
{
	if (c->hops[sw] > c->report->max_hops)
		c->report->max_hops = c->hops[sw];
	c->hop_sum += (uint64_t)c->hops[sw] * c->hosts[sw];
	c->hop_count += c->hosts[sw];
}

/*
 * From where hosts are. The next one that is measured is not far from here, and not in the cache.
 */
void check_measure_hops(struct check *c, uint32_t lid)
{
	memset(c->arrival, UNSEEN, c->t->nswitches);
	for (uint32_t sw = 0; sw < c->t->nswitches; sw++) {
		__builtin_prefetch(tables_row(c->tables, sw) + lid + TABLES_BLOCK);
		if (!c->hosts[sw])
			continue;
		if (c->arrival[sw] == UNSEEN)
			walk_one(c, sw, lid);
		if (c->arrival[sw] == ARRIVES)
			note_hops(c, sw);
	}
}

/* ---- Host pairs ------------------------------------------------------------------------------ */

/* After a walk: all who have hosts arrive, and nobody sends to a dead end. */
static bool is_plain(const struct check *c, uint32_t lid)
{
	for (uint32_t sw = 0; sw < c->t->nswitches; sw++)
		if (c->arrival[sw] != ARRIVES &&
		    (c->hosts[sw] || c->specials[sw] ||
		     tables_row(c->tables, sw)[lid] != TABLES_NO_ROUTE))
			return false;
	return true;
}

static void count_switch(struct check *c, uint32_t sw, const struct topo_port *dest,
			 struct check_count *count)
{
	bool special = c->t->nodes[dest->node].sharp;
	uint32_t home = c->t->ports[dest->peer].node;
	uint32_t hosts = c->hosts[sw] - (sw == home && !special);
	uint32_t specials = c->specials[sw] - (sw == home && special);

	if (c->arrival[sw] == ARRIVES) {
		count->reachable += special ? 0 : hosts;
		if (!special)
			note_hops(c, sw);
		return;
	}
	count->unreachable += special ? 0 : hosts;
	count->special += special ? hosts + specials : specials;
	if ((count->from == TOPO_NONE && (hosts || specials)) ||
	    (!special && hosts &&
	     count->unreachable == hosts)) { /* hosts are named before others */
		count->from = sw;
		count->loop = c->arrival[sw] == LOOPS;
	}
}

void check_walk_lid(struct check *c, uint32_t lid)
{
	const struct topo_port *dest = check_host_port(c, lid);
	uint32_t part = check_part(c, c->t->ports[dest->peer].node);
	struct check_count *count = &c->counts[lid];

	*count = (struct check_count){ .from = TOPO_NONE };
	check_walk_loops(c, lid);
	c->walk[lid] = !is_plain(c, lid);
	for (uint32_t sw = 0; sw < c->t->nswitches; sw++)
		if ((c->hosts[sw] || c->specials[sw]) && check_part(c, sw) == part)
			count_switch(c, sw, dest, count);
}

static void name_gap(struct check *c, const struct check_count *count, uint32_t lid,
		     const struct topo_port *dest)
{
	const struct topo_node *from;

	if (c->report->first[0] || count->from == TOPO_NONE)
		return;
	from = &c->t->nodes[count->from];
	snprintf(c->report->first, sizeof(c->report->first),
		 "%s: from %s (0x%016llx) to LID %u (%s)", count->loop ? "loop" : "unreachable",
		 from->name, (unsigned long long)from->guid, lid, c->t->nodes[dest->node].name);
}

static void sum_lid(struct check *c, uint32_t lid, const struct topo_port *dest)
{
	uint64_t hosts = c->part_hosts[check_part(c, c->t->ports[dest->peer].node)];
	bool special = c->t->nodes[dest->node].sharp;
	const struct check_count *count = &c->counts[lid];

	if (!special)
		c->report->disconnected += c->all_hosts - hosts;
	if (!c->walk[lid]) {
		c->report->reachable += special ? 0 : hosts - 1;
		return;
	}
	c->report->reachable += count->reachable;
	c->report->unreachable += count->unreachable;
	c->report->unreachable_special += count->special;
	if (count->unreachable || count->loop)
		name_gap(c, count, lid, dest);
}

/* When nothing worse was: a gap between others than hosts. */
static void name_special(struct check *c)
{
	for (uint32_t lid = 1; !c->report->first[0] && lid <= c->lids->top; lid++) {
		const struct topo_port *dest = check_host_port(c, lid);

		if (dest && c->walk[lid] && c->counts[lid].from != TOPO_NONE)
			name_gap(c, &c->counts[lid], lid, dest);
	}
}

/* Hosts that the LID space had no number for: nobody reaches them, nor do they reach anybody. */
static void sum_lidless(struct check *c)
{
	for (uint32_t sw = 0; sw < c->t->nswitches; sw++) {
		uint64_t without = c->part_lidless[sw];

		if (without)
			c->report->unreachable += without * (2 * c->part_hosts[sw] + without - 1);
	}
}

static void sum_back_to_back(struct check *c)
{
	uint64_t n = c->back_to_back;

	c->report->reachable += n;
	if (n)
		c->report->disconnected += 2 * n * c->all_hosts + n * (n - 2);
}

void check_sum(struct check *c)
{
	sum_lidless(c);
	sum_back_to_back(c);
	for (uint32_t lid = 1; lid <= c->lids->top; lid++) {
		const struct topo_port *dest = check_host_port(c, lid);

		if (dest)
			sum_lid(c, lid, dest);
	}
	if (c->report->unreachable_special)
		name_special(c);
}
