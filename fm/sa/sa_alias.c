/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Alias GUIDs (see sa_alias.h). A host asks by Set of GUIDInfoRecord for entries of its port's GUID table, by Delete for their end:
 * LID and block name the place, the component mask says which of its eight entries are meant. The answer shows the block as it is
 * then: a GUID that somebody else has is not taken, and shows as what was there.
 *
 * Who asks for zero gets a GUID of our making, and the same one again after a Delete. The first entry of all is the port's own, and
 * nobody's to change. A port's table is changed by that port, or by trusted requests in a partition with it. An alias that is
 * in a multicast group stays until it has left.
 *
 * The tables are kept whatever becomes of their ports, and over a restart (`<port GUID> <entry> <GUID> <of our making>` a line); the
 * conductor writes them to the ports.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/sa/sa_rows.h"
#include "topology/mem.h"

#define EACH	  8			/* GUIDs in a block */
#define ENTRIES	  256			/* of a port, at most */
#define PORTS_MAX 65536			/* with tables */
#define OUR_GUIDS 0x0014050000000000ull /* OpenIB's company id */
#define LINE_SIZE 128

struct alias_table {
	cl_map_item_t item;   /* key: port GUID */
	unsigned count;	      /* of entries; those behind are 0 */
	guid_t *guids, *ours; /* [count]: now; made by us for that entry, at any time */
};

struct alias {
	cl_map_item_t item; /* key: the alias */
	guid_t port;
};

/* ---- The store ----------------------------------------------------------------------------------- */

static struct alias_table *table_find(const struct sa *sa, guid_t port)
{
	cl_map_item_t *item = cl_qmap_get(&sa->aliases.tables, port);

	return item == cl_qmap_end(&sa->aliases.tables) ? NULL : (struct alias_table *)item;
}

/* With room for an entry; NULL: there are too many. */
static struct alias_table *table_get(struct sa *sa, guid_t port, unsigned entry)
{
	struct alias_table *table = table_find(sa, port);
	unsigned count = (entry / EACH + 1) * EACH;

	if (!table) {
		if (cl_qmap_count(&sa->aliases.tables) >= PORTS_MAX)
			return NULL;
		table = mem_alloc(1, sizeof(*table));
		cl_qmap_insert(&sa->aliases.tables, port, &table->item);
	}
	if (table->count < count) {
		table->guids = mem_resize(table->guids, count, sizeof(guid_t));
		table->ours = mem_resize(table->ours, count, sizeof(guid_t));
		memset(table->guids + table->count, 0, (count - table->count) * sizeof(guid_t));
		memset(table->ours + table->count, 0, (count - table->count) * sizeof(guid_t));
		table->count = count;
	}
	return table;
}

guid_t sa_alias_port(const struct sa *sa, guid_t guid)
{
	cl_map_item_t *item = cl_qmap_get(&sa->aliases.owners, guid);

	return item == cl_qmap_end(&sa->aliases.owners) ? 0 : ((struct alias *)item)->port;
}

guid_t sa_own_port(const struct sa *sa, guid_t guid)
{
	guid_t port = sa_alias_port(sa, guid);

	return port ? port : guid;
}

uint32_t sa_port_by_guid(const struct sa *sa, guid_t guid)
{
	uint32_t port = topo_find_port(sa->view.topo, guid);
	guid_t of = port == TOPO_NONE ? sa_alias_port(sa, guid) : 0;

	return of ? topo_find_port(sa->view.topo, of) : port;
}

void sa_alias_guids(const struct sa *sa, guid_t port, unsigned block, guid_t guids[EACH])
{
	const struct alias_table *table = table_find(sa, port);

	memset(guids, 0, EACH * sizeof(*guids));
	if (table && (block + 1) * EACH <= table->count)
		memcpy(guids, table->guids + block * EACH, EACH * sizeof(*guids));
	if (!block)
		guids[0] = port;
}

guid_t sa_alias_each(const struct sa *sa, guid_t port, unsigned *at)
{
	const struct alias_table *table;
	guid_t guid = 0;

	if (!(*at)++)
		return port;
	table = table_find(sa, port);
	while (table && !guid && *at <= table->count)
		guid = table->guids[(*at)++ - 1];
	return guid;
}

static void owner_add(struct sa *sa, guid_t guid, guid_t port)
{
	struct alias *alias = mem_alloc(1, sizeof(*alias));

	alias->port = port;
	cl_qmap_insert(&sa->aliases.owners, guid, &alias->item);
}

static void owner_remove(struct sa *sa, guid_t guid)
{
	free(cl_qmap_remove(&sa->aliases.owners, guid));
}

/* 0 = none. */
static void entry_put(struct sa *sa, struct alias_table *table, unsigned entry, guid_t guid)
{
	if (table->guids[entry])
		owner_remove(sa, table->guids[entry]);
	table->guids[entry] = guid;
	if (guid)
		owner_add(sa, guid, cl_qmap_key(&table->item));
}

static bool is_taken(const struct sa *sa, guid_t guid)
{
	return sa_alias_port(sa, guid) ||
	       (sa->view.topo && topo_find_port(sa->view.topo, guid) != TOPO_NONE);
}

static guid_t new_guid(struct sa *sa)
{
	guid_t guid;

	do
		guid = OUR_GUIDS | ++sa->aliases.made;
	while (is_taken(sa, guid));
	return guid;
}

/* ---- Requests ------------------------------------------------------------------------------------ */

struct change {
	uint16_t lid;
	guid_t port;
	unsigned first, end; /* entries of the block */
	uint8_t mask;	     /* of these: meant */
	guid_t want[EACH];
	bool differs;
};

static bool is_member_anywhere(const struct sa *sa, guid_t guid)
{
	return sa_groups_port(sa->groups, guid) != NULL;
}

static void set_entry(struct sa *sa, struct alias_table *table, unsigned entry, guid_t want,
		      struct change *c)
{
	guid_t had = table->guids[entry];

	if (!want && had)
		return;
	if (!want) {
		if (!table->ours[entry])
			table->ours[entry] = new_guid(sa);
		want = table->ours[entry];
	}
	if (want == had || is_taken(sa, want) || (had && is_member_anywhere(sa, had)))
		return;
	entry_put(sa, table, entry, want);
	c->differs = true;
}

static enum wire_sa_status set_block(struct sa *sa, struct change *c)
{
	struct alias_table *table = table_get(sa, c->port, c->first);

	if (!table)
		return WIRE_SA_NO_RESOURCES;
	for (unsigned entry = c->first; entry < c->end; entry++)
		if (c->mask >> (entry - c->first) & 1)
			set_entry(sa, table, entry, c->want[entry - c->first], c);
	return WIRE_SA_OK;
}

static enum wire_sa_status delete_block(struct sa *sa, struct change *c)
{
	struct alias_table *table = table_find(sa, c->port);
	unsigned end = table && table->count < c->end ? table->count : c->end;

	for (unsigned entry = c->first; table && entry < end; entry++)
		if (c->mask >> (entry - c->first) & 1 &&
		    is_member_anywhere(sa, table->guids[entry]))
			return WIRE_SA_DENIED;
	for (unsigned entry = c->first; table && entry < end; entry++)
		if (c->mask >> (entry - c->first) & 1 && table->guids[entry]) {
			entry_put(sa, table, entry, 0);
			c->differs = true;
		}
	return WIRE_SA_OK;
}

static bool may_change(const struct sa_query *q, uint32_t port)
{
	return port == q->asker ||
	       (q->trusted && q->asker != TOPO_NONE && sa_may_know(q->sa, port, q->asker));
}

/* How many entries the port's table has; 0 = nobody knows. */
static unsigned guid_cap(const struct sa *sa, uint32_t port)
{
	const struct topo *t = sa->view.topo;
	const struct topo_node *node = &t->nodes[t->ports[port].node];
	const struct inv_node *inv = inventory_find(sa->inv, node->guid);
	unsigned num = t->ports[port].num;
	struct wire_port_caps caps;

	if (!inv || num > inv->nports || !inv->ports[num].known)
		return 0;
	wire_port_caps_decode(inv->ports[num].info, &caps);
	return caps.guid_cap;
}

static enum wire_sa_status change_read(const struct sa_query *q, struct change *c)
{
	uint8_t block;
	uint32_t port;
	unsigned cap;

	if (!sa_asked(q, WIRE_SA_LID) || !sa_asked(q, WIRE_GUID_BLOCK))
		return WIRE_SA_INSUF_COMPS;
	wire_guid_record_decode(q->data, &c->lid, &block, c->want);
	port = sa_port_by_lid(q->sa, c->lid);
	if (port == TOPO_NONE)
		return WIRE_SA_NO_RECORDS;
	if (!may_change(q, port))
		return WIRE_SA_REQ_INVALID;
	cap = guid_cap(q->sa, port);
	c->port = q->sa->view.topo->ports[port].guid;
	c->first = block * EACH;
	c->end = c->first + EACH < cap ? c->first + EACH : cap;
	c->mask = (uint8_t)(q->comp_mask >> WIRE_GUID_FIRST);
	if (c->first >= cap)
		return WIRE_SA_NO_RECORDS;
	return !block && c->mask & 1 ? WIRE_SA_REQ_INVALID : WIRE_SA_OK;
}

enum wire_sa_status sa_alias_change(struct sa_query *q)
{
	struct sa *sa = q->sa;
	struct change c = { 0 };
	guid_t guids[EACH];
	enum wire_sa_status status = change_read(q, &c);

	if (!status)
		status = q->method == WIRE_SET ? set_block(sa, &c) : delete_block(sa, &c);
	if (status)
		return status;
	sa_alias_guids(sa, c.port, c.first / EACH, guids);
	wire_guid_record_encode(c.lid, (uint8_t)(c.first / EACH), guids, q->data);
	if (c.differs) {
		sa_changed(sa);
		if (sa->listener.guids)
			sa->listener.guids(sa->listener.arg, c.port);
	}
	return sa_walk_once(q);
}

/* ---- For the conductor --------------------------------------------------------------------------- */

guid_t sa_alias_next(const struct sa *sa, guid_t after)
{
	const cl_map_item_t *item = cl_qmap_get_next(&sa->aliases.tables, after);

	return item == cl_qmap_end(&sa->aliases.tables) ? 0 : cl_qmap_key(item);
}

bool sa_alias_block(const struct sa *sa, guid_t port, unsigned block, uint8_t data[64])
{
	const struct alias_table *table = table_find(sa, port);
	guid_t guids[EACH];

	if (!table || block >= table->count / EACH)
		return false;
	sa_alias_guids(sa, port, block, guids);
	wire_guid_info_encode(guids, data);
	return true;
}

/* ---- Lines --------------------------------------------------------------------------------------- */

static bool line_read(struct sa *sa, const char *line)
{
	struct alias_table *table;
	guid_t port, guid, ours;
	unsigned entry;
	char rest;

	if (line[strspn(line, " \t\n")] == '\0' || line[0] == '#')
		return true;
	if (sscanf(line, "0x%" SCNx64 " %u 0x%" SCNx64 " 0x%" SCNx64 " %c", &port, &entry, &guid,
		   &ours, &rest) != 4)
		return false;
	if (!port || !entry || entry >= ENTRIES || (guid && sa_alias_port(sa, guid)))
		return false;
	table = table_get(sa, port, entry);
	if (!table || table->guids[entry])
		return false;
	entry_put(sa, table, entry, guid);
	table->ours[entry] = ours;
	return true;
}

unsigned sa_aliases_read(struct sa *sa, FILE *in)
{
	char line[LINE_SIZE];

	for (unsigned number = 1; fgets(line, sizeof(line), in); number++)
		if (!line_read(sa, line))
			return number;
	return 0;
}

void sa_aliases_write(const struct sa *sa, FILE *out)
{
	const cl_qmap_t *map = &sa->aliases.tables;

	for (const cl_map_item_t *i = cl_qmap_head(map); i != cl_qmap_end(map);
	     i = cl_qmap_next(i)) {
		const struct alias_table *table = (const struct alias_table *)i;

		for (unsigned entry = 1; entry < table->count; entry++)
			if (table->guids[entry] || table->ours[entry])
				fprintf(out,
					"0x%016" PRIx64 " %u 0x%016" PRIx64 " 0x%016" PRIx64 "\n",
					cl_qmap_key(i), entry, table->guids[entry],
					table->ours[entry]);
	}
}

/* ---- Life ---------------------------------------------------------------------------------------- */

void sa_alias_init(struct sa *sa)
{
	cl_qmap_init(&sa->aliases.tables);
	cl_qmap_init(&sa->aliases.owners);
}

void sa_aliases_forget(struct sa *sa)
{
	while (cl_qmap_count(&sa->aliases.tables)) {
		struct alias_table *table = (struct alias_table *)cl_qmap_head(&sa->aliases.tables);

		for (unsigned entry = 0; entry < table->count; entry++)
			entry_put(sa, table, entry, 0);
		cl_qmap_remove_item(&sa->aliases.tables, &table->item);
		free(table->guids);
		free(table->ours);
		free(table);
	}
}
