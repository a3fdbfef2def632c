/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fmctl: the operators' program. It uses fmd's control socket, or works on files alone.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include "fm/control/option.h"

enum fmctl_exit { FMCTL_DONE = 0, FMCTL_FAILED = 1, FMCTL_USAGE = 2, FMCTL_NO_DAEMON = 3 };

struct fmctl {
	const char *socket;
	unsigned timeout_s;		/* without any answer or sign of progress; 0 = none */
	bool json;			/* one document instead of tables */
	bool csv;			/* rows with commas instead of a table */
	const char *only;		/* columns, by commas; NULL = as the command has them */
	unsigned lines;			/* of events, the newest; 0 = all */
	bool terminal;			/* stdout is a terminal */
	unsigned columns;		/* that it has; 0 = any number */
	bool colour;			/* stdout is one that shows colours */
	const struct command *commands; /* all of them; a name of NULL ends them */
	const struct command *command;	/* the one that runs */
	bool given;			/* its words or its flag were given */
	bool judged; /* its exit code is what was found, as monitoring has it: no usage */
};

typedef void fmctl_show_fn(const struct fmctl *ctl, const json_t *result);
/* argv[0] is the command's name; getopt starts anew. */
typedef enum fmctl_exit fmctl_command_fn(const struct fmctl *ctl, int argc, char **argv);
typedef enum fmctl_exit fmctl_verdict_fn(const struct fmctl *ctl, const json_t *result);

struct fmctl_view {		   /* what fmctl does for a row of commands.def */
	fmctl_show_fn *show;	   /* prints the answer for people; NULL = show_answer() */
	fmctl_verdict_fn *verdict; /* the exit code by the answer; NULL = fmctl_was_saved() */
	/* runs instead of all that, with its own arguments; FMCTL_USAGE = the usage is printed */
	fmctl_command_fn *run;
	const char *usage; /* of a `run` that needs no fmd and prints its usage itself */
};

/* commands.c: all commands, ended by a name of NULL; NULL = no such command. */
extern const struct command fmctl_commands[];
const struct command *fmctl_command_find(const char *name);
/* Runs a command with its arguments, argv[0] its name; returns the exit code. */
enum fmctl_exit fmctl_command_run(const struct fmctl *ctl, const struct command *command, int argc,
				  char **argv);

/*
 * help.c: reads the options of the command's row, and its flag, into args. Returns the index of
 * the first word in argv; -1 = wrong usage, with a message on stderr.
 */
int fmctl_read_options(const struct command *command, int argc, char **argv, json_t *args);

/* Whether the command's table has these columns, by commas; false = stderr has the reason. */
bool fmctl_has_columns(const struct command *command, const char *columns);
/* Whether the text is a value of that word of usage (option.h); false with the reason on stderr. */
bool fmctl_is_value(const struct fmctl *ctl, const char *word, const char *text);

/* help.c: prints all commands, or one with its options, columns and exit codes. */
void fmctl_print_help(const struct fmctl *ctl, FILE *out);
void fmctl_print_command(const struct command *command);
/* Names the commands that are near to an unknown one, on standard error. */
void fmctl_refuse_command(const struct fmctl *ctl, const char *name);

/* table.c: prints `fmctl: NAME: reason` on standard error. */
enum fmctl_exit fmctl_fail(const char *name, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

struct fmctl_answer {
	enum fmctl_exit status; /* if not DONE, the reason is on stderr */
	json_t *result;		/* DONE: the caller owns it */
};
/* ask.c: these send one request. All take the reference of args. */
struct fmctl_answer fmctl_ask(const struct fmctl *ctl, const char *cmd, json_t *args);
/* Shows the answer and then each event as it comes, until fmd ends or the output does. */
enum fmctl_exit fmctl_ask_events(const struct fmctl *ctl, json_t *args, fmctl_show_fn *show);

/* Sends one request and shows the answer. Takes args. */
enum fmctl_exit fmctl_ask_and_show(const struct fmctl *ctl, const char *cmd, json_t *args,
				   fmctl_show_fn *show);
/* DONE if what a command changed is saved in state_dir; else FAILED, with a message on stderr. */
enum fmctl_exit fmctl_was_saved(const char *cmd, const json_t *result);

/* show.c, table.c: print documents for people, to stdout; show_answer() the command's own. */
fmctl_show_fn show_json, show_csv, show_text, show_answer;
/* By its row in documents.def; without one the command's columns, or `key value` a line. */
void show_document(const struct fmctl *ctl, const char *name, const json_t *result);
/* ---- table.c: reads JSON, and prints it to stdout ---- */

/* Prints the rows, an array; `columns` end with a row whose title is NULL. */
void table_print(const struct fmctl *ctl, const json_t *rows, const struct table_column *columns);

/*
 * What an answer holds by that way ("a.name"): 0, "" and false where there is no such value. A text
 * is the answer's and valid as long.
 */
long long table_int(const json_t *object, const char *key);
const char *table_text(const json_t *object, const char *key);
bool table_is(const json_t *object, const char *key);
