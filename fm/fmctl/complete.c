/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * complete: what bash may offer behind a line typed so far, read off the usage of the commands:
 * behind an option that takes a value the values that usage spells out, else the options and the
 * words that are to be typed as they stand. What usage has in capitals is the user's, and a file's
 * name is bash's own business.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "fm/control/option.h"
#include "fm/fmctl/fmctl.h"

static bool takes_value(const char *option)
{
	return !strcmp(option, "-s") || !strcmp(option, "--socket") || !strcmp(option, "--timeout");
}

/* Of the words of a line, the command's index; count = it is yet to be typed. */
static int find_command(int count, char **words)
{
	int i = 0;

	while (i < count && words[i][0] == '-')
		i += takes_value(words[i]) ? 2 : 1;
	return i < count ? i : count;
}

static void print_names(void)
{
	for (const struct command *command = fmctl_commands(); command->name; command++)
		if (command->help)
			puts(command->name);
	puts("--json\n--socket\n--timeout\n--help\n--version");
}

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

/* Of "--fail|--cordon", "logs": each alternative. */
static void print_literals(const struct command *command, const char *piece, size_t len)
{
	const char *end = piece + len;

	while (piece < end) {
		size_t part = strcspn(piece, "| []\n");

		if (is_literal(piece, part) && !is_of_row(command, piece, part))
			printf("%.*s\n", (int)part, piece);
		piece += part + 1;
	}
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

/* "fmctl generate pgft ..": its first words are typed already. */
static bool begins_line(const char *piece, size_t len)
{
	return len == strlen("fmctl") && !strncmp(piece, "fmctl", len);
}

static void print_arguments(const struct command *command, const char *usage, const char *before)
{
	const char *piece, *value;
	size_t len, value_len;

	for (piece = usage; (piece = next_piece(piece, &len)); piece += len) {
		value_len = len;
		value = value_of(piece, &value_len);
		if (value && before && has_alternative(piece, len, before)) {
			print_literals(command, value, value_len);
			return;
		}
	}
	for (piece = usage; (piece = next_piece(piece, &len)); piece += len) {
		value_len = len;
		value = begins_line(piece, len) ? next_piece(piece + len, &value_len)
						: value_of(piece, &value_len);
		if (!begins_line(piece, len))
			print_literals(command, piece, len);
		if (value) {
			piece = value;
			len = value_len;
		}
	}
}

/* `before`: --name, or the option's letter. */
static bool is_option(const struct command_option *option, const char *before)
{
	return (!strncmp(before, "--", 2) && !strcmp(option->name, before + 2)) ||
	       (option->letter && before[0] == '-' && before[1] == option->letter && !before[2]);
}

/* Of the row: the values that the option before spells out, if it takes one; true = it does. */
static bool print_options(const struct command *command, const char *before)
{
	const struct command_option *option;

	for (unsigned i = 0; before && (option = command_option_at(command, i)); i++) {
		if (!option->value || !is_option(option, before))
			continue;
		print_literals(command, option->value, strlen(option->value));
		return true;
	}
	for (unsigned i = 0; (option = command_option_at(command, i)); i++)
		printf("%s%s\n", option->name[1] ? "--" : "-", option->name);
	return false;
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

void fmctl_complete(int count, char **words)
{
	int at = find_command(count, words);
	const struct command *command = at < count ? fmctl_command_find(words[at]) : NULL;

	if (at == count)
		print_names();
	else if (command && !print_options(command, count > at + 1 ? words[count - 1] : NULL))
		print_arguments(command, arguments_of(command),
				count > at + 1 ? words[count - 1] : NULL);
}
