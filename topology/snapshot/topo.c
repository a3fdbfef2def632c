/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* topo: how snapshots are made, from single nodes and links or from older ones, and read. */
#include <errno.h>
#include <strings.h>
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/text.h"
#include "topology/snapshot/naming.h"
#include "topology/snapshot/topo.h"
#include "topology/snapshot/topo_builder.h"

struct topo_guid { /* one end port */
	guid_t guid;
	uint32_t port; /* index in topo.ports */
	bool uncabled; /* no link reaches it: its GUID may be made up */
};

/* What a snapshot holds behind its public part. */
struct topo_own {
	struct topo pub; /* first: a struct topo * is a struct topo_own * */
	/* all arrays and strings of the snapshot, or those that are not base's */
	struct arena *arena;
	const struct topo *base; /* whose nodes and names these are; NULL = its own */
	unsigned refs;
	uint32_t nguids;
	const struct topo_guid
		*guids; /* by GUID; of a GUID held twice, the port with a link first */
};

/* What a port says of itself: all of it but its place and its GUID. */
static void topo_port_take(struct topo_port *port, const struct topo_port *attr)
{
	const struct topo_port was = *port;

	*port = *attr;
	port->guid = was.guid;
	port->node = was.node;
	port->peer = was.peer;
	port->num = was.num;
	port->link_up = was.link_up;
}

/* ---- Builder --------------------------------------------------------------------------------- */

/*
 * Makes a snapshot out of nodes, ports and links that come in any order; the snapshot does not
 * depend on that order.
 *
 * The builder keeps two growing arrays in the snapshot's own element types: nodes in order of
 * arrival, and their ports, each node's lying together from port number 0. A handle is an index in
 * the first; `peer` and `node` of a port are in the builder's numbering until freezing. GUIDs are
 * looked up in an open-addressing hash of handles. Descriptions go to the arena that the snapshot
 * will own.
 *
 * topo_freeze() is run after every fault, so it is linear but for one sort: it orders the nodes
 * (switches first, by GUID; a builder made from a snapshot is in order already and is only looked
 * through), copies nodes and ports to their places while it renumbers the links, and indexes the
 * end ports' GUIDs. Levels, then rails, are derived last because they read the finished arrays.
 */

#define DESC_MAX 64 /* NodeDescription, IBA 14.2.5.2 */

struct topo_builder {
	struct topo_node *nodes;
	struct topo_port *ports;
	uint32_t nnodes, nodes_capacity, nports, ports_capacity;
	uint32_t *hash; /* handle + 1 by GUID, 0 = free; at most half full */
	uint32_t hash_mask;
	struct arena *arena;
	struct port_label {    /* in order of arrival */
		uint32_t port; /* in the builder's numbering */
		const char *text;
	} * labels;
	uint32_t nlabels;
};

/* ---- Collecting ------------------------------------------------------------------------------ */

static void hash_insert(struct topo_builder *b, uint32_t handle)
{
	uint32_t slot = (b->nodes[handle].guid * 0x9e3779b97f4a7c15u >> 32) & b->hash_mask;

	while (b->hash[slot])
		slot = (slot + 1) & b->hash_mask;
	b->hash[slot] = handle + 1;
}

static void hash_resize(struct topo_builder *b, uint32_t slots)
{
	free(b->hash);
	b->hash = mem_array(b->hash, slots);
	b->hash_mask = slots - 1;
	for (uint32_t n = 0; n < b->nnodes; n++)
		hash_insert(b, n);
}

struct topo_builder *topo_builder_new(void)
{
	struct topo_builder *b = mem_new(b);

	b->arena = arena_new();
	hash_resize(b, 64);
	return b;
}

void topo_builder_free(struct topo_builder *b)
{
	if (!b)
		return;
	arena_free(b->arena);
	free(b->nodes);
	free(b->ports);
	free(b->labels);
	free(b->hash);
	free(b);
}

int topo_builder_find(const struct topo_builder *b, guid_t guid)
{
	for (uint32_t slot = (guid * 0x9e3779b97f4a7c15u >> 32) & b->hash_mask; b->hash[slot];
	     slot = (slot + 1) & b->hash_mask)
		if (b->nodes[b->hash[slot] - 1].guid == guid)
			return b->hash[slot] - 1;
	return -ENOENT;
}

static void reserve(struct topo_builder *b, uint32_t nnodes, uint32_t nports)
{
	if (b->nnodes + nnodes > b->nodes_capacity) {
		b->nodes_capacity = (b->nnodes + nnodes) * 2;
		b->nodes = mem_array_resize(b->nodes, b->nodes_capacity);
	}
	if (b->nports + nports > b->ports_capacity) {
		b->ports_capacity = (b->nports + nports) * 2;
		b->ports = mem_array_resize(b->ports, b->ports_capacity);
	}
	if ((b->nnodes + nnodes) * 2 > b->hash_mask) {
		uint32_t slots = (b->hash_mask + 1) * 2;

		while ((b->nnodes + nnodes) * 2 > slots)
			slots *= 2;
		hash_resize(b, slots);
	}
}

static const char *copy_text(struct topo_builder *b, const char *text)
{
	size_t len = text ? strnlen(text, DESC_MAX) : 0;
	char *copy = arena_alloc(b->arena, len + 1, 1);

	if (len)
		text_clean(text, len, copy);
	return copy;
}

int topo_builder_node(struct topo_builder *b, const struct topo_node *attr)
{
	uint32_t handle = b->nnodes;

	if (attr->type < TOPO_CA || attr->type > TOPO_ROUTER || attr->nports == 255)
		return -EINVAL;
	if (topo_builder_find(b, attr->guid) >= 0)
		return -EEXIST;
	reserve(b, 1, attr->nports + 1u);
	b->nodes[handle] = *attr;
	b->nodes[handle].desc = copy_text(b, attr->desc);
	b->nodes[handle].port0 = b->nports;
	b->nodes[handle].label = attr->label ? copy_text(b, attr->label) : b->nodes[handle].desc;
	for (unsigned num = 0; num <= attr->nports; num++)
		b->ports[b->nports++] = (struct topo_port){
			.guid = num == 0 && attr->type == TOPO_SWITCH ? attr->guid : 0,
			.node = handle,
			.peer = TOPO_NONE,
			.num = num,
		};
	b->nnodes++;
	hash_insert(b, handle);
	return handle;
}

static struct topo_port *get_port(const struct topo_builder *b, int node, unsigned num)
{
	if (node < 0 || (uint32_t)node >= b->nnodes || num > b->nodes[node].nports)
		return NULL;
	return &b->ports[b->nodes[node].port0 + num];
}

int topo_builder_port(struct topo_builder *b, int node, unsigned num, const struct topo_port *attr)
{
	struct topo_port *port = get_port(b, node, num);

	if (!port)
		return -ERANGE;
	if (b->nodes[node].type != TOPO_SWITCH)
		port->guid = attr->guid;
	topo_port_take(port, attr);
	return 0;
}

int topo_builder_label(struct topo_builder *b, int node, unsigned num, const char *label)
{
	const struct topo_port *port = get_port(b, node, num);

	if (!port)
		return -ERANGE;
	b->labels = mem_grow(b->labels, b->nlabels);
	b->labels[b->nlabels++] = (struct port_label){ port - b->ports, copy_text(b, label) };
	return 0;
}

int topo_builder_link(struct topo_builder *b, int node_a, unsigned port_a, int node_b,
		      unsigned port_b, bool up)
{
	struct topo_port *a = get_port(b, node_a, port_a), *z = get_port(b, node_b, port_b);

	if (!a || !z || !port_a || !port_b)
		return -ERANGE;

	uint32_t ia = a - b->ports, iz = z - b->ports;

	if (a == z || (a->peer != TOPO_NONE && a->peer != iz) ||
	    (z->peer != TOPO_NONE && z->peer != ia))
		return -EEXIST;
	a->peer = iz;
	z->peer = ia;
	a->link_up = z->link_up = up;
	return 0;
}

int topo_builder_link_down(struct topo_builder *b, int node, unsigned port)
{
	struct topo_port *a = get_port(b, node, port);

	if (!a || a->peer == TOPO_NONE)
		return -ENOENT;
	a->link_up = b->ports[a->peer].link_up = false;
	return 0;
}

int topo_builder_cordon(struct topo_builder *b, int node, unsigned num)
{
	struct topo_port *port = get_port(b, node, num);

	if (!port)
		return -ERANGE;
	port->cordoned = true;
	return 0;
}

void topo_builder_name(struct topo_builder *b, const struct node_names *names)
{
	if (!node_names_count(names))
		return;
	for (uint32_t n = 0; n < b->nnodes; n++) {
		const char *name = node_names_find(names, b->nodes[n].guid);

		if (name)
			b->nodes[n].label = copy_text(b, name);
	}
}

struct topo_builder *topo_builder_from(const struct topo *t)
{
	struct topo_builder *b = topo_builder_new();

	if (!t->nnodes)
		return b;
	reserve(b, t->nnodes, t->nports);
	memcpy(b->nodes, t->nodes, t->nnodes * sizeof(*t->nodes));
	memcpy(b->ports, t->ports, t->nports * sizeof(*t->ports));
	b->nnodes = t->nnodes;
	b->nports = t->nports;
	for (uint32_t n = 0; n < t->nnodes; n++) {
		b->nodes[n].desc = arena_strdup(b->arena, t->nodes[n].desc);
		b->nodes[n].label = t->nodes[n].label == t->nodes[n].desc
					    ? b->nodes[n].desc
					    : arena_strdup(b->arena, t->nodes[n].label);
		hash_insert(b, n);
	}
	for (uint32_t p = 0; t->labels && p < t->nports; p++)
		if (t->labels[p])
			topo_builder_label(b, t->ports[p].node, t->ports[p].num, t->labels[p]);
	return b;
}

/* ---- Freezing -------------------------------------------------------------------------------- */

struct node_key { /* sorts nodes: switches first, then by GUID */
	guid_t guid;
	uint32_t handle;
	bool endnode;
};

SORT_BY(compare_keys, struct node_key,
	sort_order(a->endnode, b->endnode) ?: sort_order(a->guid, b->guid))

/* Copies the nodes in order and returns, by handle, each node's new place. */
static uint32_t *place_nodes(const struct topo_builder *b, struct topo *t)
{
	struct topo_node *nodes = (struct topo_node *)t->nodes;
	uint32_t *place = mem_array(place, b->nnodes);
	struct node_key *keys = mem_array(keys, b->nnodes);
	uint32_t port0 = 0;

	for (uint32_t n = 0; n < b->nnodes; n++)
		keys[n] = (struct node_key){ b->nodes[n].guid, n, b->nodes[n].type != TOPO_SWITCH };
	sort_if_needed(keys, b->nnodes, sizeof(*keys), compare_keys);
	for (uint32_t n = 0; n < b->nnodes; n++) {
		nodes[n] = b->nodes[keys[n].handle];
		nodes[n].port0 = port0;
		nodes[n].host = TOPO_NONE;
		nodes[n].role = TOPO_ROLE_NONE;
		nodes[n].level = 0;
		nodes[n].rail = nodes[n].su = -1;
		port0 += nodes[n].nports + 1u;
		place[keys[n].handle] = n;
		t->nswitches += nodes[n].type == TOPO_SWITCH;
		t->nswitch_ports = nodes[n].type == TOPO_SWITCH ? port0 : t->nswitch_ports;
		t->ncas += nodes[n].type == TOPO_CA && !nodes[n].sharp;
		t->nspecials += nodes[n].sharp;
	}
	free(keys);
	return place;
}

static void place_ports(const struct topo_builder *b, struct topo *t, const uint32_t *place)
{
	struct topo_port *ports = (struct topo_port *)t->ports;

	for (uint32_t p = 0; p < b->nports; p++) {
		const struct topo_port *from = &b->ports[p];
		struct topo_port *to = &ports[t->nodes[place[from->node]].port0 + from->num];

		*to = *from;
		to->node = place[from->node];
		t->ncordoned += from->cordoned;
		if (from->peer == TOPO_NONE)
			continue;
		to->peer =
			t->nodes[place[b->ports[from->peer].node]].port0 + b->ports[from->peer].num;
		if (p < from->peer) {
			bool special = b->nodes[from->node].sharp ||
				       b->nodes[b->ports[from->peer].node].sharp;

			t->nlinks++;
			t->nlinks_special += special;
			t->nlinks_down += !from->link_up;
			t->nlinks_special_down += special && !from->link_up;
		}
	}
}

SORT_BY(compare_guids, struct topo_guid,
	sort_order(a->guid, b->guid) ?: sort_order(a->uncabled, b->uncabled) ?:
	sort_order(a->port, b->port))

/* End ports: port 0 of switches, all others of CAs and routers. */
static void index_guids(struct topo_own *own)
{
	const struct topo *t = &own->pub;
	uint32_t most = t->nswitches + t->nports - t->nswitch_ports;
	struct topo_guid *guids = arena_array(own->arena, guids, most);

	for (uint32_t n = 0; n < t->nnodes; n++) {
		unsigned first = n >= t->nswitches, last = first ? t->nodes[n].nports : 0;

		for (unsigned num = first; num <= last; num++) {
			const struct topo_port *p = topo_port(t, n, num);

			if (p->guid)
				guids[own->nguids++] =
					(struct topo_guid){ p->guid, p - t->ports,
							    num && p->peer == TOPO_NONE };
		}
	}
	sort_if_needed(guids, own->nguids, sizeof(*guids), compare_guids);
	own->guids = guids;
}

static void note_rate(struct topo *t, const struct topo_port *port)
{
	uint16_t rate = port->speed * 256 + port->width;

	if (!port->link_up || port->peer >= t->nswitch_ports)
		return;
	t->rates_differ |= t->rate && rate != t->rate;
	t->rate = rate;
}

struct topo *topo_freeze(struct topo_builder *b)
{
	struct topo_own *own = arena_array(b->arena, own, 1);
	struct topo *t = &own->pub;

	own->refs = 1;
	own->arena = b->arena;
	t->nnodes = b->nnodes;
	t->nports = b->nports;
	t->nodes = arena_array(b->arena, t->nodes, b->nnodes);
	t->ports = arena_array(b->arena, t->ports, b->nports);

	uint32_t *place = place_nodes(b, t);
	const char **labels = b->nlabels ? arena_array(b->arena, labels, t->nports) : NULL;
	struct topo_end *ends = arena_array(b->arena, ends, t->nswitch_ports);

	place_ports(b, t, place);
	for (uint32_t i = 0; i < b->nlabels; i++) {
		const struct topo_port *from = &b->ports[b->labels[i].port];

		labels[t->nodes[place[from->node]].port0 + from->num] = b->labels[i].text;
	}
	t->labels = labels;
	free(place);
	for (uint32_t p = 0; p < t->nswitch_ports; p++) {
		const struct topo_port *port = &t->ports[p], *peer = topo_peer(t, port);

		ends[p].to = !peer			 ? TOPO_NONE
			     : peer->node < t->nswitches ? peer->node
							 : port->peer;
		ends[p].num = peer ? peer->num : 0;
		ends[p].up = port->link_up;
		ends[p].special = peer && t->nodes[peer->node].sharp;
		note_rate(t, port);
	}
	t->ends = ends;
	index_guids(own);
	b->arena = NULL; /* the snapshot's now */
	topo_builder_free(b);
	naming_assign(t, own->arena);
	level_assign(t);
	rail_assign(t, own->arena);
	return t;
}

/* ---- Snapshots that share all but their ports with an older one ------------------------------ */

/*
 * A fault changes the attributes of some ports and nothing else: nodes, names and links stay, and
 * so does all that is derived from them (levels, rails, hosts, the index of GUIDs; known-but-down
 * links count there). Such a snapshot has ports of its own and a reference to the frozen snapshot
 * that has the rest. It never refers to another snapshot of its own sort, so at most one older list
 * of ports is kept.
 */

struct topo *topo_alike(const struct topo *older)
{
	const struct topo_own *was = (const struct topo_own *)older;
	struct arena *arena = arena_new();
	struct topo_own *own = arena_array(arena, own, 1);
	struct topo_port *ports = arena_array(arena, ports, older->nports);
	struct topo_end *ends = arena_array(arena, ends, older->nswitch_ports);

	mem_copy(ports, older->ports, older->nports);
	mem_copy(ends, older->ends, older->nswitch_ports);
	*own = *was;
	own->refs = 1;
	own->arena = arena;
	own->base = topo_ref(was->base ? was->base : older);
	own->pub.ports = ports;
	own->pub.ends = ends;
	return &own->pub;
}

struct topo *topo_with_ports(const struct topo *older)
{
	struct topo *t = topo_alike(older);

	t->nlinks_down = t->nlinks_special_down = t->ncordoned = 0;
	t->rate = t->rates_differ = 0;
	return t;
}

struct topo *topo_ref_frozen(const struct topo *t)
{
	const struct topo *base = ((const struct topo_own *)t)->base;

	return topo_ref(base ? base : t);
}

static void set_link(struct topo *t, uint32_t i, bool up)
{
	((struct topo_port *)t->ports)[i].link_up = up;
	if (i < t->nswitch_ports)
		((struct topo_end *)t->ends)[i].up = up;
}

static void count_down(struct topo *t, const struct topo_port *port)
{
	t->nlinks_down++;
	t->nlinks_special_down +=
		t->nodes[port->node].sharp || t->nodes[t->ports[port->peer].node].sharp;
}

void topo_alike_cut(struct topo *t, uint32_t i)
{
	const struct topo_port *port = &t->ports[i];

	if (!port->link_up)
		return;
	set_link(t, i, false);
	set_link(t, port->peer, false);
	count_down(t, port);
}

void topo_with_port(struct topo *t, uint32_t i, const struct topo_port *attr, bool up)
{
	struct topo_port *port = (struct topo_port *)&t->ports[i];

	topo_port_take(port, attr);
	set_link(t, i, port->peer != TOPO_NONE && up);
	t->ncordoned += port->cordoned;
	if (i < t->nswitch_ports)
		note_rate(t, port);
	if (!port->link_up && port->peer != TOPO_NONE && port->peer > i)
		count_down(t, port);
}

/* Of a link between switches that is up, by one of its ports; 0 = of any other. */
static uint32_t switch_rate(const struct topo *t, const struct topo_port *port)
{
	return port->link_up && port->peer < t->nswitch_ports
		       ? topo_lane_mbps(port->speed) / 100 * port->width
		       : 0;
}

void topo_hold_slow(struct topo *t, unsigned percent)
{
	struct topo_port *ports = (struct topo_port *)t->ports;

	if (!percent || !t->rates_differ)
		return;

	/* By switch: its fastest link. */
	uint32_t *best = mem_array(best, t->nswitches + 1);

	for (uint32_t i = 0; i < t->nswitch_ports; i++) {
		uint32_t rate = switch_rate(t, &ports[i]), *mine = &best[ports[i].node];

		*mine = rate > *mine ? rate : *mine;
	}
	for (uint32_t i = 0; i < t->nswitch_ports; i++) {
		uint32_t rate = switch_rate(t, &ports[i]), kin;

		if (!rate || ports[i].cordoned)
			continue;
		kin = best[ports[ports[i].peer].node];
		kin = best[ports[i].node] < kin ? best[ports[i].node] : kin;
		if (rate * 100ull < (uint64_t)kin * percent) {
			ports[i].cordoned = ports[i].quarantined = true;
			t->ncordoned++;
		}
	}
	free(best);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/*
 * Nodes lie in two parts (switches, then the rest), each by ascending GUID: a node is found by
 * bisection. Ports are found by bisection in the index of end ports that topo_freeze() leaves
 * behind the public part.
 */

struct topo *topo_ref(const struct topo *topo)
{
	struct topo_own *own = (struct topo_own *)topo;

	own->refs++;
	return &own->pub;
}

void topo_unref(const struct topo *topo)
{
	struct topo_own *own = (struct topo_own *)topo;

	if (!own || --own->refs)
		return;
	topo_unref(own->base);
	arena_free(own->arena); /* the snapshot itself lies in it */
}

static uint32_t bisect_nodes(const struct topo *t, uint32_t low, uint32_t high, guid_t guid)
{
	uint32_t place = sort_place(low, high, at, t->nodes[at].guid < guid);

	return place < high && t->nodes[place].guid == guid ? place : TOPO_NONE;
}

uint32_t topo_find(const struct topo *t, guid_t node_guid)
{
	uint32_t found = bisect_nodes(t, 0, t->nswitches, node_guid);

	return found != TOPO_NONE ? found : bisect_nodes(t, t->nswitches, t->nnodes, node_guid);
}

uint32_t topo_port_of(const struct topo *t, guid_t node_guid, unsigned num)
{
	uint32_t node = topo_find(t, node_guid);

	return node == TOPO_NONE || num > t->nodes[node].nports ? TOPO_NONE
								: t->nodes[node].port0 + num;
}

uint32_t topo_find_port(const struct topo *t, guid_t port_guid)
{
	const struct topo_own *own = (const struct topo_own *)t;
	uint32_t place = sort_place(0, own->nguids, at, own->guids[at].guid < port_guid);

	return place < own->nguids && own->guids[place].guid == port_guid ? own->guids[place].port
									  : TOPO_NONE;
}

/* ---- Names of codes -------------------------------------------------------------------------- */

static const struct {
	const char *name;
	unsigned data, signalling; /* of one lane, Mb/s: without the encoding, and with it */
} speeds[] = {
	[TOPO_SPEED_NONE] = { "-", 0, 0 },	  [TOPO_SDR] = { "SDR", 2000, 2500 },
	[TOPO_DDR] = { "DDR", 4000, 5000 },	  [TOPO_QDR] = { "QDR", 8000, 10000 },
	[TOPO_FDR10] = { "FDR10", 10000, 10312 }, [TOPO_FDR] = { "FDR", 13636, 14062 },
	[TOPO_EDR] = { "EDR", 25000, 25781 },	  [TOPO_HDR] = { "HDR", 50000, 53125 },
	[TOPO_NDR] = { "NDR", 100000, 106250 },	  [TOPO_XDR] = { "XDR", 200000, 212500 },
};

#define NSPEEDS ARRAY_SIZE(speeds)

const char *topo_role_name(enum topo_role role)
{
	static const char *const names[] = { "-", "host", "leaf", "spine", "core", "sharp" };

	return (unsigned)role < ARRAY_SIZE(names) ? names[role] : "?";
}

bool topo_named_sharp(const char *desc)
{
	return strstr(desc, "Aggregation Node") != NULL;
}

const char *topo_state_name(enum topo_state state)
{
	static const char *const names[] = { "-", "Down", "Init", "Armed", "Active" };

	return (unsigned)state < ARRAY_SIZE(names) ? names[state] : "?";
}

const char *topo_speed_name(enum topo_speed speed)
{
	return (unsigned)speed < NSPEEDS ? speeds[speed].name : "?";
}

enum topo_speed topo_speed_parse(const char *text)
{
	for (unsigned i = TOPO_SDR; i < NSPEEDS; i++)
		if (!strcasecmp(text, speeds[i].name))
			return i;
	return TOPO_SPEED_NONE;
}

unsigned topo_lane_mbps(enum topo_speed speed)
{
	return (unsigned)speed < NSPEEDS ? speeds[speed].data : 0;
}

unsigned topo_lane_signalling_mbps(enum topo_speed speed)
{
	return (unsigned)speed < NSPEEDS ? speeds[speed].signalling : 0;
}
