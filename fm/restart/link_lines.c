/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Lines of `cables` and of its records, whose forms module.c has. */
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

static int compare_noted(const void *a, const void *b)
{
	const struct down_link *x = a, *y = b;
	int order = known_links_compare(x, y);

	return order ? order : (x->noted > y->noted) - (x->noted < y->noted);
}

void known_links_sort(struct known_links *c)
{
	uint32_t kept = 0;

	if (c->ndown)
		qsort(c->down, c->ndown, sizeof(*c->down), compare_noted);
	for (uint32_t i = 0; i < c->ndown; i++) {
		bool latest =
			i + 1 == c->ndown || known_links_compare(&c->down[i], &c->down[i + 1]);

		if (latest && c->down[i].since)
			c->down[kept++] = c->down[i];
	}
	c->ndown = kept;
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
		   "%15s 0x%" SCNx64 " %u 0x%" SCNx64 " %" SCNu32 " %u %" SCNu32 " %u %u %u %u%n",
		   type, &n->info.node_guid, &ports, &n->info.sys_guid, &n->info.vendor, &device,
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

/* Of one that is known by now only its name may be another. */
static bool take_node(struct inventory *inv, const char *line)
{
	struct inv_node *node;
	struct node_line n;

	if (!parse_node(line, &n))
		return false;
	node = inventory_find(inv, n.info.node_guid);
	if (node && node->info.type == n.info.type && node->nports == n.info.nports) {
		inventory_set_desc(inv, node, n.desc);
		return true;
	}
	if (node)
		inventory_remove(inv, node);
	add_node(inv, &n);
	return true;
}

static bool take_no_node(struct inventory *inv, const char *line)
{
	struct inv_node *node;
	guid_t guid;
	char rest;

	if (sscanf(line, "no-node 0x%" SCNx64 " %c", &guid, &rest) != 1)
		return false;
	node = inventory_find(inv, guid);
	if (node)
		inventory_remove(inv, node);
	return true;
}

static bool has_port(const struct inv_node *node, unsigned num)
{
	return node && num && num <= node->nports;
}

static bool read_port(struct inventory *inv, const char *line)
{
	struct inv_node *node;
	guid_t guid, port_guid;
	unsigned num;
	char rest;

	if (sscanf(line, "port 0x%" SCNx64 " %u 0x%" SCNx64 " %c", &guid, &num, &port_guid,
		   &rest) != 3)
		return false;
	node = inventory_find(inv, guid);
	if (!has_port(node, num) || !node->port_guids)
		return false;
	inventory_set_port_guid(inv, node, num, port_guid);
	return true;
}

/* ---- Links ----------------------------------------------------------------------------------- */

/* since 0: it is not down any more. known_links_sort() finds the latest of thousands of records. */
static void note_since(struct known_links *c, guid_t node, unsigned port, int64_t since)
{
	if (!(c->ndown & (c->ndown + 1))) /* room grows by powers of two */
		c->down = mem_array_resize(c->down, 2 * c->ndown + 2);
	c->down[c->ndown] =
		(struct down_link){ .node = node, .port = port, .noted = c->ndown, .since = since };
	c->ndown++;
}

/* `fresh`: nothing is known at either end. */
static bool take_link(struct known_links *c, const char *line, bool fresh)
{
	struct inventory *inv = c->services->inventory;
	unsigned port_a, port_b;
	struct inv_node *a, *b;
	guid_t guid_a, guid_b;
	int64_t since;
	char rest;

	if (sscanf(line, "cable 0x%" SCNx64 " %u 0x%" SCNx64 " %u %" SCNd64 " %c", &guid_a, &port_a,
		   &guid_b, &port_b, &since, &rest) != 5 ||
	    !known_links_is_lower(guid_a, port_a, guid_b, port_b))
		return false;
	a = inventory_find(inv, guid_a);
	b = inventory_find(inv, guid_b);
	if (!has_port(a, port_a) || !has_port(b, port_b) ||
	    (fresh && (a->ports[port_a].peer || b->ports[port_b].peer)))
		return false;
	inventory_link(inv, a, port_a, b, port_b);
	inventory_link_down(inv, a, port_a);
	sweep_port(a, port_a)->ever_up = sweep_port(b, port_b)->ever_up = true;
	if (since > 0 || !fresh)
		note_since(c, guid_a, port_a, since);
	return true;
}

/* ---- Which it is ----------------------------------------------------------------------------- */

static bool begins(const char *line, const char *word)
{
	return !strncmp(line, word, strlen(word));
}

bool known_links_line(void *links, const char *line)
{
	struct known_links *c = links;
	struct inventory *inv = c->services->inventory;

	if (begins(line, "cable "))
		return take_link(c, line, true);
	if (begins(line, "port "))
		return read_port(inv, line);

	struct node_line n;

	if (!parse_node(line, &n) || inventory_find(inv, n.info.node_guid))
		return false;
	add_node(inv, &n);
	return true;
}

bool known_links_take(void *links, const char *line)
{
	struct known_links *c = links;
	struct inventory *inv = c->services->inventory;

	if (begins(line, "down ")) {
		/* A link that is not known by now was forgotten since. */
		const struct inv_node *node;
		int64_t since;
		unsigned port;
		guid_t guid;
		char rest;

		if (sscanf(line, "down 0x%" SCNx64 " %u %" SCNd64 " %c", &guid, &port, &since,
			   &rest) != 3)
			return false;
		node = inventory_find(c->services->inventory, guid);
		if (has_port(node, port) && node->ports[port].peer)
			note_since(c, guid, port, since);
		return true;
	}
	if (begins(line, "cable "))
		return take_link(c, line, false);
	if (begins(line, "no-cable ")) {
		struct inv_node *node;
		unsigned port;
		guid_t guid;
		char rest;

		if (sscanf(line, "no-cable 0x%" SCNx64 " %u %c", &guid, &port, &rest) != 2)
			return false;
		node = inventory_find(inv, guid);
		if (has_port(node, port) && node->ports[port].peer)
			inventory_unlink(inv, node, port);
		note_since(c, guid, port, 0);
		return true;
	}
	if (begins(line, "port "))
		return read_port(inv, line);
	return begins(line, "no-node ") ? take_no_node(inv, line) : take_node(inv, line);
}

/* ---- Writing --------------------------------------------------------------------------------- */

uint32_t known_links_write_node(const struct inv_node *node, FILE *out)
{
	uint32_t lines = 1;

	fprintf(out,
		"%s 0x%016" PRIx64 " %u 0x%016" PRIx64 " %" PRIu32 " %u %" PRIu32 " %u %u %u %u ",
		type_names[node->info.type], node->guid, node->nports, node->info.sys_guid,
		node->info.vendor, node->info.device, node->info.revision, node->info.partition_cap,
		node->sw.lft_cap, node->sw.mft_cap, node->sw.flags);
	/* A name is whatever a node says: here it is one line. */
	for (const char *name = node->desc; *name; name++)
		fputc((unsigned char)*name < ' ' ? '?' : *name, out);
	fputc('\n', out);
	for (unsigned p = 1; node->port_guids && p <= node->nports; p++) {
		if (!node->port_guids[p])
			continue;
		fprintf(out, "port 0x%016" PRIx64 " %u 0x%016" PRIx64 "\n", node->guid, p,
			node->port_guids[p]);
		lines++;
	}
	return lines;
}

void known_links_write_cable(guid_t a, unsigned port_a, guid_t b, unsigned port_b, int64_t since,
			     FILE *out)
{
	fprintf(out, "cable 0x%016" PRIx64 " %u 0x%016" PRIx64 " %u %" PRId64 "\n", a, port_a, b,
		port_b, since);
}
