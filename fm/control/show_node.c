/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* show_node: a switch, an HCA, a router or an aggregation node. */
#include <stdlib.h>
#include <string.h>
#include "fm/adaptive/module.h"
#include "fm/control/show.h"
#include "fm/maintenance/module.h"
#include "fm/multicast/module.h"
#include "fm/restart/module.h"
#include "topology/base/mem.h"

static const char *kind_of(const struct topo_node *node)
{
	if (node->sharp)
		return "aggregation-node";
	return node->type == TOPO_SWITCH ? "switch" : node->type == TOPO_ROUTER ? "router" : "hca";
}

/* ---- Neighbours ------------------------------------------------------------------------------ */

struct around {
	unsigned up, down, cordoned, quarantined, isolated, unhealthy, hosts;
	unsigned transit; /* links to switches */
};

/* Left out by an operator's word, and for no other reason. */
static bool is_cordoned(const struct topo_port *port, const struct topo_port *peer)
{
	return (port->cordoned || peer->cordoned) && !port->quarantined && !peer->quarantined &&
	       !port->isolated && !peer->isolated;
}

static struct around look_around(struct show *s, uint32_t n)
{
	const struct topo *t = s->t;
	struct around a = { 0 };

	for (unsigned num = 1; num <= t->nodes[n].nports; num++) {
		const struct topo_port *port = topo_port(t, n, num), *peer = topo_peer(t, port);
		bool transit = peer && peer->node < t->nswitches;

		if (!peer)
			continue;
		a.up += port->link_up;
		a.down += !port->link_up;
		a.isolated += port->isolated || peer->isolated;
		a.quarantined += port->quarantined || peer->quarantined;
		a.cordoned += transit && is_cordoned(port, peer);
		a.unhealthy += show_unhealthy(s, (uint32_t)(port - t->ports)) != NULL;
		a.hosts += topo_is_host(t, peer->node);
		a.transit += transit;
	}
	return a;
}

/* How many different switches of a higher tier, or of a lower, its links lead to. */
static unsigned count_switches(const struct topo *t, uint32_t n, bool above)
{
	bool *met = mem_alloc(t->nswitches + 1u, sizeof(*met));
	unsigned count = 0;

	for (unsigned num = 1; num <= t->nodes[n].nports; num++) {
		const struct topo_port *peer = topo_peer(t, topo_port(t, n, num));

		if (!peer || peer->node >= t->nswitches || met[peer->node] ||
		    t->nodes[peer->node].level == t->nodes[n].level ||
		    (t->nodes[peer->node].level > t->nodes[n].level) != above)
			continue;
		met[peer->node] = true;
		count++;
	}
	free(met);
	return count;
}

struct neighbour {
	uint32_t sw;
	unsigned links, up, cordoned;
	uint32_t lids;
	char ports[64];
};

/* "33-40, 44": ports come in their order. */
static void add_port(struct neighbour *n, unsigned num)
{
	char *dash = strrchr(n->ports, '-'), *comma = strrchr(n->ports, ',');
	char *last = dash > comma ? dash + 1 : comma ? comma + 2 : n->ports;
	size_t used = strlen(n->ports);
	bool next = used && strtoul(last, NULL, 10) + 1 == num;

	if (next && dash > comma)
		snprintf(last, sizeof(n->ports) - (size_t)(last - n->ports), "%u", num);
	else if (used + 8 < sizeof(n->ports))
		snprintf(n->ports + used, sizeof(n->ports) - used, "%s%u",
			 next	? "-"
			 : used ? ", "
				: "",
			 num);
}

static struct neighbour *find_neighbour(struct neighbour *list, unsigned *count, uint32_t sw)
{
	for (unsigned i = 0; i < *count; i++)
		if (list[i].sw == sw)
			return &list[i];
	list[*count] = (struct neighbour){ .sw = sw };
	return &list[(*count)++];
}

static json_t *neighbour_row(const struct show *s, const struct neighbour *n)
{
	const struct topo_node *node = &s->t->nodes[n->sw];
	json_t *row = json_object();

	show_text(row, "switch", node->name);
	show_text(row, "role", topo_role_name(node->role));
	show_int(row, "level", node->level);
	show_int(row, "cables", n->links);
	show_int(row, "up", n->up);
	show_int(row, "cordoned", n->cordoned);
	show_int(row, "lids", n->lids);
	show_text(row, "ports", n->ports);
	return row;
}

/* A row for each switch that its links lead to. */
static void show_neighbours(struct show *s, uint32_t n, const uint32_t *lids)
{
	struct neighbour list[256];
	unsigned count = 0;
	json_t *rows = json_array();

	for (unsigned num = 1; num <= s->t->nodes[n].nports; num++) {
		const struct topo_port *port = topo_port(s->t, n, num);
		const struct topo_port *peer = topo_peer(s->t, port);
		struct neighbour *at;

		if (!peer || peer->node >= s->t->nswitches)
			continue;
		at = find_neighbour(list, &count, peer->node);
		at->links++;
		at->up += port->link_up;
		at->cordoned += port->cordoned || peer->cordoned;
		at->lids += lids[num];
		add_port(at, num);
	}
	for (unsigned i = 0; i < count; i++)
		json_array_append_new(rows, neighbour_row(s, &list[i]));
	json_object_set_new(s->doc, "neighbours", rows);
}

/* ---- Facts ----------------------------------------------------------------------------------- */

static void show_device(struct show *s, const struct topo_node *node)
{
	json_object_set_new(s->doc, "vendor", json_sprintf("0x%06x", node->vendor));
	json_object_set_new(s->doc, "device", json_sprintf("0x%04x", node->device));
	show_guid(s->doc, "system_guid", node->sys_guid);
}

/* Of a cordon whose time is not known, the newest event tells it. */
static void show_cordoned_since(struct show *s, const struct topo_node *node)
{
	const char *since = maintenance_cordoned_since(s->env->fabric, node->guid, 0);

	if (since)
		show_text(s->doc, "cordoned_since", since);
	else
		show_since(s, "cordoned_since", "cordoned", &node->name, 1);
}

/* Nothing is up; since when: the last one went down. */
static void show_dead(struct show *s, uint32_t n, unsigned down)
{
	char since[LINK_SINCE], last[LINK_SINCE] = "", note[LINK_SINCE + 64];

	for (unsigned num = 1; num <= s->t->nodes[n].nports; num++) {
		link_down_since(s->env->fabric, s->t->nodes[n].port0 + num, since);
		if (strcmp(since, last) > 0)
			strcpy(last, since);
	}
	snprintf(note, sizeof(note), "%s%s%s",
		 down ? "all of its links are down" : "no link is known", *last ? " since " : "",
		 last);
	show_text(s->doc, "note", note);
}

/* The first alert about the node, without its name, which stands above. */
static void show_alert(struct show *s, guid_t guid)
{
	json_t *rows = fabric_alerts(s->env->fabric), *row;
	char mark[32];
	size_t i;

	snprintf(mark, sizeof(mark), " 0x%016llx: ", (unsigned long long)guid);
	json_array_foreach (rows, i, row) {
		const char *text = json_string_value(json_object_get(row, "text"));
		const char *at = text ? strstr(text, mark) : NULL;

		if (at && !json_object_get(s->doc, "note"))
			show_text(s->doc, "note", at + strlen(mark));
	}
	json_decref(rows);
}

static void show_links_facts(struct show *s, uint32_t n)
{
	const struct around a = look_around(s, n);
	const struct topo_node *node = &s->t->nodes[n];

	if (!a.up)
		show_dead(s, n, a.down);
	else
		show_alert(s, node->guid);
	show_int(s->doc, "ports_known", node->nports);
	show_int(s->doc, "links_up", a.up);
	show_int(s->doc, "links_down", a.down);
	if (node->type != TOPO_SWITCH)
		return;
	show_int(s->doc, "hcas", a.hosts);
	show_int(s->doc, "switches_above", count_switches(s->t, n, true));
	show_int(s->doc, "switches_below", count_switches(s->t, n, false));
	show_flag(s->doc, "cordoned", a.transit && a.cordoned == a.transit);
	if (a.transit && a.cordoned == a.transit)
		show_cordoned_since(s, node);
	show_int(s->doc, "links_cordoned", a.cordoned);
	show_int(s->doc, "links_quarantined", a.quarantined);
	show_int(s->doc, "links_isolated", a.isolated);
	show_int(s->doc, "links_unhealthy", a.unhealthy);
}

static void show_switch_facts(struct show *s, uint32_t n)
{
	const struct topo_node *node = &s->t->nodes[n];
	json_t *rows = adaptive_switches(s->env->fabric);
	json_t *ar = json_object_get(json_array_get(rows, n), "ar");

	json_object_set(s->doc, "ar", ar ? ar : json_null());
	json_decref(rows);
	show_int(s->doc, "lft_room", node->lft_cap);
	show_int(s->doc, "mft_room", node->mft_cap);
}

static const struct topo_port *leaf_of(const struct topo *t, uint32_t ca, uint32_t *at)
{
	for (unsigned num = 1; num <= t->nodes[ca].nports; num++) {
		const struct topo_port *peer = topo_peer(t, topo_port(t, ca, num));

		*at = t->nodes[ca].port0 + num;
		if (peer)
			return peer;
	}
	return NULL;
}

static void show_ca_facts(struct show *s, uint32_t n)
{
	const struct topo_node *node = &s->t->nodes[n];
	uint32_t at = TOPO_NONE;
	const struct topo_port *leaf = leaf_of(s->t, n, &at);

	show_text(s->doc, "host", node->host == TOPO_NONE ? NULL : s->t->hosts[node->host].name);
	show_text(s->doc, "leaf", leaf ? s->t->nodes[leaf->node].name : NULL);
	show_index(s->doc, "leaf_port", leaf ? leaf->num : -1);
}

static uint16_t lid_of(const struct show *s, uint32_t n)
{
	const struct topo_node *node = &s->t->nodes[n];

	for (unsigned num = node->type == TOPO_SWITCH ? 0 : 1; num <= node->nports; num++)
		if (s->view.lids->lid_of_port[node->port0 + num])
			return s->view.lids->lid_of_port[node->port0 + num];
	return 0;
}

void show_node_facts(struct show *s, uint32_t n)
{
	const struct topo_node *node = &s->t->nodes[n];
	uint16_t lid = lid_of(s, n);

	if (strcmp(node->name, node->desc))
		show_text(s->doc, "description", node->desc);
	show_guid(s->doc, "guid", node->guid);
	show_index(s->doc, "lid", lid ? lid : -1);
	if (lid && lid == s->view.sm_lid)
		show_flag(s->doc, "subnet_manager", true);
	show_place(s, s->doc, n);
	if (node->type == TOPO_SWITCH)
		show_switch_facts(s, n);
	else
		show_ca_facts(s, n);
	show_links_facts(s, n);
	show_device(s, node);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static void show_table_use(struct show *s, uint32_t n, uint32_t lids[256])
{
	uint32_t none = link_use_by_port(&s->scene, n, lids), all = 0;

	for (unsigned num = 0; num < 256; num++)
		all += lids[num];
	show_int(s->doc, "lids_forwarded", all);
	show_int(s->doc, "lids_dropped", none);
}

static unsigned count_trees(const struct show *s, guid_t sw)
{
	const struct mcast_plan *plan = multicast_trees(s->env->fabric);
	unsigned count = 0;

	for (uint32_t i = 0; plan && i < plan->ntrees; i++)
		for (uint32_t h = 0; h < plan->trees[i].nhops; h++)
			count += plan->trees[i].hops[h].guid == sw;
	return count;
}

static void show_ports(struct show *s, uint32_t n, const uint32_t *lids)
{
	const struct topo_node *node = &s->t->nodes[n];
	json_t *rows = json_array();

	for (unsigned num = 1; num <= node->nports; num++) {
		const struct topo_port *port = topo_port(s->t, n, num);

		if (port->peer != TOPO_NONE || port->state > TOPO_DOWN)
			json_array_append_new(rows, show_port_row(s, node->port0 + num, lids));
	}
	json_object_set_new(s->doc, "ports", rows);
}

static void show_own_end_ports(struct show *s, uint32_t n)
{
	const struct topo_node *node = &s->t->nodes[n];
	uint32_t ports[256];
	unsigned count = 0;

	if (node->type == TOPO_SWITCH)
		ports[count++] = node->port0;
	else
		for (unsigned num = 1; num <= node->nports; num++)
			if (topo_port(s->t, n, num)->guid)
				ports[count++] = node->port0 + num;
	show_end_ports(s, ports, count);
}

void show_node(struct show *s, uint32_t n)
{
	const struct topo_node *node = &s->t->nodes[n];
	bool is_switch = node->type == TOPO_SWITCH;
	const char *names[] = { node->name, NULL };
	uint32_t lids[256];
	char guid[24];

	show_text(s->doc, "kind", kind_of(node));
	show_text(s->doc, "name", node->name);
	show_node_facts(s, n);
	if (is_switch) {
		show_table_use(s, n, lids);
		show_int(s->doc, "multicast_trees", count_trees(s, node->guid));
	}
	if (s->from != TOPO_NONE && lid_of(s, n))
		show_path(s, lid_of(s, n));
	if (is_switch)
		show_neighbours(s, n, lids);
	show_ports(s, n, is_switch ? lids : NULL);
	show_own_end_ports(s, n);
	snprintf(guid, sizeof(guid), "0x%016llx", (unsigned long long)node->guid);
	names[1] = guid;
	show_news(s, names, 2);
}
