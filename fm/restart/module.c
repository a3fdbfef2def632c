/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/restart/module.h"
#include <inttypes.h>
#include "fm/program/program.h"
#include "fm/restart/links_own.h"
#include "fm/state/state_file.h"
#include "fm/sweep/sweep.h"
#include "topology/files/dump.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

#define LINE 128

static int lids_compare_guid(const void *a, const void *b)
{
	const struct lid_entry *x = a, *y = b;

	return x->port_guid < y->port_guid ? -1 : x->port_guid > y->port_guid;
}

/* 1 = an entry, 0 = an empty line or a comment, -1 = neither. */
static int parse_line(const char *line, struct lid_entry *entry)
{
	unsigned lid, lmc;
	char rest;
	int fields;

	if (line[strspn(line, " \t\n")] == '\0' || line[0] == '#')
		return 0;
	entry->away = 0;
	fields = sscanf(line, "0x%" SCNx64 " %u %u %" SCNd64 " %c", &entry->port_guid, &lid, &lmc,
			&entry->away, &rest);
	if (fields < 3 || fields > 4 || !lid || lid > TABLES_MAX_LID || lmc > 7 || entry->away < 0)
		return -1;
	if (fields == 3 && strspn(line, "0123456789abcdefABCDEFx \t\n") != strlen(line))
		return -1;
	entry->lid = lid;
	entry->lmc = lmc;
	return 1;
}

/*
 * What came, went, moved or has another name between two snapshots. Nodes are found again by GUID,
 * as each snapshot numbers them anew; few come or go at a time, so mostly a node's number is the
 * number before, moved by as much as that of the node ahead of it.
 */

struct changes {
	const struct known_links *links;
	const struct topo *was, *now;
	uint32_t *to_was, *to_now; /* by node of the other one: its number there, or TOPO_NONE */
	uint32_t count, most;
	FILE *out;
};

/* By node of `from`, its number in `to`; the caller's. */
static uint32_t *match(const struct topo *from, const struct topo *to)
{
	uint32_t *map = mem_array(map, from->nnodes + 1u), moved = 0;

	for (uint32_t n = 0; n < from->nnodes; n++) {
		uint32_t guess = n + moved; /* modulo 2^32 */

		map[n] = guess < to->nnodes && to->nodes[guess].guid == from->nodes[n].guid
				 ? guess
				 : topo_find(to, from->nodes[n].guid);
		if (map[n] != TOPO_NONE)
			moved = map[n] - n;
	}
	return map;
}

/* Whether the link at a port is in the other snapshot, too, at the same two ports. */
static bool has_link(const struct topo *from, const struct topo_port *port, const struct topo *to,
		     const uint32_t *map)
{
	const struct topo_port *peer = topo_peer(from, port), *there;
	uint32_t node = map[port->node];

	if (node == TOPO_NONE || port->num > to->nodes[node].nports)
		return false;
	there = topo_peer(to, topo_port(to, node, port->num));
	return there && there->node == map[peer->node] && there->num == peer->num;
}

static const struct topo_port *lower_end(const struct topo *t, const struct topo_port *port)
{
	const struct topo_port *peer = topo_peer(t, port);

	return known_links_is_lower(t->nodes[port->node].guid, port->num, t->nodes[peer->node].guid,
				    peer->num)
		       ? port
		       : peer;
}

static void write_nodes(struct changes *c)
{
	for (uint32_t n = 0; n < c->now->nnodes && c->count <= c->most; n++) {
		const struct topo_node *node = &c->now->nodes[n];
		const struct inv_node *known;

		if (c->to_was[n] != TOPO_NONE &&
		    !strcmp(node->desc, c->was->nodes[c->to_was[n]].desc))
			continue;
		known = inventory_find(c->links->services->inventory, node->guid);
		if (known)
			c->count += known_links_write_node(known, c->out);
	}
}

/*
 * Writes the records that lead from that snapshot to links->seen, as for known_links_take(), but
 * for what is down. Returns how many lines; it ends behind `most`, and then they are of no use.
 */
static uint32_t known_links_changes(const struct known_links *links, const struct topo *was,
				    uint32_t most, FILE *out)
{
	struct changes c = { .links = links,
			     .was = was,
			     .now = links->seen,
			     .to_was = match(links->seen, was),
			     .to_now = match(was, links->seen),
			     .most = most,
			     .out = out };

	for (uint32_t p = 0; p < was->nports && c.count <= c.most; p++) {
		const struct topo_port *port = &was->ports[p];

		if (port->peer == TOPO_NONE || port->peer < p ||
		    has_link(was, port, c.now, c.to_now))
			continue;
		fprintf(c.out, "no-cable 0x%016" PRIx64 " %u\n", was->nodes[port->node].guid,
			port->num);
		c.count++;
	}

	for (uint32_t n = 0; n < c.was->nnodes && c.count <= c.most; n++)
		if (c.to_now[n] == TOPO_NONE) {
			fprintf(c.out, "no-node 0x%016" PRIx64 "\n", c.was->nodes[n].guid);
			c.count++;
		}

	write_nodes(&c);
	for (uint32_t p = 0; p < c.now->nports && c.count <= c.most; p++)
		if (c.now->ports[p].peer != TOPO_NONE && c.now->ports[p].peer > p &&
		    !has_link(c.now, &c.now->ports[p], c.was, c.to_was)) {
			const struct topo_port *lower = lower_end(c.now, &c.now->ports[p]);
			const struct topo_port *upper = topo_peer(c.now, lower);
			const struct topo_node *nodes = c.now->nodes;

			known_links_write_cable(
				nodes[lower->node].guid, lower->num, nodes[upper->node].guid,
				upper->num,
				known_links_since(c.links, nodes[lower->node].guid, lower->num),
				c.out);
			c.count++;
		}
	free(c.to_was);
	free(c.to_now);
	return c.count;
}

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

static void forget_links(void *arg);
static void links_write_links(const void *arg, FILE *out);

#define RECORDS_MOST 2000 /* of more, the file is the shorter message */

/* Written within a second: new links, and links that went down, have to survive a crash. */
static const struct state_file links_file = {
	.name = "cables",
	.form = "a node, a port or a cable",
	.line = known_links_line,
	.forget = forget_links,
	.write = links_write_links,
	.record = known_links_take,
	.gather_us = 200000,
	.gather_max_us = 1000000,
};

/* ---- What is down, and since when ------------------------------------------------------------ */

static bool is_down(const struct topo *t, uint32_t port)
{
	return t->ports[port].peer != TOPO_NONE && t->ports[port].peer > port &&
	       !t->ports[port].link_up;
}

/* ---- What there is --------------------------------------------------------------------------- */

/* Both sums of `links`. */
static void sum_all(struct known_links *links, const struct topo *t)
{
	uint64_t down = 0;

	links->shape = 0;
	for (uint32_t n = 0; n < t->nnodes; n++) {
		uint64_t name = 0;

		for (const char *c = t->nodes[n].desc; *c; c++)
			name = hash_word(name ^ (unsigned char)*c);
		links->shape += hash_word(t->nodes[n].guid ^ name);
	}
	for (uint32_t p = 0; p < t->nports; p++)
		if (t->ports[p].peer != TOPO_NONE && t->ports[p].peer > p) {
			const struct topo_port *a = lower_end(t, &t->ports[p]);
			const struct topo_port *b = topo_peer(t, a);
			uint64_t link_sum = hash_word(t->nodes[a->node].guid ^ hash_word(a->num));
			uint64_t sum = hash_word(hash_word(link_sum ^ t->nodes[b->node].guid) ^
						 hash_word(b->num));

			links->shape += sum;
			down += t->ports[p].link_up ? 0 : hash_word(sum);
		}
	links->sum = links->shape + down;
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
	/* What differs in two lists by end. */
	for (uint32_t h = 0, n = 0; count <= RECORDS_MOST && (h < had->ndown || n < c->ndown);) {
		int order = h == had->ndown ? 1
			    : n == c->ndown ? -1
					    : known_links_compare(&had->down[h], &c->down[n]);
		const struct down_link *link = order < 0 ? &had->down[h] : &c->down[n];

		if (order) {
			fprintf(out, "down 0x%016" PRIx64 " %u %" PRId64 "\n", link->node,
				link->port, order < 0 ? 0 : link->since);
			count++;
		}
		h += order <= 0;
		n += order >= 0;
	}
	fclose(out);
	if (count <= RECORDS_MOST) {
		const char *at = lines, *end = lines + length, *line;

		while ((line = records_line(&at, end, &length))) {
			lines[(line - lines) + length] = '\0';
			state_store_record(c->services->state, &links_file, (void *)c, line);
		}
	}
	free(lines);
	return count <= RECORDS_MOST;
}

/* null: not settled yet */
static void write_utc(time_t when, char text[KNOWN_LINKS_SINCE])
{
	struct tm utc;

	text[0] = '\0';
	if (when && gmtime_r(&when, &utc))
		strftime(text, KNOWN_LINKS_SINCE, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

/* ---- The file -------------------------------------------------------------------------------- */

static void forget_links(void *arg)
{
	struct known_links *c = arg;

	inventory_fini(c->services->inventory);
	c->ndown = 0;
}

static void links_write_links(const void *arg, FILE *out)
{
	const struct known_links *c = arg;
	const struct inventory *inv = c->services->inventory;

	INVENTORY_EACH (inv, node)
		known_links_write_node(node, out);
	INVENTORY_EACH (inv, node) {
		for (unsigned p = 1; p <= node->nports; p++) {
			const struct inv_port *port = &node->ports[p];

			if (port->peer &&
			    known_links_is_lower(node->guid, p, port->peer->guid, port->peer_port))
				known_links_write_cable(
					node->guid, p, port->peer->guid, port->peer_port,
					port->link_up ? 0 : known_links_since(c, node->guid, p),
					out);
		}
	}
}

/* ---- LIDs of what is known ------------------------------------------------------------------- */

/* The LID that a port had. One that answers says what it has. */
static void remember_lid(const struct lid_memory *memory, struct inv_port *port, guid_t guid)
{
	const struct lid_entry key = { .port_guid = guid }, *entry;

	entry = memory->count ? bsearch(&key, memory->entries, memory->count, sizeof(key),
					lids_compare_guid)
			      : NULL;
	if (entry) {
		port->lid = entry->lid;
		port->lmc = entry->lmc;
	}
}

/*
 * What survives a restart, so that one moves nothing: LIDs, the tables that switches hold, and the
 * links that are known.
 *
 * The tables the engine makes depend on snapshot, LIDs, marks and overrides alone. With all of
 * these restored, the first tables of a new daemon are the last ones of the old, damage or none;
 * what the switches hold is read, not written (fm/program/cached.c).
 *
 * The file of the tables may lag behind: a restart asks the switches.
 */

struct restart {
	struct fabric *fabric;
	struct fabric_services services;
	struct known_links links;
	uint64_t blocks; /* written to switches, when their file was last due */
	uint32_t lids;	 /* lid_memory.changes then */
};

/* ---- LIDs ------------------------------------------------------------------------------------ */

static unsigned read_lids(void *arg, FILE *in)
{
	struct restart *r = arg;

	/* `bad`: the number of the line that is malformed or has a LID of another; 0 = none. */
	struct lid_memory *memory = r->services.lids;
	uint8_t *taken = mem_alloc(TABLES_MAX_LID + 1, 1);
	unsigned number = 0, bad = 0;
	char line[LINE];

	while (!bad && fgets(line, sizeof(line), in)) {
		struct lid_entry entry;
		int kind = parse_line(line, &entry);

		number++;
		if (kind < 0 || (kind > 0 && taken[entry.lid]++))
			bad = number;
		if (kind <= 0 || bad)
			continue;
		memory->entries = mem_resize(memory->entries, memory->count + 1, sizeof(entry));
		memory->entries[memory->count++] = entry;
	}
	free(taken);
	if (memory->count)
		qsort(memory->entries, memory->count, sizeof(*memory->entries), lids_compare_guid);
	return bad;
}

static void forget_lids(void *arg)
{
	struct restart *r = arg;

	lid_memory_fini(r->services.lids);
}

static void write_lids(const void *arg, FILE *out)
{
	const struct restart *r = arg;

	/* Writes the lines; the caller checks the stream. */
	const struct lid_memory *memory = r->services.lids;

	for (uint32_t i = 0; i < memory->count; i++) {
		const struct lid_entry *entry = &memory->entries[i];

		fprintf(out, "0x%016" PRIx64 " %u %u", entry->port_guid, entry->lid, entry->lmc);
		if (entry->away)
			fprintf(out, " %" PRId64, entry->away);
		fputc('\n', out);
	}
}

/* A LID that is wrong is worse than a new one: a file that is not whole is lost. */
static const struct state_file lids_file = {
	.name = "lids",
	.small = true,
	.form = "`GUID LID LMC [AWAY]`, or a LID twice",
	.read = read_lids,
	.forget = forget_lids,
	.write = write_lids,
};

static void lids_changed(struct restart *r)
{
	if (r->lids == r->services.lids->changes)
		return;
	r->lids = r->services.lids->changes;
	state_store_changed(r->services.state, &lids_file, r);
}

/* Ports were given LIDs, or lost theirs, by an operator too; whatever has come of the tables. */
static void published(void *room, enum fabric_update_step step, const struct topo *before)
{
	lids_changed(room);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static void write_tables(const void *arg, FILE *out)
{
	const struct restart *r = arg;

	program_write_tables(r->services.program, out);
}

static const struct state_file tables_file = {
	.name = "tables", .write = write_tables, .gather_us = 5000000, .gather_max_us = 60000000
};

static void changed(struct restart *r)
{
	r->blocks = program_blocks_written(r->services.program);
	state_store_changed(r->services.state, &tables_file, r);
}

static void programmed(void *room, const struct fabric_programmed *programmed)
{
	if (programmed->tables) {
		struct restart *r = room;
		const struct program_result *result = programmed->tables;
		uint64_t written = program_blocks_written(r->services.program);

		if (result->read)
			event_log_add(r->services.events, LOG_NOTICE, "tables-held", NULL,
				      json_pack("{si si sI}", "read", result->read, "differed",
						result->differed, "written", (json_int_t)written),
				      "fabric: warm restart: %u LFT blocks read back, %u differed, "
				      "%" PRIu64 " "
				      "rewritten",
				      result->read, result->differed, written);
		if (result->differed || written != r->blocks)
			changed(r);
	}
}

/* Programming may have been under way. */
static void role(void *room, enum fabric_role now, enum fabric_role_step step)
{
	struct restart *r = room;

	if (step != FABRIC_ROLE_IN_FORCE)
		lids_changed(r);
	if (step != FABRIC_ROLE_IN_FORCE &&
	    program_blocks_written(r->services.program) != r->blocks)
		changed(r);
}

static void load(void *room, enum fabric_load_step step)
{
	struct restart *r = room;
	char *content;
	size_t length;

	if (step != FABRIC_RESTORE)
		return;
	state_store_read(r->services.state, &lids_file, r);
	if (!state_store_load(r->services.state, &tables_file, r, &content, &length))
		program_remember(r->services.program, content, length);

	/*
	 * Called before the first sweep, after the LIDs were read: adds nodes, ports and links of
	 * the file to the inventory, as gone and down.
	 */
	const struct lid_memory *lids = r->services.lids;
	const struct inventory *inv = r->links.services->inventory;

	state_store_read(r->links.services->state, &links_file, &r->links);
	known_links_sort(&r->links);
	INVENTORY_EACH (inv, node) {
		if (inv_is_switch(node))
			remember_lid(lids, &node->ports[0], node->guid);
		for (unsigned p = 1; node->port_guids && p <= node->nports; p++)
			remember_lid(lids, &node->ports[p], node->port_guids[p]);
		for (unsigned p = 1; p <= node->nports; p++) {
			const struct inv_port *port = &node->ports[p];

			if (port->peer && !known_links_since(&r->links, node->guid, p) &&
			    known_links_is_lower(node->guid, p, port->peer->guid, port->peer_port))
				sweep_port(node, p)->was_up =
					sweep_port(port->peer, port->peer_port)->was_up = true;
		}
	}
}

static void settled(void *room, enum fabric_settle_step step)
{
	struct restart *r = room;

	if (step == FABRIC_SETTLED_LATER) {
		/*
		 * Notes the links of the published snapshot, and which are down. One pass over its
		 * ports.
		 */
		const struct topo *topo = fabric_view(r->fabric).topo;
		const struct known_links had = r->links;

		r->links.seen = topo_ref(topo);
		sum_all(&r->links, topo);
		if (had.sum != r->links.sum) {
			struct down_link *list = mem_array(list, topo->nlinks_down + 1u);
			int64_t now = time(NULL);
			uint32_t count = 0;

			for (uint32_t p = 0; p < topo->nports; p++) {
				const struct topo_port *end =
					is_down(topo, p) ? lower_end(topo, &topo->ports[p]) : NULL;
				guid_t node = end ? topo->nodes[end->node].guid : 0;
				int64_t since =
					end ? known_links_since(&r->links, node, end->num) : 0;

				if (end)
					list[count++] =
						(struct down_link){ .node = node,
								    .port = end->num,
								    .since = since ? since : now };
			}
			qsort(list, count, sizeof(*list), known_links_compare);
			r->links.down = list;
			r->links.ndown = count;

			if (!tell_changes(&r->links, &had)) {
				state_store_changed(r->links.services->state, &links_file,
						    &r->links);
				state_store_hasten(r->links.services->state, &links_file);
			}
			free(had.down);
		}
		topo_unref(had.seen);
	}
}

json_t *links_down(const struct fabric *fabric)
{
	const struct restart *r = fabric_room(fabric, &restart_module);

	/* A new list of the links that are down, each with since when. */
	const struct topo *t = fabric_view(fabric).topo;
	json_t *rows = dump_json_links(t, true);
	size_t row = 0;

	for (uint32_t p = 0; p < t->nports; p++) {
		const struct topo_port *end = is_down(t, p) ? lower_end(t, &t->ports[p]) : NULL;
		int64_t since =
			end ? known_links_since(&r->links, t->nodes[end->node].guid, end->num) : 0;

		char text[KNOWN_LINKS_SINCE];

		write_utc(since, text);
		if (end)
			json_object_set_new(json_array_get(rows, row++), "since",
					    *text ? json_string(text) : json_null());
	}
	return rows;
}

void link_down_since(const struct fabric *fabric, uint32_t port, char since[LINK_SINCE])
{
	const struct restart *r = fabric_room(fabric, &restart_module);

	/* Since when the link at a port is down: UTC, as in events; "" = not known, or it is up. */
	const struct topo *t = fabric_view(fabric).topo;
	const struct topo_port *end = &t->ports[port];

	since[0] = '\0';
	if (end->peer == TOPO_NONE || end->link_up)
		return;
	end = lower_end(t, end);
	write_utc(known_links_since(&r->links, t->nodes[end->node].guid, end->num), since);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void *init(struct fabric *fabric)
{
	struct restart *r = mem_new(r);

	r->fabric = fabric;
	r->services = fabric_services(fabric);
	r->links.services = &r->services;
	return r;
}

static void fini(void *room)
{
	struct restart *r = room;

	free(r->links.down);
	topo_unref(r->links.seen);
	free(r);
}

const struct fabric_module restart_module = { .name = "restart",
					      .init = init,
					      .fini = fini,
					      .programmed = programmed,
					      .load = load,
					      .role = role,
					      .settled = settled,
					      .published = published };
