/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The rules of all causes, and the kinds of rows of state:
 *   cordons     `GUID PORT [TIME]`, port 0 for the whole switch
 *   quarantine  `GUID PORT UNTIL SECONDS WHY`, UNTIL in seconds since 1970, -1 for a hold. What is
 *               over stays there for as long as it is remembered.
 *   untrue      `GUID BLOCK`: a number, `top`, or `BLOCK.POSITION` of a multicast table
 *   held        `GUID PORT GUID PORT CAUSE SHUT SINCE HOSTS`, our end of the link first; and lines
 *               of the fabric behind a link: admission.c
 */
#include <inttypes.h>
#include "fm/links_out/rules.h"
#include "fm/sm/module.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

#define SECOND_US   1000000ull
#define HELD	    -1	     /* in the place of UNTIL */
#define CHECK_US    10000000 /* between two checks of what is held or exempt */
#define PROBE_US    60000000 /* between Sets to a switch that takes none */
#define TRIAL_US    55000000
#define CLEAN_MAX_S 86400 /* that a hold grows to */
#define MLID_BLOCKS ((0x10000 - MCAST_FIRST_MLID) / MCAST_BLOCK)
#define DIGITS_MAX  8

/* ---- Rules ----------------------------------------------------------------------------------- */

static unsigned quarantine_seconds(const struct out *last, const struct conf *conf)
{
	unsigned first = (unsigned)conf->quarantine.time_ms / 1000;
	unsigned longest = (unsigned)conf->quarantine.time_max_ms / 1000;
	unsigned length = last ? last->seconds * 2 : first;

	return length < longest ? length : longest > first ? longest : first;
}

/* Twice as long as the last hold, while that is remembered. */
static unsigned hold_seconds(const struct out *last, const struct conf *conf)
{
	unsigned length = last && last->cause == OUT_HOLD ? last->seconds * 2
							  : (unsigned)conf->ber.clean_ms / 1000;

	return length < CLEAN_MAX_S ? length : CLEAN_MAX_S;
}

enum { KEPT_CORDONS = 1, KEPT_QUARANTINE, KEPT_UNTRUE, KEPT_HELD }; /* kinds[] */

#define QUARANTINED                                                                                \
	.kind = KEPT_QUARANTINE, .mark = INV_QUARANTINED, .most = 1024,                            \
	.again = "quarantines changed", .due = out_check
#define ISOLATED                                                                                   \
	.group = OUT_FAULT, .most = 4096, .again = "isolations changed", .over = fault_is_over
#define ADMISSION(n, w)                                                                            \
	{                                                                                          \
		.group = OUT_NOT_ADMITTED, .kind = KEPT_HELD, .most = UINT32_MAX, .name = n,       \
		.word = w                                                                          \
	}

static const struct out_rule out_rules[OUT_CAUSES] = {
	[OUT_CORDON] = { .kind = KEPT_CORDONS,
			 .mark = INV_CORDONED,
			 .most = UINT16_MAX,
			 .again = "cordons changed" },
	[OUT_QUARANTINE] = { QUARANTINED, .seconds = quarantine_seconds },
	[OUT_HOLD] = { QUARANTINED, .seconds = hold_seconds, .wait_us = CHECK_US },
	[OUT_EXEMPT] = { .most = 1024, .due = out_check, .wait_us = CHECK_US },
	[OUT_NOT_ACTIVE] = { ISOLATED, .mark = INV_KEPT, .word = "cannot be made Active" },
	[OUT_NO_SETS] = { ISOLATED, .mark = INV_ISOLATED, .node_mark = INV_NO_SETS,
			  .word = "answers Gets, but no Sets", .due = fault_probe,
			  .wait_us = PROBE_US },
	[OUT_WRONG_TABLES] = { ISOLATED, .kind = KEPT_UNTRUE, .mark = INV_ISOLATED,
			       .node_mark = INV_WRONG_TABLES,
			       .word = "does not hold the tables that it acknowledged",
			       .due = fault_try, .wait_us = TRIAL_US },
	[OUT_FOREIGN_KEY] = { ISOLATED, .mark = INV_ISOLATED, .node_mark = INV_NO_SETS,
			      .word = "holds an M_Key of another manager, so it is sent no Set" },
	[OUT_SUSPECT] = { .most = 4096 },
	[OUT_REOPENED] = ADMISSION("none", ""),
	[OUT_MANAGER] = ADMISSION("manager", ""),
	[OUT_ADMITTED] = ADMISSION("admitted", "admitted, and not met yet"),
	[OUT_FOREIGN] = ADMISSION("foreign", "another manager has set the LIDs behind it"),
	[OUT_HOSTS] =
		ADMISSION("hosts", "more unknown hosts are behind it than admission_max_hosts"),
	[OUT_MISWIRED] = ADMISSION("miswired", "it contradicts the cabling of the fabric"),
	[OUT_STRICT] = ADMISSION("strict", "no plan has it, and admission is \"strict\""),
	[OUT_PLAN] = ADMISSION("plan", "the plan has another cable there, or none"),
	[OUT_UNSEEN] =
		ADMISSION("unseen", "a link came up there, and went down before a manager saw it"),
};

/* ---- Rows of state --------------------------------------------------------------------------- */

static struct links_out *table_of(const void *owner)
{
	return *(struct links_out *const *)owner;
}

/* 2026-11-23T03:00:00.000Z */
static bool is_time(const char *text)
{
	static const char form[] = "0000-00-00T00:00:00.000Z";

	return !any_of(i, 0, sizeof(form),
		       form[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != form[i]);
}

static bool take_cordon(void *owner, const char *line)
{
	struct out it = { .cause = OUT_CORDON };
	unsigned port;
	char rest;
	int fields = sscanf(line, "0x%" SCNx64 " %u %39s %c", &it.node, &port, it.since, &rest);

	if (fields < 2 || fields > 3 || port > UINT8_MAX || (fields == 3 && !is_time(it.since)))
		return false;
	it.port = port;
	if (!out_find(table_of(owner), it.node, it.port, OUT_CORDON))
		out_add(table_of(owner), &it);
	return true;
}

static bool take_quarantine(void *owner, const char *line)
{
	struct links_out *table = table_of(owner);
	uint64_t now = loop_now_us(table->services.loop);
	struct out it = { .cause = OUT_QUARANTINE };
	long long until, left;
	unsigned num;
	int used = 0;

	if (sscanf(line, "0x%" SCNx64 " %u %lld %u %n", &it.node, &num, &until, &it.seconds,
		   &used) != 4 ||
	    !used || !num || num > UINT8_MAX)
		return false;
	it.port = num;
	array_printf(it.why, "%.*s", (int)strcspn(line + used, "\n"), line + used);
	left = until - time(NULL);
	if (left > it.seconds) /* the clock was set */
		left = it.seconds;
	it.until_us = now + (left > 0 ? left * SECOND_US : 0);
	it.due_us = it.until_us;
	if (until == HELD) {
		it.cause = OUT_HOLD;
		it.due_us = 0;
	} else if (left <= 0) {
		it.state = OUT_OVER;
		it.due_us += it.seconds * SECOND_US;
	}
	if (!out_quarantine(table, it.node, it.port))
		out_add(table, &it);
	return true;
}

static bool parse_block(const char *word, struct table_block *at)
{
	int end = -1;

	if (!strcmp(word, "top")) {
		at->kind = TABLE_TOP;
		return true;
	}
	if (strlen(word) > DIGITS_MAX)
		return false; /* sscanf() takes a number that is too large for another one */
	if (sscanf(word, "%" SCNu32 ".%u%n", &at->block, &at->position, &end) == 2 && !word[end]) {
		at->kind = TABLE_MFT;
		return at->block < MLID_BLOCKS && at->position < MCAST_POSITIONS;
	}
	if (sscanf(word, "%" SCNu32 "%n", &at->block, &end) != 1 || word[end])
		return false;
	at->kind = TABLE_LFT;
	return at->block <= TABLES_MAX_LID / TABLES_BLOCK;
}

static bool take_untrue(void *owner, const char *line)
{
	struct out it = { .cause = OUT_WRONG_TABLES, .state = OUT_ABSENT };
	char word[32], rest;

	if (sscanf(line, "0x%" SCNx64 " %31s %c", &it.at.sw, word, &rest) != 2 || !it.at.sw ||
	    !parse_block(word, &it.at))
		return false;
	it.node = it.at.sw;
	if (!out_find(table_of(owner), it.node, 0, OUT_WRONG_TABLES))
		out_add(table_of(owner), &it);
	return true;
}

/* A line of an earlier version may take back another, with the cause "none". */
static bool take_held(void *owner, const char *line)
{
	struct links_out *table = table_of(owner);
	struct out it = { .cause = OUT_REOPENED }, *had;
	unsigned port, peer_port, shut;
	char word[16], rest;

	if (beyond_take(&table->admission, line))
		return true;
	if (sscanf(line, "0x%" SCNx64 " %u 0x%" SCNx64 " %u %15s %u %39s %u %c", &it.node, &port,
		   &it.peer, &peer_port, word, &shut, it.since, &it.hosts, &rest) != 8 ||
	    port > UINT8_MAX || peer_port > UINT8_MAX || shut > HELD_OPENS)
		return false;
	while (it.cause < OUT_CAUSES && strcmp(out_rules[it.cause].name, word))
		it.cause++;
	if (it.cause == OUT_CAUSES)
		return false;
	it.port = port;
	it.peer_port = peer_port;
	it.shut = shut;
	had = admission_find(&table->admission, &it);
	if (had)
		out_remove(had);
	if (it.cause != OUT_REOPENED || it.shut == HELD_OPENS)
		out_add(table, &it);
	if (it.cause == OUT_MANAGER)
		sm_allow(table->fabric, it.peer, true);
	return true;
}

/* Of switches with wrong tables those that are isolated, or were before the restart. */
static bool is_kept(const struct out *it, const void *owner)
{
	return &it->table->kept[it->rule->kind] == owner &&
	       (it->cause != OUT_WRONG_TABLES || it->state == OUT_IN_FORCE ||
		it->state == OUT_ABSENT);
}

static uint64_t write_rows(const void *owner, uint64_t from, FILE *out)
{
	const struct links_out *table = table_of(owner);
	int64_t now_us = loop_now_us(table->services.loop);

	for (size_t i = from; i < table->count; i++) {
		const struct out *it = table->all[i];
		/* By the wall-clock. */
		long long until = (long long)time(NULL) +
				  ((int64_t)it->until_us - now_us) / (int64_t)SECOND_US;

		if (i == from + STATE_LINES)
			return i;
		if (!is_kept(it, owner))
			continue;
		fprintf(out, "0x%016" PRIx64 " ", it->node);
		if (it->cause == OUT_CORDON)
			fprintf(out, "%u%s%s\n", it->port, *it->since ? " " : "", it->since);
		else if (it->rule->group == OUT_NOT_ADMITTED)
			fprintf(out, "%u 0x%016" PRIx64 " %u %s %u %s %u\n", it->port, it->peer,
				it->peer_port, it->rule->name, it->shut,
				*it->since ? it->since : "-", it->hosts);
		else if (it->cause != OUT_WRONG_TABLES)
			fprintf(out, "%u %lld %u %s\n", it->port,
				it->cause == OUT_HOLD && it->state != OUT_OVER ? HELD : until,
				it->seconds, it->why);
		else if (it->at.kind == TABLE_TOP)
			fprintf(out, "top\n");
		else if (it->at.kind == TABLE_MFT)
			fprintf(out, "%" PRIu32 ".%u\n", it->at.block, it->at.position);
		else
			fprintf(out, "%" PRIu32 "\n", it->at.block);
	}
	if (owner == &table->kept[KEPT_HELD] && table->admission.sight.whole &&
	    table->counts[OUT_FOREIGN])
		beyond_write(&table->admission, out);
	return 0;
}

/* What is in force by name, for the alert that the rows were lost. */
static void sum_up(const void *owner, FILE *out)
{
	const struct links_out *table = table_of(owner);
	const char *between = "";

	OUT_ROWS (table, it) {
		const struct inv_node *node = inventory_find(table->services.inventory, it->node);

		if (!is_kept(it, owner) || it->state == OUT_OVER)
			continue;
		fputs(between, out);
		between = ", ";
		if (it->rule->mark == INV_QUARANTINED)
			fputs(inventory_link_name(table->services.inventory, it->node, it->port)
				      .text,
			      out);
		else if (node)
			fputs(node->name, out);
		else
			fprintf(out, "0x%016" PRIx64, it->node);
		if (it->cause == OUT_CORDON && it->port)
			fprintf(out, ":%u", it->port);
	}
}

static const struct state_kind kinds[OUT_KIND] = {
	[KEPT_CORDONS] = { .name = "cordons",
			   .summary = sum_up,
			   .form = "`GUID PORT [TIME]`",
			   .line = take_cordon,
			   .write = write_rows },
	[KEPT_QUARANTINE] = { .name = "quarantine",
			      .summary = sum_up,
			      .form = "`GUID PORT UNTIL SECONDS WHY`",
			      .line = take_quarantine,
			      .write = write_rows },
	[KEPT_UNTRUE] = { .name = "untrue",
			  .summary = sum_up,
			  .form = "`GUID BLOCK`",
			  .line = take_untrue,
			  .write = write_rows },
	[KEPT_HELD] = { .name = "held",
			.form = "`GUID PORT GUID PORT CAUSE SHUT SINCE HCAS`",
			.line = take_held,
			.write = write_rows },
};

bool out_take(struct links_out *table, enum out_cause cause, const char *line)
{
	unsigned kind = out_rules[cause].kind;

	return kinds[kind].line(&table->kept[kind], line);
}

void out_use_rules(struct links_out *table)
{
	table->rules = out_rules;
	table->kinds = kinds;
}

void out_load(struct links_out *table)
{
	for (unsigned kind = 1; kind < OUT_KIND; kind++)
		state_read(table->services.state, &kinds[kind], &table->kept[kind]);
}
