/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "topology/snapshot/node_names.h"
#include "topology/base/lex.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	guid_t guid;
	const char *name;
	unsigned line;
};

struct node_names {
	unsigned refs;
	uint32_t count, room;
	struct entry *entries; /* by ascending GUID */
	struct arena *arena;   /* the names */
};

struct reader {
	struct node_names *names;
	const char *file;
	unsigned line;
	char *err;
	size_t err_size;
};

struct node_names *node_names_ref(struct node_names *names)
{
	if (names)
		names->refs++;
	return names;
}

void node_names_unref(struct node_names *names)
{
	if (!names || --names->refs)
		return;
	arena_free(names->arena);
	free(names->entries);
	free(names);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bool refuse(struct reader *r, const char *why)
{
	snprintf(r->err, r->err_size, "%s:%u: %s", r->file, r->line, why);
	return false;
}

/* The name up to its closing quote, or without quotes up to a remark or the line's end. */
static bool take_name(struct lex *l, struct lex_text *name)
{
	const char *end = l->p;

	if (lex_is(l, '"'))
		return lex_take_quoted(l, name);
	while (end < l->end && *end != '#')
		end++;
	*name = (struct lex_text){ l->p, (size_t)(end - l->p) };
	l->p = end;
	return true;
}

static struct lex_text trim(struct lex_text text)
{
	while (text.len && strchr(" \t\r", text.p[text.len - 1]))
		text.len--;
	while (text.len && strchr(" \t", *text.p))
		text.p++, text.len--;
	return text;
}

static void add(struct reader *r, guid_t guid, struct lex_text name)
{
	struct node_names *names = r->names;
	char *copy = arena_alloc(names->arena, name.len + 1, 1);

	text_clean(name.p, name.len, copy);
	if (names->count == names->room) {
		names->room = names->room ? names->room * 2 : 64;
		names->entries = mem_resize(names->entries, names->room, sizeof(*names->entries));
	}
	names->entries[names->count++] = (struct entry){ guid, copy, r->line };
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
	name = trim(name);
	if (!name.len)
		return refuse(r, "a name is expected behind the GUID");
	if (name.len > NODE_NAME_MAX)
		return refuse(r, "the name has more than 64 bytes");
	add(r, guid, name);
	return true;
}

static int by_guid(const void *va, const void *vb)
{
	const struct entry *a = va, *b = vb;

	if (a->guid != b->guid)
		return a->guid < b->guid ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line;
}

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
	struct node_names *names = mem_alloc(1, sizeof(*names));
	struct reader r = { names, name, 0, err, err_size };
	const char *end = text + len;
	bool good = true;

	names->refs = 1;
	names->arena = arena_new();
	for (const char *p = text; good && p < end;) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));

		r.line++;
		stop = stop ? stop : end;
		good = read_line(&r, (struct lex){ p, stop });
		p = stop + 1;
	}
	if (good && sort(&r))
		return names;
	node_names_unref(names);
	return NULL;
}

struct node_names *node_names_read(const char *path, char *err, size_t err_size)
{
	struct node_names *names = NULL;
	size_t len;
	char *text = mem_read_path(path, &len);

	if (text)
		names = node_names_parse(path, text, len, err, err_size);
	else
		snprintf(err, err_size, "%s: %s", path, strerror(errno));
	free(text);
	return names;
}

/* ---- Asking ---------------------------------------------------------------------------------- */

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
	for (uint32_t i = 0; i < count; i++)
		if (a->entries[i].guid != b->entries[i].guid ||
		    strcmp(a->entries[i].name, b->entries[i].name) != 0)
			return false;
	return true;
}
