/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fmd's documents as people read them. Lists are tables (table.c); status and check are a few lines
 * that say first whether something is wrong, and then what. A key that is missing shows as nothing,
 * so that a fmctl of another version than fmd's still helps.
 */
#include <ctype.h>
#include <inttypes.h>
#include <time.h>
#include "fm/fmctl/fmctl.h"
#include "fm/fmctl/table.h"
#include "topology/graph/cutoff.h"
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

/* By the first line, or by the other fact that it is a part of. */
static bool is_told(const json_t *doc, const char *key)
{
	static const char *const told[][2] = {
		{ "role", "place" },   { "level", "place" },  { "su", "place" },
		{ "rail", "place" },   { "kind", "kind" },    { "name", "name" },
		{ "hcas_up", "hcas" }, { "lid", "base_lid" }, { "hcas_known", "hcas" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
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

/* What is told already, and what is not so: of 0 links nobody needs a line. */
static bool is_usual(const char *key, const json_t *value)
{
	static const char *const marks[] = { "links_cordoned", "links_quarantined",
					     "links_isolated", "links_unhealthy" };

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (!strcmp(marks[i], key) && !json_integer_value(value))
			return true;
	return !strcmp(key, "note");
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

static void print_table(const struct fmctl *ctl, const char *key, const json_t *rows)
{
	size_t all = json_array_size(rows);
	json_t *first = json_array(), *value;
	struct columns columns = { 0 };
	const char *member;

	JSON_EACH (row, rows)
		if (row_at < ROWS_MOST)
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
		if (is_told(doc, key) || json_is_object(value) || is_usual(key, value))
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

static const char *plural(long long count)
{
	return count == 1 ? "" : "s";
}

/* "1 link", "2 links". */
static void print_count(const json_t *object, const char *key, const char *one, const char *several)
{
	long long count = table_int(object, key);

	printf("%lld %s", count, count == 1 ? one : several);
}

static void print_coloured(const struct fmctl *ctl, bool good, const char *text)
{
	printf("%s%s%s", ctl->colour ? good ? "\033[32m" : "\033[31m" : "", text,
	       ctl->colour ? "\033[0m" : "");
}

/* ---- status ---- */

static void print_label(const char *label)
{
	printf("%-12s", label);
}

static void print_verdict(const struct fmctl *ctl, const char *label, bool good, const char *text)
{
	print_label(label);
	print_coloured(ctl, good, text);
}

void show_lost(const struct fmctl *ctl, const json_t *lost)
{
	if (!lost)
		return;
	print_verdict(ctl, "lost", !lost_any(lost), table_text(lost, "text"));
	putchar('\n');
}

void show_proof(const struct fmctl *ctl, const json_t *proof)
{
	long long unreachable = table_int(proof, "unreachable"), loops = table_int(proof, "loops");
	long long cycles = table_int(proof, "credit_cycles");
	bool good = !unreachable && !loops && !cycles;

	print_label("tables");
	if (!table_int(proof, "reachable") && !table_int(proof, "max_hops") && good) {
		puts("none yet");
		return;
	}
	print_coloured(ctl, good, good ? "verified" : "ERRORS FOUND");
	fputs(": ", stdout);
	print_count(proof, "reachable", "port pair routed, ", "port pairs routed, ");
	printf("%lld unreachable; %lld loop%s, %lld credit loop%s\n", unreachable, loops,
	       plural(loops), cycles, plural(cycles));
	if (table_int(proof, "disconnected")) {
		print_label("");
		print_count(proof, "disconnected", "pair is not connected by links\n",
			    "pairs are not connected by links\n");
	}
}

static void print_links(const struct fmctl *ctl, const json_t *status)
{
	long long down = table_int(status, "links_down");
	long long quarantined = table_int(status, "links_quarantined");
	char text[64];

	printf("%-12s%lld, ", "links", table_int(status, "links"));
	array_printf(text, "%lld down", down);
	print_coloured(ctl, !down, text);
	if (table_int(status, "links_cordoned"))
		printf(", %lld cordoned", table_int(status, "links_cordoned"));
	if (quarantined)
		printf(", %lld quarantined", quarantined);
	if (table_int(status, "links_isolated"))
		printf(", %lld isolated", table_int(status, "links_isolated"));
	if (down || quarantined)
		printf("  (fmctl links %s%s%s)", down ? "--down" : "",
		       down && quarantined ? ", fmctl links " : "", quarantined ? "--sick" : "");
	putchar('\n');
	if (*table_text(status, "at_risk.text"))
		printf("%-12s%s\n", "at risk", table_text(status, "at_risk.text"));
}

static void print_answered(const char *label, const char *verb, const json_t *change)
{
	if (!json_is_object(change))
		return;
	printf("%-12s%s\n", label, table_text(change, "what"));
	printf("%-12s%s in %.1f ms: ", "", verb, table_number(change, "detected_to_programmed_ms"));
	print_count(change, "lft_entries_changed", "table entry changed, ",
		    "table entries changed, ");
	print_count(change, "lft_blocks_written", "block written\n", "blocks written\n");
}

static void print_last_run(const json_t *s)
{
	printf("%-12ssweep %.1f ms, routing (%s) %.1f ms, programming %.1f ms\n", "last run",
	       table_number(s, "sweep_ms"), table_text(s, "engine"), table_number(s, "route_ms"),
	       table_number(s, "program_ms"));
}

/* Troubles, which stand ahead of all figures: fmd itself can't do something; or all others. */
static void print_alerts(const struct fmctl *ctl, const json_t *alerts, bool troubles)
{
	JSON_EACH (alert, alerts) {
		if (!strcmp(table_text(alert, "what"), "hcas-cut-off"))
			continue; /* stands first of all */
		if (troubles != !strcmp(table_text(alert, "what"), "trouble"))
			continue;
		print_verdict(ctl, troubles ? "trouble" : "alert", false,
			      table_text(alert, "text"));
		putchar('\n');
	}
}

static void print_manager(const struct fmctl *ctl, const json_t *s)
{
	const json_t *e = json_object_get(s, "election"), *master = json_object_get(e, "master");

	printf("; this subnet manager is %s", table_text(s, "sm"));
	if (json_is_object(master))
		printf(", of master %s (port GUID %s, priority %lld), for %lld s\n",
		       table_text(master, "name"), table_text(master, "port_guid"),
		       table_int(master, "priority"), table_int(e, "since_s"));
	else
		printf(", LID %lld\n", table_int(s, "sm_lid"));
	if (!table_is(e, "two_masters"))
		return;
	print_verdict(ctl, "trouble", false, "two masters");
	printf(": another subnet manager is master too; see fmctl events\n");
}

/* How old the copy is that a standby has of its master. */
static void print_mirror(const struct fmctl *ctl, const json_t *s)
{
	const json_t *mirror = json_object_get(s, "mirror");
	bool master = !strcmp(table_text(s, "sm"), "master");
	const char *name = "";

	if (!mirror)
		return;
	JSON_EACH (row, json_object_get(mirror, master ? "standbys" : "peers"))
		if (table_is(row, "whole"))
			name = table_text(row, "name");
	print_label("mirror");
	if (table_is(mirror, "whole"))
		printf("%s %s, %.1f s old\n", master ? "copied by" : "copy of", name,
		       table_int(mirror, "age_ms") / 1e3);
	else {
		print_coloured(ctl, false, "incomplete");
		printf(" for %lld s: %s\n", table_int(mirror, "age_ms") / 1000,
		       table_text(mirror, "error"));
	}
}

/* What a standby without a mirror has from its master's SA. */
static void print_registrations(const struct fmctl *ctl, const json_t *s)
{
	const json_t *copy = json_object_get(s, "registrations");

	if (!copy)
		return;
	print_label("SA copy");
	if (table_is(copy, "whole"))
		printf("%lld group members, %lld services, %lld subscriptions of the master's SA, "
		       "%lld s old",
		       table_int(copy, "members"), table_int(copy, "services"),
		       table_int(copy, "subscriptions"), table_int(copy, "age_ms") / 1000);
	else
		print_coloured(ctl, false, "none");
	if (*table_text(copy, "error"))
		printf(": %s", table_text(copy, "error"));
	putchar('\n');
}

/* Only where it is not all that is wanted. */
static void print_in_force(const struct fmctl *ctl, const json_t *in_force)
{
	long long lost = table_int(in_force, "pairs_waiting");
	const json_t *waits = json_object_get(in_force, "waits");

	if (!lost)
		return;
	print_label("in force");
	printf("%lld of %lld pairs; %lld wait for", table_int(in_force, "pairs_in_force"),
	       table_int(in_force, "pairs_wanted"), lost);
	JSON_EACH (wait, waits) {
		if (wait_at < 3)
			printf("%s %s (%s)", wait_at ? "," : "", table_text(wait, "node"),
			       table_text(wait, "why"));
	}
	puts(json_array_size(waits) > 3 || table_int(in_force, "others") ? ", and others" : "");
}

static void show_status(const struct fmctl *ctl, const json_t *s)
{
	bool up = table_is(s, "fabric_up"), cut_off = *table_text(s, "cut_off");
	const json_t *fault = json_object_get(s, "last_fault");
	const json_t *repair = json_object_get(s, "last_repair");
	long long up_s = table_int(s, "uptime_s");

	if (cut_off) {
		print_verdict(ctl, "cut off", false, table_text(s, "cut_off"));
		putchar('\n');
	}
	print_verdict(ctl, "fabric", up && !cut_off, up ? "UP" : "NOT UP");
	if (strcmp(table_text(s, "state"), "up"))
		printf(" (%s)", table_text(s, "state"));
	print_manager(ctl, s);
	print_alerts(ctl, json_object_get(s, "alerts"), true);
	print_label("size");
	print_count(s, "hcas", "HCA", "HCAs");
	fputs(", ", stdout);
	print_count(s, "switches", "switch", "switches");
	fputs(", ", stdout);
	print_count(s, "lids", "LID", "LIDs");
	if (table_int(s, "hcas_off"))
		printf("; %lld HCA%s off", table_int(s, "hcas_off"),
		       plural(table_int(s, "hcas_off")));
	putchar('\n');
	print_links(ctl, s);
	show_proof(ctl, json_object_get(s, "proof"));
	print_in_force(ctl, json_object_get(s, "in_force"));
	print_answered("last fault", "rerouted", fault);
	print_answered("last repair", "restored", repair);
	if (!json_is_object(fault) && !json_is_object(repair))
		printf("%-12s%s\n", "last fault", "none since fmd started");
	print_last_run(s);
	print_label("packets");
	print_count(s, "smps_sent", "SMP sent, ", "SMPs sent, ");
	printf("%lld timed out; ", table_int(s, "smps_timed_out"));
	print_count(s, "lft_blocks_written", "LFT block written", "LFT blocks written");
	if (table_int(s, "lft_blocks_unread"))
		printf(", %lld not read back since the restart", table_int(s, "lft_blocks_unread"));
	putchar('\n');
	print_mirror(ctl, s);
	print_registrations(ctl, s);
	printf("%-12sup %lld d %02lld:%02lld:%02lld, %.1f MB\n", "fmd", up_s / 86400,
	       up_s / 3600 % 24, up_s / 60 % 60, up_s % 60, table_int(s, "rss_kb") / 1024.0);
	print_alerts(ctl, json_object_get(s, "alerts"), false);
}
const struct fmctl_view status_view = { .show = show_status };

/* ---- Lists ---- */

static bool is_said(const json_t *rows, const char *key)
{
	JSON_EACH (row, rows) {
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

static void show_health(const struct fmctl *ctl, const json_t *result)
{
	const json_t *links = json_object_get(result, "links");

	print_count(result, "sick", "port unhealthy", "ports unhealthy");
	printf(", %lld warned, ", table_int(result, "warned"));
	print_count(result, "slow", "link slow", "links slow");
	if (table_int(result, "ports_read"))
		printf("; latest reading: %lld port%s in %.0f ms, %lld without an answer\n",
		       table_int(result, "ports_read"), plural(table_int(result, "ports_read")),
		       table_number(result, "pass_ms"), table_int(result, "silent"));
	else
		puts("; counters were not read yet");
	if (json_object_get(result, "ber")) {
		const json_t *ber = json_object_get(result, "ber");

		fputs("bit error rates: ", stdout);
		print_count(result, "over_error_rate", "port over its limits",
			    "ports over their limits");
		printf(" (%.0e in %.3g min, %.0e in %.3g min)%s\n",
		       table_number(ber, "windows.short.limit"),
		       table_number(ber, "windows.short.seconds") / 60,
		       table_number(ber, "windows.long.limit"),
		       table_number(ber, "windows.long.seconds") / 60,
		       table_is(ber, "dry_run") ? ", dry run" : "");
	}
	if (json_array_size(links))
		show_columns(ctl, result);
}
const struct fmctl_view health_view = { .show = show_health };

static void show_lft(const struct fmctl *ctl, const json_t *result)
{
	printf("%s %s LID %lld\n", table_text(result, "name"), table_text(result, "guid"),
	       table_int(result, "lid"));
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

	show_columns(ctl, result);
	if (!ctl->given)
		return;
	JSON_EACH (group, result)
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
	long long special = table_int(proof, "unreachable_special");
	long long differ = table_int(result, "differ"), failed = table_int(result, "failed");

	if (ctl->given) {
		print_verdict(ctl, "switches", !differ && !failed,
			      differ   ? "DIFFER"
			      : failed ? "NOT ALL READ"
				       : "as programmed");
		fputs(": ", stdout);
		print_count(result, "blocks", "block read, ", "blocks read, ");
		printf("%lld differ%s, %lld not answered\n", differ, differ == 1 ? "s" : "",
		       failed);
		return;
	}
	show_proof(ctl, proof);
	printf("%-12s%.2f switches on average, %lld at most\n", "paths",
	       table_number(proof, "mean_hops"), table_int(proof, "max_hops"));
	if (special)
		printf("%-12s%lld pair%s with an aggregation node, without an up/down path\n",
		       "left out", special, plural(special));
	print_in_force(ctl, json_object_get(result, "in_force"));
	if (*table_text(proof, "first"))
		printf("first finding: %s\n", table_text(proof, "first"));
}

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
	fprintf(stderr, "fmctl: check: %s\n",
		ctl->given		    ? "the switches do not hold what was programmed"
		: *first		    ? first
		: table_is(result, "sound") ? "not all that is wanted is in force"
					    : "the forwarding tables have errors");
	return FMCTL_FAILED;
}
const struct fmctl_view check_view = { .show = show_check, .verdict = check_verdict };

/* ---- Acts ---- */

/*
 * A sweep or a new computation of the tables, done to the end: the answer is the status behind it.
 */
void show_settled(const struct fmctl *ctl, const json_t *status)
{
	bool up = table_is(status, "fabric_up");

	print_verdict(ctl, "done", up, up ? "fabric UP" : "fabric NOT UP");
	fputs(", ", stdout);
	print_count(status, "links", "link", "links");
	printf(", %lld down\n", table_int(status, "links_down"));
	show_proof(ctl, json_object_get(status, "proof"));
	print_last_run(status);
}
const struct fmctl_view after_sweep = { .show = show_settled };

static void show_cordon(const struct fmctl *ctl, const json_t *result)
{
	bool on = table_is(result, "cordoned");
	const char *note = table_text(result, "note");
	long long ports = table_int(result, "ports"), dark = table_int(result, "unreachable");

	printf("%s: ", table_text(result, "what"));
	if (*note) {
		printf("%s, nothing changed\n", note);
		return;
	}
	printf("%s, %lld link%s\n",
	       table_is(result, "released") ? "released"
	       : on			    ? "cordoned"
					    : "uncordoned",
	       ports, plural(ports));
	print_label("tables");
	print_count(result, "lft_entries_changed", "entry changed, ", "entries changed, ");
	print_count(result, "lft_blocks_written", "block written, ", "blocks written, ");
	printf("%.1f ms\n", table_number(result, "took_ms"));
	print_label("hosts");
	if (dark)
		print_count(result, "unreachable", "port pair is unreachable\n",
			    "port pairs are unreachable\n");
	else
		puts("all port pairs that links connect are routed");
	JSON_EACH (row, json_object_get(result, "not_honoured"))
		printf("%-12sthe cordon of %s: %s\n", "OVERRIDDEN", table_text(row, "what"),
		       table_text(row, "why"));
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
