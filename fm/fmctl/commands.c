/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * commands: fmctl's table of commands, and how one runs by its row alone: the words and the flag
 * that were typed make the request, the answer goes to the row's view. Views with a `run` of their
 * own do all that themselves.
 */
#include <getopt.h>
#include <string.h>
#include "fm/fmctl/fmctl.h"
#include "fm/fmctl/table.h"

#define COLUMNS(...)                                                                               \
	(const struct table_column[])                                                              \
	{                                                                                          \
		__VA_ARGS__,                                                                       \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}
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

/* The one long flag a command knows: 1 = given, 0 = not, -1 = something else is there. */
static int read_flag(int argc, char **argv, const char *name)
{
	const struct option longs[] = { { name, no_argument, NULL, 'f' }, { 0 } };
	int given = 0, c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c != 'f')
			return -1;
		given = 1;
	}
	return optind == argc ? given : -1;
}

static int count_words(const struct command *command)
{
	int count = 0;

	while (count < COMMAND_WORDS && command->words[count])
		count++;
	return count;
}

/* What is asked with the words or the flag of the row; false = it is not so used. */
static bool read_arguments(const struct command *command, int argc, char **argv, json_t *args,
			   bool *given)
{
	int words = count_words(command), flag;

	if (command->flag) {
		flag = read_flag(argc, argv, command->flag);
		*given = flag > 0;
		json_object_set_new(args, command->flag, json_boolean(flag > 0));
		return flag >= 0;
	}
	*given = argc > 1;
	if (argc == 1 && command->words_optional)
		return true;
	for (int i = 0; i < words && i + 1 < argc; i++)
		json_object_set_new(args, command->words[i], json_string(argv[i + 1]));
	return argc == words + 1;
}

static enum fmctl_exit run_by_row(struct fmctl *ctl, int argc, char **argv)
{
	const struct command *command = ctl->command;
	struct fmctl_answer answer = { .status = FMCTL_USAGE };
	json_t *args = json_object();

	if (read_arguments(command, argc, argv, args, &ctl->given))
		answer = fmctl_ask(ctl, command->name, json_incref(args));
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
