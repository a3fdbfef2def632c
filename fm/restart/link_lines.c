/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rows of nodes, ports and cables, whose forms module.c has. */
#include <inttypes.h>
#include "fm/restart/links_own.h"
#include "fm/sweep/sweep.h"
#include "topology/base/mem.h"

static const char *const type_names[] = {
	[TOPO_CA] = "ca", [TOPO_SWITCH] = "switch", [TOPO_ROUTER] = "router"
};

/* ---- What is down, and since when ------------------------------------------------------------ */

int known_links_compare(const void *a, const void *b)
{
	const struct down_link *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->port - y->port;
}

void known_links_sort(struct known_links *c)
{
	if (c->ndown)
		qsort(c->down, c->ndown, sizeof(*c->down), known_links_compare);
}

int64_t known_links_since(const struct known_links *c, guid_t node, uint8_t port)
{
	const struct down_link key = { .node = node, .port = port }, *found;

	found = c->ndown ? bsearch(&key, c->down, c->ndown, sizeof(key), known_links_compare)
			 : NULL;
	return found ? found->since : 0;
}

/* ---- Nodes and ports ------------------------------------------------------------------------- */

struct node_line {
	struct wire_node_info info;
	unsigned lft_cap, mft_cap, flags;
	char desc[sizeof(((struct inv_node *)NULL)->desc)];
};

static bool parse_node(const char *line, struct node_line *n)
{
	unsigned ports, device, cap;
	char type[16];
	int kind, name = 0;

	*n = (struct node_line){ .info = { .base_version = 1, .class_version = 1 } };
	if (sscanf(line,
		   "0x%" SCNx64 " %15s %u 0x%" SCNx64 " %" SCNu32 " %u %" SCNu32 " %u %u %u %u%n",
		   &n->info.node_guid, type, &ports, &n->info.sys_guid, &n->info.vendor, &device,
		   &n->info.revision, &cap, &n->lft_cap, &n->mft_cap, &n->flags, &name) != 11)
		return false;
	for (kind = TOPO_CA; kind <= TOPO_ROUTER && strcmp(type_names[kind], type); kind++)
		;
	if (kind > TOPO_ROUTER || !n->info.node_guid || !ports || ports > 254 || line[name] != ' ')
		return false;
	n->info.type = kind;
	n->info.nports = ports;
	n->info.port_guid = n->info.node_guid;
	n->info.device = device;
	n->info.partition_cap = cap;
	array_printf(n->desc, "%.*s", (int)strcspn(line + name + 1, "\n"), line + name + 1);
	return true;
}

static void add_node(struct inventory *inv, const struct node_line *n)
{
	struct inv_node *node = inventory_add(inv, &n->info);

	node->sw.lft_cap = n->lft_cap;
	node->sw.mft_cap = n->mft_cap;
	node->sw.flags = n->flags;
	node->gone = true;
	inventory_set_desc(inv, node, n->desc);
}

bool known_node_take(void *links, const char *line)
{
	struct inventory *inv = ((struct known_links *)links)->services->inventory;
	struct node_line n;

	if (!parse_node(line, &n) || inventory_find(inv, n.info.node_guid))
		return false;
	add_node(inv, &n);
	return true;
}

static bool has_port(const struct inv_node *node, unsigned num)
{
	return node && num && num <= node->nports;
}

bool known_port_take(void *links, const char *line)
{
	struct inventory *inv = ((struct known_links *)links)->services->inventory;
	guid_t guid, port_guid;
	unsigned num;
	char rest;

	if (sscanf(line, "0x%" SCNx64 " %u 0x%" SCNx64 " %c", &guid, &num, &port_guid, &rest) != 3)
		return false;

	struct inv_node *node = inventory_find(inv, guid);

	if (!has_port(node, num) || !node->port_guids)
		return false;
	inventory_set_port_guid(inv, node, num, port_guid);
	return true;
}

/* ---- Links ----------------------------------------------------------------------------------- */

bool known_cable_take(void *links, const char *line)
{
	struct known_links *c = links;
	struct inventory *inv = c->services->inventory;
	unsigned port_a, port_b;
	guid_t guid_a, guid_b;
	int64_t since;
	char rest;

	if (sscanf(line, "0x%" SCNx64 " %u 0x%" SCNx64 " %u %" SCNd64 " %c", &guid_a, &port_a,
		   &guid_b, &port_b, &since, &rest) != 5 ||
	    !known_links_is_lower(guid_a, port_a, guid_b, port_b))
		return false;

	struct inv_node *a = inventory_find(inv, guid_a);
	struct inv_node *b = inventory_find(inv, guid_b);

	if (!has_port(a, port_a) || !has_port(b, port_b) || a->ports[port_a].peer ||
	    b->ports[port_b].peer)
		return false;
	inventory_link(inv, a, port_a, b, port_b);
	inventory_link_down(inv, a, port_a);
	sweep_port(a, port_a)->was_up = sweep_port(b, port_b)->was_up = SWEEP_ONCE_UP;
	if (since > 0) {
		c->down = mem_grow(c->down, c->ndown);
		c->down[c->ndown++] =
			(struct down_link){ .node = guid_a, .port = port_a, .since = since };
	}
	return true;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

char *known_node_line(const struct inv_node *node)
{
	char *line = mem_printf(
		"0x%016" PRIx64 " %s %u 0x%016" PRIx64 " %" PRIu32 " %u %" PRIu32 " %u %u %u %u %s",
		node->guid, type_names[node->info.type], node->nports, node->info.sys_guid,
		node->info.vendor, node->info.device, node->info.revision, node->info.partition_cap,
		node->sw.lft_cap, node->sw.mft_cap, node->sw.flags, node->desc);

	/* A name is whatever a node says: here it is one line. */
	for (char *c = line; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = '?';
	return line;
}

char *known_port_line(const struct inv_node *node, unsigned port)
{
	return mem_printf("0x%016" PRIx64 " %u 0x%016" PRIx64, node->guid, port,
			  node->port_guids[port]);
}

char *known_cable_line(guid_t a, unsigned port_a, guid_t b, unsigned port_b, int64_t since)
{
	return mem_printf("0x%016" PRIx64 " %u 0x%016" PRIx64 " %u %" PRId64, a, port_a, b, port_b,
			  since);
}
