/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The record itself: nodes by GUID in a red-black tree, their ports in one array each, links as a
 * pair of pointers. What is on top of it: paths.c (directed routes) and snapshot.c.
 */
#include <assert.h>
#include <inttypes.h>
#include "fm/conf/partition.h"
#include "fm/inventory/inventory.h"
#include "fm/inventory/port_setup.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

void inventory_init(struct inventory *inv)
{
	*inv = (struct inventory){ .walks = 1 }; /* which met none */
	cl_qmap_init(&inv->nodes);
	cl_qmap_init(&inv->contests);
	inventory_open_column(inv, INV_MET, sizeof(uint32_t), NULL);
	inventory_open_column(inv, INV_WANTED, sizeof(struct inv_wanted), NULL);
	inventory_open_column(inv, INV_NODE_MARKS, 1, NULL);
	inventory_open_column(inv, INV_MARKS, 1, NULL);
}

/* ---- Columns --------------------------------------------------------------------------------- */

/* Gives an open column its cells for all that has a number. */
static void column_grow(struct inventory *inv, enum inv_columns which)
{
	struct inv_column *column = &inv->columns[which];
	uint32_t cells = which < INV_NODE_COLUMNS ? inv->numbered.nodes : inv->numbered.ports;

	while (column->bytes && column->nblocks * INV_CELLS < cells) {
		column->blocks = mem_array_resize(column->blocks, column->nblocks + 1);
		column->blocks[column->nblocks++] = mem_alloc(INV_CELLS, column->bytes);
	}
}

void inventory_open_column(struct inventory *inv, enum inv_columns which, size_t bytes,
			   void (*removed)(void *cell))
{
	inv->columns[which].bytes = bytes;
	inv->columns[which].removed = removed;
	column_grow(inv, which);
}

static void set_marks(uint8_t *marks, unsigned mark, bool on)
{
	if (!on != !(*marks & mark)) /* a page that is not written to stays shared with a child */
		*marks ^= mark;
}

void inv_node_mark(struct inv_node *node, enum inv_node_mark mark, bool on)
{
	set_marks(inv_node_cell(node, INV_NODE_MARKS, 1), mark, on);
}

void inv_port_mark(struct inv_node *node, unsigned num, enum inv_mark mark, bool on)
{
	set_marks(inv_port_cell(node, num, INV_MARKS, 1), mark, on);
}

static void node_free(struct inv_node *node)
{
	if (node->name != node->desc)
		free(node->name);
	free(node->port_guids);
	free(node->labels);
	free(node->ports);
	free(node);
}

void inventory_fini(struct inventory *inv)
{
	struct inventory empty = {
		.names = inv->names, .keys = inv->keys, .listener = inv->listener, .walks = 1
	};
	struct inv_node *node, *next;

	for (node = inventory_first(inv); node; node = next) {
		next = inventory_next(inv, node);
		node_free(node);
	}
	for (node = inv->removed; node; node = next) {
		next = node->next_removed;
		node_free(node);
	}
	while (cl_qmap_count(&inv->contests))
		free(cl_qmap_remove(&inv->contests, cl_qmap_key(cl_qmap_head(&inv->contests))));
	for (unsigned i = 0; i < INV_COLUMNS; i++) {
		struct inv_column *column = &inv->columns[i];

		for (uint32_t block = 0; block < column->nblocks; block++) {
			for (uint32_t cell = 0; column->removed && cell < INV_CELLS; cell++)
				column->removed(column->blocks[block] + cell * column->bytes);
			free(column->blocks[block]);
		}
		free(column->blocks);
		*column = (struct inv_column){ .bytes = column->bytes, .removed = column->removed };
	}
	memcpy(empty.columns, inv->columns, sizeof(empty.columns));
	*inv = empty;
	cl_qmap_init(&inv->nodes);
	cl_qmap_init(&inv->contests);
}

static struct inv_node *item_node(const struct inventory *inv, const cl_map_item_t *item)
{
	if (item == cl_qmap_end(&inv->nodes))
		return NULL;
	return (struct inv_node *)item; /* item is the first member */
}

bool inv_is_sharp(const struct inv_node *node)
{
	if (inv_is_switch(node))
		return false;
	if (node->sharp == INV_SHARP_YES || node->sharp == INV_SHARP_NO)
		return node->sharp == INV_SHARP_YES;
	return topo_named_sharp(node->desc);
}

struct inv_node *inventory_find(const struct inventory *inv, guid_t guid)
{
	return item_node(inv, cl_qmap_get(&inv->nodes, guid));
}

struct inv_port *inventory_port(const struct inventory *inv, guid_t guid, unsigned num,
				struct inv_node **node)
{
	*node = inventory_find(inv, guid);
	return *node && num && num <= (*node)->nports ? &(*node)->ports[num] : NULL;
}

struct inv_node *inventory_first(const struct inventory *inv)
{
	return item_node(inv, cl_qmap_head(&inv->nodes));
}

struct inv_node *inventory_next(const struct inventory *inv, const struct inv_node *node)
{
	return item_node(inv, cl_qmap_next(&node->item));
}

struct inv_node *inventory_from(const struct inventory *inv, guid_t guid)
{
	struct inv_node *node = inventory_find(inv, guid);

	return node ? node : item_node(inv, cl_qmap_get_next(&inv->nodes, guid));
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* Most nodes are called what their description says. */
static void set_name(struct inv_node *node, const char *name)
{
	if (node->name != node->desc)
		free(node->name);
	node->name = strcmp(name, node->desc) ? mem_strdup(name) : node->desc;
}

void inventory_set_desc(const struct inventory *inv, struct inv_node *node, const char *desc)
{
	const char *label = node_names_find(inv->names, node->guid);
	char name[NAMING_MAX];

	array_printf(node->desc, "%s", desc);
	naming_alone(node->desc, label ? label : node->desc, node->guid, name);
	set_name(node, name);
}

void inventory_met_desc(struct inventory *inv, struct inv_node *node, const char *desc)
{
	bool judged = inv->columns[INV_NAMING].bytes && !inv_is_switch(node) && *node->desc;
	struct inv_naming *cell = judged ? inv_node_cell(node, INV_NAMING, sizeof(*cell)) : NULL;
	bool same = !strcmp(desc, node->desc);

	if (!judged) {
		inventory_set_desc(inv, node, desc);
	} else if (same ? cell->claim != NULL : !cell->claim || strcmp(cell->claim, desc)) {
		free(cell->claim);
		cell->claim = same ? NULL : mem_strdup(desc);
		inv->claims.changes++;
		inv->claims.open += !same;
	}
}

void inventory_name_nodes(struct inventory *inv, const struct node_names *names)
{
	inv->names = names;
	INVENTORY_EACH (inv, node) {
		char desc[sizeof(node->desc)];

		memcpy(desc, node->desc, sizeof(desc));
		inventory_set_desc(inv, node, desc);
	}
	inv->shapes++;
}

void inventory_take_names(struct inventory *inv, const struct topo *topo)
{
	uint32_t sw = 0, ca = topo->nswitches;

	INVENTORY_EACH (inv, node) {
		uint32_t *at = inv_is_switch(node) ? &sw : &ca;
		uint32_t end = inv_is_switch(node) ? topo->nswitches : topo->nnodes;

		while (*at < end && topo->nodes[*at].guid < node->guid)
			++*at;
		if (*at < end && topo->nodes[*at].guid == node->guid &&
		    !strcmp(node->desc, topo->nodes[*at].desc))
			set_name(node, topo->nodes[*at].name);
	}
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

void inventory_set_unpublished(struct inventory *inv, struct inv_node *node, bool on)
{
	if (!inv_is_switch(node) || node->unpublished == on)
		return;
	node->unpublished = on;
	inv->nunpublished += on ? 1 : -1;
}

struct inv_node *inventory_add(struct inventory *inv, const struct wire_node_info *info)
{
	struct inv_numbered *ever = &inv->numbered;
	uint32_t left = INV_CELLS - ever->ports % INV_CELLS, count = info->nports + 1u;
	struct inv_node *node = mem_new(node);

	node->guid = info->node_guid;
	node->info = *info;
	node->nports = info->nports;
	node->ports = mem_array(node->ports, info->nports + 1u);
	inventory_set_desc(inv, node, "");
	node->columns = inv->columns;
	node->number = ever->nodes++;
	node->port0 = ever->ports + (count > left ? left : 0);
	ever->ports = node->port0 + count;
	for (unsigned i = 0; i < INV_COLUMNS; i++)
		column_grow(inv, i);
	inv->shapes++;
	inventory_set_unpublished(inv, node, true);
	if (inv_is_switch(node))
		inv->nswitches++;
	else
		node->port_guids = mem_array(node->port_guids, info->nports + 1u);

	cl_map_item_t *there = cl_qmap_insert(&inv->nodes, node->guid, &node->item);

	assert(there == &node->item);
	(void)there;
	return node;
}

void inventory_remove(struct inventory *inv, struct inv_node *node)
{
	for (unsigned p = 0; p <= node->nports; p++) {
		inventory_unlink(inv, node, p);
		inventory_refuse(inv, node, p, 0);
	}
	cl_qmap_remove_item(&inv->nodes, &node->item);
	inventory_set_unpublished(inv, node, false);
	if (inv_is_switch(node))
		inv->nswitches--;
	if (inv->local == node)
		inv->local = NULL;
	inv->shapes++;
	node->removed = true;
	node->next_removed = inv->removed;
	inv->removed = node;
}

static struct inv_port *port_peer(struct inv_port *port)
{
	return &port->peer->ports[port->peer_port];
}

static bool is_between(const struct inv_node *node, const struct inv_port *port)
{
	return inv_is_switch(node) && inv_is_switch(port->peer);
}

/*
 * A link that ceased to carry data and is up has bounced: tables go on leading over it until
 * bring-up has had its turn.
 */
void inventory_port_changed(struct inventory *inv, struct inv_node *node, uint8_t num)
{
	struct inv_port *port = &node->ports[num], *peer = port->peer ? port_peer(port) : NULL;
	uint8_t before = port->carries, now = INV_CARRIES_NOTHING;

	if (!peer)
		return;
	if (port->link_up && (!port->known || port->state == TOPO_ACTIVE) &&
	    (!peer->known || peer->state == TOPO_ACTIVE))
		now = port->known + peer->known; /* the ends that are known to be Active */
	if (!now && port->link_up && !is_between(node, port))
		now = INV_CARRIES_ONE_END; /* a host's leads to nobody else */
	if (!now && port->link_up &&
	    (before == INV_BOUNCED || (before == INV_CARRIES_BOTH && !node->rebooted &&
				       !port->peer->rebooted && is_between(node, port))))
		now = INV_BOUNCED;
	port->carries = peer->carries = now;
	if (port->link_up)
		inv->ndark += (before == INV_CARRIES_BOTH) - (now == INV_CARRIES_BOTH);
	if (now == before || !is_between(node, port))
		return;

	int more = (now == INV_CARRIES_ONE_END || now == INV_CARRIES_BOTH) -
		   (before == INV_CARRIES_ONE_END || before == INV_CARRIES_BOTH);

	inv->nactive += more;
	node->ncarry = node->ncarry + more;
	port->peer->ncarry = port->peer->ncarry + more;
	inv->nbounced += (now == INV_BOUNCED) - (before == INV_BOUNCED);
	inv->turns += !before != !now;
}

void inventory_end_bounces_of(struct inventory *inv, struct inv_node *node)
{
	for (unsigned p = 1; inv->nbounced && p <= node->nports; p++) {
		struct inv_port *port = &node->ports[p];

		if (port->carries != INV_BOUNCED)
			continue;
		port->carries = port_peer(port)->carries = INV_CARRIES_NOTHING;
		inv->nbounced--;
		inv->turns++;
	}
}

void inventory_end_bounces(struct inventory *inv)
{
	struct inv_node *node = inv->nbounced ? inventory_first(inv) : NULL;

	for (; node && inv->nbounced; node = inventory_next(inv, node))
		inventory_end_bounces_of(inv, node);
}

const struct inv_contest *inv_contest(const struct inventory *inv, const struct inv_node *node,
				      unsigned num)
{
	static const struct inv_contest none;
	const cl_map_item_t *item = cl_qmap_get(&inv->contests, node->port0 + num);

	return item == cl_qmap_end(&inv->contests) ? &none : (const struct inv_contest *)item;
}

struct inv_contest *inventory_contest(struct inventory *inv, const struct inv_node *node,
				      unsigned num)
{
	struct inv_contest *contest = mem_new(contest);
	void *there = cl_qmap_insert(&inv->contests, node->port0 + num, &contest->item);

	if (there != contest)
		free(contest);
	return there; /* item is the first member */
}

void inventory_refuse(struct inventory *inv, struct inv_node *node, uint8_t num, guid_t guid)
{
	guid_t before = inv_contest(inv, node, num)->refused;

	if (before == guid)
		return;
	inv->nrefused -= before != 0;
	inventory_contest(inv, node, num)->refused = guid;
	inv->nrefused += guid != 0;
}

/* A link that is down is not suspect any more: it is known. */
void inventory_link_down(struct inventory *inv, struct inv_node *node, uint8_t num)
{
	struct inv_port *port = &node->ports[num], *peer;

	if (!port->peer || !port->link_up)
		return;
	peer = port_peer(port);
	inv->nsuspects -= port->suspect > 0;
	port->suspect = peer->suspect = 0;
	port->info_verified = peer->info_verified = false;
	port->link_up = peer->link_up = false;
	inv_port_mark(node, num, INV_SM_ASKED, false);
	inv_port_mark(port->peer, port->peer_port, INV_SM_ASKED, false);
	inv->turned.falls++;
	port->state = peer->state = TOPO_DOWN;
	inv->nbetween -= is_between(node, port);
	inv->ndark -= port->carries != INV_CARRIES_BOTH;
	inventory_port_changed(inv, node, num);
	inv->paths_stale = true;
}

void inventory_unlink(struct inventory *inv, struct inv_node *node, uint8_t num)
{
	struct inv_port *port = &node->ports[num], *peer;
	uint8_t state = port->state, peer_state;

	if (!port->peer)
		return;
	peer = port_peer(port);
	peer_state = peer->state;
	inv->shapes++;
	inventory_link_down(inv, node, num);
	port->state = state; /* the link is another; what the ports answered holds */
	peer->state = peer_state;
	port->reported_down = peer->reported_down = false;
	port->peer = peer->peer = NULL;
}

void inventory_link(struct inventory *inv, struct inv_node *a, uint8_t port_a, struct inv_node *b,
		    uint8_t port_b)
{
	struct inv_port *pa = &a->ports[port_a], *pb = &b->ports[port_b];

	assert(pa != pb && port_a && port_b);
	if (pa->peer != b || pa->peer_port != port_b) {
		inventory_unlink(inv, a, port_a);
		inventory_unlink(inv, b, port_b);
		inv->shapes++;
		pa->link_verified = pb->link_verified = false;
	}
	inventory_refuse(inv, a, port_a, 0);
	inventory_refuse(inv, b, port_b, 0);
	pa->peer = b;
	pa->peer_port = port_b;
	pb->peer = a;
	pb->peer_port = port_a;
	inv->nbetween += !pa->link_up && is_between(a, pa);
	inv->ndark += !pa->link_up;
	inv->turned.rises += !pa->link_up;
	pa->link_up = pb->link_up = true;
	pa->reported_down = pb->reported_down = false;
	inventory_port_changed(inv, a, port_a);
}

void inventory_set_port_guid(struct inventory *inv, struct inv_node *node, uint8_t num, guid_t guid)
{
	if (!node->port_guids || node->port_guids[num] == guid)
		return;
	node->port_guids[num] = guid;
	inv->shapes++;
}

static bool port_runs_extended(const struct inv_port *port)
{
	struct wire_port_info info;

	wire_port_info_decode(port->info, &info);
	return port->known && (info.speed_ext_active || info.speed_ext2_active);
}

uint32_t inventory_port_modifier(const struct inv_node *node, uint8_t num)
{
	const struct inv_port *port = &node->ports[num];
	bool extended;

	/* port 0's CapabilityMask holds for all ports; its speed means nothing */
	if (inv_is_switch(node))
		extended = num && node->ports[0].capmask & WIRE_CAP_EXT_SPEEDS;
	else
		extended = port->capmask & WIRE_CAP_EXT_SPEEDS ||
			   (port->peer && port_runs_extended(&port->peer->ports[port->peer_port]));
	return extended && node->ext.sweeps < SILENCES_MAX ? num | WIRE_MOD_EXT_SPEEDS : num;
}

/* 0 = it is not known to be there. */
static unsigned place_of_pkey(const struct inv_pkeys *table, uint16_t pkey)
{
	for (unsigned i = 0; i < table->nblocks * (unsigned)PKEYS_A_BLOCK; i++)
		if (table->have[i] == pkey)
			return i;
	return 0;
}

uint16_t inventory_default_pkey_index(const struct inventory *inv)
{
	const struct inv_pkeys *table =
		inv->local ? port_setup(inv->local, inv->local_port)->pkeys : NULL;
	unsigned limited = PKEY_DEFAULT & ~PKEY_FULL, i;

	if (!table || table->have[0] == PKEY_DEFAULT)
		return 0;
	i = place_of_pkey(table, PKEY_DEFAULT);
	return (uint16_t)(i ? i : place_of_pkey(table, limited));
}

/* But for what counts, or is not what the port is. */
bool inventory_same_port_info(const uint8_t a[64], const uint8_t b[64])
{
	struct wire_port_info x, y;

	wire_port_info_decode(a, &x);
	wire_port_info_decode(b, &y);
	return x.state == y.state && x.lid == y.lid && x.lmc == y.lmc && x.sm_lid == y.sm_lid &&
	       x.capmask == y.capmask && x.neighbor_mtu == y.neighbor_mtu &&
	       x.mtu_cap == y.mtu_cap && x.vl_cap == y.vl_cap && x.op_vls == y.op_vls &&
	       x.gid_prefix == y.gid_prefix && x.width_active == y.width_active &&
	       x.speed_active == y.speed_active && x.speed_ext_active == y.speed_ext_active &&
	       x.speed_ext2_active == y.speed_ext2_active;
}

enum { END = 1, OUTER = 2, ADDRESS = 4, SECRET = 8 }; /* a switch's ports but its port 0: outer */

/* All of PortInfo that is set, but for the state. */
static const struct setting {
	const char *name;
	uint8_t at, bytes, of;
} settings[] = {
#define SETTING(name, member, of)                                                                  \
	{                                                                                          \
		name, offsetof(struct wire_port_info, member),                                     \
			sizeof(((struct wire_port_info *)0)->member), of                           \
	}
	SETTING("LID", lid, END | ADDRESS), /* those first that the answer goes by */
	SETTING("LMC", lmc, END | ADDRESS),
	SETTING("MasterSMLID", sm_lid, END | ADDRESS),
	SETTING("GidPrefix", gid_prefix, END | ADDRESS),
	SETTING("M_Key", mkey, END | SECRET),
	SETTING("M_KeyProtectBits", mkey_protect, END),
	SETTING("M_KeyLeasePeriod", mkey_lease, END),
	SETTING("MasterSMSL", sm_sl, END),
	SETTING("SubnetTimeOut", subnet_timeout, END),
	SETTING("HOQLife", hoq_life, OUTER),
	SETTING("VLStallCount", vl_stall, OUTER),
	SETTING("PartitionEnforcementInbound", pkey_enforce_in, OUTER),
	SETTING("PartitionEnforcementOutbound", pkey_enforce_out, OUTER),
	SETTING("NeighborMTU", neighbor_mtu, END | OUTER),
	SETTING("OperationalVLs", op_vls, END | OUTER),
	SETTING("VLHighLimit", vl_high_limit, END | OUTER),
#undef SETTING
};

static uint64_t setting_of(const struct setting *s, const struct wire_port_info *info)
{
	const uint8_t *at = (const uint8_t *)info + s->at;

	if (s->bytes == sizeof(uint64_t))
		return *(const uint64_t *)at;
	return s->bytes == sizeof(uint16_t) ? *(const uint16_t *)at : *at;
}

void inventory_report(const struct inventory *inv, const struct inv_node *node, uint8_t num,
		      const struct inv_change *change)
{
	if (inv->listener)
		inv->listener->changed(inv->listener->arg, node, num, change);
}

enum inv_differs inventory_settings_differ(const struct inventory *report,
					   const struct inv_node *node, uint8_t num,
					   const struct wire_port_info *is,
					   const struct wire_port_info *wanted)
{
	unsigned of = inv_is_switch(node) && num ? OUTER : END;
	enum inv_differs differs = INV_SAME;

	if (!memcmp(is, wanted, sizeof(*is))) /* mostly */
		return INV_SAME;
	for (const struct setting *s = settings; s < settings + ARRAY_SIZE(settings); s++) {
		if (!(s->of & of) || setting_of(s, is) == setting_of(s, wanted))
			continue;
		if (!differs)
			differs = s->of & ADDRESS ? INV_DIFFERS_ADDRESS : INV_DIFFERS;
		if (!report)
			break;

		struct inv_change change = (struct inv_change){ .attribute = "PortInfo",
								.field = s->name,
								.found = setting_of(s, is),
								.wanted = setting_of(s, wanted) };

		if (s->of & SECRET) /* whether there is one */
			change.found = change.found != 0, change.wanted = change.wanted != 0;
		inventory_report(report, node, num, &change);
	}
	return differs;
}

static uint64_t entry_at(const uint8_t *data, unsigned i, unsigned bits)
{
	uint64_t value = 0;

	for (unsigned bit = i * bits; bit < (i + 1) * bits; bit++)
		value = value << 1 | (data[bit / 8] >> (7 - bit % 8) & 1);
	return value;
}

bool inventory_entry_differs(struct inv_change *change, const uint8_t *is, const uint8_t *wanted,
			     unsigned entries, unsigned bits, uint64_t mask)
{
	bool same = !memcmp(is, wanted, entries * bits / 8); /* nearly always */

	for (unsigned i = 0; i < entries && !same; i++) {
		change->found = entry_at(is, i, bits) & mask;
		change->wanted = entry_at(wanted, i, bits) & mask;
		if (change->found == change->wanted)
			continue;
		change->at += i;
		return true;
	}
	return false;
}

guid_t inventory_key_guid(const struct inv_node *node, unsigned num)
{
	if (inv_is_switch(node))
		return node->guid;
	return node->port_guids && num <= node->nports ? node->port_guids[num] : 0;
}

bool inventory_set_port_info(struct inv_node *node, uint8_t num, const uint8_t data[64])
{
	struct inv_port *port = &node->ports[num];
	struct wire_port_info x, y;
	bool first = !port->known, same = false;

	port->info_verified =
		port->info_verified && port->known && inventory_same_port_info(port->info, data);

	/*
	 * What protects a port ends with a lease and with its power. A port without a key counts no
	 * violations: one that shows 0, and counts more of them, hides another (14.2.4.1). False:
	 * its key or its protection differs.
	 */
	wire_port_info_decode(data, &y);
	if (port->known) {
		wire_port_info_decode(port->info, &x);
		same = x.mkey == y.mkey && x.mkey_protect == y.mkey_protect &&
		       x.mkey_lease == y.mkey_lease;
	}
	port->counts_violations =
		same && (port->counts_violations ||
			 (y.mkey_violations > x.mkey_violations && !y.mkey && y.mkey_protect == 1));
	memcpy(port->info, data, sizeof(port->info));
	port->known = true;
	port->state = y.state;
	port->capmask = y.capmask;
	port->lid = y.lid;
	port->sm_lid = y.sm_lid;
	port->lmc = y.lmc;
	port->speed = wire_port_info_speed(&y);
	port->lanes = wire_port_info_lanes(&y);
	port->mtu = y.neighbor_mtu;
	return same || first;
}

void inventory_set_capmask(struct inv_port *port, uint32_t capmask)
{
	port->capmask = capmask;
	wire_port_info_set_capmask(port->info, capmask);
}

struct inv_name inventory_name(const struct inv_node *node, int port)
{
	struct inv_name name;
	const uint8_t type = node->info.type;
	const char *gap = strncmp(node->name, "0x", 2) ? " " : "";
	int len = array_printf(name.text, "%s%s%s 0x%016" PRIx64,
			       type == TOPO_SWITCH ? "sw"
			       : type == TOPO_CA   ? "ca"
						   : "rt",
			       gap, *gap ? node->name : "", node->guid);

	if (port >= 0 && len > 0 && (size_t)len < sizeof(name.text))
		snprintf(name.text + len, sizeof(name.text) - len, " p%d", port);
	return name;
}

struct event_subject inventory_subject(const struct inv_node *node, int port)
{
	struct event_subject subject = { .node = node->guid, .node_name = node->name };
	const struct inv_port *it = port > 0 && port <= node->nports ? &node->ports[port] : NULL;

	subject.port = port > 0 ? (uint8_t)port : 0;
	if (it && it->peer) {
		subject.peer = it->peer->guid;
		subject.peer_name = it->peer->name;
		subject.peer_port = it->peer_port;
	}
	return subject;
}

void inventory_add_port(json_t **ports, const struct inv_node *node, unsigned num)
{
	const struct event_subject subject = inventory_subject(node, num);
	json_t *row = json_object();

	event_subject_put(&subject, row);
	if (!*ports)
		*ports = json_array();
	json_array_append_new(*ports, row);
}

struct inv_name inventory_ports_name(const json_t *ports)
{
	const char *node = NULL;
	size_t more = json_array_size(ports) - 1;
	struct inv_name name;
	int port = 0, len;

	json_unpack(json_array_get(ports, 0), "{s?s s?i}", "node_name", &node, "port", &port);
	len = array_printf(name.text, "%s p%d", node ? node : "?", port);
	if (more && len > 0 && (size_t)len < sizeof(name.text))
		snprintf(name.text + len, sizeof(name.text) - len, " and %zu more %s", more,
			 words_plural(more, "port", "ports"));
	return name;
}

struct event_subject inventory_link_subject(const struct inventory *inv, guid_t guid, uint8_t num)
{
	const struct inv_node *node = inventory_find(inv, guid);

	return node ? inventory_subject(node, num)
		    : (struct event_subject){ .node = guid, .port = num };
}

struct inv_link_name inventory_link_name(const struct inventory *inv, guid_t guid, uint8_t num)
{
	const struct inv_node *node = inventory_find(inv, guid);
	const struct inv_port *port = node && num <= node->nports ? &node->ports[num] : NULL;
	struct inv_link_name name;

	if (!port)
		array_printf(name.text, "0x%016" PRIx64 " p%u", guid, num);
	else if (!port->peer)
		array_printf(name.text, "%s p%u", node->name, num);
	else
		array_printf(name.text, "%s p%u - %s p%u", node->name, num, port->peer->name,
			     port->peer_port);
	return name;
}

/* ---- What devices were asked for that not all have ------------------------------------------- */

void ask_counts_add(struct ask_counts *counts, enum mad_result result, bool good)
{
	++*(result == MAD_STATUS ? &counts->refused
	    : result != MAD_OK	 ? &counts->unanswered
	    : good		 ? &counts->read
				 : &counts->malformed);
}

json_t *ask_counts_json(struct ask_counts counts)
{
	return json_pack("{sI sI sI sI sI}", "asked", (json_int_t)counts.asked, "read",
			 (json_int_t)counts.read, "refused", (json_int_t)counts.refused,
			 "malformed", (json_int_t)counts.malformed, "unanswered",
			 (json_int_t)counts.unanswered);
}
