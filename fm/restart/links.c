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
 * down. The sweep then finds them up, moved elsewhere or replaced, by the same code as at any
 * time. So a link that went down while fmd did not run is down like any other. What was removed for
 * good stays until `fmctl forget`.
 *
 * Behind each change that is settled sums over all of it say whether anything has changed. What
 * did is told by records (fm/state/state_store.h):
 *
 *   down GUID PORT SINCE   the link at that end, the one with the lower GUID; SINCE as above
 *   cable ..               a link, whatever was at its two ports; as in the file
 *   no-cable GUID PORT     the link at that port was forgotten, or leads elsewhere
 *   switch|ca|router ..    a node that is new, or has another name; as in the file, and its ports
 *   no-node GUID           a node was forgotten
 *
 * The file is written some time later in any case; and at once where it is the shorter message, as
 * behind the first sweep.
 */
#include "fm/restart/links.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "fm/restart/links_own.h"
#include "fm/state/records.h"
#include "topology/dump.h"
#include "topology/mem.h"
#include "topology/sort.h"

static unsigned read_links(void *arg, FILE *in);
static void forget_links(void *arg);
static void write_links(const void *arg, FILE *out);
static bool take_record(void *arg, const char *line);

#define RECORDS_MOST 2000 /* of more, the file is the shorter message */

/* Written within a second: new links, and links that went down, have to survive a crash. */
static const struct state_file links_file = {
	.name = "cables",
	.form = "a node, a port or a cable",
	.read = read_links,
	.forget = forget_links,
	.write = write_links,
	.record = take_record,
	.gather_us = 200000,
	.gather_max_us = 1000000,
};

/* ---- What is down, and since when ------------------------------------------------------------ */

static const struct topo_port *lower_end(const struct topo *t, const struct topo_port *port)
{
	const struct topo_port *peer = topo_peer(t, port);

	return known_links_is_lower(t->nodes[port->node].guid, port->num, t->nodes[peer->node].guid,
				    peer->num)
		       ? port
		       : peer;
}

static bool is_down(const struct topo *t, uint32_t port)
{
	return t->ports[port].peer != TOPO_NONE && t->ports[port].peer > port &&
	       !t->ports[port].link_up;
}

/* The list before is the caller's. */
static void list_down(struct known_links *c, const struct topo *t)
{
	struct down_link *list = mem_alloc(t->nlinks_down + 1u, sizeof(*list));
	int64_t now = time(NULL);
	uint32_t count = 0;

	for (uint32_t p = 0; p < t->nports; p++) {
		const struct topo_port *end = is_down(t, p) ? lower_end(t, &t->ports[p]) : NULL;
		guid_t node = end ? t->nodes[end->node].guid : 0;
		int64_t since = end ? known_links_since(c, node, end->num) : 0;

		if (end)
			list[count++] = (struct down_link){ .node = node,
							    .port = end->num,
							    .since = since ? since : now };
	}
	qsort(list, count, sizeof(*list), known_links_compare);
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

static uint32_t write_down(const struct down_link *link, int64_t since, FILE *out)
{
	fprintf(out, "down 0x%016" PRIx64 " %u %" PRId64 "\n", link->node, link->port, since);
	return 1;
}

/* What differs in two lists by end; how many lines. */
static uint32_t compare_lists(const struct known_links *c, const struct known_links *had, FILE *out)
{
	uint32_t h = 0, n = 0, count = 0;

	while (h < had->ndown || n < c->ndown) {
		int order = h == had->ndown ? 1
			    : n == c->ndown ? -1
					    : known_links_compare(&had->down[h], &c->down[n]);

		if (order < 0)
			count += write_down(&had->down[h], 0, out);
		else if (order > 0)
			count += write_down(&c->down[n], c->down[n].since, out);
		h += order <= 0;
		n += order >= 0;
	}
	return count;
}

static void tell(const struct known_links *c, char *lines, size_t length)
{
	const char *at = lines, *end = lines + length, *line;

	while ((line = records_line(&at, end, &length))) {
		lines[(size_t)(line - lines) + length] = '\0';
		state_store_record(c->services->state, &links_file, (void *)c, line);
	}
}

/* False: there is nothing to tell them behind, or they would be more than the file is worth. */
static bool tell_changes(const struct known_links *c, const struct known_links *had)
{
	char *lines = NULL;
	size_t length = 0;
	uint32_t count = 0;
	FILE *out;

	if (!had->seen)
		return false;
	out = open_memstream(&lines, &length);
	if (had->shape != c->shape)
		count = known_links_changes(c, had->seen, RECORDS_MOST, out);
	if (count <= RECORDS_MOST)
		count += compare_lists(c, had, out);
	fclose(out);
	if (count <= RECORDS_MOST)
		tell(c, lines, length);
	free(lines);
	return count <= RECORDS_MOST;
}

void known_links_settled(struct known_links *c, const struct topo *topo)
{
	const struct known_links had = *c;

	c->seen = topo_ref(topo);
	sum_all(c, topo);
	if (had.sum != c->sum) {
		list_down(c, topo);
		if (!tell_changes(c, &had)) {
			state_store_changed(c->services->state, &links_file, c);
			state_store_hasten(c->services->state, &links_file);
		}
		free(had.down);
	}
	topo_unref(had.seen);
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
	write_utc(known_links_since(c, t->nodes[end->node].guid, end->num), since);
}

json_t *known_links_down(const struct known_links *c, const struct topo *t)
{
	json_t *rows = dump_json_links(t, true);
	size_t row = 0;

	for (uint32_t p = 0; p < t->nports; p++) {
		const struct topo_port *end = is_down(t, p) ? lower_end(t, &t->ports[p]) : NULL;
		int64_t since = end ? known_links_since(c, t->nodes[end->node].guid, end->num) : 0;

		if (end)
			json_object_set_new(json_array_get(rows, row++), "since", utc_text(since));
	}
	return rows;
}

/* ---- The file -------------------------------------------------------------------------------- */

static unsigned read_links(void *arg, FILE *in)
{
	return known_links_read(arg, in);
}

static bool take_record(void *arg, const char *line)
{
	return known_links_take(arg, line);
}

static void forget_links(void *arg)
{
	struct known_links *c = arg;

	inventory_fini(c->services->inventory);
	c->ndown = 0;
}

static void write_links_of(const struct known_links *c, const struct inv_node *node, FILE *out)
{
	for (unsigned p = 1; p <= node->nports; p++) {
		const struct inv_port *port = &node->ports[p];

		if (port->peer &&
		    known_links_is_lower(node->guid, p, port->peer->guid, port->peer_port))
			known_links_write_cable(
				node->guid, p, port->peer->guid, port->peer_port,
				port->link_up ? 0 : known_links_since(c, node->guid, (uint8_t)p),
				out);
	}
}

static void write_links(const void *arg, FILE *out)
{
	const struct known_links *c = arg;
	const struct inventory *inv = c->services->inventory;

	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node))
		known_links_write_node(node, out);
	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node))
		write_links_of(c, node, out);
}

/* ---- LIDs of what is known ------------------------------------------------------------------- */

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
	known_links_sort(c);
	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node))
		remember_lids(lids, node);
}

void known_links_fini(struct known_links *c)
{
	free(c->down);
	topo_unref(c->seen);
}
