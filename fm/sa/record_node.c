/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <inttypes.h>
#include "fm/mad/wire_sa.h"
#include "fm/sa/sa_impl.h"
#include "fm/sa/sa_state.h"
#include "topology/base/mem.h"

/* ---- The store of alias GUIDs (see sa_state.h) ----------------------------------------------- */

/*
 * A request for GUID 0 gets a GUID that fmd makes, and the same GUID again after a Delete. An alias
 * that is a member of a multicast group stays until it has left. The store keeps the table of a
 * port that goes away, and keeps all tables over a restart (`<port GUID> <entry> <GUID> <of our
 * making>` a line); fm/sa/module.c writes them to the ports.
 */

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

/* The table, large enough for that entry; NULL: there are too many. */
static struct alias_table *table_get(struct sa *sa, guid_t port, unsigned entry)
{
	struct alias_table *table = sa_map_find(&sa->aliases.tables, port);
	unsigned count = (entry / EACH + 1) * EACH;

	if (!table) {
		if (cl_qmap_count(&sa->aliases.tables) >= PORTS_MAX)
			return NULL;
		table = mem_new(table);
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
	const struct alias *alias = sa_map_find(&sa->aliases.owners, guid);

	return alias ? alias->port : 0;
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

/* A block of a port's table as a GUIDInfo, its own GUID first. */
static void guid_info(const struct sa *sa, guid_t port, unsigned block, uint8_t data[WIRE_SMP_DATA])
{
	const struct alias_table *table = sa_map_find(&sa->aliases.tables, port);

	for (unsigned i = 0; i < EACH; i++)
		wire_put(data + 8 * i, 8,
			 !block && !i ? port
			 : table && (block + 1) * EACH <= table->count
				 ? table->guids[block * EACH + i]
				 : 0);
}

guid_t sa_alias_each(const struct sa *sa, guid_t port, unsigned *at)
{
	guid_t guid = 0;

	if (!(*at)++)
		return port;

	const struct alias_table *table = sa_map_find(&sa->aliases.tables, port);

	while (table && !guid && *at <= table->count)
		guid = table->guids[(*at)++ - 1];
	return guid;
}

/* 0 = none. */
static void entry_put(struct aliases *aliases, struct alias_table *table, unsigned entry,
		      guid_t guid)
{
	if (table->guids[entry])
		free(cl_qmap_remove(&aliases->owners, table->guids[entry]));
	table->guids[entry] = guid;
	if (!guid)
		return;

	struct alias *alias = mem_new(alias);

	alias->port = cl_qmap_key(&table->item);
	cl_qmap_insert(&aliases->owners, guid, &alias->item);
}

static bool is_taken(const struct sa *sa, guid_t guid)
{
	return sa_alias_port(sa, guid) ||
	       (sa->view.topo && topo_find_port(sa->view.topo, guid) != TOPO_NONE);
}

/* ---- Changes --------------------------------------------------------------------------------- */

/* Takes the GUIDs wanted, zero = one of our making. NO_RESOURCES: too many ports have tables. */
static enum wire_sa_status sa_alias_set(struct sa *sa, struct sa_alias_change *c)
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
		entry_put(&sa->aliases, table, entry, want);
		c->differs = true;
	}
	return WIRE_SA_OK;
}

/* Removes them. DENIED, and nothing changed: one of them is in a multicast group. */
static enum wire_sa_status sa_alias_delete(struct sa *sa, struct sa_alias_change *c)
{
	struct alias_table *table = sa_map_find(&sa->aliases.tables, c->port);
	unsigned end = table && table->count < c->end ? table->count : c->end;

	for (unsigned entry = c->first; table && entry < end; entry++)
		if (c->mask >> (entry - c->first) & 1 &&
		    sa_groups_port(sa->groups, table->guids[entry]))
			return WIRE_SA_DENIED;
	for (unsigned entry = c->first; table && entry < end; entry++)
		if (c->mask >> (entry - c->first) & 1 && table->guids[entry]) {
			entry_put(&sa->aliases, table, entry, 0);
			c->differs = true;
		}
	return WIRE_SA_OK;
}

/* ---- For the ports --------------------------------------------------------------------------- */

guid_t sa_alias_next(const struct sa *sa, guid_t after)
{
	const cl_map_item_t *item = sa_map_next(&sa->aliases.tables, after);

	return item ? cl_qmap_key(item) : 0;
}

bool sa_alias_block(const struct sa *sa, guid_t port, unsigned block, uint8_t data[64])
{
	const struct alias_table *table = sa_map_find(&sa->aliases.tables, port);

	if (!table || block >= table->count / EACH)
		return false;
	guid_info(sa, port, block, data);
	return true;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

bool sa_aliases_line(void *sa, const char *line)
{
	guid_t port, guid, ours;
	unsigned entry;
	char rest;

	if (sscanf(line, "0x%" SCNx64 " %u 0x%" SCNx64 " 0x%" SCNx64 " %c", &port, &entry, &guid,
		   &ours, &rest) != 4)
		return false;
	if (!port || !entry || entry >= ENTRIES)
		return false;

	struct alias_table *table = table_get(sa, port, entry);

	if (!table || table->guids[entry])
		return false;
	if (guid && sa_alias_port(sa, guid))
		return false;
	entry_put(&((struct sa *)sa)->aliases, table, entry, guid);
	table->ours[entry] = ours;
	return true;
}

static void line_write(const struct alias_table *table, unsigned entry, char line[LINE_SIZE])
{
	snprintf(line, LINE_SIZE, "0x%016" PRIx64 " %u 0x%016" PRIx64 " 0x%016" PRIx64,
		 cl_qmap_key(&table->item), entry, table->guids[entry], table->ours[entry]);
}

/* A place is a port's GUID. */
uint64_t sa_aliases_write(const void *sa, uint64_t from, FILE *out)
{
	const cl_qmap_t *map = &((const struct sa *)sa)->aliases.tables;
	const cl_map_item_t *i = from ? cl_qmap_get_next(map, from - 1) : cl_qmap_head(map);
	int left = SA_LINES;

	for (; i != cl_qmap_end(map) && left > 0; i = cl_qmap_next(i)) {
		const struct alias_table *table = (const struct alias_table *)i;

		left -= table->count;
		for (unsigned entry = 1; entry < table->count; entry++) {
			char line[LINE_SIZE];

			if (!table->guids[entry] && !table->ours[entry])
				continue;
			line_write(table, entry, line);
			fprintf(out, "%s\n", line);
		}
	}
	return i == cl_qmap_end(map) ? 0 : cl_qmap_key(i);
}

void sa_aliases_forget(void *arg)
{
	struct sa *sa = arg;

	while (cl_qmap_count(&sa->aliases.tables)) {
		struct alias_table *table = (struct alias_table *)cl_qmap_head(&sa->aliases.tables);

		for (unsigned entry = 0; entry < table->count; entry++)
			entry_put(&sa->aliases, table, entry, 0);
		cl_qmap_remove_item(&sa->aliases.tables, &table->item);
		free(table->guids);
		free(table->ours);
		free(table);
	}
}

/* ---- Record node ----------------------------------------------------------------------------- */

/*
 * GUIDInfoRecord (IBA 15.2.5.18): the GUIDs of ports, by Get and GetTable; alias GUIDs by Set and
 * Delete.
 *
 * A host requests entries of its port's GUID table by Set and ends them by Delete. LID and block
 * number name the block, and the component mask says which of its eight entries the request is
 * about. The answer shows the block after the change: the SA does not assign a GUID that another
 * port has, and shows the entry as it was. Nobody may change entry 0 of a table, the port's own
 * GUID. Only the port itself may change its table, or a trusted request of a port that shares a
 * partition with it.
 */

static const uint16_t guid_info_comps[] = {
	WIRE_LID | 16, 8, WIRE_R | 8, WIRE_R | 32, 64, 64, 64, 64, 64, 64, 64, 64,
};

/* ---- Set, Delete ----------------------------------------------------------------------------- */

static enum wire_sa_status change_read(const struct sa_query *q, uint16_t *lid,
				       struct sa_alias_change *c)
{
	const struct topo *t = q->sa->view.topo;
	const struct wire_sa_layout *layout = &q->record->layout;
	struct wire_port_caps caps = { 0 };
	uint8_t block = wire_sa_get(layout, WIRE_GUID_BLOCK, q->data);

	if (!sa_asked(q, WIRE_SA_LID) || !sa_asked(q, WIRE_GUID_BLOCK))
		return WIRE_SA_INSUF_COMPS;
	*lid = wire_sa_get(layout, WIRE_SA_LID, q->data);
	for (unsigned i = 0; i < EACH; i++)
		c->want[i] = wire_sa_get(layout, WIRE_GUID_FIRST + i, q->data);

	uint32_t port = sa_port_by_lid(q->sa, *lid);

	if (port == TOPO_NONE)
		return WIRE_SA_NO_RECORDS;
	if (port != q->requester &&
	    (!q->trusted || q->requester == TOPO_NONE || !sa_may_know(q->sa, port, q->requester)))
		return WIRE_SA_REQ_INVALID;

	const struct inv_node *inv = inventory_find(q->sa->inv, t->nodes[t->ports[port].node].guid);

	if (inv && sa_port_info(inv, t->ports[port].num))
		wire_port_caps_decode(sa_port_info(inv, t->ports[port].num), &caps);

	unsigned cap = caps.guid_cap; /* how many entries the port's table has; 0 = nobody knows */

	c->port = t->ports[port].guid;
	c->first = block * EACH;
	c->end = c->first + EACH < cap ? c->first + EACH : cap;
	c->mask = q->comp_mask >> WIRE_GUID_FIRST;
	if (c->first >= cap)
		return WIRE_SA_NO_RECORDS;
	return !block && c->mask & 1 ? WIRE_SA_REQ_INVALID : WIRE_SA_OK;
}

static enum wire_sa_status guid_prepare(struct sa_query *q)
{
	struct sa *sa = q->sa;
	struct sa_alias_change c = { 0 };
	uint8_t data[WIRE_SMP_DATA];
	uint16_t lid = 0;

	if (!sa_is_change(q))
		return sa_walk_nodes(q);

	enum wire_sa_status status = change_read(q, &lid, &c);

	if (!status)
		status = q->method == WIRE_SET ? sa_alias_set(sa, &c) : sa_alias_delete(sa, &c);
	if (status)
		return status;
	guid_info(sa, c.port, c.first / EACH, data);
	wire_sa_row(&q->record->layout, SA_FIRST(lid, c.first / EACH, 0, 0), data, sizeof(data),
		    q->data);
	if (c.differs) {
		/* Reports all of them to the listener (sa_record()). */
		const struct alias_table *table = sa_map_find(&sa->aliases.tables, c.port);
		char line[LINE_SIZE];

		for (unsigned entry = c.first; table && entry < c.end && entry < table->count;
		     entry++) {
			if (!entry || !(c.mask >> (entry - c.first) & 1))
				continue;
			line_write(table, entry, line);
			sa_record(sa, SA_ALIASES, !table->guids[entry] && !table->ours[entry],
				  line);
		}

		if (sa->listener.guids)
			sa->listener.guids(sa->listener.arg, c.port);
	}
	return sa_walk_once(q);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void guid_emit(struct sa_query *q, uint32_t item)
{
	struct wire_port_caps caps;
	uint8_t data[WIRE_SMP_DATA];

	if (sa_is_change(q)) { /* what it came to lies over the request */
		memcpy(sa_row(q), q->data, q->record->layout.size);
		sa_row_add(q);
		return;
	}

	const struct topo_node *node = sa_node(q, item);
	const struct inv_node *inv = sa_inv_node(q, item);

	for (unsigned num = sa_first_end(node); inv && num <= sa_last_end(node); num++) {
		const uint8_t *info = sa_port_info(inv, num);
		uint32_t port = node->port0 + num;

		if (!info || !sa_shown(q, port))
			continue;
		wire_port_caps_decode(info, &caps);
		for (unsigned b = 0; b * EACH < caps.guid_cap; b++) {
			guid_info(q->sa, q->sa->view.topo->ports[port].guid, b, data);
			if (!sa_row_put(q, SA_FIRST(sa_port_lid(q->sa, port), b, 0, 0), data,
					sizeof(data)))
				return;
		}
	}
}

const struct sa_record sa_record_guid_info = {
	.attr_id = WIRE_SA_GUID_INFO,
	.methods = SA_GET | SA_TABLE | SA_SET | SA_DELETE,
	.layout = SA_COMPONENTS(guid_info_comps),
	.prepare = guid_prepare,
	.emit = guid_emit,
};

/*
 * SMInfoRecord (IBA 15.2.5): this subnet manager, and the others that election knows of.
 */

static const uint16_t sm_info_comps[] = { WIRE_LID | 16, WIRE_R | 16, 64, 64, 32, 4, 4 };

void sa_set_managers(struct sa *sa, const struct sa_manager *list, unsigned count)
{
	sa->managers = mem_resize(sa->managers, count + 1u, sizeof(*list));
	if (count)
		memcpy(sa->managers, list, count * sizeof(*list));
	sa->nmanagers = count;
}

/* This one, then the others. No SM_Key is shown. */
static void sm_emit(struct sa_query *q, uint32_t item)
{
	const struct sa *sa = q->sa;
	struct sa_manager m = { 0 };

	if (item > sa->nmanagers) {
		q->item = q->end;
		return;
	}
	if (item)
		m = sa->managers[item - 1];

	uint32_t port = item ? sa_port_by_guid(sa, m.guid) : sa_port_by_lid(sa, sa->view.sm_lid);

	if (port == TOPO_NONE || !sa_shown(q, port))
		return;
	if (!item) /* what answers as SA is master (IBA 15.4.1) */
		m = (struct sa_manager){ .guid = sa->view.topo->ports[port].guid,
					 .info = { .act_count = mad_stats(sa->mad).sent,
						   .priority = sa->priority,
						   .state = 3 } };
	sa_row_put(q,
		   SA_FIRST(sa_port_lid(sa, port), 0, m.guid, 0, m.info.act_count, m.info.priority,
			    m.info.state),
		   "", 0);
}

SA_RECORD_TO_READ(sm_info, WIRE_SA_SM_INFO, sm_info_comps, sa_walk_until_end, sm_emit)

/*
 * ClassPortInfo (IBA 13.4.8.1): what this SA can do. It is an attribute and no record, and is
 * answered by the same engine, as one item with one row.
 */

#define QKEY_WELL_KNOWN 0x80010000u

static void class_port_info_emit(struct sa_query *q, uint32_t item)
{
	const struct wire_class_port_info info = {
		.cap_mask = WIRE_SA_CAP_CAPMASK_MATCH | WIRE_SA_CAP_SUBSCRIPTIONS |
			    WIRE_SA_CAP_OPTIONAL_RECORDS | WIRE_SA_CAP_MULTICAST |
			    WIRE_SA_CAP_MULTI_PATH,
		.cap_mask2 = WIRE_SA_CAP2_MCAST_TOP | WIRE_SA_CAP2_FULL_PORT_INFO |
			     WIRE_SA_CAP2_EXT_SPEEDS | WIRE_SA_CAP2_CAPMASK2_MATCH |
			     WIRE_SA_CAP2_SEND_ONLY_FULL | WIRE_SA_CAP2_WIDTH_2X |
			     WIRE_SA_CAP2_HDR | WIRE_SA_CAP2_NDR | WIRE_SA_CAP2_ALIAS_GUIDS |
			     WIRE_SA_CAP2_MCAST_SERVICES,
		.resp_time = 16, /* 4.096 us * 2^16 = 268 ms */
		.base_version = 1,
		.class_version = 2,
		.redirect_qp = 1,
		.redirect_qkey = QKEY_WELL_KNOWN,
		.trap_qkey = QKEY_WELL_KNOWN,
	};
	uint8_t *row = sa_row(q);

	wire_class_port_info_encode(&info, row);
	sa_row_add(q);
}

const struct sa_record sa_record_class_port_info = {
	.attr_id = WIRE_SA_CLASS_PORT_INFO,
	.methods = SA_GET,
	.layout = { .size = 72 },
	.prepare = sa_walk_once,
	.emit = class_port_info_emit,
};

/*
 * NodeRecord and SwitchInfoRecord (IBA 15.2.5): what nodes and switches say of themselves.
 */

/* ---- NodeRecord ------------------------------------------------------------------------------ */

/* LID; versions, type, ports; GUIDs; PartitionCap, DeviceID, Revision; port, VendorID, name. */
static const uint16_t node_comps[] = {
	WIRE_LID | 16, WIRE_R | 16, 8, 8, 8, 8, 64, 64, 64, 16, 16, 32, 8, 24, 512,
};

enum { COMP_NODE_GUID = 7, COMP_PORT_GUID = 8, NODE_INFO_BYTES = 40 };

static enum wire_sa_status node_prepare(struct sa_query *q)
{
	const struct topo *t = q->sa->view.topo;
	const struct wire_sa_layout *layout = &q->record->layout;
	uint32_t node = TOPO_NONE, port;

	if (sa_asked(q, WIRE_SA_LID))
		return sa_walk_nodes(q);
	if (sa_asked(q, COMP_NODE_GUID)) {
		node = topo_find(t, wire_sa_get(layout, COMP_NODE_GUID, q->data));
	} else if (sa_asked(q, COMP_PORT_GUID)) {
		port = topo_find_port(t, wire_sa_get(layout, COMP_PORT_GUID, q->data));
		if (port != TOPO_NONE)
			node = t->ports[port].node;
	} else {
		return sa_walk_nodes(q);
	}
	sa_walk_one(q, node, t->nnodes);
	return WIRE_SA_OK;
}

static void node_emit(struct sa_query *q, uint32_t item)
{
	const struct topo_node *node = sa_node(q, item);
	const struct inv_node *inv = sa_inv_node(q, item);
	uint8_t data[NODE_INFO_BYTES + WIRE_SMP_DATA];

	if (!inv)
		return;

	struct wire_node_info info = inv->info;

	for (unsigned num = sa_first_end(node); num <= sa_last_end(node); num++) {
		uint32_t port = node->port0 + num;

		info.port_guid = q->sa->view.topo->ports[port].guid;
		info.local_port = num;
		/* A port of the CA may not be on this fabric. */
		if (!info.port_guid || !sa_shown(q, port))
			continue;
		wire_node_info_encode(&info, data);
		wire_node_desc_encode(node->desc, data + NODE_INFO_BYTES);
		sa_row_put(q, SA_FIRST(sa_port_lid(q->sa, port), 0), data, sizeof(data));
	}
}

SA_RECORD_TO_READ(node, WIRE_SA_NODE, node_comps, node_prepare, node_emit)

/* ---- SwitchInfoRecord ------------------------------------------------------------------------ */

/* LID; caps, LinearFDBTop; default ports, life time, change, SL2VL; .. MulticastFDBTop. */
static const uint16_t switch_info_comps[] = {
	WIRE_LID | 16, WIRE_R | 16, 16, 16, 16, 16, 8, 8, 8, 5, 1, 2, 16, 16, 1, 1, 1, 1, 1,
	WIRE_R | 3,    WIRE_R | 8,  16,
};

#define SWITCH_INFO_BYTES 20

/*
 * LinearFDBTop is the view's: the inventory knows it from the last Get, before the tables were
 * written.
 */
static void switch_emit(struct sa_query *q, uint32_t item)
{
	const struct inv_node *inv = sa_inv_node(q, item);
	uint32_t port0 = sa_node(q, item)->port0;
	uint8_t data[WIRE_SMP_DATA];

	if (!inv || !sa_shown(q, port0))
		return;

	struct wire_switch_info info = inv->sw;

	info.lft_top = q->sa->view.tables->top;
	wire_switch_info_encode(&info, data);
	sa_row_put(q, SA_FIRST(sa_port_lid(q->sa, port0), 0), data, SWITCH_INFO_BYTES);
}

SA_RECORD_TO_READ(switch_info, WIRE_SA_SWITCH_INFO, switch_info_comps, sa_walk_switches,
		  switch_emit)
