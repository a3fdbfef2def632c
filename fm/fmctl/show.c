/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fmd's documents as people read them. Lists are tables (table.c); status and check are a few lines
 * that say first whether something is wrong, and then what. A key that is missing shows as nothing,
 * so that a fmctl of another version than fmd's still helps.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "fm/fmctl/fmctl.h"
#include "fm/fmctl/table.h"
#include "topology/graph/cutoff.h"

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

/* ---- Documents of commands ------------------------------------------------------------------- */

#define GREEN "\033[32m"
#define RED   "\033[31m"

void show_json(const struct fmctl *ctl, const json_t *result)
{
	json_dumpf(result, stdout, JSON_INDENT(2) | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
	putchar('\n');
}

void show_text(const struct fmctl *ctl, const json_t *result)
{
	const char *text = json_string_value(json_object_get(result, "text"));

	fputs(text ? text : "", stdout);
}

static json_int_t integer(const json_t *object, const char *key)
{
	return json_integer_value(table_value(object, key));
}

static double number(const json_t *object, const char *key)
{
	return json_number_value(table_value(object, key));
}

static const char *string(const json_t *object, const char *key)
{
	const char *text = json_string_value(table_value(object, key));

	return text ? text : "";
}

static const char *plural(json_int_t count)
{
	return count == 1 ? "" : "s";
}

/* "1 link", "2 links". */
static void print_count(const json_t *object, const char *key, const char *one, const char *several)
{
	json_int_t count = integer(object, key);

	printf("%lld %s", (long long)count, count == 1 ? one : several);
}

static void print_coloured(const struct fmctl *ctl, bool good, const char *text)
{
	printf("%s%s%s", ctl->colour ? good ? GREEN : RED : "", text, ctl->colour ? "\033[0m" : "");
}

/* ---- status ---- */

static void print_label(const char *label)
{
	printf("%-12s", label);
}

void show_lost(const struct fmctl *ctl, const json_t *lost)
{
	if (!lost)
		return;
	print_label("lost");
	print_coloured(ctl, !lost_any(lost), string(lost, "text"));
	putchar('\n');
}

void show_proof(const struct fmctl *ctl, const json_t *proof)
{
	json_int_t unreachable = integer(proof, "unreachable"), loops = integer(proof, "loops");
	json_int_t cycles = integer(proof, "credit_cycles");
	bool good = !unreachable && !loops && !cycles;

	print_label("tables");
	if (!integer(proof, "reachable") && !integer(proof, "max_hops") && good) {
		puts("none yet");
		return;
	}
	print_coloured(ctl, good, good ? "verified" : "ERRORS FOUND");
	fputs(": ", stdout);
	print_count(proof, "reachable", "port pair routed, ", "port pairs routed, ");
	printf("%lld unreachable; %lld loop%s, %lld credit loop%s\n", (long long)unreachable,
	       (long long)loops, plural(loops), (long long)cycles, plural(cycles));
	if (integer(proof, "disconnected")) {
		print_label("");
		print_count(proof, "disconnected", "pair is not connected by links\n",
			    "pairs are not connected by links\n");
	}
}

static void print_links(const struct fmctl *ctl, const json_t *status)
{
	json_int_t down = integer(status, "links_down");
	json_int_t quarantined = integer(status, "links_quarantined");
	char text[64];

	print_label("links");
	printf("%lld, ", (long long)integer(status, "links"));
	snprintf(text, sizeof(text), "%lld down", (long long)down);
	print_coloured(ctl, !down, text);
	if (integer(status, "links_cordoned"))
		printf(", %lld cordoned", (long long)integer(status, "links_cordoned"));
	if (quarantined)
		printf(", %lld quarantined", (long long)quarantined);
	if (integer(status, "links_isolated"))
		printf(", %lld isolated", (long long)integer(status, "links_isolated"));
	if (down || quarantined)
		printf("  (fmctl links %s%s%s)", down ? "--down" : "",
		       down && quarantined ? ", fmctl links " : "", quarantined ? "--sick" : "");
	putchar('\n');
	if (*string(status, "at_risk.text")) {
		print_label("at risk");
		puts(string(status, "at_risk.text"));
	}
}

static void print_answered(const char *label, const char *verb, const json_t *change)
{
	if (!json_is_object(change))
		return;
	print_label(label);
	printf("%s\n", string(change, "what"));
	print_label("");
	printf("%s in %.1f ms: ", verb, number(change, "detected_to_programmed_ms"));
	print_count(change, "lft_entries_changed", "table entry changed, ",
		    "table entries changed, ");
	print_count(change, "lft_blocks_written", "block written\n", "blocks written\n");
}

static void print_last_changes(const json_t *status)
{
	const json_t *fault = json_object_get(status, "last_fault");
	const json_t *repair = json_object_get(status, "last_repair");

	print_answered("last fault", "rerouted", fault);
	print_answered("last repair", "restored", repair);
	if (json_is_object(fault) || json_is_object(repair))
		return;
	print_label("last fault");
	puts("none since fmd started");
}

static void print_uptime(json_int_t seconds, json_int_t rss_kb)
{
	print_label("fmd");
	printf("up %lld d %02lld:%02lld:%02lld, %.1f MB\n", (long long)(seconds / 86400),
	       (long long)(seconds / 3600 % 24), (long long)(seconds / 60 % 60),
	       (long long)(seconds % 60), rss_kb / 1024.0);
}

static void print_last_run(const json_t *s)
{
	print_label("last run");
	printf("sweep %.1f ms, routing (%s) %.1f ms, programming %.1f ms\n", number(s, "sweep_ms"),
	       string(s, "engine"), number(s, "route_ms"), number(s, "program_ms"));
}

/* Troubles, which stand ahead of all figures: fmd itself can't do something; or all others. */
static void print_alerts(const struct fmctl *ctl, const json_t *alerts, bool troubles)
{
	const json_t *alert;
	size_t index;

	json_array_foreach (alerts, index, alert) {
		if (!strcmp(string(alert, "what"), "hcas-cut-off"))
			continue; /* stands first of all */
		if (troubles != !strcmp(string(alert, "what"), "trouble"))
			continue;
		print_label(troubles ? "trouble" : "alert");
		print_coloured(ctl, false, string(alert, "text"));
		putchar('\n');
	}
}

static void print_manager(const struct fmctl *ctl, const json_t *s)
{
	const json_t *e = json_object_get(s, "election"), *master = json_object_get(e, "master");

	printf("; this subnet manager is %s", string(s, "sm"));
	if (json_is_object(master))
		printf(", of master %s (port GUID %s, priority %lld), for %lld s\n",
		       string(master, "name"), string(master, "port_guid"),
		       (long long)integer(master, "priority"), (long long)integer(e, "since_s"));
	else
		printf(", LID %lld\n", (long long)integer(s, "sm_lid"));
	if (!json_is_true(json_object_get(e, "two_masters")))
		return;
	print_label("trouble");
	print_coloured(ctl, false, "two masters");
	printf(": another subnet manager is master too; see fmctl events\n");
}

/* How old the copy is that a standby has of its master. */
static void print_mirror(const struct fmctl *ctl, const json_t *s)
{
	const json_t *mirror = json_object_get(s, "mirror"), *row;
	bool master = !strcmp(string(s, "sm"), "master");
	const char *name = "";
	size_t index;

	if (!mirror)
		return;
	json_array_foreach (json_object_get(mirror, master ? "standbys" : "peers"), index, row)
		if (json_is_true(json_object_get(row, "whole")))
			name = string(row, "name");
	print_label("mirror");
	if (json_is_true(json_object_get(mirror, "whole")))
		printf("%s %s, %.1f s old\n", master ? "copied by" : "copy of", name,
		       integer(mirror, "age_ms") / 1e3);
	else {
		print_coloured(ctl, false, "incomplete");
		printf(" for %lld s: %s\n", (long long)integer(mirror, "age_ms") / 1000,
		       string(mirror, "error"));
	}
}

/* What a standby without a mirror has from its master's SA. */
static void print_registrations(const struct fmctl *ctl, const json_t *s)
{
	const json_t *copy = json_object_get(s, "registrations");

	if (!copy)
		return;
	print_label("SA copy");
	if (json_is_true(json_object_get(copy, "whole")))
		printf("%lld group members, %lld services, %lld subscriptions of the master's SA, "
		       "%lld s old",
		       (long long)integer(copy, "members"), (long long)integer(copy, "services"),
		       (long long)integer(copy, "subscriptions"),
		       (long long)integer(copy, "age_ms") / 1000);
	else
		print_coloured(ctl, false, "none");
	if (*string(copy, "error"))
		printf(": %s", string(copy, "error"));
	putchar('\n');
}

static void show_status(const struct fmctl *ctl, const json_t *s)
{
	bool up = json_is_true(json_object_get(s, "fabric_up")), cut_off = *string(s, "cut_off");

	if (cut_off) {
		print_label("cut off");
		print_coloured(ctl, false, string(s, "cut_off"));
		putchar('\n');
	}
	print_label("fabric");
	print_coloured(ctl, up && !cut_off, up ? "UP" : "NOT UP");
	if (strcmp(string(s, "state"), "up"))
		printf(" (%s)", string(s, "state"));
	print_manager(ctl, s);
	print_alerts(ctl, json_object_get(s, "alerts"), true);
	print_label("size");
	print_count(s, "hcas", "HCA", "HCAs");
	fputs(", ", stdout);
	print_count(s, "switches", "switch", "switches");
	fputs(", ", stdout);
	print_count(s, "lids", "LID", "LIDs");
	if (integer(s, "hcas_off"))
		printf("; %lld HCA%s off", (long long)integer(s, "hcas_off"),
		       plural(integer(s, "hcas_off")));
	putchar('\n');
	print_links(ctl, s);
	show_proof(ctl, json_object_get(s, "proof"));
	print_last_changes(s);
	print_last_run(s);
	print_label("packets");
	print_count(s, "smps_sent", "SMP sent, ", "SMPs sent, ");
	printf("%lld timed out; ", (long long)integer(s, "smps_timed_out"));
	print_count(s, "lft_blocks_written", "LFT block written", "LFT blocks written");
	if (integer(s, "lft_blocks_unread"))
		printf(", %lld not read back since the restart",
		       (long long)integer(s, "lft_blocks_unread"));
	putchar('\n');
	print_mirror(ctl, s);
	print_registrations(ctl, s);
	print_uptime(integer(s, "uptime_s"), integer(s, "rss_kb"));
	print_alerts(ctl, json_object_get(s, "alerts"), false);
}
const struct fmctl_view status_view = { .show = show_status };

/* ---- Lists ---- */

static bool is_said(const json_t *rows, const char *key)
{
	const json_t *row;
	size_t index;

	json_array_foreach ((json_t *)rows, index, row) {
		const json_t *value = table_value(row, key);

		if (json_is_true(value) || json_is_string(value) || json_number_value(value) > 0)
			return true;
	}
	return false;
}

void show_rows(const struct fmctl *ctl, const json_t *rows, const struct table_column *columns,
	       unsigned optional)
{
	struct table_column shown[17] = { 0 };
	unsigned count = 0, kept = 0;

	while (columns[count].title)
		count++;
	for (unsigned i = 0; i < count && kept < 16; i++)
		if (i + optional < count || is_said(rows, columns[i].key))
			shown[kept++] = columns[i];
	table_print(ctl, rows, shown);
}

void show_columns(const struct fmctl *ctl, const json_t *result)
{
	const struct command *command = ctl->command;

	show_rows(ctl, command->rows ? json_object_get(result, command->rows) : result,
		  command->columns, command->optional_columns);
}
const struct fmctl_view by_columns = { .show = show_columns };

/* "1e-14 in 12 min" */
static void show_window(const json_t *windows, const char *name)
{
	const json_t *window = json_object_get(windows, name);

	printf("%.0e in %.3g min", json_number_value(json_object_get(window, "limit")),
	       json_number_value(json_object_get(window, "seconds")) / 60);
}

static void show_error_rates(const json_t *result)
{
	const json_t *ber = json_object_get(result, "ber");
	const json_t *windows = json_object_get(ber, "windows");

	fputs("bit error rates: ", stdout);
	print_count(result, "over_error_rate", "port over its limits", "ports over their limits");
	fputs(" (", stdout);
	show_window(windows, "short");
	fputs(", ", stdout);
	show_window(windows, "long");
	printf(")%s\n", json_is_true(json_object_get(ber, "dry_run")) ? ", dry run" : "");
}

static void show_health(const struct fmctl *ctl, const json_t *result)
{
	const json_t *links = json_object_get(result, "links");

	print_count(result, "sick", "port unhealthy", "ports unhealthy");
	printf(", %lld warned, ", (long long)integer(result, "warned"));
	print_count(result, "slow", "link slow", "links slow");
	if (integer(result, "ports_read"))
		printf("; latest reading: %lld port%s in %.0f ms, %lld without an answer\n",
		       (long long)integer(result, "ports_read"),
		       plural(integer(result, "ports_read")),
		       json_number_value(json_object_get(result, "pass_ms")),
		       (long long)integer(result, "silent"));
	else
		puts("; counters were not read yet");
	if (json_object_get(result, "ber"))
		show_error_rates(result);
	if (json_array_size(links))
		show_columns(ctl, result);
}
const struct fmctl_view health_view = { .show = show_health };

static void show_lft(const struct fmctl *ctl, const json_t *result)
{
	printf("%s %s LID %lld\n", string(result, "name"), string(result, "guid"),
	       (long long)integer(result, "lid"));
	show_columns(ctl, result);
}
const struct fmctl_view lft_view = { .show = show_lft };

/* All of them, or the one that was asked for with its members. */
static void show_groups(const struct fmctl *ctl, const json_t *result)
{
	static const struct table_column columns[] = { { "MEMBER", "name" },
						       { "GUID", "guid" },
						       { "JOINED", "joined" },
						       { "WAITS", "waits" },
						       { 0 } };
	const json_t *group;
	size_t index;

	show_columns(ctl, result);
	if (!ctl->given)
		return;
	json_array_foreach ((json_t *)result, index, group)
		table_print(ctl, json_object_get(group, "members"), columns);
}
const struct fmctl_view groups_view = { .show = show_groups };

static void show_partitions(const struct fmctl *ctl, const json_t *result)
{
	static const struct table_column columns[] = { { "MEMBER", "name" },
						       { "PORT", "port" },
						       { "GUID", "guid" },
						       { "LID", "lid" },
						       { "MEMBERSHIP", "membership" },
						       { "INDEX", "index" },
						       { "ENFORCED", "enforced" },
						       { 0 } };

	show_columns(ctl, result);
	if (ctl->given)
		table_print(ctl, json_object_get(json_array_get(result, 0), "members"), columns);
}
const struct fmctl_view partitions_view = { .show = show_partitions };

/* ---- check ---- */

static void show_check(const struct fmctl *ctl, const json_t *result)
{
	const json_t *proof = json_object_get(result, "proof");
	json_int_t special = integer(proof, "unreachable_special");

	show_proof(ctl, proof);
	print_label("paths");
	printf("%.2f switches on average, %lld at most\n", number(proof, "mean_hops"),
	       (long long)integer(proof, "max_hops"));
	if (special) {
		print_label("left out");
		printf("%lld pair%s with an aggregation node, without an up/down path\n",
		       (long long)special, plural(special));
	}
	if (*string(proof, "first"))
		printf("first finding: %s\n", string(proof, "first"));
}

static void show_readback(const struct fmctl *ctl, const json_t *result)
{
	json_int_t differ = integer(result, "differ"), failed = integer(result, "failed");

	print_label("switches");
	print_coloured(ctl, !differ && !failed,
		       differ	? "DIFFER"
		       : failed ? "NOT ALL READ"
				: "as programmed");
	fputs(": ", stdout);
	print_count(result, "blocks", "block read, ", "blocks read, ");
	printf("%lld differ%s, %lld not answered\n", (long long)differ, differ == 1 ? "s" : "",
	       (long long)failed);
}

static void show_either(const struct fmctl *ctl, const json_t *result)
{
	(ctl->given ? show_readback : show_check)(ctl, result);
}

static enum fmctl_exit proof_verdict(const json_t *result)
{
	const char *first = string(result, "proof.first");

	if (json_is_true(table_value(result, "sound")) && !integer(result, "proof.unreachable"))
		return FMCTL_DONE;
	fprintf(stderr, "fmctl: check: %s\n", *first ? first : "the forwarding tables have errors");
	return FMCTL_FAILED;
}

static enum fmctl_exit readback_verdict(const json_t *result)
{
	if (!integer(result, "differ") && !integer(result, "failed"))
		return FMCTL_DONE;
	fputs("fmctl: check: the switches do not hold what was programmed\n", stderr);
	return FMCTL_FAILED;
}

/* Defects are what `check` is asked for, so they are its exit status too. */
static enum fmctl_exit check_verdict(const struct fmctl *ctl, const json_t *result)
{
	return (ctl->given ? readback_verdict : proof_verdict)(result);
}
const struct fmctl_view check_view = { .show = show_either, .verdict = check_verdict };

/* ---- Acts ---- */

/*
 * A sweep or a new computation of the tables, done to the end: the answer is the status behind it.
 */
void show_settled(const struct fmctl *ctl, const json_t *status)
{
	bool up = json_is_true(json_object_get(status, "fabric_up"));

	print_label("done");
	print_coloured(ctl, up, up ? "fabric UP" : "fabric NOT UP");
	fputs(", ", stdout);
	print_count(status, "links", "link", "links");
	printf(", %lld down\n", (long long)integer(status, "links_down"));
	show_proof(ctl, json_object_get(status, "proof"));
	print_last_run(status);
}
const struct fmctl_view after_sweep = { .show = show_settled };

static void print_overridden(const json_t *rows)
{
	const json_t *row;
	size_t index;

	json_array_foreach (rows, index, row) {
		print_label("OVERRIDDEN");
		printf("the cordon of %s: %s\n", string(row, "what"), string(row, "why"));
	}
}

static void show_cordon(const struct fmctl *ctl, const json_t *result)
{
	bool on = json_is_true(json_object_get(result, "cordoned"));
	const char *note = string(result, "note");
	json_int_t ports = integer(result, "ports"), dark = integer(result, "unreachable");

	printf("%s: ", string(result, "what"));
	if (*note) {
		printf("%s, nothing changed\n", note);
		return;
	}
	printf("%s, %lld link%s\n",
	       json_is_true(json_object_get(result, "released")) ? "released"
	       : on						 ? "cordoned"
								 : "uncordoned",
	       (long long)ports, plural(ports));
	print_label("tables");
	print_count(result, "lft_entries_changed", "entry changed, ", "entries changed, ");
	print_count(result, "lft_blocks_written", "block written, ", "blocks written, ");
	printf("%.1f ms\n", number(result, "took_ms"));
	print_label("hosts");
	if (dark)
		print_count(result, "unreachable", "port pair is unreachable\n",
			    "port pairs are unreachable\n");
	else
		puts("all port pairs that links connect are routed");
	print_overridden(json_object_get(result, "not_honoured"));
}
const struct fmctl_view cordon_view = { .show = show_cordon };

/* What the act says of itself, a line each. */
void show_lines(const struct fmctl *ctl, const json_t *result)
{
	const char *key;
	json_t *value;

	if (!json_object_size(result))
		puts("done");
	json_object_foreach ((json_t *)result, key, value) {
		char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);

		printf("%-28s %s\n", key, json_is_string(value) ? json_string_value(value) : text);
		free(text);
	}
}
const struct fmctl_view by_lines = { .show = show_lines };
