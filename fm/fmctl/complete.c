/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * complete: the candidates that bash offers for a command line, from the rows and the usage texts
 * of the commands: behind an option with a value the values in the usage, else options and literal
 * words. A word in capitals is a name that fmd knows or a free text; bash itself completes the
 * names of files.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/control/option.h"
#include "fm/fmctl/fmctl.h"
#include "topology/base/mem.h"

struct offers {
	const struct fmctl *ctl; /* to request names from fmd */
	const char *word;	 /* typed so far: the prefix of what is offered */
	size_t skip;		 /* bytes of each candidate that the shell has already */
	unsigned *asked;	 /* kinds of names that were offered, each once */
	bool bare;		 /* outside of quotes: blanks and the like are escaped */
};

/* ---- Names of the fabric --------------------------------------------------------------------- */

/*
 * Asked of fmd; where there is none, nothing is offered. A candidate's blanks are escaped, and what
 * stands before a ':' or '=' is left out where bash takes that for the end of a word.
 */
#define SPECIAL " \t\"'\\$`&|;<>()*?[]{}!#~"

/* Writes a candidate to stdout, if it begins with the word. */
static void offer_text(const struct offers *offers, const char *text, size_t len)
{
	size_t typed = strlen(offers->word);

	if (len < typed || strncmp(text, offers->word, typed))
		return;
	for (size_t i = offers->skip; i < len; i++) {
		if (offers->bare && strchr(SPECIAL, text[i]))
			putchar('\\');
		putchar(text[i]);
	}
	putchar('\n');
}

/* What words of usage stand for. */
static const struct {
	const char *metavar, *kind;
	unsigned bit; /* of the kind */
} names[] = {
	{ "WHAT", "what", 1 },	     { "FROM", "what", 1 },   { "TO", "what", 1 },
	{ "NODE", "what", 1 },	     { "HOST", "host", 2 },   { "LEAF", "leaf", 4 },
	{ "SWITCH", "switch", 8 },   { "KIND", "event", 16 }, { "MLID", "group", 32 },
	{ "NAME", "partition", 64 },
};

static void offer_kind(const struct offers *offers, const char *kind)
{
	struct fmctl_answer answer = fmctl_ask(
		offers->ctl, "names", json_pack("{ss ss}", "kind", kind, "prefix", offers->word));
	const json_t *name;
	size_t i;

	json_array_foreach (answer.result, i, name)
		if (json_is_string(name))
			offer_text(offers, json_string_value(name), json_string_length(name));
	json_decref(answer.result);
}

/* offers names that fmd knows. metavar: of the usage: HOST, WHAT, LEAF|SWITCH. */
static void offer_names(const struct offers *offers, const char *metavar, size_t len)
{
	const char *end = metavar + len;

	while (metavar < end) {
		size_t part = strcspn(metavar, "| []\n=.");

		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (strlen(names[i].metavar) == part &&
			    !strncmp(names[i].metavar, metavar, part) &&
			    !(*offers->asked & names[i].bit)) {
				*offers->asked |= names[i].bit;
				offer_kind(offers, names[i].kind);
			}
		metavar += part + 1;
	}
}

static void offer(const struct offers *offers, const char *text)
{
	offer_text(offers, text, strlen(text));
}

/* ---- Ahead of the command -------------------------------------------------------------------- */

static void offer_commands(const struct offers *offers)
{
	for (const struct command *command = fmctl_commands(); command->name; command++)
		if (command->help)
			offer(offers, command->name);
}

/* ---- Usage ----------------------------------------------------------------------------------- */

/* The next piece of usage, cut at blanks and brackets: "--format", "text|json|svg", "WHAT". */
static const char *next_piece(const char *at, size_t *len)
{
	at += strspn(at, " []\n");
	*len = strcspn(at, " []\n");
	return *len ? at : NULL;
}

/* To be typed as it stands. */
static bool is_literal(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (isupper((unsigned char)text[i]) || strchr(",.:=", text[i]))
			return false;
	return len > 1;
}

/* An option of the command's row is offered by that. */
static bool is_of_row(const struct command *command, const char *text, size_t len)
{
	const struct command_option *option;

	for (unsigned i = 0; len > 2 && (option = command_option_at(command, i)); i++)
		if (strlen(option->name) == len - 2 && !strncmp(option->name, text + 2, len - 2))
			return true;
	return false;
}

static bool has_alternative(const char *piece, size_t len, const char *option)
{
	const char *end = piece + len;

	while (piece < end) {
		size_t part = strcspn(piece, "| []\n");

		if (part == strlen(option) && !strncmp(piece, option, part))
			return true;
		piece += part + 1;
	}
	return false;
}

/* What follows in the same bracket, and is no alternative. */
static const char *value_of(const char *piece, size_t *len)
{
	if (*piece != '-' || piece[*len] != ' ' || strchr("|[", piece[*len + 1]))
		return NULL;
	return next_piece(piece + *len, len);
}

/* Literals and names. */
static void offer_piece(const struct offers *offers, const struct command *command,
			const char *piece, size_t len)
{
	/* Of "--fail|--cordon", "logs": each alternative. */
	for (const char *at = piece, *end = piece + len; at < end;) {
		size_t part = strcspn(at, "| []\n");

		if (is_literal(at, part) && !is_of_row(command, at, part))
			offer_text(offers, at, part);
		at += part + 1;
	}
	if (len == strlen("COMMAND") && !strncmp(piece, "COMMAND", len))
		offer_commands(offers);
	else
		offer_names(offers, piece, len);
}

/* Offers values for the option before the word, if the usage has some. */
static bool offer_usage_value(const struct offers *offers, const struct command *command,
			      const char *usage, const char *before)
{
	const char *piece, *value;
	size_t len, value_len;

	for (piece = usage; before && (piece = next_piece(piece, &len)); piece += len) {
		value_len = len;
		value = value_of(piece, &value_len);
		if (value && has_alternative(piece, len, before)) {
			offer_piece(offers, command, value, value_len);
			return true;
		}
	}
	return false;
}

static void offer_usage(const struct offers *offers, const struct command *command,
			const char *usage)
{
	const char *piece, *value;
	size_t len, value_len;

	for (piece = usage; (piece = next_piece(piece, &len)); piece += len) {
		/* "fmctl generate pgft ..": its first words are typed already. */
		bool begins_line = len == strlen("fmctl") && !strncmp(piece, "fmctl", len);

		value_len = len;
		value = begins_line ? next_piece(piece + len, &value_len)
				    : value_of(piece, &value_len);
		if (!begins_line)
			offer_piece(offers, command, piece, len);
		if (value) {
			piece = value;
			len = value_len;
		}
	}
}

/*
 * The part of a usage text that tells arguments: behind the command's name, in each of its lines
 * the same.
 */
static const char *arguments_of(const struct command *command)
{
	const char *name =
		command->view->usage ? strstr(command->view->usage, command->name) : NULL;

	return name ? name + strlen(command->name) : command->arguments;
}

/* ---- The row --------------------------------------------------------------------------------- */

/* The value of the option before, if it is one of the row that takes one. */
static bool offer_value(const struct offers *offers, const struct command *command,
			const char *before)
{
	const struct command_option *option;

	for (unsigned i = 0; before && (option = command_option_at(command, i)); i++) {
		/* `before`: --name, or the option's letter. */
		if (!option->value ||
		    !((!strncmp(before, "--", 2) && !strcmp(option->name, before + 2)) ||
		      (option->letter && before[0] == '-' && before[1] == option->letter &&
		       !before[2])))
			continue;
		if (!strcmp(option->name, "sort")) {
			/*
			 * By their keys in JSON, which have no blanks; in capitals they stand in
			 * the table.
			 */
			const char *down = *offers->word == '-' ? "-" : "";
			char name[64];

			for (const struct table_column *column = command->columns; column->title;
			     column++) {
				snprintf(name, sizeof(name), "%s%.*s", down,
					 (int)strcspn(column->key, "+/["), column->key);
				offer(offers, name);
			}
		} else
			offer_piece(offers, command, option->value, strlen(option->value));
		return true;
	}
	return false;
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void complete(const struct offers *asked, int count, char **words)
{
	struct fmctl ctl = *asked->ctl;
	struct offers mine = *asked, *offers = &mine;
	static const char *const globals[] = { "--json", "--socket", "--timeout", "--help",
					       "--version" };
	const struct command_option *option;
	unsigned kinds = 0;
	char name[64];
	int at = 0;

	/* The command among the words of a line; count = it is not typed yet. */
	for (; at < count && words[at][0] == '-'; at++) {
		bool socket = !strcmp(words[at], "-s") || !strcmp(words[at], "--socket");

		if (socket && at + 1 < count)
			ctl.socket = words[at + 1];
		at += socket || !strcmp(words[at], "--timeout");
	}

	const struct command *command = at < count ? fmctl_command_find(words[at]) : NULL;
	const char *before = count > at + 1 ? words[count - 1] : NULL;

	offers->ctl = &ctl;
	offers->asked = &kinds;
	ctl.command = command;
	if (at >= count) {
		offer_commands(offers);
		for (size_t i = 0; i < sizeof(globals) / sizeof(globals[0]); i++)
			offer(offers, globals[i]);
		return;
	}
	if (!command || offer_value(offers, command, before) ||
	    offer_usage_value(offers, command, arguments_of(command), before))
		return;
	for (unsigned i = 0; (option = command_option_at(command, i)); i++) {
		snprintf(name, sizeof(name), "%s%s", option->name[1] ? "--" : "-", option->name);
		offer(offers, name);
	}
	offer_usage(offers, command, arguments_of(command));
}

void fmctl_complete(const struct fmctl *ctl, int count, char **words)
{
	struct offers offers = { .ctl = ctl, .word = "" };

	complete(&offers, count, words);
}

/* ---- A line as it stands --------------------------------------------------------------------- */

#define WORDS_MAX 256

struct line {
	char *text; /* the words without quotes, one behind the other, each with its NUL */
	char *words[WORDS_MAX];
	int count;
	char quote;  /* that is open at the end, 0 = none */
	size_t skip; /* of the last word: up to the last ':' or '=' outside of quotes */
};

/* A character that is a part of a word; `bare`: outside of quotes, and not escaped. */
static void take_char(struct line *line, char **to, char c, bool bare)
{
	*(*to)++ = c;
	if (bare && (c == ':' || c == '='))
		line->skip = (size_t)(*to - line->words[line->count]);
}

void fmctl_complete_line(const struct fmctl *ctl, const char *text)
{
	struct line line = { .text = mem_alloc(strlen(text) + 2, 1) };
	struct offers offers = { .ctl = ctl };
	char *to = line.text, *value;
	bool inside = false;

	/* As a shell reads it; the last word is what is being typed, and may be empty. */
	line.words[0] = to;
	for (; *text; text++) {
		if (line.quote && *text == line.quote) {
			line.quote = 0;
		} else if (*text == '\\' && line.quote != '\'' && text[1]) {
			take_char(&line, &to, *++text, false);
		} else if (!line.quote && (*text == '\'' || *text == '"')) {
			line.quote = *text;
		} else if (!line.quote && (*text == ' ' || *text == '\t')) {
			if (inside) {
				*to++ = '\0';
				line.count += line.count + 2 < WORDS_MAX;
				line.words[line.count] = to;
				line.skip = 0;
			}
			inside = false;
			continue;
		} else {
			take_char(&line, &to, *text, !line.quote);
		}
		inside = true;
	}
	*to = '\0';
	/* `--leaf=spi` is completed as `--leaf spi`. */
	offers.word = line.words[line.count];
	value = strchr(offers.word, '=');
	if (!strncmp(offers.word, "--", 2) && value && line.count + 2 < WORDS_MAX) {
		size_t len = (size_t)(value + 1 - offers.word);

		*value = '\0';
		offers.word = line.words[++line.count] = value + 1;
		line.skip = line.skip > len ? line.skip - len : 0;
	}
	offers.skip = line.skip;
	offers.bare = !line.quote;
	if (line.count)
		complete(&offers, line.count - 1, line.words + 1);
	free(line.text);
}
