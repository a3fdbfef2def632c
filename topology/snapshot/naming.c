/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * naming: a name consists of a base (label, or what is left of a description) and, where bases are
 * not unique, the last six digits of the GUID; all sixteen where these are equal too. Whether a
 * base is a name by itself depends on its text alone, so that the name of a node that booted with
 * "localhost" does not change with those of others.
 */
#include <ctype.h>
#include <inttypes.h>
#include "topology/base/mem.h"
#include "topology/base/names.h"
#include "topology/base/sort.h"
#include "topology/base/text.h"
#include "topology/snapshot/naming.h"
#include "topology/snapshot/topo_builder.h"

/* ---- A node-name-map ------------------------------------------------------------------------- */

struct node_names {
	uint32_t count;
	struct entry {
		guid_t guid;
		const char *name;
		unsigned line;
	} * entries;	     /* by ascending GUID */
	struct arena *arena; /* the names */
};

struct reader {
	struct node_names *names;
	const char *file;
	unsigned line;
	char *err;
	size_t err_size;
};

void node_names_free(struct node_names *names)
{
	if (!names)
		return;
	arena_free(names->arena);
	free(names->entries);
	free(names);
}

#define refuse(r, ...) text_refuse((r)->err, (r)->err_size, (r)->file, (r)->line, __VA_ARGS__)

/* The name up to its closing quote, or without quotes up to a remark or the line's end. */
static bool take_name(struct lex *l, struct lex_text *name)
{
	const char *end = l->p;

	if (lex_is(l, '"'))
		return lex_take_quoted(l, name);
	while (end < l->end && *end != '#')
		end++;
	*name = (struct lex_text){ l->p, end - l->p };
	l->p = end;
	return true;
}

static bool is_remark(const struct lex *l)
{
	return lex_done(l) || lex_is(l, '#') || lex_is(l, '\r');
}

static bool read_line(struct reader *r, struct lex l)
{
	struct lex_text name;
	uint64_t guid;

	lex_skip_blanks(&l);
	if (is_remark(&l))
		return true;
	if (!lex_take_hex(&l, &guid) || !guid)
		return refuse(r, "a node GUID and its name are expected");
	if (!lex_done(&l) && !strchr(" \t\r#", *l.p))
		return refuse(r, "a blank is expected between GUID and name");
	lex_skip_blanks(&l);
	if (!take_name(&l, &name))
		return refuse(r, "the name's closing quote is missing");
	lex_skip_blanks(&l);
	if (!is_remark(&l))
		return refuse(r, "nothing but a remark may follow the name");
	while (name.len && strchr(" \t\r", name.p[name.len - 1]))
		name.len--;
	while (name.len && strchr(" \t", *name.p))
		name.p++, name.len--;
	if (!name.len)
		return refuse(r, "a name is expected behind the GUID");
	if (name.len > NODE_NAME_MAX)
		return refuse(r, "the name has more than 64 bytes");

	struct node_names *names = r->names;
	char *copy = arena_alloc(names->arena, name.len + 1, 1);

	text_clean(name.p, name.len, copy);
	names->entries = mem_grow(names->entries, names->count);
	names->entries[names->count++] = (struct entry){ guid, copy, r->line };
	return true;
}

SORT_BY(by_guid, struct entry, sort_order(a->guid, b->guid) ?: sort_order(a->line, b->line))

static bool sort(struct reader *r)
{
	struct node_names *names = r->names;

	if (names->count)
		qsort(names->entries, names->count, sizeof(*names->entries), by_guid);
	for (uint32_t i = 1; i < names->count; i++) {
		const struct entry *first = &names->entries[i - 1], *again = first + 1;

		if (first->guid != again->guid)
			continue;
		snprintf(r->err, r->err_size,
			 "%s:%u: 0x%016" PRIx64 " has a name already, by line %u", r->file,
			 again->line, again->guid, first->line);
		return false;
	}
	return true;
}

struct node_names *node_names_parse(const char *name, const char *text, size_t len, char *err,
				    size_t err_size)
{
	struct node_names *names = mem_new(names);
	struct reader r = { names, name, 0, err, err_size };
	const char *end = text + len;
	bool good = true;

	names->arena = arena_new();
	for (const char *p = text; good && p < end;) {
		const char *stop = memchr(p, '\n', end - p);

		r.line++;
		stop = stop ? stop : end;
		good = read_line(&r, (struct lex){ p, stop });
		p = stop + 1;
	}
	if (good && sort(&r))
		return names;
	node_names_free(names);
	return NULL;
}

struct node_names *node_names_read(const char *path, char *err, size_t err_size)
{
	size_t len;
	char *text = mem_read_named(path, &len, err, err_size);
	struct node_names *names = text ? node_names_parse(path, text, len, err, err_size) : NULL;

	free(text);
	return names;
}

const char *node_names_find(const struct node_names *names, guid_t guid)
{
	uint32_t at, count = node_names_count(names);

	if (!count)
		return NULL;
	at = sort_place(0, count, i, names->entries[i].guid < guid);
	return at < count && names->entries[at].guid == guid ? names->entries[at].name : NULL;
}

uint32_t node_names_count(const struct node_names *names)
{
	return names ? names->count : 0;
}

guid_t node_names_guid(const struct node_names *names, uint32_t index)
{
	return names->entries[index].guid;
}

bool node_names_equal(const struct node_names *a, const struct node_names *b)
{
	uint32_t count = node_names_count(a);

	if (count != node_names_count(b))
		return false;
	return !any_of(i, 0, count,
		       a->entries[i].guid != b->entries[i].guid ||
			       strcmp(a->entries[i].name, b->entries[i].name));
}

/* ---- One name -------------------------------------------------------------------------------- */

#define END_DIGITS 6

bool naming_is_factory(const char *desc)
{
	static const char *const makers[] = {
		"ConnectX",    "InfiniHost", "BlueField", "QLogic",
		"Infiniscale", "SwitchX",    "Switch-IB", "SwitchIB"
	};
	static const char *const whole[] = { "localhost", "(none)",    "localhost.localdomain",
					     "Quantum",	  "Quantum-2", "Quantum-3" };
	const char *word = desc + strspn(desc, " \t'\"/");
	size_t len = strcspn(word, " \t'\"/");

	if (!len || strstr(desc, "Mellanox Technologies") ||
	    (len > 2 && !memcmp(word, "MT", 2) && isdigit((unsigned char)word[2])))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(makers); i++)
		if (len >= strlen(makers[i]) && !memcmp(word, makers[i], strlen(makers[i])))
			return true;
	return any_of(i, 0, ARRAY_SIZE(whole),
		      len == strlen(whole[i]) && !memcmp(word, whole[i], len));
}

/* "MF0;HOST:MODEL/UNIT": what managed switches of NVIDIA are called. Returns 0, or the length. */
static int strip_managed(const char *desc, char buf[NAMING_MAX])
{
	const char *host = desc + strlen("MF0;"), *model, *unit;

	if (strncmp(desc, "MF0;", strlen("MF0;")))
		return 0;
	model = strchr(host, ':');
	unit = model ? strchr(model, '/') : NULL;
	if (!unit || model == host || !unit[1])
		return 0;
	return snprintf(buf, NAMING_MAX, "%.*s%s", (int)(model - host), host, unit);
}

/* *alone: whether the base needs no end of the GUID. */
static int make_base(const char *desc, const char *label, guid_t guid, char buf[NAMING_MAX],
		     bool *alone)
{
	*alone = true;
	if (label != desc)
		return snprintf(buf, NAMING_MAX, "%s", label);
	if (!*desc)
		return snprintf(buf, NAMING_MAX, "0x%016" PRIx64, guid);

	int len = strip_managed(desc, buf);

	if (len)
		return len;
	*alone = !naming_is_factory(desc);
	return snprintf(buf, NAMING_MAX, "%s", desc);
}

static int add_end(char buf[NAMING_MAX], int len, guid_t guid, int digits)
{
	guid_t end = digits < 16 ? guid & ((1ull << 4 * digits) - 1) : guid;

	return len + snprintf(buf + len, NAMING_MAX - (size_t)len, " ..%0*" PRIx64, digits, end);
}

int naming_alone(const char *desc, const char *label, guid_t guid, char buf[NAMING_MAX])
{
	bool alone;
	int len = make_base(desc, label, guid, buf, &alone);

	return alone ? len : add_end(buf, len, guid, END_DIGITS);
}

/* ---- All nodes of a snapshot ----------------------------------------------------------------- */

struct work {
	struct topo_node *nodes;
	uint32_t count;
	struct arena *arena;
	struct names bases, ended;
	uint32_t *base, *uses; /* by node; by base: nodes that have it */
	bool *alone;
};

/* Most nodes are called what their description says: that text serves. */
static const char *keep(struct work *w, const struct topo_node *node, const char *text, int len)
{
	if (!strcmp(text, node->label))
		return node->label;
	return memcpy(arena_alloc(w->arena, (size_t)len + 1, 1), text, len);
}

static const char *name_with_end(struct work *w, uint32_t n, int digits, int *len)
{
	char buf[NAMING_MAX];

	*len = array_printf(buf, "%s", w->bases.list[w->base[n]].text);
	*len = add_end(buf, *len, w->nodes[n].guid, digits);
	return keep(w, &w->nodes[n], buf, *len);
}

void naming_assign(struct topo *t, struct arena *arena)
{
	struct work w = { .nodes = (struct topo_node *)t->nodes,
			  .count = t->nnodes,
			  .arena = arena };
	uint32_t *end = mem_array(end, w.count), *uses;
	int len;

	w.base = mem_array(w.base, w.count);
	w.uses = mem_array(w.uses, w.count);
	w.alone = mem_array(w.alone, w.count);
	for (uint32_t n = 0; n < w.count; n++) {
		struct topo_node *node = &w.nodes[n];
		char buf[NAMING_MAX];

		len = make_base(node->desc, node->label, node->guid, buf, &w.alone[n]);
		node->name = keep(&w, node, buf, len);
		w.base[n] = names_id(&w.bases, node->name, len);
		w.uses[w.base[n]]++;
	}
	for (uint32_t n = 0; n < w.count; n++) {
		w.alone[n] = w.alone[n] && w.uses[w.base[n]] == 1;
		if (w.alone[n])
			continue;
		w.nodes[n].name = name_with_end(&w, n, END_DIGITS, &len);
		end[n] = names_id(&w.ended, w.nodes[n].name, len);
	}
	uses = mem_array(uses, w.ended.count);
	for (uint32_t n = 0; n < w.count; n++)
		uses[end[n]] += !w.alone[n];
	for (uint32_t n = 0; n < w.count; n++)
		if (!w.alone[n] && uses[end[n]] > 1)
			w.nodes[n].name = name_with_end(&w, n, 16, &len);
	free(uses);
	free(end);
	names_fini(&w.bases);
	names_fini(&w.ended);
	free(w.base);
	free(w.uses);
	free(w.alone);
}
