/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fmd's documents as people read them: what documents.def (table.c) has no words for. A key that is
 * missing shows as nothing, so that a fmctl of another version than fmd's still helps.
 */
#include <ctype.h>
#include "fm/fmctl/fmctl.h"
#include "topology/base/sort.h"

/* ---- Whatever it is about -------------------------------------------------------------------- */

/*
 * The document of `fmctl show`: facts as `key value`, lists of texts a line each, lists of objects
 * as tables, of which the first rows. What is not known, not so or empty is left out, and so is
 * what another line says already.
 */
#define FACT_COLUMN  20
#define COLUMNS_MOST 15
#define ROWS_MOST    72 /* the ports of a large switch */
#define TITLE_SIZE   40

/* By the first line, or by the other fact that it is a part of. Of 0 links nobody needs a line. */
static bool is_shown(const json_t *doc, const char *key, const json_t *value)
{
	static const char *const shown[][2] = {
		{ "role", "place" },   { "level", "place" },  { "su", "place" },
		{ "rail", "place" },   { "kind", "kind" },    { "name", "name" },
		{ "hcas_up", "hcas" }, { "lid", "base_lid" }, { "hcas_known", "hcas" },
		{ "note", "note" },
	};
	static const char *const marks[] = { "links_cordoned", "links_quarantined",
					     "links_isolated", "links_unhealthy" };

	for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
		if (!strcmp(shown[i][0], key))
			return json_object_get(doc, shown[i][1]);
	return !json_integer_value(value) &&
	       any_of(i, 0, ARRAY_SIZE(marks), !strcmp(marks[i], key));
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
	for (size_t i = 0; !**unit && i < ARRAY_SIZE(ends); i++) {
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

/* ---- Tables ---------------------------------------------------------------------------------- */

struct columns {
	unsigned count;
	struct table_column list[COLUMNS_MOST + 1];
	char titles[COLUMNS_MOST][TITLE_SIZE], keys[COLUMNS_MOST][TITLE_SIZE];
};

static bool is_known(const json_t *rows, const char *key)
{
	JSON_EACH (row, rows)
		if (json_object_get(row, key) && !json_is_null(json_object_get(row, key)))
			return true;
	return false;
}

/* A counter that is not 0 at either end, or whatever else. */
static bool row_tells(const char *key, json_t *row)
{
	bool tells = strcmp(key, "counters");
	const char *member;
	json_t *value;

	json_object_foreach (row, member, value)
		tells |= json_number_value(value) != 0;
	return tells;
}

static void print_table(const struct fmctl *ctl, const char *key, const json_t *rows)
{
	size_t all = json_array_size(rows);
	json_t *first = json_array(), *value;
	struct columns columns = { 0 };
	const char *member;

	JSON_EACH (row, rows)
		if (row_at < ROWS_MOST && (!row_at || row_tells(key, row)))
			json_array_append(first, row);
	/* Members that are known in some row, in the order of the rows. */
	JSON_EACH (row, first)
		json_object_foreach (row, member, value)
			if (!any_of(c, 0, columns.count,
				    !strncmp(columns.keys[c], member,
					     strcspn(columns.keys[c], "+")) &&
					    strlen(member) == strcspn(columns.keys[c], "+")) &&
			    is_known(first, member)) {
				char *title = columns.titles[columns.count],
				     *name = columns.keys[columns.count];
				const char *unit;

				if (columns.count == COLUMNS_MOST ||
				    strlen(member) > TITLE_SIZE - 8)
					continue;
				strcat(strcpy(name, member),
				       counts_from_0(member, value) ? "+1" : "");
				words_of(name[strlen(member)] && !strcmp(member, "level") ? "tier"
											  : member,
					 title, &unit);
				for (char *letter = title; *letter; letter++)
					*letter = toupper((unsigned char)*letter);
				strcat(title, unit);
				columns.list[columns.count] = (struct table_column){ title, name };
				columns.count++;
			}
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
	const char *key, *kind = json_string_value(json_object_get(doc, "kind"));
	json_t *value;

	printf("%s: %s\n", strcmp(kind, "cable") ? kind : "link",
	       json_string_value(json_object_get(doc, "name")));
	print_fact("note", json_object_get(doc, "note")); /* what is wrong comes first */
	json_object_foreach ((json_t *)doc, key, value) {
		if (is_shown(doc, key, value) || json_is_object(value))
			continue;
		if (!json_is_array(value))
			print_fact(key, value);
		else if (json_is_string(json_array_get(value, 0)))
			JSON_EACH (text, value) {
				print_key(text_at ? "" : key);
				puts(json_string_value(text));
			}
	}
	json_object_foreach ((json_t *)doc, key, value)
		if (json_is_object(json_array_get(value, 0)))
			print_table(ctl, key, value);
}
const struct fmctl_view show_view = { .show = show_what };

/* ---- Documents of commands ------------------------------------------------------------------- */

void show_json(const struct fmctl *ctl, const json_t *result)
{
	json_dumpf(result, stdout, JSON_INDENT(2) | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
	putchar('\n');
}

void show_text(const struct fmctl *ctl, const json_t *result)
{
	fputs(table_text(result, "text"), stdout);
}

/* ---- status and path ---- */

/*
 * As Nagios has it: 0 ok, 1 warning, 2 critical, 3 unknown. Critical is what hosts lack: HCAs that
 * are cut off, or tables that leave pairs out or loop. Lost redundancy and alerts are warnings.
 */
static enum fmctl_exit status_verdict(const struct fmctl *ctl, const json_t *result)
{
	const char *headline = table_text(result, "headline");

	if (!ctl->given)
		return FMCTL_DONE;
	if (!strcmp(headline, "DOWN") || table_int(result, "hcas_cut_off") ||
	    table_int(result, "proof.unreachable") || table_int(result, "proof.loops") ||
	    table_int(result, "proof.credit_cycles"))
		return FMCTL_USAGE;
	return !strcmp(headline, "UP (DEGRADED)") ||
			       json_array_size(json_object_get(result, "alerts"))
		       ? FMCTL_FAILED
		       : FMCTL_DONE;
}
const struct fmctl_view status_view = { .verdict = status_verdict };

static enum fmctl_exit path_verdict(const struct fmctl *ctl, const json_t *result)
{
	enum fmctl_exit status = FMCTL_DONE;

	JSON_EACH (row, json_object_get(result, "paths"))
		if (json_object_get(row, "error"))
			status = fmctl_fail("path", "no path from %s to %s: %s",
					    table_text(row, "from"), table_text(row, "to"),
					    table_text(row, "error"));
	return status;
}
const struct fmctl_view path_view = { .verdict = path_verdict };

/* ---- check ---- */

/* Defects are what `check` is asked for, so they are its exit status too. */
static enum fmctl_exit check_verdict(const struct fmctl *ctl, const json_t *result)
{
	const char *first = table_text(result, "proof.first");
	bool good = ctl->given ? !table_int(result, "differ") && !table_int(result, "failed")
			       : table_is(result, "sound") &&
					 !table_int(result, "proof.unreachable") &&
					 !table_int(result, "in_force.pairs_waiting");

	if (good)
		return FMCTL_DONE;
	return fmctl_fail("check", "%s",
			  ctl->given ? "the switches do not hold what was programmed"
			  : *first   ? first
			  : table_is(result, "sound") ? "not all that is wanted is in force"
						      : "the forwarding tables have errors");
}
const struct fmctl_view check_view = { .verdict = check_verdict };
