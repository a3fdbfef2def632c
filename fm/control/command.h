/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* command: what the control socket can be asked; one row of a table each. */
#ifndef FMD_CONTROL_COMMAND_H
#define FMD_CONTROL_COMMAND_H

#include <jansson.h>
#include <stdio.h>
#include "fm/control/control.h"

#define COMMAND_ERROR_SIZE 512

/* What commands work on. */
struct command_env {
	struct fabric *fabric;
	control_reload_fn *reload;
	void *reload_arg;
};

/* A result (the caller owns it), or NULL with the reason in err[COMMAND_ERROR_SIZE]. */
typedef json_t *command_answer_fn(const struct command_env *env, json_t *args, char *err);
/* Text that follows the result; only called after `answer` took the arguments. 0, or -errno of the
 * stream. */
typedef int command_text_fn(const struct command_env *env, json_t *args, FILE *out);
/* Begins an act of the fabric's; its callback brings the result. */
typedef void command_act_fn(struct fabric *fabric, fabric_done_fn *fn, void *arg);

/* Takes the arguments first; what is wrong with them is the callback's error. */
typedef void command_ask_fn(struct fabric *fabric, json_t *args, fabric_done_fn *fn, void *arg);

struct command {
	const char *name;
	command_answer_fn *answer;
	command_text_fn *text;
	command_act_fn *act;
	command_ask_fn *ask;  /* the same with arguments */
	const char *act_when; /* `act` only if this argument is true; NULL = always */
	bool changes;	  /* `answer` changes something: as acts, not for those who may only look */
	bool long_answer; /* grows with the fabric: for a child to write */
	bool follows;	  /* events come behind the answer, until the client goes */
};

const struct command *command_find(const char *name); /* NULL = no such */
bool command_is_act(const struct command *command, json_t *args);

#endif
