/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * OpenSM's dump files, by their outside: what ibdmchk, ibdiagnet's parsers and fifteen years of
 * site scripts look for in them.
 *
 *   opensm-lfts.dump   each switch's table, an entry a line, with the LID's owner in a remark
 *   opensm.fdbs        the same as `LID : port : hops : optimal`
 *   opensm.mcfdbs      multicast tables; a switch without entries is not in it
 *   opensm-subnet.lst  the links with both their ends
 *
 * The hop column of opensm.fdbs counts the switches left to go through; it is found by following
 * the tables from each switch once (a step further than a switch whose count is known), and the
 * shortest count by a breadth-first walk over links from each destination's leaf, kept while
 * destinations share that leaf.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "fm/opensm/osm_dump.h"
#include "topology/dump.h"
#include "topology/mem.h"

#define HOPS_UNKNOWN 255

static uint32_t owner_of(const struct osm_dump_view *v, uint32_t lid)
{
	return lid <= v->lids->top ? v->lids->port_of_lid[lid] : TOPO_NONE;
}

static uint8_t entry_of(const struct osm_dump_view *v, uint32_t sw, uint32_t lid)
{
	return lid <= v->tables->top ? tables_row(v->tables, sw)[lid] : TABLES_NO_ROUTE;
}

static const char *type_name(uint8_t type)
{
	return type == TOPO_SWITCH ? "Switch" : type == TOPO_CA ? "Channel Adapter" : "Router";
}

static int stream_status(FILE *out)
{
	return ferror(out) ? -EIO : 0;
}

/* ---- opensm-lfts.dump ---- */

static void write_lft_entry(const struct osm_dump_view *v, FILE *out, uint32_t lid, uint8_t port)
{
	uint32_t owner = owner_of(v, lid);
	const struct topo_port *end = &v->topo->ports[owner];
	const struct topo_node *node = &v->topo->nodes[end->node];

	fprintf(out, "0x%04x %03u # %s portguid 0x%016" PRIx64 ": '%s'\n", lid, port,
		type_name(node->type), end->guid, node->label);
}

static int write_lfts(const struct osm_dump_view *v, FILE *out)
{
	for (uint32_t s = 0; s < v->topo->nswitches; s++) {
		const struct topo_node *sw = &v->topo->nodes[s];

		fprintf(out, "Unicast lids [0-%u] of switch Lid %u guid 0x%016" PRIx64 " ('%s'):\n",
			v->lids->top, v->lids->lid_of_port[sw->port0], sw->guid, sw->label);
		for (uint32_t lid = 1; lid <= v->lids->top; lid++) {
			uint8_t port = entry_of(v, s, lid);

			if (port != TABLES_NO_ROUTE && owner_of(v, lid) != TOPO_NONE)
				write_lft_entry(v, out, lid, port);
		}
		fprintf(out, "%u lids dumped\n", v->lids->top);
	}
	return stream_status(out);
}

/* ---- opensm.fdbs ---- */

/* Hops by table and by link, from each switch to one LID after another. */
struct hops {
	uint8_t *by_table; /* [lid * nswitches + switch] */
	uint8_t *by_link;  /* the same, from the destination's leaf */
	uint32_t *queue;
};

static uint8_t *hops_row(uint8_t *matrix, const struct topo *t, uint32_t lid)
{
	return matrix + (size_t)lid * t->nswitches;
}

/* The switch a port's link leads to, or TOPO_NONE. */
static uint32_t switch_behind(const struct topo *t, const struct topo_port *port)
{
	const struct topo_port *peer = port->link_up ? topo_peer(t, port) : NULL;

	return peer && t->nodes[peer->node].type == TOPO_SWITCH ? peer->node : TOPO_NONE;
}

/* Follows the tables from `sw` until a switch whose count is known, then counts back. */
static uint8_t count_by_table(const struct osm_dump_view *v, uint32_t lid, uint32_t sw,
			      uint8_t *row, unsigned depth)
{
	const struct topo *t = v->topo;
	uint8_t port = entry_of(v, sw, lid), onward;
	uint32_t next;

	if (row[sw] != HOPS_UNKNOWN || depth > 64 || port == TABLES_NO_ROUTE)
		return row[sw];
	if (port > t->nodes[sw].nports)
		return HOPS_UNKNOWN;
	if (port && topo_port(t, sw, port)->peer == owner_of(v, lid))
		return row[sw] = 1; /* the link to the host itself */
	next = port ? switch_behind(t, topo_port(t, sw, port)) : TOPO_NONE;
	if (next == TOPO_NONE)
		return HOPS_UNKNOWN;
	onward = count_by_table(v, lid, next, row, depth + 1);
	return row[sw] = onward == HOPS_UNKNOWN ? HOPS_UNKNOWN : (uint8_t)(onward + 1);
}

static void walk_links(const struct topo *t, uint32_t from, uint8_t first, uint8_t *row,
		       uint32_t *queue)
{
	uint32_t head = 0, tail = 0;

	row[from] = first;
	queue[tail++] = from;
	while (head < tail) {
		uint32_t sw = queue[head++];

		for (unsigned p = 1; p <= t->nodes[sw].nports; p++) {
			uint32_t next = switch_behind(t, topo_port(t, sw, p));

			if (next == TOPO_NONE || row[next] != HOPS_UNKNOWN)
				continue;
			row[next] = (uint8_t)(row[sw] + 1);
			queue[tail++] = next;
		}
	}
}

/*
 * The switch that packets to this end port leave the fabric by: itself, or the one at the other
 * end.
 */
static uint32_t leaf_of(const struct topo *t, uint32_t port)
{
	uint32_t node = t->ports[port].node;

	return t->nodes[node].type == TOPO_SWITCH ? node : switch_behind(t, &t->ports[port]);
}

static void hops_fill(const struct osm_dump_view *v, struct hops *hops)
{
	const struct topo *t = v->topo;
	uint32_t last_leaf = TOPO_NONE, last_lid = 0;

	for (uint32_t lid = 1; lid <= v->lids->top; lid++) {
		uint32_t owner = owner_of(v, lid), leaf;
		uint8_t *link = hops_row(hops->by_link, t, lid);
		uint8_t *table = hops_row(hops->by_table, t, lid);

		if (owner == TOPO_NONE || (leaf = leaf_of(t, owner)) == TOPO_NONE)
			continue;
		if (t->nodes[t->ports[owner].node].type == TOPO_SWITCH) {
			table[leaf] = 0;
			walk_links(t, leaf, 0, link, hops->queue);
		} else if (leaf == last_leaf) {
			memcpy(link, hops_row(hops->by_link, t, last_lid), t->nswitches);
		} else {
			walk_links(t, leaf, 1, link, hops->queue);
			last_leaf = leaf;
			last_lid = lid;
		}
		for (uint32_t s = 0; s < t->nswitches; s++)
			count_by_table(v, lid, s, table, 0);
	}
}

static void write_fdb_entry(FILE *out, uint32_t lid, uint8_t port, uint8_t hops, uint8_t best)
{
	fprintf(out, "0x%04X : ", lid);
	if (port == TABLES_NO_ROUTE)
		fputs("UNREACHABLE\n", out);
	else if (hops == HOPS_UNKNOWN)
		fprintf(out, "%03u  : HOPS UNKNOWN\n", port);
	else if (hops == best)
		fprintf(out, "%03u  : %02u   : yes\n", port, hops);
	else
		fprintf(out, "%03u  : %02u   : No, %u hops are possible\n", port, hops, best);
}

static void write_fdb(const struct osm_dump_view *v, const struct hops *hops, uint32_t sw,
		      FILE *out)
{
	fprintf(out, "dump_ucast_routes: Switch 0x%016" PRIx64 "\nLID    : Port : Hops : Optimal\n",
		v->topo->nodes[sw].guid);
	for (uint32_t lid = 1; lid <= v->lids->top; lid++) {
		bool owned = owner_of(v, lid) != TOPO_NONE;

		write_fdb_entry(out, lid, owned ? entry_of(v, sw, lid) : TABLES_NO_ROUTE,
				hops_row(hops->by_table, v->topo, lid)[sw],
				hops_row(hops->by_link, v->topo, lid)[sw]);
	}
}

static int write_fdbs(const struct osm_dump_view *v, FILE *out)
{
	size_t cells = ((size_t)v->lids->top + 1) * v->topo->nswitches;
	struct hops hops = {
		.by_table = mem_alloc(cells + 1, 1),
		.by_link = mem_alloc(cells + 1, 1),
		.queue = mem_alloc(v->topo->nswitches + 1, sizeof(uint32_t)),
	};

	memset(hops.by_table, HOPS_UNKNOWN, cells);
	memset(hops.by_link, HOPS_UNKNOWN, cells);
	hops_fill(v, &hops);
	for (uint32_t s = 0; s < v->topo->nswitches; s++)
		write_fdb(v, &hops, s, out);
	free(hops.by_table);
	free(hops.by_link);
	free(hops.queue);
	return stream_status(out);
}

/* ---- opensm.mcfdbs ---- */

static bool has_entry(const struct osm_dump_view *v, const struct topo_node *sw,
		      const struct mcast_tree *tree, uint16_t masks[MCAST_POSITIONS])
{
	uint16_t block[MCAST_BLOCK];
	unsigned row = tree->mlid - MCAST_FIRST_MLID;
	bool any = false;

	for (unsigned position = 0; position < MCAST_POSITIONS; position++) {
		mcast_plan_masks(v->trees, sw->guid, (uint16_t)(row / MCAST_BLOCK),
				 (uint8_t)position, block);
		masks[position] = block[row % MCAST_BLOCK];
		any |= masks[position] != 0;
	}
	return any;
}

static void write_mcfdb(const struct osm_dump_view *v, const struct topo_node *sw, FILE *out)
{
	struct mcast_hop hop;
	bool headed = false;

	for (uint32_t i = 0; i < v->trees->ntrees; i++) {
		if (!has_entry(v, sw, &v->trees->trees[i], hop.ports))
			continue;
		if (!headed)
			fprintf(out, "\nSwitch 0x%016" PRIx64 "\nLID    : Out Port(s)\n", sw->guid);
		headed = true;
		fprintf(out, "0x%04X :", v->trees->trees[i].mlid);
		for (unsigned port = 0; port <= sw->nports; port++)
			if (mcast_forwards(&hop, port))
				fprintf(out, " 0x%03X ", port);
		fputc('\n', out);
	}
}

static int write_mcfdbs(const struct osm_dump_view *v, FILE *out)
{
	for (uint32_t s = 0; v->trees && s < v->topo->nswitches; s++)
		write_mcfdb(v, &v->topo->nodes[s], out);
	return stream_status(out);
}

/* ---- The files ---- */

static int write_subnet_lst(const struct osm_dump_view *v, FILE *out)
{
	return dump_lst(v->topo, out);
}

static const struct osm_dump_file files[] = {
	{ "opensm-lfts.dump", write_lfts },
	{ "opensm.fdbs", write_fdbs },
	{ "opensm.mcfdbs", write_mcfdbs },
	{ "opensm-subnet.lst", write_subnet_lst },
};

const struct osm_dump_file *osm_dump_file(size_t index)
{
	return index < sizeof(files) / sizeof(files[0]) ? &files[index] : NULL;
}

const struct osm_dump_file *osm_dump_find(const char *name)
{
	for (size_t i = 0; osm_dump_file(i); i++)
		if (!strcmp(files[i].name, name))
			return &files[i];
	return NULL;
}
