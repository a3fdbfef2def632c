/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The store of alias GUIDs (see sa_state.h).
 *
 * A request for GUID 0 gets a GUID that fmd makes, and the same GUID again after a Delete. An alias
 * that is a member of a multicast group stays until it has left. The store keeps the table of a
 * port that goes away, and keeps all tables over a restart (`<port GUID> <entry> <GUID> <of our
 * making>` a line); fm/sa/module.c writes them to the ports.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/mad/wire_sa.h"
#include "fm/sa/sa_impl.h"
#include "fm/sa/sa_state.h"
#include "topology/base/mem.h"

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

/* ---- The store ------------------------------------------------------------------------------- */

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

/* 0 = none. */
static void entry_put(struct sa *sa, struct alias_table *table, unsigned entry, guid_t guid)
{
	struct alias *alias;

	if (table->guids[entry])
		free(cl_qmap_remove(&sa->aliases.owners, table->guids[entry]));
	table->guids[entry] = guid;
	if (!guid)
		return;
	alias = mem_alloc(1, sizeof(*alias));
	alias->port = cl_qmap_key(&table->item);
	cl_qmap_insert(&sa->aliases.owners, guid, &alias->item);
}

static bool is_taken(const struct sa *sa, guid_t guid)
{
	return sa_alias_port(sa, guid) ||
	       (sa->view.topo && topo_find_port(sa->view.topo, guid) != TOPO_NONE);
}

/* ---- Changes --------------------------------------------------------------------------------- */

enum wire_sa_status sa_alias_set(struct sa *sa, struct sa_alias_change *c)
{
	struct alias_table *table = table_get(sa, c->port, c->first);

	if (!table)
		return WIRE_SA_NO_RESOURCES;
	for (unsigned entry = c->first; entry < c->end; entry++) {
		guid_t had = table->guids[entry], want = c->want[entry - c->first];

		if (!(c->mask >> (entry - c->first) & 1) || (!want && had))
			continue;
		if (!want) {
			while (!table->ours[entry]) {
				want = OUR_GUIDS | ++sa->aliases.made;
				table->ours[entry] = is_taken(sa, want) ? 0 : want;
			}
			want = table->ours[entry];
		}
		if (want == had || is_taken(sa, want) || (had && sa_groups_port(sa->groups, had)))
			continue;
		entry_put(sa, table, entry, want);
		c->differs = true;
	}
	return WIRE_SA_OK;
}

enum wire_sa_status sa_alias_delete(struct sa *sa, struct sa_alias_change *c)
{
	struct alias_table *table = table_find(sa, c->port);
	unsigned end = table && table->count < c->end ? table->count : c->end;

	for (unsigned entry = c->first; table && entry < end; entry++)
		if (c->mask >> (entry - c->first) & 1 &&
		    sa_groups_port(sa->groups, table->guids[entry]))
			return WIRE_SA_DENIED;
	for (unsigned entry = c->first; table && entry < end; entry++)
		if (c->mask >> (entry - c->first) & 1 && table->guids[entry]) {
			entry_put(sa, table, entry, 0);
			c->differs = true;
		}
	return WIRE_SA_OK;
}

/* ---- For the ports --------------------------------------------------------------------------- */

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

/* ---- Lines ----------------------------------------------------------------------------------- */

/* again: the entry may have had another GUID until then. */
static bool line_take(struct sa *sa, const char *line, bool again)
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
	if (!port || !entry || entry >= ENTRIES)
		return false;
	table = table_get(sa, port, entry);
	if (!table || (!again && table->guids[entry]))
		return false;
	entry_put(sa, table, entry, 0);
	if (guid && sa_alias_port(sa, guid))
		return false;
	entry_put(sa, table, entry, guid);
	table->ours[entry] = ours;
	return true;
}

unsigned sa_aliases_read(void *sa, FILE *in)
{
	char line[LINE_SIZE];

	for (unsigned number = 1; fgets(line, sizeof(line), in); number++)
		if (!line_take(sa, line, false))
			return number;
	return 0;
}

bool sa_aliases_take(void *sa, const char *line)
{
	return line_take(sa, line, true);
}

static void line_write(const struct alias_table *table, unsigned entry, char line[LINE_SIZE])
{
	snprintf(line, LINE_SIZE, "0x%016" PRIx64 " %u 0x%016" PRIx64 " 0x%016" PRIx64,
		 cl_qmap_key(&table->item), entry, table->guids[entry], table->ours[entry]);
}

void sa_alias_record(struct sa *sa, const struct sa_alias_change *c)
{
	const struct alias_table *table = table_find(sa, c->port);
	char line[LINE_SIZE];

	for (unsigned entry = c->first; table && entry < c->end && entry < table->count; entry++) {
		if (!entry || !(c->mask >> (entry - c->first) & 1))
			continue;
		line_write(table, entry, line);
		sa_record(sa, SA_ALIASES, false, line);
	}
}

void sa_aliases_write(const void *sa, FILE *out)
{
	const cl_qmap_t *map = &((const struct sa *)sa)->aliases.tables;

	for (const cl_map_item_t *i = cl_qmap_head(map); i != cl_qmap_end(map);
	     i = cl_qmap_next(i)) {
		const struct alias_table *table = (const struct alias_table *)i;

		for (unsigned entry = 1; entry < table->count; entry++) {
			char line[LINE_SIZE];

			if (!table->guids[entry] && !table->ours[entry])
				continue;
			line_write(table, entry, line);
			fprintf(out, "%s\n", line);
		}
	}
}

void sa_aliases_forget(void *arg)
{
	struct sa *sa = arg;

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
