/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* command: fmd's table of commands. */
#include "fm/control/answer.h"
#include "topology/base/mem.h"

#define COMMAND(name_, arguments_, help_, run_, view_, ...) extern const struct command_run run_;
#include "fm/control/commands.def"
#undef COMMAND

const struct command fmd_commands[] = {
#define COMMAND(name_, arguments_, help_, run_, view_, ...)                                        \
	{ .name = name_, .arguments = arguments_, .help = help_, .run = &(run_), __VA_ARGS__ },
#include "fm/control/commands.def"
#undef COMMAND
	{ 0 },
};

const struct command_run no_run = { 0 };

const struct command *command_find(const char *name)
{
	const struct command *command = fmd_commands;

	while (command->name && (strcmp(command->name, name) || command->run == &no_run))
		command++;
	return command->name ? command : NULL;
}

bool command_is_operation(const struct command *command, json_t *args)
{
	const struct command_run *run = command->run;

	return (run->begin || run->act || run->begin_with) &&
	       (!command->flag_operates ||
		(command->flag && json_is_true(json_object_get(args, command->flag))));
}

void command_begin(const struct command *command, struct fabric *fabric, json_t *args,
		   fabric_done_fn *fn, void *arg)
{
	const struct command_run *run = command->run;
	const char *form = command->words_optional ? "{s?s}" : "{s:s}", *word = NULL;
	char err[COMMAND_ERROR_SIZE];

	if (run->begin)
		run->begin(fabric, fn, arg);
	else if (run->begin_with)
		run->begin_with(fabric, args, fn, arg);
	else if (command_unpack(args, err, form, command->words[0], &word))
		run->act(fabric, word, fn, arg);
	else
		fn(arg, NULL, err);
}

bool command_is_read_only(const struct command *command, json_t *args)
{
	return command->read_only && !(command->flag_operates && command->flag &&
				       json_is_true(json_object_get(args, command->flag)));
}

bool command_is_long(const struct command *command, json_t *args)
{
	unsigned most = command->run->long_count;
	const json_t *count = json_object_get(args, "count");

	return command->run->long_answer ||
	       (most && (count ? json_integer_value(count) > (json_int_t)most
			       : !!json_object_get(args, "since")));
}
