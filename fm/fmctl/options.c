/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* options: what was typed behind a command, by the options of its row. */
#include <getopt.h>
#include <string.h>
#include "fm/fmctl/fmctl.h"
#include "topology/base/names.h"
#include "fm/control/option.h"
#include "fm/control/value.h"

enum { FLAG = COMMAND_OPTIONS_MAX }; /* beside the indices of options */

struct typed { /* what getopt is to know of a command */
	struct option longs[COMMAND_OPTIONS_MAX + 2];
	char letters[2 * COMMAND_OPTIONS_MAX + 1];
};

static void list_options(const struct command *command, struct typed *typed)
{
	const struct command_option *option;
	unsigned count = 0;
	char *letter = typed->letters;

	for (; (option = command_option_at(command, count)) && count < COMMAND_OPTIONS_MAX;
	     count++) {
		typed->longs[count] =
			(struct option){ option->name,
					 option->value ? required_argument : no_argument, NULL,
					 (int)count + 1 };
		if (option->letter)
			*letter++ = option->letter;
		if (option->letter && option->value)
			*letter++ = ':';
	}
	if (command->flag)
		typed->longs[count] = (struct option){ command->flag, no_argument, NULL, FLAG + 1 };
}

/* c: as getopt gave it, an index and one or a letter. */
static const struct command_option *option_of(const struct command *command, int c)
{
	const struct command_option *option;

	for (unsigned i = 0; (option = command_option_at(command, i)); i++)
		if ((int)i + 1 == c || (option->letter && option->letter == c))
			return option;
	return NULL;
}

/* The name of a column is told here, ahead of asking. */
static bool is_sortable(const struct command *command, const struct command_option *option,
			const char *text)
{
	struct near_names near = { 0 };
	const char *name;
	char why[160];

	if (strcmp(option->name, "sort"))
		return true;
	name = text + (*text == '-');
	if (command_column_find(command, name))
		return true;
	for (const struct table_column *c = command->columns; c && c->title; c++)
		near_names_add(&near, name, c->title);
	snprintf(why, sizeof(why), "unknown column %.40s", name);
	near_names_say(&near, why, sizeof(why));
	fprintf(stderr, "fmctl: %s: %s; see fmctl help %s\n", command->name, why, command->name);
	return false;
}

bool fmctl_is_value(const struct fmctl *ctl, const char *word, const char *text)
{
	char err[256];

	if (value_check(word, text, err, sizeof(err)))
		return true;
	fprintf(stderr, "fmctl: %s: %s\n", ctl->command->name, err);
	return false;
}

int fmctl_read_options(const struct command *command, int argc, char **argv, json_t *args)
{
	struct typed typed = { 0 };
	char err[256];
	int c;

	list_options(command, &typed);
	while ((c = getopt_long(argc, argv, typed.letters, typed.longs, NULL)) != -1) {
		const struct command_option *option = c == '?' ? NULL : option_of(command, c);

		if (c == FLAG + 1) {
			json_object_set_new(args, command->flag, json_true());
		} else if (!option || !is_sortable(command, option, optarg)) {
			return -1;
		} else if (command_option_put(option, optarg, args, err, sizeof(err))) {
			fprintf(stderr, "fmctl: %s: %s%s\n", command->name,
				option->name[1] ? "--" : "-", err);
			return -1;
		}
	}
	return optind;
}
