/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fmctl: the operators' program. It speaks to fmd by the control socket, or works on files alone.
 */
#ifndef FMD_FMCTL_H
#define FMD_FMCTL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include "fm/control/command.h"

enum fmctl_exit { FMCTL_DONE = 0, FMCTL_FAILED = 1, FMCTL_USAGE = 2, FMCTL_NO_DAEMON = 3 };

struct fmctl {
	const char *socket;
	unsigned timeout_s;		/* without any answer or sign of progress; 0 = none */
	bool json;			/* one document instead of tables */
	bool terminal;			/* stdout is one.. */
	bool colour;			/* ..that shows colours */
	const struct command *commands; /* all of them; a name of NULL ends them */
	const struct command *command;	/* that runs */
	bool given;			/* its words, or its flag */
};

typedef void fmctl_show_fn(const struct fmctl *ctl, const json_t *result);
/* argv[0] is the command's name; getopt starts anew. */
typedef enum fmctl_exit fmctl_command_fn(const struct fmctl *ctl, int argc, char **argv);
typedef enum fmctl_exit fmctl_verdict_fn(const struct fmctl *ctl, const json_t *result);

/* What a row of commands.def has fmctl do. */
struct fmctl_view {
	fmctl_show_fn *show; /* the answer, as people read it */
	/* how it ends, by the answer; NULL = as fmctl_was_saved() says */
	fmctl_verdict_fn *verdict;
	/* instead of all that, with arguments of its own; FMCTL_USAGE: usage is to be printed.. */
	fmctl_command_fn *run;
	const char *usage; /* ..but for who prints it himself: this; needs no fmd */
};

/* commands.c: the table. */
const struct command *fmctl_commands(void); /* all of them; a name of NULL ends them */
const struct command *fmctl_command_find(
	const char *name); /* of what may be typed; NULL = no such */
enum fmctl_exit fmctl_command_run(const struct fmctl *ctl, const struct command *command, int argc,
				  char **argv);

/*
 * complete.c: what may come next, a word a line, behind these words of a line that begins with
 * fmctl; or behind such a line as it stands in a shell: what is to take the place of its last word.
 */
void fmctl_complete(const struct fmctl *ctl, int count, char **words);
void fmctl_complete_line(const struct fmctl *ctl, const char *line);

/*
 * options.c: the options of the command's row, and its flag, into args. The index of the first word
 * in argv; -1 = it is not so used, which was said on stderr.
 */
int fmctl_read_options(const struct command *command, int argc, char **argv, json_t *args);

/* help.c: all commands, or one with its options, columns and exit codes. */
void fmctl_print_help(const struct fmctl *ctl, FILE *out);
void fmctl_print_command(const struct command *command);

/*
 * watch.c: takes --watch out of the arguments: *seconds, 0 = it is not there. False: they are none,
 * which was said.
 */
bool fmctl_take_watch(int *argc, char **argv, double *seconds);
/* The command again and again; returns when it can't go on. */
enum fmctl_exit fmctl_watch(const struct fmctl *ctl, const struct command *command, int argc,
			    char **argv, double seconds);

/* ask.c: one question, one answer. */
struct fmctl_answer {
	enum fmctl_exit status; /* when not DONE, the reason was said on stderr */
	json_t *result;		/* DONE: the caller owns it */
};
struct fmctl_answer fmctl_ask(const struct fmctl *ctl, const char *cmd,
			      json_t *args); /* takes args */
/* Shows the answer and then each event as it comes, until fmd goes or the output ends. */
enum fmctl_exit fmctl_ask_events(const struct fmctl *ctl, json_t *args, fmctl_show_fn *show);
/* The text that follows an answer, into a file that is made or replaced. */
enum fmctl_exit fmctl_ask_text(const struct fmctl *ctl, const char *cmd, json_t *args,
			       const char *path);

/* live.c: asks one question and shows the answer. Takes args. */
enum fmctl_exit fmctl_ask_and_show(const struct fmctl *ctl, const char *cmd, json_t *args,
				   fmctl_show_fn *show);
/* Whether what an act changed outlives a restart; said when it does not. */
enum fmctl_exit fmctl_was_saved(const char *cmd, const json_t *result);
enum fmctl_exit fmctl_nvswitch_blocks(const struct fmctl *ctl,
				      const json_t *result); /* nvswitch_blocks.c */

/* show.c: documents as people read them, to stdout. */
fmctl_show_fn show_json, show_text, show_columns, show_settled, show_lines, show_proof;
/* A table; of the last columns, as many as are optional, those that no row says are left out. */
void show_rows(const struct fmctl *ctl, const json_t *rows, const struct table_column *columns,
	       unsigned optional);
void show_trial(const json_t *rows);	/* hosts whose NVLinks were assumed to be otherwise */
void show_affected(const json_t *pays); /* and who shares links with them by that; NULL = nothing */

#endif
