/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * show_what: the document of `fmctl show`, whatever it is about: facts as `key value`, lists of
 * texts a line each, lists of objects as tables, of which the first rows. What is not known, not so
 * or empty is left out, and so is what another line says already.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/fmctl/fmctl.h"
#include "fm/fmctl/table.h"

#define FACT_COLUMN  20
#define COLUMNS_MOST 15
#define ROWS_MOST    72 /* the ports of a large switch */
#define TITLE_SIZE   40

/* By the first line, or by the other fact that it is a part of. */
static bool is_told(const json_t *doc, const char *key)
{
	static const char *const told[][2] = {
		{ "role", "place" },   { "level", "place" },  { "su", "place" },
		{ "rail", "place" },   { "kind", "kind" },    { "name", "name" },
		{ "hcas_up", "hcas" }, { "lid", "base_lid" }, { "hcas_known", "hcas" },
	};

	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
		if (!strcmp(told[i][0], key))
			return json_object_get(doc, told[i][1]);
	return false;
}

/* Scalable units and tiers, which people count from 1. */
static bool counts_from_0(const char *key, const json_t *value)
{
	return json_is_integer(value) && (!strcmp(key, "su") || !strcmp(key, "level"));
}

/*
 * What people read of a key in JSON: its words, without the unit that it ends in (*unit is set to
 * that, or to ""). Truncated to TITLE_SIZE.
 */
static void words_of(const char *key, char *words, const char **unit)
{
	static const char *const ends[][2] = {
		{ "_per_s", "/s" }, { "_gbps", " Gb/s" }, { "_percent", " %" }, { "_s", " s" }
	};
	size_t len = strlen(key), end;

	*unit = "";
	for (size_t i = 0; !**unit && i < sizeof(ends) / sizeof(ends[0]); i++) {
		end = strlen(ends[i][0]);
		if (len > end && !strcmp(key + len - end, ends[i][0])) {
			*unit = ends[i][1];
			len -= end;
		}
	}
	if (!strcmp(key, "cables")) /* JSON's name, which programs know */
		key = "links";
	snprintf(words, TITLE_SIZE, "%.*s", (int)len, key);
	for (char *c = words; *c; c++)
		if (*c == '_')
			*c = ' ';
}

/* ---- Facts ----------------------------------------------------------------------------------- */

static const char *print_key(const char *key)
{
	char words[TITLE_SIZE];
	const char *unit;

	words_of(key, words, &unit);
	printf("%-*s%s", FACT_COLUMN, words, strlen(words) < FACT_COLUMN ? "" : " ");
	return unit;
}

static void print_fact(const char *key, const json_t *value)
{
	const char *text = json_string_value(value), *unit;
	bool never =
		json_is_real(value) && json_real_value(value) == 0; /* a state without a time */

	if (!value || never || json_is_null(value) || json_is_false(value) || (text && !*text))
		return;
	unit = print_key(key);
	if (text)
		puts(text);
	else if (json_is_integer(value))
		printf("%" JSON_INTEGER_FORMAT "%s\n",
		       json_integer_value(value) + counts_from_0(key, value), unit);
	else if (json_is_real(value))
		printf(strcmp(unit, " s") ? "%g%s\n" : "%.0f%s\n", json_real_value(value), unit);
	else
		puts("yes");
}

static void print_texts(const char *key, const json_t *list)
{
	const json_t *text;
	size_t i;

	json_array_foreach ((json_t *)list, i, text) {
		print_key(i ? "" : key);
		puts(json_string_value(text));
	}
}

/* What is told already, and what is not so: of 0 links nobody needs a line. */
static bool is_usual(const char *key, const json_t *value)
{
	static const char *const marks[] = { "links_cordoned", "links_quarantined",
					     "links_isolated", "links_unhealthy" };

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (!strcmp(marks[i], key) && !json_integer_value(value))
			return true;
	return !strcmp(key, "note");
}

static void print_facts(const json_t *doc)
{
	const char *key;
	json_t *value;

	print_fact("note", json_object_get(doc, "note")); /* what is wrong comes first */
	json_object_foreach ((json_t *)doc, key, value) {
		if (is_told(doc, key) || json_is_object(value) || is_usual(key, value))
			continue;
		if (!json_is_array(value))
			print_fact(key, value);
		else if (json_is_string(json_array_get(value, 0)))
			print_texts(key, value);
	}
}

/* ---- Tables ---------------------------------------------------------------------------------- */

struct columns {
	unsigned count;
	struct table_column list[COLUMNS_MOST + 1];
	char titles[COLUMNS_MOST][TITLE_SIZE], keys[COLUMNS_MOST][TITLE_SIZE];
};

static bool has_column(const struct columns *c, const char *key)
{
	for (unsigned i = 0; i < c->count; i++)
		if (!strncmp(c->keys[i], key, strcspn(c->keys[i], "+")) &&
		    strlen(key) == strcspn(c->keys[i], "+"))
			return true;
	return false;
}

static void add_column(struct columns *c, const char *key, const json_t *value)
{
	char *title = c->titles[c->count], *name = c->keys[c->count];
	const char *unit;

	if (c->count == COLUMNS_MOST || strlen(key) > TITLE_SIZE - 8)
		return;
	strcat(strcpy(name, key), counts_from_0(key, value) ? "+1" : "");
	words_of(name[strlen(key)] && !strcmp(key, "level") ? "tier" : key, title, &unit);
	for (char *letter = title; *letter; letter++)
		*letter = (char)toupper((unsigned char)*letter);
	strcat(title, unit);
	c->list[c->count] = (struct table_column){ title, name };
	c->count++;
}

static bool is_known(const json_t *rows, const char *key)
{
	json_t *row, *value;
	size_t i;

	json_array_foreach ((json_t *)rows, i, row) {
		value = json_object_get(row, key);
		if (value && !json_is_null(value))
			return true;
	}
	return false;
}

/* Members that are known in some row, in the order of the rows. */
static void find_columns(struct columns *c, const json_t *rows)
{
	const char *key;
	json_t *row, *value;
	size_t i;

	memset(c, 0, sizeof(*c));
	json_array_foreach ((json_t *)rows, i, row)
		json_object_foreach (row, key, value)
			if (!has_column(c, key) && is_known(rows, key))
				add_column(c, key, value);
}

static json_t *first_rows(const json_t *rows)
{
	json_t *list = json_array(), *row;
	size_t i;

	json_array_foreach ((json_t *)rows, i, row)
		if (i < ROWS_MOST)
			json_array_append(list, row);
	return list;
}

static void print_table(const struct fmctl *ctl, const char *key, const json_t *rows)
{
	size_t all = json_array_size(rows);
	json_t *first = first_rows(rows);
	struct columns columns;

	find_columns(&columns, first);
	putchar('\n');
	for (const char *c = key; *c; c++)
		putchar(*c == '_' ? ' ' : c == key ? toupper((unsigned char)*c) : *c);
	putchar('\n');
	table_print(ctl, first, columns.list);
	if (all > ROWS_MOST)
		printf("%zu more: use --json for all\n", all - ROWS_MOST);
	json_decref(first);
}

static void show_what(const struct fmctl *ctl, const json_t *doc)
{
	const char *key;
	json_t *value;
	const char *kind = json_string_value(json_object_get(doc, "kind"));

	printf("%s: %s\n", strcmp(kind, "cable") ? kind : "link",
	       json_string_value(json_object_get(doc, "name")));
	print_facts(doc);
	json_object_foreach ((json_t *)doc, key, value)
		if (json_is_object(json_array_get(value, 0)))
			print_table(ctl, key, value);
}
const struct fmctl_view show_view = { .show = show_what };
