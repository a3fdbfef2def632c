/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * topo: reading a snapshot: by GUID, by what an operator wrote, and the names of its codes.
 *
 * Nodes lie in two parts (switches, then the rest), each by ascending GUID: a node is found by
 * bisection. Ports are found by bisection in the index of end ports that topo_freeze() leaves
 * behind the public part.
 *
 * An operator's WHAT is read from the most exact meaning to the loosest: the whole text as a node
 * (descriptions may hold colons and spaces: "MF0;leaf-3:MQM8700/U1"), then as NODE:PORT or
 * NODE[PORT]; within each, GUID, whole name, one word of it, its beginning. The first
 * meaning that names nodes at all decides; it must name one. A node is found by its name and by its
 * NodeDescription.
 */
#include "topology/topo.h"
#include "topology/topo_own.h"
#include "topology/mem.h"
#include "topology/sort.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* ---- What operators write ----------------------------------------------------------- */

enum match_kind { MATCH_WHOLE, MATCH_WORD, MATCH_PREFIX, MATCH_KINDS };

struct match {
	uint32_t count;
	uint32_t first, second;
};

static bool ends_word(char c)
{
	return c == '\0' || strchr(" ;:/'\"", c) != NULL;
}

static bool has_word(const char *desc, const char *text, size_t len)
{
	for (const char *p = desc; (p = strstr(p, text)); p++)
		if ((p == desc || ends_word(p[-1])) && ends_word(p[len]))
			return true;
	return false;
}

static bool desc_matches(const char *desc, const char *text, size_t len, enum match_kind kind)
{
	switch (kind) {
	case MATCH_WHOLE:
		return strcmp(desc, text) == 0;
	case MATCH_WORD:
		return has_word(desc, text, len);
	default:
		return strncmp(desc, text, len) == 0;
	}
}

static bool is_called(const struct topo_node *node, const char *text, size_t len,
		      enum match_kind kind)
{
	return desc_matches(node->name, text, len, kind) ||
	       (node->desc != node->name && desc_matches(node->desc, text, len, kind));
}

static void match_add(struct match *m, uint32_t node)
{
	if (m->count == 0)
		m->first = node;
	else if (m->count == 1)
		m->second = node;
	m->count++;
}

/* 0x.. or S-.., H-.., R-.. as a GUID; false when the text is no GUID. */
static bool parse_guid(const char *text, guid_t *guid)
{
	const char *digits = NULL;
	char *end;

	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		digits = text + 2;
	else if (text[0] && strchr("SHR", text[0]) && text[1] == '-')
		digits = text + 2;
	if (!digits || !isxdigit((unsigned char)*digits))
		return false;
	errno = 0;
	*guid = strtoull(digits, &end, 16);
	return !*end && !errno;
}

static struct match match_node(const struct topo *t, const char *text)
{
	struct match m = { 0 };
	size_t len = strlen(text);
	guid_t guid;

	if (parse_guid(text, &guid)) {
		uint32_t node = topo_find(t, guid);
		uint32_t port = topo_find_port(t, guid);

		if (node == TOPO_NONE && port != TOPO_NONE)
			node = t->ports[port].node;
		if (node != TOPO_NONE)
			match_add(&m, node);
	}
	for (enum match_kind kind = MATCH_WHOLE; kind < MATCH_KINDS && !m.count && len; kind++)
		for (uint32_t n = 0; n < t->nnodes; n++)
			if (is_called(&t->nodes[n], text, len, kind))
				match_add(&m, n);
	return m;
}

/*
 * Cuts `:PORT` or `[PORT]` off the text's end and returns the port number, or -1 when there is
 * none.
 */
static int cut_port(char *text)
{
	char *mark = strrchr(text, '['), *end;
	bool bracket = mark && text[strlen(text) - 1] == ']';
	unsigned long num;

	if (!bracket)
		mark = strrchr(text, ':');
	if (!mark || !isdigit((unsigned char)mark[1]))
		return -1;
	num = strtoul(mark + 1, &end, 10);
	if (strcmp(end, bracket ? "]" : "") != 0)
		return -1;
	*mark = '\0';
	return num > INT_MAX ? INT_MAX : (int)num;
}

/*
 * "NODE", "NODE"[PORT], "NODE":PORT: takes the quotes off; port as from cut_port(). False when
 * malformed.
 */
static bool unquote(char *text, int *port)
{
	char *end = strrchr(text + 1, '"');

	*port = -1;
	if (!end)
		return false;
	if (end[1]) {
		*port = cut_port(end + 1);
		if (*port < 0 || end[1])
			return false;
	}
	*end = '\0';
	memmove(text, text + 1, strlen(text));
	return true;
}

static uint32_t match_report(const struct topo *t, const char *what, struct match m, char *err,
			     size_t size)
{
	if (m.count == 1)
		return m.first;
	if (m.count == 0)
		snprintf(err, size, "no node matches '%s'", what);
	else
		snprintf(err, size,
			 "'%s' matches %" PRIu32 " nodes, among them '%s' (0x%016" PRIx64
			 ") and '%s' (0x%016" PRIx64 ")",
			 what, m.count, t->nodes[m.first].name, t->nodes[m.first].guid,
			 t->nodes[m.second].name, t->nodes[m.second].guid);
	return TOPO_NONE;
}

static bool port_exists(const struct topo_node *node, int port)
{
	return port > 0 && port <= node->nports;
}

uint32_t topo_resolve(const struct topo *t, const char *what, unsigned *port, char *err,
		      size_t err_size)
{
	char *text = mem_strdup(what);
	struct match m = { 0 };
	int num = -1;
	uint32_t node;

	*port = 0;
	if (text[0] != '"')
		m = match_node(t, text);
	if (text[0] != '"' && !m.count && (num = cut_port(text)) >= 0)
		m = match_node(t, text);
	else if (text[0] == '"' && unquote(text, &num))
		m = match_node(t, text);
	free(text);
	node = match_report(t, what, m, err, err_size);
	if (node == TOPO_NONE || num < 0)
		return node;
	if (!port_exists(&t->nodes[node], num)) {
		snprintf(err, err_size, "'%s' has ports 1 to %u, not %d", t->nodes[node].name,
			 t->nodes[node].nports, num);
		return TOPO_NONE;
	}
	*port = (unsigned)num;
	return node;
}

/* ---- Names of codes -------------------------------------------------------------------------- */

static const struct {
	const char *name;
	unsigned lane_mbps;
} speeds[] = {
	[TOPO_SPEED_NONE] = { "-", 0 },	   [TOPO_SDR] = { "SDR", 2500 },
	[TOPO_DDR] = { "DDR", 5000 },	   [TOPO_QDR] = { "QDR", 10000 },
	[TOPO_FDR10] = { "FDR10", 10312 }, [TOPO_FDR] = { "FDR", 14062 },
	[TOPO_EDR] = { "EDR", 25781 },	   [TOPO_HDR] = { "HDR", 53125 },
	[TOPO_NDR] = { "NDR", 106250 },	   [TOPO_XDR] = { "XDR", 212500 },
};

#define NSPEEDS (sizeof(speeds) / sizeof(speeds[0]))

const char *topo_role_name(enum topo_role role)
{
	static const char *const names[] = { "-", "host", "leaf", "spine", "core", "sharp" };

	return (unsigned)role < sizeof(names) / sizeof(names[0]) ? names[role] : "?";
}

bool topo_named_sharp(const char *desc)
{
	return strstr(desc, "Aggregation Node") != NULL;
}

const char *topo_state_name(enum topo_state state)
{
	static const char *const names[] = { "-", "Down", "Init", "Armed", "Active" };

	return (unsigned)state < sizeof(names) / sizeof(names[0]) ? names[state] : "?";
}

const char *topo_speed_name(enum topo_speed speed)
{
	return (unsigned)speed < NSPEEDS ? speeds[speed].name : "?";
}

enum topo_speed topo_speed_parse(const char *text)
{
	for (unsigned i = TOPO_SDR; i < NSPEEDS; i++)
		if (strcasecmp(text, speeds[i].name) == 0)
			return (enum topo_speed)i;
	return TOPO_SPEED_NONE;
}

unsigned topo_lane_mbps(enum topo_speed speed)
{
	return (unsigned)speed < NSPEEDS ? speeds[speed].lane_mbps : 0;
}
