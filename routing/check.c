/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * check: proves forwarding tables (see check.h).
 *
 * One pass over all entries, row by row (36 to 64 neighbouring rows stream through the cache beside
 * it): each entry's next switch and that switch's next port give a channel dependency, and show
 * whether the entry leads anywhere. Then:
 *   - no cycle among channels: no deadlock, and no forwarding loop either (a loop is a cycle of
 * channels);
 *   - without loops every packet ends somewhere. A destination is plain when all switches with
 * hosts have an entry for it, no entry for it leads to a switch that has none, and all last entries
 * lead to the right port: then all arrive, by induction. Only destinations that are not plain are
 * walked switch by switch. A finding is kept by name: the first pair, loop or cycle.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "routing/cdg.h"
#include "routing/check.h"
#include "topology/mem.h"

enum arrival { UNSEEN, WALKING, ARRIVES, STRANDED, LOOPS };

struct check {
	const struct topo *t;
	const struct lid_map *lids;
	const struct tables *tables;
	struct check_report *report;
	struct cdg cdg;
	struct turns *turns;	    /* of the row being inspected */
	bool *walk;		    /* by LID: not plain */
	uint32_t *part;		    /* by node: connected part (union-find) */
	uint32_t *hosts, *specials; /* by switch: attached host ports, SHARP aggregation nodes */
	uint64_t *part_hosts, *part_specials; /* by part's root */
	uint64_t all_hosts;
	uint8_t *arrival; /* by switch, for one LID */
	uint16_t *hops;
	uint32_t *trail;
	uint64_t hop_sum, hop_count;
};

static void finding(struct check *c, const char *what, uint32_t sw, uint32_t lid)
{
	const struct topo *t = c->t;

	if (c->report->first[0])
		return;
	uint32_t port = lid <= c->lids->top ? c->lids->port_of_lid[lid] : TOPO_NONE;
	snprintf(c->report->first, sizeof(c->report->first),
		 "%s: from %s (0x%016llx) to LID %u (%s)", what, t->nodes[sw].desc,
		 (unsigned long long)t->nodes[sw].guid, lid,
		 port == TOPO_NONE ? "nobody" : t->nodes[t->ports[port].node].desc);
}

/* ---- Connected parts --------------------------------------------------------------------------- */

static uint32_t part_of(uint32_t *part, uint32_t node)
{
	while (part[node] != node)
		node = part[node] = part[part[node]];
	return node;
}

static bool is_host_port(const struct topo *t, const struct topo_port *port)
{
	return port->link_up && port->node >= t->nswitches &&
	       t->ports[port->peer].node < t->nswitches;
}

static void find_parts(struct check *c)
{
	const struct topo *t = c->t;

	for (uint32_t n = 0; n < t->nnodes; n++)
		c->part[n] = n;
	for (uint32_t i = 0; i < t->nports; i++) {
		const struct topo_port *port = &t->ports[i];

		if (port->link_up)
			c->part[part_of(c->part, port->node)] =
				part_of(c->part, t->ports[port->peer].node);
	}
	for (uint32_t i = 0; i < t->nports; i++) {
		const struct topo_port *port = &t->ports[i];

		if (!is_host_port(t, port) || !c->lids->lid_of_port[i])
			continue;
		bool special = t->nodes[port->node].sharp;
		(special ? c->specials : c->hosts)[t->ports[port->peer].node]++;
		(special ? c->part_specials : c->part_hosts)[part_of(c->part, port->node)]++;
		c->all_hosts += !special;
	}
}

/* ---- The pass over all entries ----------------------------------------------------------------- */

/* Is this the switch's last entry for lid, and does it lead to the port that has the LID? */
static bool delivers(const struct check *c, uint32_t sw, unsigned out, uint32_t lid)
{
	uint32_t dest = c->lids->port_of_lid[lid];

	if (dest == TOPO_NONE)
		return false;
	if (out == 0)
		return c->t->ports[dest].node == sw;
	return topo_port(c->t, sw, out)->peer == dest && topo_port(c->t, sw, out)->link_up;
}

static void inspect_end(struct check *c, uint32_t sw, unsigned out, uint32_t lid)
{
	if (out <= c->t->nodes[sw].nports && delivers(c, sw, out, lid))
		return;
	c->report->bad_ports++;
	c->walk[lid] = true;
	finding(c, "entry leads to a port with nothing or somebody else behind it", sw, lid);
}

struct exits {			 /* of one switch, by output port */
	const uint8_t *row[256]; /* next switch's row; NULL = no switch there */
	uint32_t channel[256];
};

static void find_exits(const struct check *c, uint32_t sw, struct exits *e)
{
	memset(e->row, 0, sizeof(e->row));
	for (unsigned num = 1; num <= c->t->nodes[sw].nports; num++) {
		uint32_t port = c->t->nodes[sw].port0 + num;

		e->channel[num] = c->cdg.channel[port];
		if (e->channel[num] != TOPO_NONE)
			e->row[num] =
				tables_row(c->tables, c->t->ports[c->t->ports[port].peer].node);
	}
}

/* What follows what at the next switches: plain stores in the loop, turned into dependencies once a row. */
struct turns {
	uint8_t met[256][256]; /* by output port here, output port there */
};

static void add_dependencies(struct check *c, uint32_t sw, const struct exits *e,
			     const struct turns *turns)
{
	for (unsigned out = 1; out <= c->t->nodes[sw].nports; out++) {
		if (!e->row[out])
			continue;
		for (unsigned next = 0; next < TABLES_NO_ROUTE; next++)
			if (turns->met[out][next])
				cdg_add(&c->cdg, e->channel[out], next);
	}
}

static void inspect_row(struct check *c, uint32_t sw)
{
	const uint8_t *row = tables_row(c->tables, sw);
	bool sources = c->hosts[sw] || c->specials[sw];
	struct turns *turns = c->turns;
	struct exits e;

	find_exits(c, sw, &e);
	memset(turns->met, 0, (c->t->nodes[sw].nports + 1u) * sizeof(turns->met[0]));
	for (uint32_t lid = 1; lid <= c->tables->top; lid++) {
		unsigned out = row[lid];

		if (out == TABLES_NO_ROUTE) {
			c->walk[lid] |= sources;
		} else if (e.row[out]) {
			unsigned next = e.row[out][lid];

			turns->met[out][next] = 1;
			c->walk[lid] |= next == TABLES_NO_ROUTE;
		} else {
			inspect_end(c, sw, out, lid);
		}
	}
	add_dependencies(c, sw, &e, turns);
}

static void judge_cycles(struct check *c)
{
	uint32_t cycle[6];
	unsigned length;
	char *at = c->report->first, *end = at + sizeof(c->report->first);

	c->report->credit_cycles = cdg_cycles(&c->cdg, cycle, 6, &length);
	if (!c->report->credit_cycles || *at)
		return;
	at += snprintf(at, end - at, "credit cycle:");
	for (unsigned i = 0; i < length && at < end; i++) {
		const struct topo_port *port = &c->t->ports[c->cdg.port_of[cycle[i]]];

		at += snprintf(at, end - at, " %s[%u]", c->t->nodes[port->node].desc, port->num);
	}
}

/* ---- Walking one destination ------------------------------------------------------------------- */

static enum arrival next_step(const struct check *c, uint32_t sw, uint32_t lid, uint32_t *next)
{
	unsigned out = tables_row(c->tables, sw)[lid];

	if (out > c->t->nodes[sw].nports)
		return STRANDED;
	if (out && c->cdg.channel[c->t->nodes[sw].port0 + out] != TOPO_NONE) {
		*next = topo_peer(c->t, topo_port(c->t, sw, out))->node;
		return UNSEEN;
	}
	return delivers(c, sw, out, lid) ? ARRIVES : STRANDED;
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

static void walk_all(struct check *c, uint32_t lid)
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

/* ---- Host pairs -------------------------------------------------------------------------------- */

static void count_walked(struct check *c, uint32_t lid, const struct topo_port *dest)
{
	bool special = c->t->nodes[dest->node].sharp;
	uint32_t part = part_of(c->part, dest->node), home = c->t->ports[dest->peer].node;

	walk_all(c, lid);
	for (uint32_t sw = 0; sw < c->t->nswitches; sw++) {
		uint64_t hosts = c->hosts[sw] - (sw == home && !special);
		uint64_t specials = c->specials[sw] - (sw == home && special);

		if (part_of(c->part, sw) != part)
			continue;
		if (c->arrival[sw] == ARRIVES) {
			c->report->reachable += special ? 0 : hosts;
			note_hops(c, sw);
			continue;
		}
		c->report->unreachable += special ? 0 : hosts;
		c->report->unreachable_special += special ? hosts + specials : specials;
		if (hosts || specials)
			finding(c, c->arrival[sw] == LOOPS ? "loop" : "unreachable", sw, lid);
	}
}

/* All sources arrive. Hops are taken from one LID of each switch: LIDs behind one switch go the
 * same number of hops. */
static void count_plain(struct check *c, uint32_t lid, const struct topo_port *dest, bool *measured)
{
	uint32_t home = c->t->ports[dest->peer].node;

	if (!c->t->nodes[dest->node].sharp)
		c->report->reachable += c->part_hosts[part_of(c->part, dest->node)] - 1;
	if (measured[home])
		return;
	measured[home] = true;
	walk_all(c, lid);
	for (uint32_t sw = 0; sw < c->t->nswitches; sw++)
		if (c->hosts[sw] && c->arrival[sw] == ARRIVES)
			note_hops(c, sw);
}

static void count_pairs(struct check *c)
{
	bool *measured = mem_alloc(c->t->nswitches + 1, sizeof(*measured));
	bool cyclic = c->report->credit_cycles > 0;

	for (uint32_t lid = 1; lid <= c->tables->top; lid++) {
		uint32_t port = lid <= c->lids->top ? c->lids->port_of_lid[lid] : TOPO_NONE;
		const struct topo_port *dest = port == TOPO_NONE ? NULL : &c->t->ports[port];

		if (!dest || !is_host_port(c->t, dest)) {
			if (cyclic && dest)
				walk_all(c, lid); /* loops towards switches count too */
			continue;
		}
		if (!c->t->nodes[dest->node].sharp)
			c->report->disconnected +=
				c->all_hosts - c->part_hosts[part_of(c->part, dest->node)];
		if (c->walk[lid] || cyclic)
			count_walked(c, lid, dest);
		else
			count_plain(c, lid, dest, measured);
	}
	free(measured);
	c->report->mean_hops = c->hop_count ? (double)c->hop_sum / c->hop_count : 0;
}

static void check_init(struct check *c)
{
	const struct topo *t = c->t;

	cdg_init(&c->cdg, t);
	c->turns = mem_alloc(1, sizeof(*c->turns));
	c->walk = mem_alloc(c->tables->top + 1u, sizeof(*c->walk));
	c->part = mem_alloc(t->nnodes + 1, sizeof(*c->part));
	c->hosts = mem_alloc(t->nswitches + 1, sizeof(*c->hosts));
	c->specials = mem_alloc(t->nswitches + 1, sizeof(*c->specials));
	c->part_hosts = mem_alloc(t->nnodes + 1, sizeof(*c->part_hosts));
	c->part_specials = mem_alloc(t->nnodes + 1, sizeof(*c->part_specials));
	c->arrival = mem_alloc(t->nswitches + 1, sizeof(*c->arrival));
	c->hops = mem_alloc(t->nswitches + 1, sizeof(*c->hops));
	c->trail = mem_alloc(t->nswitches + 1, sizeof(*c->trail));
}

static void check_fini(struct check *c)
{
	cdg_fini(&c->cdg);
	free(c->turns);
	free(c->walk);
	free(c->part);
	free(c->hosts);
	free(c->specials);
	free(c->part_hosts);
	free(c->part_specials);
	free(c->arrival);
	free(c->hops);
	free(c->trail);
}

bool check_tables(const struct topo *t, const struct lid_map *lids, const struct tables *tables,
		  struct check_report *report)
{
	struct check c = { .t = t, .lids = lids, .tables = tables, .report = report };

	*report = (struct check_report){ 0 };
	if (tables->nswitches != t->nswitches || tables->top < lids->top) {
		snprintf(report->first, sizeof(report->first), "tables of another fabric");
		report->bad_ports = 1;
		return false;
	}
	check_init(&c);
	find_parts(&c);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		inspect_row(&c, sw);
	judge_cycles(&c);
	count_pairs(&c);
	check_fini(&c);
	return !report->loops && !report->credit_cycles && !report->bad_ports;
}
