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
	{ 0 },
};

const struct fmctl_view no_view = { 0 };

const struct command *fmctl_commands(void)
{
	return commands;
}

const struct command *fmctl_command_find(const char *name)
{
	for (const struct command *c = commands; c->name; c++)
		if (!strcmp(c->name, name) && c->help)
			return c;
	return NULL;
}

static int count_words(const struct command *command)
{
	int count = 0;

	while (count < COMMAND_WORDS && command->words[count])
		count++;
	return count;
}

/* ---- By the row alone ------------------------------------------------------------------------ */

/* What is asked, by the row; false = the command is not so used. */
static bool read_arguments(const struct fmctl *ctl, int argc, char **argv, json_t *args)
{
	const struct command *command = ctl->command;
	int first = fmctl_read_options(command, argc, argv, args), words = count_words(command);

	if (first < 0 || (argc - first != words && (argc != first || !command->words_optional)))
		return false;
	for (int i = 0; first + i < argc; i++) {
		if (!fmctl_is_value(ctl, command->words[i], argv[first + i]))
			return false;
		json_object_set_new(args, command->words[i], json_string(argv[first + i]));
	}
	return true;
}

static enum fmctl_exit run_by_row(struct fmctl *ctl, int argc, char **argv)
{
	const struct command *command = ctl->command;
	struct fmctl_answer answer = { .status = FMCTL_USAGE };
	json_t *args = json_object();

	if (read_arguments(ctl, argc, argv, args)) {
		ctl->given = command->flag ? json_is_true(json_object_get(args, command->flag))
					   : optind < argc;
		answer = fmctl_ask(ctl, command->name, json_incref(args));
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
	char name[64]; /* getopt's messages begin with it */

	run.command = command;
	snprintf(name, sizeof(name), "fmctl: %s", command->name);
	argv[0] = name;
	optind = 0; /* getopt starts anew */
	status = command->view->run ? command->view->run(&run, argc, argv)
				    : run_by_row(&run, argc, argv);
	if (status == FMCTL_USAGE && !command->view->usage)
		fprintf(stderr, "usage: fmctl %s%s%s\n", command->name,
			*command->arguments ? " " : "", command->arguments);
	return status;
}
