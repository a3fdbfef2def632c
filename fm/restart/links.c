/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * links: every link ever found, with both its ends, so that a restart does not forget what is down:
 * a link that is down stays a link of the design, its leaf has 3 of 4 spines, and routing keeps its
 * slot free.
 *
 * state_dir/cables has a line each for nodes, CA ports and links, down or not:
 *
 *   switch|ca|router GUID PORTS SYSTEM-GUID VENDOR DEVICE REVISION PARTITION-CAP LFT-CAP MFT-CAP
 *                    FLAGS NAME
 *   port NODE-GUID PORT PORT-GUID
 *   cable GUID PORT GUID PORT SINCE   SINCE: the second it was first found down, 0 = it was up
 *
 * They are added to the inventory before the first sweep, as nodes that are gone and links that are
 * down. The sweep then finds them up, cabled elsewhere or replaced, by the same code as at any
 * time. So a link that went down while fmd did not run is down like any other. What was removed for
 * good stays until `fmctl forget`.
 *
 * Behind each change that is settled sums over all of it say what has changed: where links went
 * down or came up alone, that is told link by link, as records (fm/state/state_store.h):
 *
 *   down GUID PORT SINCE   the link at that end, the one with the lower GUID; SINCE as above
 *
 * Else, and some time later in any case, the file is written.
 */
#include "fm/restart/links.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "topology/dump.h"
#include "topology/mem.h"
#include "topology/sort.h"

struct down_link { /* by its end with the lower GUID, or port */
	guid_t node;
	uint8_t port;
	int64_t since;
};

static const char *const type_names[] = {
	[TOPO_CA] = "ca", [TOPO_SWITCH] = "switch", [TOPO_ROUTER] = "router"
};

static unsigned read_links(void *arg, FILE *in);
static void forget_links(void *arg);
static void write_links(const void *arg, FILE *out);
static bool take_down(void *arg, const char *line);

#define RECORDS_MOST 2000 /* of more, the file is the shorter message */

/* Written within a second: new links, and links that went down, have to survive a crash. */
static const struct state_file links_file = {
	.name = "cables",
	.form = "a node, a port or a cable",
	.read = read_links,
	.forget = forget_links,
	.write = write_links,
	.record = take_down,
	.gather_us = 200000,
	.gather_max_us = 1000000,
};

/* ---- What is down, and since when ------------------------------------------------------------ */

static int compare_down(const void *a, const void *b)
{
	const struct down_link *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->port - y->port;
}

static int64_t down_since(const struct known_links *c, guid_t node, uint8_t port)
{
	const struct down_link key = { .node = node, .port = port }, *found;

	found = c->ndown ? bsearch(&key, c->down, c->ndown, sizeof(key), compare_down) : NULL;
	return found ? found->since : 0;
}

static bool is_lower_end(guid_t node, unsigned port, guid_t peer, unsigned peer_port)
{
	return node < peer || (node == peer && port < peer_port);
}

static const struct topo_port *lower_end(const struct topo *t, const struct topo_port *port)
{
	const struct topo_port *peer = topo_peer(t, port);

	return is_lower_end(t->nodes[port->node].guid, port->num, t->nodes[peer->node].guid,
			    peer->num)
		       ? port
		       : peer;
}

static bool is_down(const struct topo *t, uint32_t port)
{
	return t->ports[port].peer != TOPO_NONE && t->ports[port].peer > port &&
	       !t->ports[port].link_up;
}

static void list_down(struct known_links *c, const struct topo *t)
{
	struct down_link *list = mem_alloc(t->nlinks_down + 1u, sizeof(*list));
	int64_t now = time(NULL);
	uint32_t count = 0;

	for (uint32_t p = 0; p < t->nports; p++) {
		const struct topo_port *end = is_down(t, p) ? lower_end(t, &t->ports[p]) : NULL;
		guid_t node = end ? t->nodes[end->node].guid : 0;
		int64_t since = end ? down_since(c, node, end->num) : 0;

		if (end)
			list[count++] = (struct down_link){ node, end->num, since ? since : now };
	}
	qsort(list, count, sizeof(*list), compare_down);
	free(c->down);
	c->down = list;
	c->ndown = count;
}

/* ---- What there is --------------------------------------------------------------------------- */

static uint64_t sum_text(const char *text)
{
	uint64_t sum = 0;

	for (; *text; text++)
		sum = hash_word(sum ^ (unsigned char)*text);
	return sum;
}

static uint64_t sum_link(const struct topo *t, const struct topo_port *a)
{
	const struct topo_port *b = topo_peer(t, a);
	uint64_t sum = hash_word(t->nodes[a->node].guid ^ hash_word(a->num));

	return hash_word(hash_word(sum ^ t->nodes[b->node].guid) ^ hash_word(b->num));
}

/* Both sums of `links`. */
static void sum_all(struct known_links *links, const struct topo *t)
{
	uint64_t down = 0;

	links->shape = 0;
	for (uint32_t n = 0; n < t->nnodes; n++)
		links->shape += hash_word(t->nodes[n].guid ^ sum_text(t->nodes[n].desc));
	for (uint32_t p = 0; p < t->nports; p++)
		if (t->ports[p].peer != TOPO_NONE && t->ports[p].peer > p) {
			uint64_t sum = sum_link(t, lower_end(t, &t->ports[p]));

			links->shape += sum;
			down += t->ports[p].link_up ? 0 : hash_word(sum);
		}
	links->sum = links->shape + down;
}

static void record_down(const struct known_links *c, const struct down_link *link, int64_t since)
{
	char line[80];

	snprintf(line, sizeof(line), "down 0x%016" PRIx64 " %u %" PRId64, link->node, link->port,
		 since);
	state_store_record(c->services->state, &links_file, (void *)c, line);
}

/* What differs in two lists by end, counted; and told, if so asked. */
static uint32_t compare_lists(const struct known_links *c, const struct down_link *had,
			      uint32_t nhad, bool tell)
{
	uint32_t h = 0, n = 0, count = 0;

	while (h < nhad || n < c->ndown) {
		int order = h == nhad ? 1 : n == c->ndown ? -1 : compare_down(&had[h], &c->down[n]);

		count += order != 0;
		if (tell && order < 0)
			record_down(c, &had[h], 0);
		else if (tell && order > 0)
			record_down(c, &c->down[n], c->down[n].since);
		h += order <= 0;
		n += order >= 0;
	}
	return count;
}

void known_links_settled(struct known_links *c, const struct topo *topo)
{
	const struct known_links before = *c;
	struct down_link *had;

	sum_all(c, topo);
	if (before.sum == c->sum)
		return;
	had = mem_alloc(c->ndown + 1u, sizeof(*had));
	if (c->ndown)
		memcpy(had, c->down, c->ndown * sizeof(*had));
	list_down(c, topo);
	if (before.shape == c->shape && compare_lists(c, had, before.ndown, false) <= RECORDS_MOST)
		compare_lists(c, had, before.ndown, true);
	else
		state_store_changed(c->services->state, &links_file, c);
	free(had);
}

/* null: not settled yet */
static void write_utc(time_t when, char text[KNOWN_LINKS_SINCE])
{
	struct tm utc;

	text[0] = '\0';
	if (when && gmtime_r(&when, &utc))
		strftime(text, KNOWN_LINKS_SINCE, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

static json_t *utc_text(time_t when)
{
	char text[KNOWN_LINKS_SINCE];

	write_utc(when, text);
	return *text ? json_string(text) : json_null();
}

void known_links_down_since(const struct known_links *c, const struct topo *t, uint32_t port,
			    char since[KNOWN_LINKS_SINCE])
{
	const struct topo_port *end = &t->ports[port];

	since[0] = '\0';
	if (end->peer == TOPO_NONE || end->link_up)
		return;
	end = lower_end(t, end);
	write_utc(down_since(c, t->nodes[end->node].guid, end->num), since);
}

json_t *known_links_down(const struct known_links *c, const struct topo *t)
{
	json_t *rows = dump_json_links(t, true);
	size_t row = 0;

	for (uint32_t p = 0; p < t->nports; p++) {
		const struct topo_port *end = is_down(t, p) ? lower_end(t, &t->ports[p]) : NULL;
		int64_t since = end ? down_since(c, t->nodes[end->node].guid, end->num) : 0;

		if (end)
			json_object_set_new(json_array_get(rows, row++), "since", utc_text(since));
	}
	return rows;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static int type_by_name(const char *name)
{
	for (int type = TOPO_CA; type <= TOPO_ROUTER; type++)
		if (!strcmp(type_names[type], name))
			return type;
	return -1;
}

static bool read_node(struct inventory *inv, const char *line)
{
	struct wire_node_info info = { .base_version = 1, .class_version = 1 };
	struct inv_node *node;
	unsigned ports, device, cap, lft_cap, mft_cap, flags;
	char type[16], desc[sizeof(node->desc)];
	int kind, name = 0;

	if (sscanf(line,
		   "%15s 0x%" SCNx64 " %u 0x%" SCNx64 " %" SCNu32 " %u %" SCNu32 " %u %u %u %u%n",
		   type, &info.node_guid, &ports, &info.sys_guid, &info.vendor, &device,
		   &info.revision, &cap, &lft_cap, &mft_cap, &flags, &name) != 11)
		return false;
	kind = type_by_name(type);
	if (kind < 0 || !info.node_guid || !ports || ports > 254 || line[name] != ' ' ||
	    inventory_find(inv, info.node_guid))
		return false;
	info.type = (uint8_t)kind;
	info.nports = (uint8_t)ports;
	info.port_guid = info.node_guid;
	info.device = (uint16_t)device;
	info.partition_cap = (uint16_t)cap;
	node = inventory_add(inv, &info);
	node->sw.lft_cap = (uint16_t)lft_cap;
	node->sw.mft_cap = (uint16_t)mft_cap;
	node->sw.flags = (uint8_t)flags;
	node->gone = true;
	snprintf(desc, sizeof(desc), "%.*s", (int)strcspn(line + name + 1, "\n"), line + name + 1);
	inventory_set_desc(inv, node, desc);
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
	inventory_set_port_guid(inv, node, (uint8_t)num, port_guid);
	return true;
}

static bool is_free(const struct inv_node *node, unsigned num)
{
	return has_port(node, num) && !node->ports[num].peer;
}

static void note_down(struct known_links *c, guid_t node, unsigned port, int64_t since)
{
	if (!(c->ndown & (c->ndown + 1))) /* room grows by powers of two */
		c->down = mem_resize(c->down, 2 * c->ndown + 2, sizeof(*c->down));
	c->down[c->ndown++] = (struct down_link){ node, (uint8_t)port, since };
}

static bool read_link(struct known_links *c, const char *line)
{
	struct inventory *inv = c->services->inventory;
	struct inv_node *a, *b;
	guid_t guid_a, guid_b;
	unsigned port_a, port_b;
	int64_t since;
	char rest;

	if (sscanf(line, "cable 0x%" SCNx64 " %u 0x%" SCNx64 " %u %" SCNd64 " %c", &guid_a, &port_a,
		   &guid_b, &port_b, &since, &rest) != 5)
		return false;
	a = inventory_find(inv, guid_a);
	b = inventory_find(inv, guid_b);
	if (!is_free(a, port_a) || !is_free(b, port_b) ||
	    !is_lower_end(guid_a, port_a, guid_b, port_b))
		return false;
	inventory_link(inv, a, (uint8_t)port_a, b, (uint8_t)port_b);
	inventory_link_down(inv, a, (uint8_t)port_a);
	a->ports[port_a].ever_up = b->ports[port_b].ever_up = true;
	if (since > 0)
		note_down(c, guid_a, port_a, since);
	return true;
}

/* A link that is not known by now was forgotten since. */
static bool take_down(void *arg, const char *line)
{
	struct known_links *c = arg;
	const struct inv_node *node;
	int64_t since;
	unsigned port;
	guid_t guid;
	char rest;

	if (sscanf(line, "down 0x%" SCNx64 " %u %" SCNd64 " %c", &guid, &port, &since, &rest) != 3)
		return false;
	node = inventory_find(c->services->inventory, guid);
	if (!has_port(node, port) || !node->ports[port].peer)
		return true;
	for (uint32_t i = 0; i < c->ndown; i++)
		if (c->down[i].node == guid && c->down[i].port == port) {
			c->down[i].since = since;
			return true;
		}
	note_down(c, guid, port, since);
	return true;
}

static bool read_line(struct known_links *c, const char *line)
{
	struct inventory *inv = c->services->inventory;

	if (line[strspn(line, " \t\n")] == '\0' || line[0] == '#')
		return true;
	if (!strncmp(line, "cable ", 6))
		return read_link(c, line);
	if (!strncmp(line, "port ", 5))
		return read_port(inv, line);
	return read_node(inv, line);
}

static unsigned read_links(void *arg, FILE *in)
{
	struct known_links *c = arg;
	char line[256];

	for (unsigned number = 1; fgets(line, sizeof(line), in); number++)
		if (!read_line(c, line))
			return number;
	return 0;
}

static void forget_links(void *arg)
{
	struct known_links *c = arg;

	inventory_fini(c->services->inventory);
	c->ndown = 0;
}

static int compare_guid(const void *a, const void *b)
{
	const guid_t *guid = a;
	const struct lid_entry *entry = b;

	return *guid < entry->port_guid ? -1 : *guid > entry->port_guid;
}

/* The LID that a port had. One that answers says what it has. */
static void remember_lid(const struct lid_memory *memory, struct inv_port *port, guid_t guid)
{
	const struct lid_entry *entry;

	entry = memory->count ? bsearch(&guid, memory->entries, memory->count,
					sizeof(*memory->entries), compare_guid)
			      : NULL;
	if (entry) {
		port->lid = entry->lid;
		port->lmc = entry->lmc;
	}
}

static void remember_lids(const struct lid_memory *lids, struct inv_node *node)
{
	if (inv_is_switch(node))
		remember_lid(lids, &node->ports[0], node->guid);
	for (unsigned p = 1; node->port_guids && p <= node->nports; p++)
		remember_lid(lids, &node->ports[p], node->port_guids[p]);
}

void known_links_restore(struct known_links *c, const struct lid_memory *lids)
{
	const struct inventory *inv = c->services->inventory;

	state_store_read(c->services->state, &links_file, c);
	if (c->ndown)
		qsort(c->down, c->ndown, sizeof(*c->down), compare_down);
	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node))
		remember_lids(lids, node);
}

void known_links_fini(struct known_links *c)
{
	free(c->down);
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* A name is whatever a node says: here it is one line. */
static void write_name(const char *name, FILE *out)
{
	for (; *name; name++)
		fputc((unsigned char)*name < ' ' ? '?' : *name, out);
	fputc('\n', out);
}

static void write_node(const struct inv_node *node, FILE *out)
{
	fprintf(out,
		"%s 0x%016" PRIx64 " %u 0x%016" PRIx64 " %" PRIu32 " %u %" PRIu32 " %u %u %u %u ",
		type_names[node->info.type], node->guid, node->nports, node->info.sys_guid,
		node->info.vendor, node->info.device, node->info.revision, node->info.partition_cap,
		node->sw.lft_cap, node->sw.mft_cap, node->sw.flags);
	write_name(node->desc, out);
	for (unsigned p = 1; node->port_guids && p <= node->nports; p++)
		if (node->port_guids[p])
			fprintf(out, "port 0x%016" PRIx64 " %u 0x%016" PRIx64 "\n", node->guid, p,
				node->port_guids[p]);
}

static void write_links_of(const struct known_links *c, const struct inv_node *node, FILE *out)
{
	for (unsigned p = 1; p <= node->nports; p++) {
		const struct inv_port *port = &node->ports[p];

		if (port->peer && is_lower_end(node->guid, p, port->peer->guid, port->peer_port))
			fprintf(out, "cable 0x%016" PRIx64 " %u 0x%016" PRIx64 " %u %" PRId64 "\n",
				node->guid, p, port->peer->guid, port->peer_port,
				port->link_up ? 0 : down_since(c, node->guid, (uint8_t)p));
	}
}

static void write_links(const void *arg, FILE *out)
{
	const struct known_links *c = arg;
	const struct inventory *inv = c->services->inventory;

	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node))
		write_node(node, out);
	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node))
		write_links_of(c, node, out);
}
