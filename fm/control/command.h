/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * command: what an operator can ask for. Each command is one row of commands.def, and that list is
 * the table of fmd (command.c), of fmctl (fm/fmctl/commands.c) and of http. A row:
 *
 *   COMMAND(name, arguments, help, run, view, members of struct command..)
 *
 * `run` is what fmd does (a struct command_run, see answer.h), `view` what fmctl does (a struct
 * fmctl_view, see fm/fmctl/fmctl.h): each program sees its own and leaves the other out. By
 * `words`, `flag`, `filters` and `options` fmctl makes the request of what was typed, and http that
 * of a query (option.h); by `columns` fmctl prints the answer's rows, and rows are sorted. A
 * command that is no more than that needs no code in fmctl. Usage, help and bash's completion are
 * made of the row; a test holds the manual page to the list.
 */
#pragma once

#include <stdbool.h>

#define COMMAND_WORDS 6

struct command_run;
struct fmctl_view;

/* Of rows, as people read them; at most 16 in a table, and the last has no title. */
struct table_column {
	const char *title;
	/*
	 * "a.name": member `name` of member `a`; "a/b": two numbers, as 7/8; "a[]": texts, one
	 * behind the other (of any other list its length); "su+1": JSON counts from 0, people do
	 * from 1
	 */
	const char *key;
};
/* Rows of that struct, and one behind them that is all 0. */
#define ROWS_OF(type, ...)                                                                         \
	(const struct type[])                                                                      \
	{                                                                                          \
		__VA_ARGS__,                                                                       \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}
#define COLUMNS(...) ROWS_OF(table_column, __VA_ARGS__)

/* `--name VALUE` as typed, `name=VALUE` in a query; an argument of the request by the same name. */
struct command_option {
	const char *name;
	const char
		*value;	  /* in usage: a word in capitals, or `one|of|these`; NULL = a flag: true */
	const char *help; /* half a sentence */
	bool number;	  /* an integer */
	int least;	  /* the smallest one */
	int most;	  /* the largest one; 0 = there is no limit */
	char letter;	  /* typed as -n, too; 0 = none */
	const char *key;  /* of the argument, where that has another name */
};
/* OPTION(name, value, help, further members ..) */
#define OPTION(name_, value_, help_, ...)                                                          \
	{                                                                                          \
		.name = name_, .value = value_, .help = help_, __VA_ARGS__                         \
	}
#define OPTIONS(...) ROWS_OF(command_option, __VA_ARGS__)

/*
 * Which rows a list is asked for (filter.h); they combine. A command with filters has one optional
 * word too, "what": whose rows.
 */
enum command_filter {
	FILTER_LEAF = 1 << 0,
	FILTER_RAIL = 1 << 1,
	FILTER_SU = 1 << 2,
	FILTER_HOST = 1 << 3,
	FILTER_DOWN = 1 << 4,
	FILTER_UNHEALTHY = 1 << 5,
	FILTER_CLASS = 1 << 6,
	FILTERS_PLACE = FILTER_LEAF | FILTER_RAIL | FILTER_SU | FILTER_HOST | FILTER_CLASS,
};

struct command {
	const char *name;      /* in the request, and typed */
	const char *arguments; /* as usage shows them */
	const char *help;      /* NULL = not typed: fmctl asks it on behalf of another command */
	/* keys of those arguments that are words, in their order */
	const char *words[COMMAND_WORDS];
	bool words_optional; /* the last of them, or all, may be left away */
	const char *flag;    /* `--flag` makes this argument true, else it is false; NULL = none */
	bool read_only;	     /* changes nothing: also for those who may only look */
	bool live;	     /* on a terminal fmctl repeats it, as with --watch */
	bool offline;	     /* fmctl does it without fmd */
	bool flag_operates;  /* it only shows, unless the flag is given: then it is an act */
	unsigned filters;    /* of enum command_filter */
	const struct command_option *options; /* further ones, of its own; NULL = none */
	/* http serves it: the format it asks for, "" = there is but one; NULL = it does not */
	const char *document;
	const struct table_column
		*columns;	       /* of its rows, which can be sorted; NULL = it has none */
	const char *rows;	       /* the key of the rows; NULL = the answer is these */
	bool in_order;		       /* the rows are in the one order that they can have */
	unsigned optional_columns;     /* so many of the last are left out where no row has them */
	const struct command_run *run; /* in fmd */
	const struct fmctl_view *view; /* in fmctl */
	const char *fails_when;	       /* exit code 1 of fmctl has this meaning too; NULL = none */
};
