/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * help: what was typed behind a command is read by its row, and so is its help: usage, options,
 * columns and exit codes.
 */
#include <getopt.h>
#include "fm/control/option.h"
#include "fm/fmctl/fmctl.h"
#include "topology/base/mem.h"
#include "topology/base/names.h"

/* ---- What was typed behind a command, by the options of its row ------------------------------ */

enum { FLAG = COMMAND_OPTIONS_MAX }; /* beside the indices of options */

/* The name of a column is checked here, ahead of asking. */
static bool has_column(const struct command *command, const char *name)
{
	struct near_names near = { 0 };
	char why[160];

	if (command_column_find(command, name))
		return true;
	for (const struct table_column *c = command->columns; c && c->title; c++)
		near_names_add(&near, name, c->title);
	array_printf(why, "unknown column %.40s", name);
	near_names_say(&near, why, sizeof(why));
	fmctl_fail(command->name, "%s; see fmctl help %s", why, command->name);
	return false;
}

bool fmctl_has_columns(const struct command *command, const char *columns)
{
	char *names = mem_strdup(columns), *rest = names, *name;
	bool all = true;

	while (all && (name = strsep(&rest, ",")))
		all = has_column(command, name);
	free(names);
	return all;
}

bool fmctl_is_value(const struct fmctl *ctl, const char *word, const char *text)
{
	char err[256];

	if (value_check(word, text, err, sizeof(err)))
		return true;
	fmctl_fail(ctl->command->name, "%s", err);
	return false;
}

int fmctl_read_options(const struct command *command, int argc, char **argv, json_t *args)
{
	struct option longs[COMMAND_OPTIONS_MAX + 2] = { 0 };
	char letters[2 * COMMAND_OPTIONS_MAX + 1] = "", *letter = letters, err[256];
	const struct command_option *option;
	unsigned count = 0;
	int c;

	for (; (option = command_option_at(command, count)) && count < COMMAND_OPTIONS_MAX;
	     count++) {
		longs[count] = (struct option){ option->name,
						option->value ? required_argument : no_argument,
						NULL, (int)count + 1 };
		if (option->letter)
			*letter++ = option->letter;
		if (option->letter && option->value)
			*letter++ = ':';
	}
	if (command->flag)
		longs[count] = (struct option){ command->flag, no_argument, NULL, FLAG + 1 };
	while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		/* What getopt gives is an index and one, or a letter. */
		for (int i = 0; (option = command_option_at(command, i)); i++)
			if (i + 1 == c || (option->letter && option->letter == c))
				break;
		if (c == FLAG + 1) {
			json_object_set_new(args, command->flag, json_true());
		} else if (!option || (!strcmp(option->name, "sort") &&
				       !has_column(command, optarg + (*optarg == '-')))) {
			return -1;
		} else if (command_option_put(option, optarg, args, err, sizeof(err))) {
			fmctl_fail(command->name, "%s%s", option->name[1] ? "--" : "-", err);
			return -1;
		}
	}
	return optind;
}

/* ---- Help ------------------------------------------------------------------------------------ */

#define INDENT 28
#define WIDTH  100

void fmctl_print_help(const struct fmctl *ctl, FILE *out)
{
	fputs("usage: fmctl [-s SOCKET] [--timeout SECONDS] [--json | --csv] COMMAND ...\n\n", out);
	for (const struct command *c = ctl->commands; c->name; c++) {
		int used;

		if (!c->help)
			continue;
		used = fprintf(out, "  %s %s", c->name, c->arguments);
		if (used > INDENT - 2)
			used = fprintf(out, "\n") - 1;
		fprintf(out, "%*s%s\n", INDENT - used, "", c->help);
	}
	fputs("\n"
	      "  --timeout SECONDS         give up after so long without an answer (default 10; 0 "
	      "= never)\n"
	      "  --json                    JSON output; may be given anywhere\n"
	      "  --csv                     the table as CSV, a line a row; may be given anywhere\n"
	      "  --columns NAME,NAME..     these columns of a table, by title or JSON key\n"
	      "  --watch [SECONDS]         repeat a read-only command (default: every 2 s)\n"
	      "\nplan, generate, import-opensm and help need no fmd. See fmctl help COMMAND and "
	      "fmctl(1).\n",
	      out);
}

static void print_option(const struct command_option *option)
{
	bool letter = option->letter && !option->name[1];
	int used = letter ? printf("  -%c", option->letter) : printf("  --%s", option->name);

	if (option->letter && !letter)
		used += printf(", -%c", option->letter);
	if (option->value)
		used += printf(" %s", option->value);
	if (used > INDENT - 2)
		used = printf("\n") - 1;
	printf("%*s%s\n", INDENT - used, "", option->help);
}

void fmctl_print_command(const struct command *command)
{
	if (command->view->usage)
		fputs(command->view->usage, stdout);
	else
		printf("usage: fmctl %s%s%s\n", command->name, *command->arguments ? " " : "",
		       command->arguments);
	printf("\n%s\n", command->help);
	if (!command->view->usage) {
		const struct command_option *option;

		puts("\noptions:");
		for (unsigned i = 0; (option = command_option_at(command, i)); i++)
			print_option(option);
		if (command->read_only && !command->offline)
			print_option(
				&(struct command_option){ .name = "watch",
							  .value = "[SECONDS]",
							  .help = "repeat (default: every 2 s)" });
		print_option(&(struct command_option){ .name = "json", .help = "JSON output" });
		if (!command->offline)
			puts("  (before the command: -s SOCKET, --timeout SECONDS: default 10, 0 = "
			     "never)");
	}

	const struct table_column *column = command->columns;
	int used = 0;

	if (column) {
		printf("\ncolumns, with their keys in JSON%s%s%s:\n",
		       command->rows ? " (rows of \"" : "", command->rows ? command->rows : "",
		       command->rows ? "\")" : "");
		for (; column->title; column++) {
			int key = strcspn(column->key, "+");
			int length = (int)strlen(column->title) + key + 5;

			if (used && used + length > WIDTH) {
				putchar('\n');
				used = 0;
			}
			used += printf("%s%s (%.*s)%s", used ? " " : "  ", column->title, key,
				       column->key, column[1].title ? "," : "");
		}
		putchar('\n');
	}

	printf("\nexit codes:\n  0  done\n  1  refused or failed, with the reason on stderr%s%s\n"
	       "  2  wrong usage\n",
	       command->fails_when ? "; also when " : "",
	       command->fails_when ? command->fails_when : "");
	if (!command->offline)
		puts("  3  no fmd listens on the socket");
	if (strstr(command->arguments, "WHAT") || command->filters)
		puts("\nWHAT is a host, a node or NODE:PORT, by name, GUID or LID: see fmctl(1).");
}

void fmctl_refuse_command(const struct fmctl *ctl, const char *name)
{
	struct near_names near = { 0 };
	char text[160];

	for (const struct command *c = ctl->commands; c->name; c++)
		if (c->help)
			near_names_add(&near, name, c->name);
	array_printf(text, "unknown command %.60s", name);
	near_names_say(&near, text, sizeof(text));
	fprintf(stderr, "fmctl: %s; see fmctl --help\n", text);
}

static enum fmctl_exit run_help(const struct fmctl *ctl, int argc, char **argv)
{
	const struct command *c = ctl->commands;

	if (argc < 2)
		fmctl_print_help(ctl, stdout);
	while (argc == 2 && c->name && (!c->help || strcmp(c->name, argv[1])))
		c++;
	if (argc == 2 && c->name)
		fmctl_print_command(c);
	else if (argc == 2)
		fmctl_refuse_command(ctl, argv[1]);
	return argc > 2 || !c->name ? FMCTL_USAGE : FMCTL_DONE;
}
const struct fmctl_view help_view = { .run = run_help };
