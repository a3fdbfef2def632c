/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * commands: fmctl's table of commands, and how one runs by its row alone: the words and the options
 * that were typed make the request, the answer goes to the row's view. Views with a `run` of their
 * own do all that themselves.
 */
#include <getopt.h>
#include <string.h>
#include "fm/control/option.h"
#include "fm/fmctl/fmctl.h"

#define COMMAND(name_, arguments_, help_, run_, view_, ...) extern const struct fmctl_view view_;
#include "fm/control/commands.def"
#undef COMMAND

static const struct command commands[] = {
#define COMMAND(name_, arguments_, help_, run_, view_, ...)                                        \
	{ .name = name_, .arguments = arguments_, .help = help_, .view = &(view_), __VA_ARGS__ },
#include "fm/control/commands.def"
#undef COMMAND
};

const struct fmctl_view no_view = { 0 };

const struct command *fmctl_command_at(unsigned index)
{
	return index < sizeof(commands) / sizeof(commands[0]) ? &commands[index] : NULL;
}

const struct command *fmctl_command_find(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(commands[i].name, name) && commands[i].help)
			return &commands[i];
	return NULL;
}

static int count_words(const struct command *command)
{
	int count = 0;

	while (count < COMMAND_WORDS && command->words[count])
		count++;
	return count;
}

/* ---- What was typed -------------------------------------------------------------------------- */

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
	if (strcmp(option->name, "sort") || command_column_find(command, text + (*text == '-')))
		return true;
	fprintf(stderr, "fmctl: %s: no column %s; fmctl help %s names them\n", command->name, text,
		command->name);
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
			fprintf(stderr, "fmctl: %s: %s\n", command->name, err);
			return -1;
		}
	}
	return optind;
}

/* ---- By the row alone ------------------------------------------------------------------------ */

/* What is asked, by the row; false = the command is not so used. */
static bool read_arguments(const struct command *command, int argc, char **argv, json_t *args)
{
	int first = fmctl_read_options(command, argc, argv, args), words = count_words(command);

	if (first < 0)
		return false;
	for (int i = 0; i < words && first + i < argc; i++)
		json_object_set_new(args, command->words[i], json_string(argv[first + i]));
	return argc - first == words || (argc == first && command->words_optional);
}

/* What a flag makes an act of answers for all: what is asked beside it is a question of its own. */
static struct fmctl_answer ask_by_row(const struct fmctl *ctl, json_t *args)
{
	const struct command *command = ctl->command;
	struct fmctl_answer answer;

	if (!ctl->given || !command->flag_acts || json_object_size(args) == 1)
		return fmctl_ask(ctl, command->name, json_incref(args));
	answer = fmctl_ask(ctl, command->name, json_pack("{s:b}", command->flag, 1));
	if (answer.status != FMCTL_DONE)
		return answer;
	json_decref(answer.result);
	json_object_del(args, command->flag);
	return fmctl_ask(ctl, command->name, json_incref(args));
}

static enum fmctl_exit run_by_row(struct fmctl *ctl, int argc, char **argv)
{
	const struct command *command = ctl->command;
	struct fmctl_answer answer = { .status = FMCTL_USAGE };
	json_t *args = json_object();

	if (read_arguments(command, argc, argv, args)) {
		ctl->given = command->flag ? json_is_true(json_object_get(args, command->flag))
					   : optind < argc;
		answer = ask_by_row(ctl, args);
	}
	json_decref(args);
	if (answer.status == FMCTL_DONE) {
		(ctl->json ? show_json : command->view->show)(ctl, answer.result);
		answer.status = command->view->verdict
					? command->view->verdict(ctl, answer.result)
					: fmctl_was_saved(command->name, answer.result);
	}
	json_decref(answer.result);
	return answer.status;
}

enum fmctl_exit fmctl_command_run(const struct fmctl *ctl, const struct command *command, int argc,
				  char **argv)
{
	struct fmctl run = *ctl;
	enum fmctl_exit status;

	run.command = command;
	optind = 0; /* getopt starts anew */
	status = command->view->run ? command->view->run(&run, argc, argv)
				    : run_by_row(&run, argc, argv);
	if (status == FMCTL_USAGE && !command->view->usage)
		fprintf(stderr, "usage: fmctl %s%s%s\n", command->name,
			*command->arguments ? " " : "", command->arguments);
	return status;
}
