/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/state/rows.h"
#include <ctype.h>
#include <inttypes.h>
#include "topology/base/sort.h"

#define BUCKETS 16 /* at first */

/* ---- Sums and order -------------------------------------------------------------------------- */

static uint64_t add_text(uint64_t sum, const char *text)
{
	size_t length = strlen(text);

	sum = hash_word(sum ^ (length + 1));
	for (size_t at = 0; at < length; at += sizeof(sum)) {
		uint64_t word = 0;

		memcpy(&word, text + at, length - at < sizeof(word) ? length - at : sizeof(word));
		sum = hash_word(sum ^ word) + at;
	}
	return sum;
}

uint64_t rows_sum(const char *kind, const char *key, const char *value)
{
	return add_text(add_text(add_text(0, kind), key), value);
}

int rows_compare(const char *a, const char *b)
{
	while (*a && *b) {
		size_t la = strcspn(a, " "), lb = strcspn(b, " ");
		int order = isdigit((unsigned char)*a) && isdigit((unsigned char)*b) && la != lb
				    ? (la > lb) - (la < lb)
				    : strncmp(a, b, la < lb ? la : lb);

		if (order || la != lb)
			return order ? order : la < lb ? -1 : 1;
		a += la + (a[la] == ' ');
		b += lb + (b[lb] == ' ');
	}
	return (*a != '\0') - (*b != '\0');
}

/* ---- Rows ------------------------------------------------------------------------------------ */

struct rows_kind *rows_kind(struct rowset *rows, const char *name, bool make)
{
	struct rows_kind *kind = rows->kinds, *end = kind + rows->nkinds;

	while (kind < end && strcmp(kind->name, name))
		kind++;
	if (kind < end)
		return kind;
	if (!make || rows->nkinds == ROWS_KINDS)
		return NULL;
	rows->nkinds++;
	*kind = (struct rows_kind){ .name = mem_strdup(name), .nbuckets = BUCKETS };
	kind->buckets = mem_array(kind->buckets, BUCKETS);
	return kind;
}

static struct row **place(const struct rows_kind *kind, const char *key)
{
	struct row **link = &kind->buckets[add_text(0, key) & (kind->nbuckets - 1)];

	while (*link && strcmp((*link)->key, key))
		link = &(*link)->next;
	return link;
}

struct row *rows_find(const struct rows_kind *kind, const char *key)
{
	return *place(kind, key);
}

static void grow(struct rows_kind *kind)
{
	struct rows_kind old = *kind;

	kind->nbuckets *= 4;
	kind->buckets = mem_array(kind->buckets, kind->nbuckets);
	for (size_t i = 0; i < old.nbuckets; i++)
		for (struct row *row; (row = old.buckets[i]);) {
			struct row **link =
				&kind->buckets[add_text(0, row->key) & (kind->nbuckets - 1)];

			old.buckets[i] = row->next;
			row->next = *link;
			*link = row;
		}
	free(old.buckets);
}

struct row *rows_set(struct rows_kind *kind, const char *key, const char *value, bool cold)
{
	uint64_t sum = rows_sum(kind->name, key, value);
	struct row **link = place(kind, key), *row = *link;

	if (row && row->sum == sum &&
	    (cold ? !row->value : row->value && !strcmp(row->value, value)))
		return NULL;
	if (!row) {
		row = mem_alloc(1, sizeof(*row) + strlen(key) + 1);
		strcpy(row->key, key);
		*link = row;
		if (++kind->count > kind->nbuckets)
			grow(kind);
	}
	free(row->value);
	row->value = cold ? NULL : mem_strdup(value);
	row->sum = sum;
	return row;
}

bool rows_drop(struct rows_kind *kind, const char *key)
{
	struct row **link = place(kind, key), *row = *link;

	if (!row)
		return false;
	*link = row->next;
	kind->count--;
	free(row->value);
	free(row);
	return true;
}

SORT_BY(compare_rows, struct row *const, rows_compare((*a)->key, (*b)->key))

struct row **rows_list(const struct rows_kind *kind, bool sorted)
{
	struct row **list = mem_array(list, kind->count + 1);
	size_t count = 0;

	for (size_t i = 0; i < kind->nbuckets; i++)
		for (struct row *row = kind->buckets[i]; row; row = row->next)
			list[count++] = row;
	if (sorted)
		qsort(list, count, sizeof(*list), compare_rows);
	return list;
}

const struct row *rows_step(const struct rowset *rows, struct rows_cursor *at, const char **kind)
{
	for (; at->kind < rows->nkinds; at->kind++, at->bucket = 0, at->nbuckets = 0) {
		const struct rows_kind *of = &rows->kinds[at->kind];

		*kind = of->name;
		if (at->nbuckets != of->nbuckets)
			at->bucket = 0; /* its rows have other places by now */
		at->nbuckets = of->nbuckets;
		while (at->bucket < of->nbuckets)
			if (of->buckets[at->bucket++])
				return of->buckets[at->bucket - 1];
	}
	return NULL;
}

void rows_clear(struct rows_kind *kind)
{
	for (size_t i = 0; i < kind->nbuckets; i++)
		for (struct row *row; (row = kind->buckets[i]); free(row)) {
			kind->buckets[i] = row->next;
			free(row->value);
		}
	kind->count = 0;
}

void rows_fini(struct rowset *rows)
{
	ARRAY_EACH (kind, rows->kinds, rows->nkinds) {
		rows_clear(kind);
		free(kind->buckets);
		free(kind->name);
	}
	rows->nkinds = 0;
}

/* ---- All kinds ------------------------------------------------------------------------------- */

const struct state_rule state_rules[] = {
	{ .name = "aliases", .words = 2 },		      /* PORT ENTRY: GUID OURS */
	{ .name = "ar_packing", .words = 2, .sealed = true }, /* DEVICE FIRMWARE: bits */
	{ .name = "cables", .words = 2 },		      /* GUID PORT: GUID PORT SINCE */
	{ .name = "cordons", .words = 2 },		      /* GUID PORT: TIME */
	{ .name = "event_hook", .words = 1 },		      /* next: number */
	{ .name = "events", .words = 1 },		      /* number: JSON */
	{ .name = "generalinfo", .words = 1 },		      /* GUID: DEVICE REVISION */
	{ .name = "groups", .words = 3, .long_first = "joined", .long_words = 4 },
	{ .name = "held", .words = 4, .long_first = "beyond", .long_words = 5 },
	{ .name = "hosts", .words = KIND_LINE }, /* VERDICT HOST */
	{ .name = "kinds", .words = 1 },	 /* kind: what to know of it if it is lost */
	{ .name = "lids", .words = 1 },		 /* GUID: LID LMC AWAY */
	{ .name = "modules", .words = 1 },	 /* SERIAL: FLAPS, and GUID PORT MARKS each */
	{ .name = "nodes", .words = 1 },	 /* GUID: what it is, NAME */
	{ .name = "nvlink", .words = 2 },	 /* KIND HOST: WORD=VALUE [..] */
	{ .name = "nvswitch", .words = 1 },	 /* HOST: STATE STATE */
	{ .name = "overrides", .words = 2 },	 /* GUID LID: PORT */
	{ .name = "partitions", .words = KIND_TEXT },
	{ .name = "plan", .words = KIND_TEXT },
	{ .name = "ports", .words = 2 },      /* GUID PORT: PORT-GUID */
	{ .name = "quarantine", .words = 2 }, /* GUID PORT: UNTIL SECONDS WHY */
	{ .name = "sa_key", .words = KIND_LINE },
	{ .name = "services", .words = 1 },	  /* what names it: the rest ENDS */
	{ .name = "subscriptions", .words = 10 }, /* who, to what: SL PKEY-INDEX TRUSTED */
	{ .name = "takeovers", .words = KIND_TEXT },
	{ .name = "untrue", .words = 1 },			     /* GUID: BLOCK */
	{ .name = "guid2mkey", .words = 1, .own = true },	     /* GUID: KEY */
	{ .name = "peer_keys", .words = 1, .own = true },	     /* GUID: PROOF */
	{ .name = "tables", .words = 1, .own = true, .cold = true }, /* GUID: blocks */
	{ .name = "unshared", .words = KIND_TEXT, .own = true },
	{ 0 }
};

const struct state_rule *state_rule(const char *name)
{
	const struct state_rule *rule = state_rules;

	while (rule->name && strcmp(rule->name, name))
		rule++;
	return rule->name ? rule : NULL;
}

size_t state_key_length(const struct state_rule *rule, const char *line)
{
	size_t at = 0, first = strcspn(line, " ");
	bool is_long = rule->long_first && strlen(rule->long_first) == first &&
		       !strncmp(line, rule->long_first, first);
	int words = is_long ? rule->long_words : rule->words;

	if (words == KIND_LINE)
		return strlen(line);
	for (int i = 0; i < words && line[at]; i++) {
		at += i > 0;
		at += strcspn(line + at, " ");
	}
	return at;
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

/*
 * KIND, key and value, each ended by a 0; before them the number of the change, which is 1 where
 * there is none, and 0 where there is no value.
 */
void row_bytes_add(struct bytes *to, const struct row_change *change)
{
	char number[24] = "0";
	const char *texts[] = { number, change->kind, change->key, change->value ?: "" };

	if (change->value)
		array_printf(number, "%" PRIu64, change->number ?: 1);
	for (unsigned i = 0; i < ARRAY_SIZE(texts); i++)
		bytes_add(to, texts[i], strlen(texts[i]) + 1);
}

bool row_bytes_next(const char *bytes, size_t length, size_t *at, struct row_change *change)
{
	const char *texts[4];
	size_t next = *at;

	for (unsigned i = 0; i < ARRAY_SIZE(texts); i++) {
		const char *end = next < length ? memchr(bytes + next, 0, length - next) : NULL;

		if (!end)
			return false;
		texts[i] = bytes + next;
		next = end - bytes + 1;
	}
	if (!*texts[0] || !*texts[1] || !*texts[2])
		return false;
	*change = (struct row_change){ texts[1], texts[2], NULL, strtoull(texts[0], NULL, 10) };
	if (change->number)
		change->value = texts[3];
	*at = next;
	return true;
}
