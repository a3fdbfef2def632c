/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * command: what an operator can ask for. Each command is one row of commands.def, and that list is
 * the table of fmd (command.c), of fmctl (fm/fmctl/commands.c) and of http. A row:
 *
 *   COMMAND(name, arguments, help, run, view, members of struct command..)
 *
 * `run` is what fmd does (a struct command_run, see answer.h), `view` what fmctl does (a struct
 * fmctl_view, see fm/fmctl/fmctl.h): each program sees its own and leaves the other out. By `words`
 * and `flag` fmctl makes the request of what was typed, and by `columns` it prints the answer's
 * rows; a command that is no more than that needs no code in fmctl. Usage, `fmctl --help` and
 * bash's completion are made of `arguments`; a test holds the manual page and README to the list.
 */
#ifndef FMD_CONTROL_COMMAND_H
#define FMD_CONTROL_COMMAND_H

#include <stdbool.h>

#define COMMAND_WORDS 6

struct command_run;
struct fmctl_view;
struct table_column;

struct command {
	const char *name;      /* in the request, and typed */
	const char *arguments; /* as usage shows them */
	const char *help;      /* NULL = not typed: fmctl asks it on behalf of another command */
	/* keys of those arguments that are words, in their order */
	const char *words[COMMAND_WORDS];
	bool words_optional; /* all of them may be left away */
	const char *flag;    /* `--flag` makes this argument true, else it is false; NULL = none */
	bool looks;	     /* changes nothing: also for those who may only look */
	bool flag_acts;	     /* .. unless the flag is given: then it is an act */
	/* http serves it: the format it asks for, "" = there is but one; NULL = it does not */
	const char *document;
	const struct command_run *run; /* in fmd */

	/* in fmctl */
	const struct fmctl_view *view;
	const struct table_column
		*columns;	   /* for views that print rows; a title of NULL ends them */
	const char *rows;	   /* the key of the rows; NULL = the answer is these */
	unsigned optional_columns; /* so many of the last are left out where no row has them */
};

#endif
