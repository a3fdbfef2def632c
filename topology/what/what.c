/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "topology/what/what.h"
#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <strings.h>
#include "topology/base/mem.h"
#include "topology/base/names.h"
#include "topology/base/text.h"
#include "topology/what/what_own.h"

/*
 * Nodes and hosts by their names.
 *
 * From the most exact meaning to the loosest: what texts call a node (naming.h) or its whole
 * NodeDescription; a host's name, then that without its domain, both in upper or lower case; a
 * host's name and a device of it; one word of a node's name or description; the beginning of one.
 * The first meaning that names anything decides, and all that it names is a match. Where that is
 * one host with all of its HCAs, the host is meant.
 */

#define CANDIDATES_MAX 4

struct name_query {
	const struct topo *t;
	const char *text;
	size_t len;
	uint32_t host; /* of that host alone; TOPO_NONE = of all */
};

enum meaning { WHOLE, WORD, BEGINNING, DEVICE };

static bool ends_word(char c)
{
	return c == '\0' || strchr(" ;:/'\"", c) != NULL;
}

static bool matches(const struct name_query *q, enum meaning meaning, const char *name)
{
	size_t len = strlen(name);

	switch (meaning) {
	case WHOLE:
		return !strcmp(name, q->text);
	case WORD:
		for (const char *p = name; (p = strstr(p, q->text)); p++)
			if ((p == name || ends_word(p[-1])) && ends_word(p[q->len]))
				return true;
		return false;
	case BEGINNING:
		return !strncmp(name, q->text, q->len);
	default:
		/* "dgx-07/mlx5_3" of "'dgx-07' mlx5_3": the device is the name's end. */
		while (len && strchr(" '\"", name[len - 1]))
			len--;
		return len > q->len && !memcmp(name + len - q->len, q->text, q->len) &&
		       ends_word(name[len - q->len - 1]);
	}
}

/* ---- Matches --------------------------------------------------------------------------------- */

/* By what texts call it, or by its NodeDescription. */
static void collect(const struct name_query *q, enum meaning meaning, struct what_matches *m)
{
	for (uint32_t n = 0; n < q->t->nnodes; n++) {
		const struct topo_node *node = &q->t->nodes[n];

		if ((q->host != TOPO_NONE && node->host != q->host) ||
		    !(matches(q, meaning, node->name) || matches(q, meaning, node->desc)))
			continue;
		m->nodes = mem_grow(m->nodes, m->count);
		m->nodes[m->count++] = n;
	}
}

/* In upper or lower case; one of them may be without its domain. */
static bool is_host_named(const char *name, const char *text, size_t len, bool whole)
{
	size_t name_len = strlen(name), label = strcspn(name, ".");
	const char *dot = memchr(text, '.', len);

	if (memchr(text, ' ', len) || memchr(text, '/', len))
		return false;
	if (whole)
		return name_len == len && !strncasecmp(name, text, len);
	return dot ? name_len == label && (size_t)(dot - text) == label &&
			       !strncasecmp(name, text, label)
		   : label == len && !strncasecmp(name, text, len);
}

static void match_hosts(const struct topo *t, const char *text, size_t len, struct what_matches *m)
{
	uint32_t found = 0, last = TOPO_NONE;

	for (int whole = 1; whole >= 0 && !found; whole--)
		for (uint32_t h = 0; h < t->nhosts; h++) {
			if (!is_host_named(t->hosts[h].name, text, len, whole))
				continue;
			last = h;
			found++;
			for (uint32_t i = 0; i < t->hosts[h].ncas; i++) {
				m->nodes = mem_grow(m->nodes, m->count);
				m->nodes[m->count++] = t->host_cas[t->hosts[h].first + i];
			}
		}
	if (found == 1)
		m->host = last;
}

/*
 * The most exact meaning of a text that names anything: a description, a host, a host and its
 * device, and if loose a word of descriptions or their beginning.
 */
static void what_match_names(const struct topo *t, const char *text, bool loose,
			     struct what_matches *m)
{
	const struct name_query q = { t, text, strlen(text), TOPO_NONE };

	*m = (struct what_matches){ .host = TOPO_NONE };
	if (!q.len)
		return;
	collect(&q, WHOLE, m);
	if (!m->count)
		match_hosts(t, text, q.len, m);
	if (!m->count) {
		size_t cut = strcspn(text, " /"), blank = strspn(text + cut, " /");
		struct what_matches host = { .host = TOPO_NONE };
		struct name_query device = { .t = t, .text = text + cut + blank };

		device.len = strlen(device.text);
		if (cut && device.len)
			match_hosts(t, text, cut, &host);
		device.host = host.host;
		if (device.host != TOPO_NONE)
			collect(&device, DEVICE, m);
		free(host.nodes);
	}
	if (!m->count && loose)
		collect(&q, WORD, m);
	if (!m->count && loose)
		collect(&q, BEGINNING, m);
	if (m->host == TOPO_NONE) {
		/* All HCAs of one host are the host. */
		uint32_t host = m->count > 1 ? t->nodes[m->nodes[0]].host : TOPO_NONE;

		for (uint32_t i = 1; i < m->count; i++)
			if (t->nodes[m->nodes[i]].host != host)
				return;
		if (host != TOPO_NONE && t->hosts[host].ncas == m->count)
			m->host = host;
	}
}

/* ---- More than one --------------------------------------------------------------------------- */

/* The hosts of all matches, each once, in their order; NULL = some match is none of a host. */
static uint32_t *hosts_of(const struct topo *t, const struct what_matches *m, uint32_t *count)
{
	bool *met = mem_array(met, t->nhosts + 1);
	uint32_t *hosts = mem_array(hosts, m->count);

	*count = 0;
	for (uint32_t i = 0; i < m->count && hosts; i++) {
		uint32_t host = t->nodes[m->nodes[i]].host;

		if (host == TOPO_NONE) {
			free(hosts);
			hosts = NULL;
		} else if (!met[host]) {
			hosts[(*count)++] = host;
			met[host] = true;
		}
	}
	free(met);
	return hosts;
}

/* ---- The part of the fabric that an operator's text names ------------------------------------ */

/*
 * The whole text is tried as a node, host, number or GUID first, as descriptions may contain
 * colons, brackets and blanks ("MF0;leaf-3:MQM8700/U1"); then as one of these with a port behind
 * it, then as a link. The result is converted to a kind that the command accepts where that is the
 * same thing: a host of one HCA to the HCA, an HCA to its host.
 */

#define FIRST_MLID	 0xc000u
#define PERMISSIVE_LID	 0xffffu
#define LINKS_LISTED_MAX 3

/* ---- Names ----------------------------------------------------------------------------------- */

static enum outcome find_partition(struct find *f, const char *text, struct what *w)
{
	unsigned pkey;

	if (!f->scope->partition || !*text ||
	    !f->scope->partition(f->scope->partition_arg, text, &pkey))
		return NOTHING;
	*w = what_thing(WHAT_PKEY, pkey);
	return FOUND;
}

static enum outcome find_name(struct find *f, const char *text, bool loose, struct what *w)
{
	struct what_matches found;
	enum outcome outcome = FOUND;

	what_match_names(f->scope->topo, text, loose, &found);
	if (!found.count) {
		outcome = NOTHING;
	} else if (found.host != TOPO_NONE) {
		*w = what_thing(WHAT_HOST, 0);
		w->host = found.host;
	} else if (found.count == 1) {
		*w = what_place(found.nodes[0], 0);
	} else {
		/* Writes `'TEXT' matches 9 hosts, among them 'A', 'B'` to err. */
		const struct topo *t = f->scope->topo;
		uint32_t nhosts = 0, *hosts = hosts_of(t, &found, &nhosts);
		bool by_host = hosts && nhosts > 1 && nhosts < found.count;
		uint32_t count = by_host ? nhosts : found.count;

		snprintf(f->err, f->size, "'%.100s' matches %" PRIu32 " %s, among them ", text,
			 count, by_host ? "hosts" : "nodes");
		for (uint32_t i = 0; i < count && i < CANDIDATES_MAX; i++) {
			text_add(f->err, f->size, "%s'%s'", i ? ", " : "",
				 by_host ? t->hosts[hosts[i]].name : t->nodes[found.nodes[i]].name);
			if (!by_host)
				text_add(f->err, f->size, " (0x%016" PRIx64 ")",
					 t->nodes[found.nodes[i]].guid);
		}
		free(hosts);

		outcome = REFUSED;
	}
	free(found.nodes);
	return outcome;
}

static enum outcome first_of(struct find *f, const char *text, bool loose, struct what *w)
{
	enum outcome outcome = find_name(f, text, false, w);

	if (outcome == NOTHING)
		outcome = find_partition(f, text, w);
	if (outcome == NOTHING && loose)
		outcome = find_name(f, text, true, w);
	return outcome;
}

/* ---- With a prefix --------------------------------------------------------------------------- */

static enum outcome find_kind(struct find *f, const char *text, enum what_kind kind, struct what *w)
{
	uint64_t value;
	size_t digits;

	if (!what_parse_number(text, &value, &digits) || value > UINT16_MAX)
		return kind == WHAT_PKEY ? find_partition(f, text, w) : NOTHING;
	if (kind == WHAT_MLID && (value < FIRST_MLID || value == PERMISSIVE_LID))
		return NOTHING;
	*w = what_thing(kind, value);
	return FOUND;
}

/* `lid:33` and the like; NOTHING = there is no known prefix, or the rest is not of its kind. */
static enum outcome find_tagged(struct find *f, const char *text, struct what *w)
{
	const char *mark = strchr(text, ':');
	size_t len = mark ? (mark - text) : 0, digits;
	uint64_t value;

#define TAG(word) (len == strlen(word) && !strncmp(text, word, len))
	if (TAG("lid") && what_parse_number(mark + 1, &value, &digits))
		return what_find_lid(f, value, w);
	if (TAG("mlid"))
		return find_kind(f, mark + 1, WHAT_MLID, w);
	if (TAG("pkey") || TAG("partition"))
		return find_kind(f, mark + 1, WHAT_PKEY, w);
	if (TAG("guid"))
		return what_find_guid(f, mark + 1, w);
	if (TAG("gid") || TAG("mgid"))
		return what_find_gid(f, mark + 1, w);
	if (TAG("node") || TAG("host"))
		return first_of(f, mark + 1, true, w);
#undef TAG
	return NOTHING;
}

static enum outcome find_thing(struct find *f, const char *text, bool quoted, struct what *w)
{
	uint64_t value;
	size_t digits;
	bool number = !quoted && what_parse_number(text, &value, &digits);
	enum outcome outcome = quoted ? NOTHING : find_tagged(f, text, w);

	if (outcome == NOTHING && !quoted)
		outcome = what_find_gid(f, text, w);
	if (outcome == NOTHING && number)
		outcome = what_find_number(f, text, w);
	if (outcome == NOTHING)
		outcome = what_find_guid(f, text, w);
	return outcome == NOTHING ? first_of(f, text, !number, w) : outcome;
}

/* ---- Ports -----------------------------------------------------------------------------------*/

/* Where `:12`, `[12]` or ` p12` begins at the text's end; NULL = nowhere. *num: its number. */
static char *port_mark(char *text, int *num)
{
	size_t len = strlen(text), digits = 0;
	bool bracket = len && text[len - 1] == ']';

	len -= bracket;
	while (digits < len && isdigit((unsigned char)text[len - digits - 1]))
		digits++;

	char *at = text + len - digits;

	if (!digits || at == text)
		return NULL;

	unsigned long value = strtoul(at, NULL, 10);

	*num = value > INT_MAX ? INT_MAX : value;
	at--;
	if (bracket)
		return *at == '[' ? at : NULL;
	if (*at == ':')
		return at;
	return *at == 'p' && at > text && at[-1] == ' ' ? at - 1 : NULL;
}

static enum outcome take_port(struct find *f, struct what *w, int num)
{
	const struct topo *t = f->scope->topo;
	const uint32_t *nodes;

	if (!(w->kind & WHAT_PLACE))
		return NOTHING;
	if (what_nodes(t, w, &nodes) > 1) {
		snprintf(f->err, f->size, "host '%s' has %" PRIu32 " HCAs: name one, as '%s:%d'",
			 t->hosts[w->host].name, t->hosts[w->host].ncas, t->nodes[nodes[0]].name,
			 num);
		return REFUSED;
	}
	if (num <= 0 || num > t->nodes[nodes[0]].nports) {
		const struct topo_node *node = &t->nodes[nodes[0]];

		snprintf(f->err, f->size, "'%s' has ports 1 to %u, not %d", node->name,
			 node->nports, num);
		return REFUSED;
	}
	*w = what_place(nodes[0], num);
	return FOUND;
}

/* The only port of a node with that label; 0 = none, or several. */
static unsigned port_labelled(const struct topo *t, uint32_t node, const char *label)
{
	unsigned found = 0;

	for (unsigned num = 1; *label && num <= t->nodes[node].nports; num++) {
		if (strcasecmp(topo_port_label(t, t->nodes[node].port0 + num), label))
			continue;
		if (found)
			return 0;
		found = num;
	}
	return found;
}

/*
 * `NODE:LABEL`, `NODE LABEL`: both may hold colons and blanks, so each of these may be between. The
 * node is named whole or by its GUID.
 */
static enum outcome find_label(const struct find *f, const char *text, struct what *w)
{
	char err[WHAT_ERROR_SIZE] = ""; /* that a part of the text names several says nothing */
	struct find part = { f->scope, f->what, err, sizeof(err) };
	const struct topo *t = f->scope->topo;
	const uint32_t *nodes;

	for (const char *at = text; t->labels && (at = strpbrk(at, ": ")); at++) {
		char *node = mem_strdup(text);
		const char *label = at + 1 + strspn(at + 1, " ");
		unsigned num = 0;

		node[at - text] = '\0';

		enum outcome outcome = find_name(&part, node, false, w);

		if (outcome == NOTHING)
			outcome = what_find_guid(&part, node, w);
		free(node);
		if (outcome == FOUND && what_nodes(t, w, &nodes) == 1)
			num = port_labelled(t, nodes[0], label);
		if (!num)
			continue;
		*w = what_place(nodes[0], num);
		return FOUND;
	}
	return NOTHING;
}

/* A node, host or port. Changes the text, which has no blanks around it. */
static enum outcome find_place(struct find *f, char *text, struct what *w)
{
	enum outcome outcome;
	char *mark;
	int num;

	if (text[0] == '"') {
		/* `"NODE"`, `"NODE"[PORT]`, `"NODE":PORT`. Changes the text. */
		char *end = strrchr(text + 1, '"');

		mark = end && end[1] ? port_mark(end, &num) : NULL;
		if (!end || (end[1] && mark != end + 1))
			return NOTHING;
		*end = '\0';
		outcome = find_thing(f, text + 1, true, w);
		return outcome == FOUND && mark ? take_port(f, w, num) : outcome;
	}
	outcome = find_thing(f, text, false, w);
	if (outcome == NOTHING)
		outcome = find_label(f, text, w);
	if (outcome != NOTHING || !(mark = port_mark(text, &num)))
		return outcome;
	*mark = '\0';
	outcome = find_thing(f, words_trim(text), false, w);
	return outcome == FOUND ? take_port(f, w, num) : outcome;
}

/* ---- Links ---------------------------------------------------------------------------------- */

struct links {
	uint32_t count, ports[LINKS_LISTED_MAX]; /* ends at `a` */
};

static bool is_at(const struct topo *t, const struct what *w, const struct topo_port *port)
{
	const uint32_t *nodes;
	unsigned count = what_nodes(t, w, &nodes);

	for (unsigned i = 0; i < count; i++)
		if (nodes[i] == port->node)
			return !w->port || w->port == port->num;
	return false;
}

static enum outcome take_link(struct find *f, const struct what *a, const struct what *b,
			      struct what *w)
{
	const struct topo *t = f->scope->topo;
	struct links links = { 0 };

	if (!(a->kind & WHAT_PLACE) || !(b->kind & WHAT_PLACE))
		return NOTHING;

	const uint32_t *nodes;
	unsigned count = what_nodes(t, a, &nodes);

	for (unsigned i = 0; i < count; i++)
		TOPO_LINKS (t, nodes[i], port, peer) {
			if ((a->port && a->port != port->num) || !is_at(t, b, peer))
				continue;
			if (links.count < LINKS_LISTED_MAX)
				links.ports[links.count] = port - t->ports;
			links.count++;
		}

	if (links.count == 1) {
		*w = what_place(t->ports[links.ports[0]].node, t->ports[links.ports[0]].num);
		w->by = WHAT_BY_LINK;
		return FOUND;
	}
	if (links.count) {
		char name[256];

		snprintf(f->err, f->size, "'%.100s' matches %" PRIu32 " links, among them ",
			 f->what, links.count);
		for (uint32_t i = 0; i < LINKS_LISTED_MAX && i < links.count; i++) {
			what_link_name(t, links.ports[i], name, sizeof(name));
			text_add(f->err, f->size, "%s'%s'", i ? ", " : "", name);
		}
	} else {
		const struct topo_port *peer =
			a->port ? topo_peer(t, topo_port(t, a->node, a->port)) : NULL;

		snprintf(f->err, f->size, "'%.100s' is not a link: ", f->what);
		if (peer)
			text_add(f->err, f->size, "%s p%u leads to %s p%u", t->nodes[a->node].name,
				 a->port, t->nodes[peer->node].name, peer->num);
		else
			text_add(f->err, f->size, "none is known there");
	}
	return REFUSED;
}

/* Both ends, with ` - `, ` -- ` or ` <-> ` between. */
static enum outcome find_link(struct find *f, struct what *w)
{
	static const char *const marks[] = { " - ", " -- ", " <-> " };
	enum outcome outcome = NOTHING;
	struct what a, b;

	for (size_t i = 0; i < ARRAY_SIZE(marks) && outcome == NOTHING; i++) {
		const char *at = strstr(f->what, marks[i]);

		if (!at)
			continue;

		char *left = mem_strdup(f->what);

		char *right = mem_strdup(at + strlen(marks[i]));

		left[at - f->what] = '\0';
		outcome = find_place(f, words_trim(left), &a);
		if (outcome == FOUND)
			outcome = find_place(f, words_trim(right), &b);
		if (outcome == FOUND)
			outcome = take_link(f, &a, &b, w);
		free(left);
		free(right);
	}
	return outcome;
}

/* ---- What the command takes ------------------------------------------------------------------ */

/* Converts a result to an accepted kind, if it is the same thing. */
static void turn_into(const struct topo *t, unsigned accepts, struct what *w)
{
	const uint32_t *nodes;
	unsigned count = what_nodes(t, w, &nodes);
	uint32_t host = count ? t->nodes[nodes[0]].host : TOPO_NONE;

	if (accepts & w->kind || !count)
		return;
	if (accepts & WHAT_HOST && host != TOPO_NONE && w->by != WHAT_BY_LINK) {
		w->kind = WHAT_HOST;
		w->host = host;
		w->node = TOPO_NONE;
		w->port = 0;
	} else if (accepts & WHAT_NODE && count == 1 &&
		   (w->kind == WHAT_HOST || w->by == WHAT_BY_LID || w->by == WHAT_BY_GUID)) {
		*w = what_place(nodes[0], 0);
	}
}

static void list_kinds(unsigned kinds, char *buf, size_t size)
{
	static const struct {
		unsigned kinds;
		const char *name;
	} names[] = {
		{ WHAT_NODE, "a node" },      { WHAT_HOST, "a host" },
		{ WHAT_PORT, "a port" },      { WHAT_GROUP, "a multicast group" },
		{ WHAT_PKEY, "a partition" },
	};
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(names) && used < size; i++)
		if (kinds & names[i].kinds)
			used += snprintf(buf + used, size - used, "%s%s", used ? " or " : "",
					 names[i].name);
}

/* With `; near: 'leaf-01', 'leaf-11'` where names of switches or hosts look like the text. */
static void say_nothing(struct find *f, unsigned accepts)
{
	const struct topo *t = f->scope->topo;
	struct near_names near = { 0 };
	char *text, *name, *mark, wanted[128];
	int num;

	if (!(accepts & WHAT_PLACE)) {
		list_kinds(accepts, wanted, sizeof(wanted));
		snprintf(f->err, f->size, "'%.100s' is not %s", f->what, wanted);
		return;
	}
	snprintf(f->err, f->size, "no node matches '%.100s'", f->what);
	text = mem_strdup(f->what);
	name = words_trim(text);
	mark = port_mark(name, &num);
	if (mark)
		*mark = '\0';
	for (uint32_t n = 0; n < t->nswitches; n++)
		near_names_add(&near, name, t->nodes[n].name);
	for (uint32_t h = 0; h < t->nhosts; h++)
		near_names_add(&near, name, t->hosts[h].name);
	near_names_say(&near, f->err, f->size);
	free(text);
}

bool what_find(const struct what_scope *scope, const char *written, unsigned accepts,
	       struct what *what, char *err, size_t err_size)
{
	struct find f = { scope, written, err, err_size };
	enum outcome outcome = NOTHING;
	char *text, is[32], wanted[128];

	*what = what_thing(WHAT_NODE, 0);
	if (!scope->topo)
		return text_wrong(err, err_size,
				  "no topology yet: the first sweep has not finished");
	err[0] = '\0';
	text = mem_strdup(written);
	if (*words_trim(text))
		outcome = find_place(&f, words_trim(text), what);
	free(text);
	if (outcome == NOTHING && err[0])
		outcome = REFUSED; /* a number that is nobody's LID */
	if (outcome == NOTHING)
		outcome = find_link(&f, what);
	if (outcome == NOTHING)
		say_nothing(&f, accepts);
	if (outcome != FOUND)
		return false;
	turn_into(scope->topo, accepts, what);
	if (what->kind & accepts)
		return true;
	list_kinds(what->kind, is, sizeof(is));
	list_kinds(accepts, wanted, sizeof(wanted));
	return text_wrong(err, err_size, "'%.100s' is %s, but %s is expected", written, is, wanted);
}
