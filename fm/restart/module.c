/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/restart/module.h"
#include <inttypes.h>
#include "fm/program/program.h"
#include "fm/restart/links_own.h"
#include "fm/loop/job.h"
#include "fm/sweep/sweep.h"
#include "topology/files/dump.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

#define LINE 128

SORT_BY(lids_compare_guid, struct lid_entry, sort_order(a->port_guid, b->port_guid))

static bool parse_line(const char *line, struct lid_entry *entry)
{
	unsigned lid, lmc;
	char rest;

	entry->away = 0;

	int fields = sscanf(line, "0x%" SCNx64 " %u %u %" SCNd64 " %c", &entry->port_guid, &lid,
			    &lmc, &entry->away, &rest);

	if (fields < 3 || fields > 4 || !lid || lid > TABLES_MAX_LID || lmc > 7 || entry->away < 0)
		return false;
	entry->lid = lid;
	entry->lmc = lmc;
	return fields == 4 || strspn(line, "0123456789abcdefABCDEFx ") == strlen(line);
}

/* ---- Rows of what is known ------------------------------------------------------------------- */

static void print(FILE *out, char *line)
{
	fprintf(out, "%s\n", line);
	free(line);
}

static void node_line(const struct known_links *links, const struct inv_node *node, FILE *out)
{
	print(out, known_node_line(node));
}

static void port_lines(const struct known_links *links, const struct inv_node *node, FILE *out)
{
	for (unsigned p = 1; node->port_guids && p <= node->nports; p++)
		if (node->port_guids[p])
			print(out, known_port_line(node, p));
}

static void cable_lines(const struct known_links *links, const struct inv_node *node, FILE *out)
{
	for (unsigned p = 1; p <= node->nports; p++) {
		const struct inv_port *port = &node->ports[p];

		if (port->peer &&
		    known_links_is_lower(node->guid, p, port->peer->guid, port->peer_port))
			print(out,
			      known_cable_line(
				      node->guid, p, port->peer->guid, port->peer_port,
				      port->link_up ? 0 : known_links_since(links, node->guid, p)));
	}
}

/* A place is a node's GUID. */
static uint64_t write_from(const void *arg, guid_t from, FILE *out,
			   void (*lines)(const struct known_links *links,
					 const struct inv_node *node, FILE *out))
{
	const struct known_links *links = arg;
	const struct inv_node *node = inventory_from(links->services->inventory, from);

	for (int left = STATE_LINES; node && left > 0;
	     node = inventory_next(links->services->inventory, node)) {
		lines(links, node, out);
		left -= lines == node_line ? 1 : node->nports;
	}
	return node ? node->guid : 0;
}

static uint64_t write_nodes(const void *arg, uint64_t from, FILE *out)
{
	return write_from(arg, from, out, node_line);
}

static uint64_t write_ports(const void *arg, uint64_t from, FILE *out)
{
	return write_from(arg, from, out, port_lines);
}

static uint64_t write_cables(const void *arg, uint64_t from, FILE *out)
{
	return write_from(arg, from, out, cable_lines);
}

static const struct state_kind nodes_kind = {
	.name = "nodes", .form = "a node", .line = known_node_take, .write = write_nodes
};
static const struct state_kind ports_kind = {
	.name = "ports", .form = "a port of a node", .line = known_port_take, .write = write_ports
};
static const struct state_kind cables_kind = {
	.name = "cables", .form = "a link", .line = known_cable_take, .write = write_cables
};

/*
 * What came, went, moved or has another name between two snapshots. Nodes are found again by GUID,
 * as each snapshot numbers them again; few come or go at a time, so mostly a node's number is the
 * number before, moved by as much as that of the node ahead of it.
 */

struct changes {
	const struct known_links *links;
	const struct topo *was, *now;
	uint32_t *to_was, *to_now; /* by node of the other one: its number there, or TOPO_NONE */
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

static void put(const struct changes *c, const struct state_kind *kind, char *line)
{
	state_put(c->links->services->state, kind, (void *)c->links, line);
	free(line);
}

static void drop(const struct changes *c, const struct state_kind *kind, guid_t guid, unsigned port)
{
	char key[64];

	if (port)
		array_printf(key, "0x%016" PRIx64 " %u", guid, port);
	else
		array_printf(key, "0x%016" PRIx64, guid);
	state_remove(c->links->services->state, kind, (void *)c->links, key);
}

/* The row of the link at a port of that snapshot. */
static void put_cable(const struct changes *c, const struct topo *t, const struct topo_port *port)
{
	const struct topo_port *lower = lower_end(t, port), *upper = topo_peer(t, lower);
	guid_t node = t->nodes[lower->node].guid;

	put(c, &cables_kind,
	    known_cable_line(node, lower->num, t->nodes[upper->node].guid, upper->num,
			     known_links_since(c->links, node, lower->num)));
}

static void put_node(const struct changes *c, const struct inv_node *node)
{
	put(c, &nodes_kind, known_node_line(node));
	for (unsigned p = 1; node->port_guids && p <= node->nports; p++)
		if (node->port_guids[p])
			put(c, &ports_kind, known_port_line(node, p));
}

/* What came, went, moved or has another name; not what is down. */
static void tell_shape(const struct changes *c)
{
	for (uint32_t p = 0; p < c->was->nports; p++) {
		const struct topo_port *port = &c->was->ports[p];

		if (port->peer == TOPO_NONE || port->peer < p ||
		    has_link(c->was, port, c->now, c->to_now))
			continue;
		port = lower_end(c->was, port);
		drop(c, &cables_kind, c->was->nodes[port->node].guid, port->num);
	}
	for (uint32_t n = 0; n < c->was->nnodes; n++)
		if (c->to_now[n] == TOPO_NONE) {
			drop(c, &nodes_kind, c->was->nodes[n].guid, 0);
			for (unsigned p = 1; p <= c->was->nodes[n].nports; p++)
				drop(c, &ports_kind, c->was->nodes[n].guid, p);
		}
	for (uint32_t n = 0; n < c->now->nnodes; n++) {
		const struct topo_node *node = &c->now->nodes[n];
		const struct inv_node *known =
			inventory_find(c->links->services->inventory, node->guid);

		if (known && (c->to_was[n] == TOPO_NONE ||
			      strcmp(node->desc, c->was->nodes[c->to_was[n]].desc)))
			put_node(c, known);
	}
	for (uint32_t p = 0; p < c->now->nports; p++)
		if (c->now->ports[p].peer != TOPO_NONE && c->now->ports[p].peer > p &&
		    !has_link(c->now, &c->now->ports[p], c->was, c->to_was))
			put_cable(c, c->now, &c->now->ports[p]);
}

/*
 * links: every link ever found, with both its ends, so that a restart does not forget what is down:
 * a link that is down stays a link of the design, its leaf has 3 of 4 spines, and routing keeps its
 * slot free.
 *
 * They are rows of three kinds, down or not:
 *
 *   nodes   GUID: switch|ca|router PORTS SYSTEM-GUID VENDOR DEVICE REVISION PARTITION-CAP LFT-CAP
 *           MFT-CAP FLAGS NAME
 *   ports   NODE-GUID PORT: PORT-GUID
 *   cables  GUID PORT: GUID PORT SINCE, by the end with the lower GUID; SINCE: the second the link
 *           was first found down, 0 = it was up
 *
 * They are added to the inventory before the first sweep, as nodes that are gone and links that are
 * down. The sweep then finds them up, moved elsewhere or replaced, by the same code as at any
 * time. So a link that went down while fmd did not run is down like any other. What was removed for
 * good stays until `fmctl forget`.
 *
 * Behind each change that is settled sums over all of it say whether anything has changed. Rows of
 * what did are put then; behind the first sweep all of them.
 */

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

static void tell_changes(const struct known_links *links, const struct known_links *had)
{
	struct changes c = { .links = links, .was = had->seen, .now = links->seen };
	struct state *state = links->services->state;

	if (!had->seen) {
		state_changed(state, &nodes_kind, (void *)links);
		state_changed(state, &ports_kind, (void *)links);
		state_changed(state, &cables_kind, (void *)links);
		return;
	}
	if (had->shape != links->shape) {
		c.to_was = match(c.now, c.was);
		c.to_now = match(c.was, c.now);
		tell_shape(&c);
		free(c.to_was);
		free(c.to_now);
	}
	/* What differs in two lists by end. */
	for (uint32_t h = 0, n = 0; h < had->ndown || n < links->ndown;) {
		int order = h == had->ndown ? 1
			    : n == links->ndown
				    ? -1
				    : known_links_compare(&had->down[h], &links->down[n]);
		const struct down_link *link = order < 0 ? &had->down[h] : &links->down[n];
		uint32_t node = order ? topo_find(c.now, link->node) : TOPO_NONE;
		const struct topo_port *port =
			node == TOPO_NONE ? NULL : topo_port(c.now, node, link->port);

		if (port && port->peer != TOPO_NONE)
			put_cable(&c, c.now, port);
		h += order <= 0;
		n += order >= 0;
	}
}

/* null: not settled yet */
static void write_utc(time_t when, char text[KNOWN_LINKS_SINCE])
{
	struct tm utc;

	text[0] = '\0';
	if (when && gmtime_r(&when, &utc))
		strftime(text, KNOWN_LINKS_SINCE, "%Y-%m-%dT%H:%M:%SZ", &utc);
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
	bool *taken;	 /* by LID: a row has it; only while they are read */
	uint64_t blocks; /* written to switches, when their rows were last due */
	uint32_t lids;	 /* lid_memory.changes then */
	struct loop_timer *due;
	struct job *job; /* rows of tables, switch by switch */
	guid_t at;	 /* the latest of these */
};

/* ---- LIDs ------------------------------------------------------------------------------------ */

/* A LID that another port has is worse than a new one. */
static bool take_lid(void *arg, const char *line)
{
	struct restart *r = arg;
	struct lid_memory *memory = r->services.lids;
	struct lid_entry entry;

	if (!parse_line(line, &entry) || r->taken[entry.lid])
		return false;
	r->taken[entry.lid] = true;
	memory->entries = mem_resize(memory->entries, memory->count + 1, sizeof(entry));
	memory->entries[memory->count++] = entry;
	return true;
}

/* A place is a port's GUID. */
static uint64_t write_lids(const void *arg, uint64_t from, FILE *out)
{
	const struct lid_memory *memory = ((const struct restart *)arg)->services.lids;
	unsigned left = STATE_LINES;

	ARRAY_EACH (entry, memory->entries, memory->count) {
		if (entry->port_guid < from)
			continue;
		if (!left--)
			return entry->port_guid;
		fprintf(out, "0x%016" PRIx64 " %u %u", entry->port_guid, entry->lid, entry->lmc);
		if (entry->away)
			fprintf(out, " %" PRId64, entry->away);
		fputc('\n', out);
	}
	return 0;
}

static const struct state_kind lids_kind = {
	.name = "lids",
	.form = "`GUID LID LMC [AWAY]`, or a LID twice",
	.line = take_lid,
	.write = write_lids,
};

static void lids_changed(struct restart *r)
{
	if (r->lids == r->services.lids->changes)
		return;
	r->lids = r->services.lids->changes;
	state_changed(r->services.state, &lids_kind, r);
}

/* Ports were given LIDs, or lost theirs, by an operator too; whatever has come of the tables. */
static void published(void *room, enum fabric_update_step step, const struct topo *before)
{
	lids_changed(room);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

#define TABLES_US      5000000 /* that changes of tables gather */
#define TABLES_A_SLICE 32

static bool take_table(void *arg, const char *line)
{
	program_remember(((struct restart *)arg)->services.program, line);
	return true;
}

static const struct state_kind tables_kind = { .name = "tables",
					       .form = "blocks of a switch",
					       .line = take_table };

/* False: there is none left. */
static bool put_table(struct restart *r)
{
	char *line = program_next_table(r->services.program, &r->at);

	if (line)
		state_put(r->services.state, &tables_kind, r, line);
	free(line);
	return line;
}

static enum job_result put_tables(void *arg)
{
	unsigned count = 0;

	while (count < TABLES_A_SLICE && put_table(arg))
		count++;
	return count == TABLES_A_SLICE ? JOB_MORE : JOB_NEXT;
}

static void tables_due(void *arg)
{
	static const struct job_step steps[] = { { "restart-tables", put_tables }, { NULL, NULL } };
	struct restart *r = arg;

	r->at = 0;
	job_start(r->job, steps, NULL);
}

static void changed(struct restart *r)
{
	r->blocks = program_blocks_written(r->services.program);
	if (!loop_timer_armed(r->due))
		loop_timer_set(r->due, TABLES_US);
}

/* Some were lost, and switches hold what is wanted: nothing else would bring them back. */
static bool lacks_rows(const struct restart *r)
{
	const struct rows_kind *rows =
		rows_kind((struct rowset *)state_rows(r->services.state), tables_kind.name, false);

	return !rows || rows->count < fabric_view(r->fabric).topo->nswitches;
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
		if (result->differed || written != r->blocks || (result->read && lacks_rows(r)))
			changed(r);
	}
}

/* Programming may have been under way. */
static void role(void *room, enum fabric_role now, enum fabric_role_step step)
{
	struct restart *r = room;

	if (step != FABRIC_ROLE_IN_FORCE)
		lids_changed(r);
	if (step == FABRIC_ROLE_IN_FORCE ||
	    (program_blocks_written(r->services.program) == r->blocks &&
	     !loop_timer_armed(r->due) && !job_steps(r->job)))
		return;
	for (r->at = 0; put_table(r);)
		;
}

static void load(void *room, enum fabric_load_step step)
{
	struct restart *r = room;

	if (step != FABRIC_RESTORE)
		return;
	r->taken = mem_array(r->taken, TABLES_MAX_LID + 1);
	state_read(r->services.state, &lids_kind, r);
	free(r->taken);
	if (r->services.lids->count)
		qsort(r->services.lids->entries, r->services.lids->count, sizeof(struct lid_entry),
		      lids_compare_guid);
	state_read(r->services.state, &tables_kind, r);

	/*
	 * Called before the first sweep, after the LIDs were read: adds nodes, ports and links of
	 * the file to the inventory, as gone and down.
	 */
	const struct lid_memory *lids = r->services.lids;
	const struct inventory *inv = r->links.services->inventory;

	state_read(r->links.services->state, &nodes_kind, &r->links);
	state_read(r->links.services->state, &ports_kind, &r->links);
	state_read(r->links.services->state, &cables_kind, &r->links);
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
					sweep_port(port->peer, port->peer_port)->was_up =
						SWEEP_BEFORE_UP;
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

			tell_changes(&r->links, &had);
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
	struct restart *r = ROOM_NEW(r, fabric);

	r->links.services = &r->services;
	r->due = loop_timer_new(r->services.loop, tables_due, r);
	r->job = job_new(r->services.loop, r);
	return r;
}

static void fini(void *room)
{
	struct restart *r = room;

	loop_timer_free(r->due);
	job_free(r->job);
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
