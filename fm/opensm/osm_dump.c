/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <errno.h>
#include <inttypes.h>
#include "fm/opensm/osm_dump.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"
#include "topology/files/dump.h"

/*
 * Reading tables. What is met:
 *
 *   Unicast lids [0-4416] of switch Lid 12 guid 0x0002c902.. ('leaf-1'):         OpenSM
 *   0x0001 008 # Channel Adapter portguid 0x0002c903..: 'node-1 mlx5_0'
 *   4416 lids dumped
 *
 *   Unicast lids [0x0-0x1d] of switch Lid 12 guid 0x0002c902.. (leaf-1):          ibroute
 *     Lid  Out   Destination
 *          Port     Info
 *   0x0001 008 : (Channel Adapter portguid 0x0002c903..: 'node-1 mlx5_0')
 *   29 valid lids dumped
 *
 * The first pass looks at headings for the highest LID, the second fills the tables and notes whose
 * each LID is. A LID with two owners, a switch or port that the fabric has not, a port number that
 * the switch has not: all of these mean that the dump is of another fabric, and are refused.
 */

struct reader {
	const struct topo *t;
	const char *name;
	uint32_t line;
	uint32_t sw;		/* whose table is being read, TOPO_NONE before the first */
	uint32_t top, last;	/* highest LID of all headings; of the present one */
	struct osm_tables *out; /* NULL in the first pass */
	bool *seen;		/* by switch */
	char *err;
	size_t err_size;
};

#define refuse(r, ...) text_refuse((r)->err, (r)->err_size, (r)->name, (r)->line, __VA_ARGS__)

/* ---- Lines ----------------------------------------------------------------------------------- */

static bool own_lid(struct reader *r, uint32_t lid, guid_t guid)
{
	uint32_t port = topo_find_port(r->t, guid), *owner = &r->out->lids->port_of_lid[lid];

	if (port == TOPO_NONE)
		return refuse(r, "no port 0x%016" PRIx64 " in the fabric", guid);
	if (*owner != TOPO_NONE && *owner != port)
		return refuse(r, "LID %u has two owners, 0x%016" PRIx64 " and 0x%016" PRIx64, lid,
			      r->t->ports[*owner].guid, guid);
	*owner = port;
	return true;
}

/* `Unicast lids [0-TOP] of switch Lid N guid 0xGUID (name):`, after the first two words. */
static bool read_heading(struct reader *r, struct lex l)
{
	uint64_t first, last, guid, lid;

	if (!lex_take_char(&l, '[') || !lex_take_number(&l, &first) || !lex_take_char(&l, '-') ||
	    !lex_take_number(&l, &last) || !lex_take_char(&l, ']') ||
	    !lex_find_number(&l, " guid ", &guid))
		return refuse(r, "heading without LIDs [FIRST-LAST] and guid");
	if (last > TABLES_MAX_LID)
		return refuse(r, "LID %" PRIu64 " is not a unicast LID", last);
	r->last = last;
	r->top = r->last > r->top ? r->last : r->top;
	if (!r->out)
		return true;
	r->sw = topo_find(r->t, guid);
	if (r->sw >= r->t->nswitches)
		return refuse(r, "no switch 0x%016" PRIx64 " in the fabric", guid);
	if (r->seen[r->sw])
		return refuse(r, "a second table of switch 0x%016" PRIx64, guid);
	r->seen[r->sw] = true;
	if (lex_find_number(&l, " switch Lid ", &lid) && lid && lid <= r->last)
		return own_lid(r, lid, r->t->nodes[r->sw].guid);
	return true;
}

static bool read_line(struct reader *r, struct lex l)
{
	uint64_t count;

	lex_skip_blanks(&l);
	if (lex_take_word(&l, "Unicast lids "))
		return read_heading(r, l);
	if (lex_take_word(&l, "Multicast mlids"))
		return refuse(r, "multicast tables");
	if (!r->out)
		return true;
	if (l.end - l.p > 2 && l.p[0] == '0' && l.p[1] == 'x') {
		/* `0xLID PORT` and a remark. */
		uint64_t lid, port, guid;

		if (!lex_take_hex(&l, &lid) || !lex_is(&l, ' '))
			return refuse(r, "an entry begins with 0xLID and a port");
		lex_skip_blanks(&l);
		if (!lex_take_number(&l, &port) || (!lex_done(&l) && *l.p != ' '))
			return refuse(r, "LID %" PRIu64 " without a port number", lid);
		if (r->sw == TOPO_NONE)
			return refuse(r, "an entry before any heading");
		if (lid > r->last)
			return refuse(r, "LID %" PRIu64 " is beyond the heading's", lid);
		if (port > r->t->nodes[r->sw].nports && port != TABLES_NO_ROUTE)
			return refuse(r, "%s has no port %" PRIu64, r->t->nodes[r->sw].name, port);
		if (!lid)
			return true;
		tables_row(&r->out->tables, r->sw)[lid] = port;
		return !lex_find_number(&l, "portguid ", &guid) || own_lid(r, lid, guid);
	}
	if (lex_done(&l) || lex_is(&l, '#') || lex_take_word(&l, "Lid ") ||
	    lex_take_word(&l, "Port ") ||
	    (lex_take_number(&l, &count) && lex_contains(&l, "lids dumped")))
		return true;
	return refuse(r, "neither a heading nor an entry");
}

static bool read_lines(struct reader *r, const char *text, size_t len)
{
	const char *end = text + len;

	r->sw = TOPO_NONE;
	r->line = 0;
	while (text < end) {
		const char *nl = memchr(text, '\n', end - text);
		struct lex l = { text, nl ? nl : end };

		r->line++;
		if (l.end > l.p && l.end[-1] == '\r')
			l.end--;
		if (!read_line(r, l))
			return false;
		text = nl ? nl + 1 : end;
	}
	return true;
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* LIDs that no remark gives are those that ports hold. Base LIDs and LMC: from who owns what. */
static void settle_lids(const struct reader *r)
{
	struct lid_map *map = r->out->lids;
	uint32_t *held = mem_array(held, map->nports), most = 0;
	bool *owns = mem_array(owns, map->nports);

	for (uint32_t lid = 1; lid <= map->top; lid++)
		if (map->port_of_lid[lid] != TOPO_NONE)
			owns[map->port_of_lid[lid]] = true;
	for (uint32_t i = 0; i < map->nports; i++) {
		uint16_t lid = r->t->ports[i].lid;

		if (!owns[i] && r->t->ports[i].guid && lid && lid <= map->top &&
		    map->port_of_lid[lid] == TOPO_NONE)
			map->port_of_lid[lid] = i;
	}
	free(owns);
	for (uint32_t lid = map->top; lid >= 1; lid--) {
		uint32_t port = map->port_of_lid[lid];

		if (port == TOPO_NONE)
			continue;
		map->lid_of_port[port] = lid;
		most = ++held[port] > most ? held[port] : most;
	}
	map->lmc = most > 1 ? 31u - __builtin_clz(most) : 0;
	for (uint32_t i = 0; i < map->nports; i++)
		map->without_lid += (r->t->ports[i].node < r->t->nswitches
					     ? r->t->ports[i].num == 0
					     : r->t->ports[i].peer != TOPO_NONE) &&
				    !map->lid_of_port[i];
	free(held);
	/* Packets to a LID that nobody has go nowhere, wherever its entries lead. */
	for (uint32_t lid = 0; lid <= map->top; lid++)
		for (uint32_t sw = 0; map->port_of_lid[lid] == TOPO_NONE && sw < r->t->nswitches;
		     sw++)
			tables_row(&r->out->tables, sw)[lid] = TABLES_NO_ROUTE;
}

int osm_dump_parse_lfts(const struct topo *t, const char *name, const char *text, size_t len,
			struct osm_tables *out, char *err, size_t err_size)
{
	struct reader r = { .t = t, .name = name, .err = err, .err_size = err_size };
	bool read = read_lines(&r, text, len);

	*out = (struct osm_tables){ 0 };
	if (!read)
		return -EINVAL;

	struct lid_map *map = mem_new(map);

	*out = (struct osm_tables){ .lids = map };
	map->nports = r.t->nports;
	map->top = r.top;
	map->lid_of_port = mem_array(map->lid_of_port, map->nports);
	map->port_of_lid = mem_array(map->port_of_lid, map->top + 1u);
	memset(map->port_of_lid, 0xff, (map->top + 1u) * sizeof(*map->port_of_lid));
	tables_resize(&out->tables, r.t->nswitches, map->top);
	if (r.t->nswitches)
		memset(out->tables.lft, TABLES_NO_ROUTE,
		       (size_t)out->tables.nswitches * out->tables.stride);
	r.out = out;
	r.seen = mem_array(r.seen, r.t->nswitches);

	read = read_lines(&r, text, len);
	if (read) {
		settle_lids(&r);
		for (uint32_t sw = 0; sw < t->nswitches; sw++)
			out->without_table += !r.seen[sw];
	}
	if (read && out->without_table == t->nswitches)
		read = refuse(&r, "no table of any switch");
	free(r.seen);
	if (read)
		return 0;
	osm_tables_fini(out);
	return -EINVAL;
}

int osm_dump_read_lfts(const struct topo *t, const char *path, struct osm_tables *out, char *err,
		       size_t err_size)
{
	size_t len;
	char *text = mem_read_path(path, &len);
	int status = text ? 0 : -errno;

	if (status)
		snprintf(err, err_size, "%s: %s", path, strerror(-status));
	else
		status = osm_dump_parse_lfts(t, path, text, len, out, err, err_size);
	free(text);
	return status;
}

void osm_tables_fini(struct osm_tables *tables)
{
	lid_map_free(tables->lids);
	tables_fini(&tables->tables);
	*tables = (struct osm_tables){ 0 };
}

/*
 * osm_dump: OpenSM's dump files, in the format that ibdmchk, ibdiagnet's parsers and site scripts
 * expect.
 *
 *   opensm-lfts.dump   each switch's table, an entry a line, with the LID's owner in a remark
 *   opensm.fdbs        the same as `LID : port : hops : optimal`
 *   opensm.mcfdbs      multicast tables; a switch without entries is not in it
 *   opensm-subnet.lst  the links with both their ends
 *
 * The hop column of opensm.fdbs counts the switches left to go through; it is found by following
 * the tables from each switch once (a step further than a switch whose count is known), and the
 * shortest count by a breadth-first walk over links from each switch.
 */

#define HOPS_UNKNOWN 255

static uint32_t owner_of(const struct osm_dump_view *v, uint32_t lid)
{
	return lid <= v->lids->top ? v->lids->port_of_lid[lid] : TOPO_NONE;
}

static uint8_t entry_of(const struct osm_dump_view *v, uint32_t sw, uint32_t lid)
{
	return lid <= v->tables->top ? tables_row(v->tables, sw)[lid] : TABLES_NO_ROUTE;
}

static int stream_status(FILE *out)
{
	return ferror(out) ? -EIO : 0;
}

/* Tables are tens of millions of lines at 16,384 hosts: these are put together by hand. */
static char *put_port(char *to, uint8_t port)
{
	*to++ = '0' + port / 100;
	*to++ = '0' + port / 10 % 10;
	*to++ = '0' + port % 10;
	return to;
}

/* ---- opensm-lfts.dump ---- */

#define LFT_PORT_AT 7 /* behind "0x0001 " */

/* The line of each LID with port 000: all but the port is the same in each switch's table. */
struct lft_lines {
	char *text;
	size_t *at; /* [lid]: where its line begins, and the one before ends */
};

static int make_lft_lines(const struct osm_dump_view *v, struct lft_lines *lines)
{
	size_t len;
	FILE *out = open_memstream(&lines->text, &len);

	if (!out)
		return -errno;
	lines->at = mem_array(lines->at, v->lids->top + 2);
	for (uint32_t lid = 0; lid <= v->lids->top; lid++) {
		static const char *const kinds[] = { "", "Channel Adapter", "Switch", "Router" };
		uint32_t owner = owner_of(v, lid);

		if (owner != TOPO_NONE) {
			const struct topo_port *port = &v->topo->ports[owner];
			const struct topo_node *node = &v->topo->nodes[port->node];

			fprintf(out, "0x%04x 000 # %s portguid 0x%016" PRIx64 ": '%s'\n", lid,
				kinds[node->type], port->guid, node->label);
		}
		lines->at[lid + 1] = ftell(out);
	}
	return fclose(out) ? -errno : 0;
}

static int write_lfts(const struct osm_dump_view *v, FILE *out)
{
	struct lft_lines lines = { 0 };
	int status = make_lft_lines(v, &lines);
	char *text = status ? NULL : mem_alloc(lines.at[v->lids->top + 1] + 1, 1);

	for (uint32_t s = 0; !status && s < v->topo->nswitches; s++) {
		const struct topo_node *sw = &v->topo->nodes[s];

		fprintf(out, "Unicast lids [0-%u] of switch Lid %u guid 0x%016" PRIx64 " ('%s'):\n",
			v->lids->top, v->lids->lid_of_port[sw->port0], sw->guid, sw->label);

		/* Writes the lines of a switch to `text`; returns the number of bytes. */
		char *end = text;

		for (uint32_t lid = 1; lid <= v->lids->top; lid++) {
			uint8_t port = entry_of(v, s, lid);
			size_t len = lines.at[lid + 1] - lines.at[lid];

			if (!len || port == TABLES_NO_ROUTE)
				continue;
			memcpy(end, lines.text + lines.at[lid], len);
			put_port(end + LFT_PORT_AT, port);
			end += len;
		}
		fwrite(text, 1, end - text, out);

		fprintf(out, "%u lids dumped\n", v->lids->top);
		status = stream_status(out);
	}
	free(lines.text);
	free(lines.at);
	free(text);
	return status;
}

/* ---- opensm.fdbs ---- */

#define FDB_LINE 64 /* bytes, of the longest */

/* Links between switches that are up: each neighbour once. */
struct neighbours {
	uint32_t *list;
	uint32_t *at; /* [switch]: where its own begin, and those before end */
};

struct hops {
	uint8_t *by_table; /* [lid * nswitches + switch]: by the tables from there to the LID */
	uint8_t *by_link;  /* [leaf * nswitches + switch]: by the fewest links to that switch */
	uint32_t *leaf;	   /* [lid]: the switch that its packets leave the fabric by, or none */
};

/* The switch a port's link leads to, or TOPO_NONE. */
static uint32_t switch_behind(const struct topo *t, const struct topo_port *port)
{
	const struct topo_port *peer = port->link_up ? topo_peer(t, port) : NULL;

	return peer && t->nodes[peer->node].type == TOPO_SWITCH ? peer->node : TOPO_NONE;
}

/* Follows the tables from `sw` until a switch whose count is known, then counts back. */
static uint8_t count_by_table(const struct osm_dump_view *v, uint32_t lid, uint32_t sw,
			      uint8_t *row, unsigned depth)
{
	const struct topo *t = v->topo;
	uint8_t port = entry_of(v, sw, lid), onward;

	if (row[sw] != HOPS_UNKNOWN || depth > 64 || port == TABLES_NO_ROUTE)
		return row[sw];
	if (port > t->nodes[sw].nports)
		return HOPS_UNKNOWN;
	if (port && topo_port(t, sw, port)->peer == owner_of(v, lid))
		return row[sw] = 1; /* the link to the host itself */

	uint32_t next = port ? switch_behind(t, topo_port(t, sw, port)) : TOPO_NONE;

	if (next == TOPO_NONE)
		return HOPS_UNKNOWN;
	onward = count_by_table(v, lid, next, row, depth + 1);
	return row[sw] = onward == HOPS_UNKNOWN ? HOPS_UNKNOWN : (uint8_t)(onward + 1);
}

/* By the fewest links, from each switch to each. */
static void count_by_links(const struct topo *t, uint8_t *by_link)
{
	struct neighbours all = { mem_alloc(t->nports + 1, sizeof(uint32_t)),
				  mem_alloc(t->nswitches + 1, sizeof(uint32_t)) };
	uint32_t *met = mem_array(met, t->nswitches + 1); /* [switch]: by whom last, + 1 */
	uint32_t *queue = mem_array(queue, t->nswitches + 1), count = 0;

	for (uint32_t s = 0; s < t->nswitches; s++) {
		for (unsigned p = 1; p <= t->nodes[s].nports; p++) {
			uint32_t next = switch_behind(t, topo_port(t, s, p));

			if (next == TOPO_NONE || met[next] == s + 1)
				continue;
			met[next] = s + 1;
			all.list[count++] = next;
		}
		all.at[s + 1] = count;
	}
	for (uint32_t s = 0; s < t->nswitches; s++) {
		uint8_t *row = by_link + (size_t)s * t->nswitches;
		uint32_t head = 0, tail = 0;

		row[s] = 0;
		queue[tail++] = s;
		while (head < tail) {
			uint32_t sw = queue[head++];

			for (uint32_t i = all.at[sw]; i < all.at[sw + 1]; i++) {
				uint32_t next = all.list[i];

				if (row[next] != HOPS_UNKNOWN)
					continue;
				row[next] = row[sw] + 1;
				queue[tail++] = next;
			}
		}
	}
	free(met);
	free(all.list);
	free(all.at);
	free(queue);
}

static void count_hops(const struct osm_dump_view *v, struct hops *hops)
{
	const struct topo *t = v->topo;

	count_by_links(t, hops->by_link);
	for (uint32_t lid = 0; lid <= v->lids->top; lid++) {
		uint32_t owner = owner_of(v, lid), node;
		uint8_t *row = hops->by_table + (size_t)lid * t->nswitches;

		hops->leaf[lid] = TOPO_NONE;
		if (!lid || owner == TOPO_NONE)
			continue;
		node = t->ports[owner].node;
		hops->leaf[lid] = node < t->nswitches ? node : switch_behind(t, &t->ports[owner]);
		if (hops->leaf[lid] == TOPO_NONE)
			continue;
		if (node < t->nswitches)
			row[node] = 0;
		for (uint32_t s = 0; s < t->nswitches; s++)
			count_by_table(v, lid, s, row, 0);
	}
}

/* The fewest hops to a LID that are possible: a host's link is one more. */
static uint8_t best_hops(const struct osm_dump_view *v, const struct hops *hops, uint32_t sw,
			 uint32_t lid)
{
	const struct topo *t = v->topo;
	uint32_t leaf = hops->leaf[lid];
	uint8_t count =
		leaf == TOPO_NONE ? HOPS_UNKNOWN : hops->by_link[(size_t)leaf * t->nswitches + sw];

	if (count == HOPS_UNKNOWN || t->ports[owner_of(v, lid)].node == leaf)
		return count;
	return count + 1;
}

static char *put_fdb_entry(char *to, uint8_t port, uint8_t hops, uint8_t best)
{
	if (port == TABLES_NO_ROUTE)
		return stpcpy(to, "UNREACHABLE\n");
	to = put_port(to, port);
	if (hops == HOPS_UNKNOWN)
		return stpcpy(to, "  : HOPS UNKNOWN\n");
	if (hops != best)
		return to + sprintf(to, "  : %02u   : No, %u hops are possible\n", hops, best);
	to = stpcpy(to, "  : ");
	*to++ = '0' + hops / 10;
	*to++ = '0' + hops % 10;
	return stpcpy(to, "   : yes\n");
}

static int write_fdbs(const struct osm_dump_view *v, FILE *out)
{
	uint32_t nlids = v->lids->top + 1, nswitches = v->topo->nswitches;
	struct hops hops = {
		.by_table = mem_alloc((size_t)nlids * nswitches + 1, 1),
		.by_link = mem_alloc((size_t)nswitches * nswitches + 1, 1),
		.leaf = mem_alloc(nlids, sizeof(uint32_t)),
	};
	char *text = mem_alloc(nlids, FDB_LINE);

	memset(hops.by_table, HOPS_UNKNOWN, (size_t)nlids * nswitches);
	memset(hops.by_link, HOPS_UNKNOWN, (size_t)nswitches * nswitches);
	count_hops(v, &hops);
	for (uint32_t s = 0; s < nswitches && !stream_status(out); s++) {
		fprintf(out,
			"dump_ucast_routes: Switch 0x%016" PRIx64
			"\nLID    : Port : Hops : Optimal\n",
			v->topo->nodes[s].guid);

		/* Writes the lines of a switch to `text`; returns the number of bytes. */
		char *end = text;

		for (uint32_t lid = 1; lid <= v->lids->top; lid++) {
			bool owned = owner_of(v, lid) != TOPO_NONE;

			/* "0x0001 : " */
			end = stpcpy(end, "0x");
			for (int shift = 12; shift >= 0; shift -= 4)
				*end++ = "0123456789ABCDEF"[lid >> shift & 15];
			end = stpcpy(end, " : ");
			end = put_fdb_entry(end, owned ? entry_of(v, s, lid) : TABLES_NO_ROUTE,
					    hops.by_table[(size_t)lid * v->topo->nswitches + s],
					    best_hops(v, &hops, s, lid));
		}
		fwrite(text, 1, end - text, out);
	}
	free(hops.by_table);
	free(hops.by_link);
	free(hops.leaf);
	free(text);
	return stream_status(out);
}

/* ---- opensm.mcfdbs ---- */

static bool has_entry(const struct osm_dump_view *v, const struct topo_node *sw,
		      const struct mcast_tree *tree, uint16_t masks[MCAST_POSITIONS])
{
	uint16_t block[MCAST_BLOCK];
	unsigned row = tree->mlid - MCAST_FIRST_MLID;
	bool any = false;

	for (unsigned position = 0; position < MCAST_POSITIONS; position++) {
		mcast_plan_masks(v->trees, sw->guid, row / MCAST_BLOCK, position, block);
		masks[position] = block[row % MCAST_BLOCK];
		any |= masks[position] != 0;
	}
	return any;
}

static int write_mcfdbs(const struct osm_dump_view *v, FILE *out)
{
	for (uint32_t s = 0; v->trees && s < v->topo->nswitches; s++) {
		const struct topo_node *sw = &v->topo->nodes[s];
		struct mcast_hop hop;
		bool headed = false;

		for (uint32_t i = 0; i < v->trees->ntrees; i++) {
			if (!has_entry(v, sw, &v->trees->trees[i], hop.ports))
				continue;
			if (!headed)
				fprintf(out, "\nSwitch 0x%016" PRIx64 "\nLID    : Out Port(s)\n",
					sw->guid);
			headed = true;
			fprintf(out, "0x%04X :", v->trees->trees[i].mlid);
			for (unsigned port = 0; port <= sw->nports; port++)
				if (mcast_forwards(&hop, port))
					fprintf(out, " 0x%03X ", port);
			fputc('\n', out);
		}
	}
	return stream_status(out);
}

/* ---- The files ---- */

static int write_subnet_lst(const struct osm_dump_view *v, FILE *out)
{
	return dump_lst(v->topo, out);
}

static const struct osm_dump_file files[] = {
	{ "opensm-lfts.dump", write_lfts },
	{ "opensm.fdbs", write_fdbs },
	{ "opensm.mcfdbs", write_mcfdbs },
	{ "opensm-subnet.lst", write_subnet_lst },
	{ "fmd.far", NULL },
};

const struct osm_dump_file *osm_dump_file(size_t index)
{
	return index < ARRAY_SIZE(files) ? &files[index] : NULL;
}

const struct osm_dump_file *osm_dump_find(const char *name)
{
	for (size_t i = 0; osm_dump_file(i); i++)
		if (!strcmp(files[i].name, name))
			return &files[i];
	return NULL;
}
