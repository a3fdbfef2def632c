/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * osm_dump_read: see osm_dump_read.h. What is met:
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
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/opensm/osm_dump_read.h"
#include "topology/lex.h"
#include "topology/mem.h"

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

static bool refuse(struct reader *r, const char *format, ...)
{
	char reason[160];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	snprintf(r->err, r->err_size, "%s:%" PRIu32 ": %s", r->name, r->line, reason);
	return false;
}

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

/* `0xLID PORT` and a remark. */
static bool read_entry(struct reader *r, struct lex l)
{
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

static bool is_furniture(struct lex l)
{
	uint64_t count;

	if (lex_done(&l) || lex_is(&l, '#') || lex_take_word(&l, "Lid ") ||
	    lex_take_word(&l, "Port "))
		return true;
	return lex_take_number(&l, &count) && lex_contains(&l, "lids dumped");
}

static bool read_line(struct reader *r, struct lex l)
{
	lex_skip_blanks(&l);
	if (lex_take_word(&l, "Unicast lids "))
		return read_heading(r, l);
	if (lex_take_word(&l, "Multicast mlids"))
		return refuse(r, "multicast tables");
	if (!r->out)
		return true;
	if (l.end - l.p > 2 && l.p[0] == '0' && l.p[1] == 'x')
		return read_entry(r, l);
	return is_furniture(l) || refuse(r, "neither a heading nor an entry");
}

static bool read_lines(struct reader *r, const char *text, size_t len)
{
	const char *end = text + len;

	r->sw = TOPO_NONE;
	r->line = 0;
	while (text < end) {
		const char *nl = memchr(text, '\n', (size_t)(end - text));
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

static void prepare(struct reader *r, struct osm_tables *out)
{
	struct lid_map *map = mem_alloc(1, sizeof(*map));

	*out = (struct osm_tables){ .lids = map };
	map->nports = r->t->nports;
	map->top = r->top;
	map->lid_of_port = mem_alloc(map->nports, sizeof(*map->lid_of_port));
	map->port_of_lid = mem_alloc(map->top + 1u, sizeof(*map->port_of_lid));
	memset(map->port_of_lid, 0xff, (map->top + 1u) * sizeof(*map->port_of_lid));
	tables_resize(&out->tables, r->t->nswitches, map->top);
	if (r->t->nswitches)
		memset(out->tables.lft, TABLES_NO_ROUTE,
		       (size_t)out->tables.nswitches * out->tables.stride);
	r->out = out;
	r->seen = mem_alloc(r->t->nswitches, sizeof(*r->seen));
}

/* What no remark told: the LIDs that ports hold. */
static void own_held(const struct reader *r)
{
	struct lid_map *map = r->out->lids;
	bool *owns = mem_alloc(map->nports, sizeof(*owns));

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
}

static bool is_end_port(const struct topo *t, const struct topo_port *port)
{
	return port->node < t->nswitches ? port->num == 0 : port->peer != TOPO_NONE;
}

static unsigned log2_of(unsigned n)
{
	return n > 1 ? 31u - (unsigned)__builtin_clz(n) : 0;
}

/* Base LIDs and the LMC, from who owns what. */
static void settle_lids(const struct reader *r)
{
	struct lid_map *map = r->out->lids;
	uint32_t *held = mem_alloc(map->nports, sizeof(*held)), most = 0;

	for (uint32_t lid = map->top; lid >= 1; lid--) {
		uint32_t port = map->port_of_lid[lid];

		if (port == TOPO_NONE)
			continue;
		map->lid_of_port[port] = lid;
		most = ++held[port] > most ? held[port] : most;
	}
	map->lmc = log2_of(most);
	for (uint32_t i = 0; i < map->nports; i++)
		map->without_lid += is_end_port(r->t, &r->t->ports[i]) && !map->lid_of_port[i];
	free(held);
}

/* Packets to a LID that nobody has go nowhere, wherever its entries lead. */
static void drop_unowned(const struct reader *r)
{
	const struct lid_map *map = r->out->lids;

	for (uint32_t lid = 0; lid <= map->top; lid++)
		for (uint32_t sw = 0; map->port_of_lid[lid] == TOPO_NONE && sw < r->t->nswitches;
		     sw++)
			tables_row(&r->out->tables, sw)[lid] = TABLES_NO_ROUTE;
}

static void count_missing(const struct reader *r)
{
	for (uint32_t sw = 0; sw < r->t->nswitches; sw++)
		r->out->without_table += !r->seen[sw];
}

int osm_dump_parse_lfts(const struct topo *t, const char *name, const char *text, size_t len,
			struct osm_tables *out, char *err, size_t err_size)
{
	struct reader r = { .t = t, .name = name, .err = err, .err_size = err_size };
	bool read = read_lines(&r, text, len);

	*out = (struct osm_tables){ 0 };
	if (!read)
		return -EINVAL;
	prepare(&r, out);
	read = read_lines(&r, text, len);
	if (read) {
		own_held(&r);
		settle_lids(&r);
		drop_unowned(&r);
		count_missing(&r);
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
