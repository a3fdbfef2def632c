/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * answer: how fmd runs a command (command.h). Each is a function of the published fabric
 * (fm/fabric/fabric.h); where it runs is the server's affair.
 */
#pragma once

#include "fm/control/command.h"
#include "fm/control/control.h"
#include "fm/events/event_query.h"
#include "fm/perf/module.h"
#include "routing/report/congestion.h"

#define COMMAND_ERROR_SIZE 512

struct filter;

/* What commands work on. */
struct command_env {
	struct fabric *fabric;
	control_reload_fn *reload;
	void *reload_arg;
	const struct filter *filter; /* the rows that are asked for (filter.h); NULL = all */
};

/* A result (the caller owns it), or NULL with the reason in err[COMMAND_ERROR_SIZE]. */
typedef json_t *command_answer_fn(const struct command_env *env, json_t *args, char *err);
/*
 * Text that follows the result, for a child to write; only called after `answer` took the
 * arguments, which is short. 0, or -errno of the stream.
 */
typedef int command_text_fn(const struct command_env *env, json_t *args, FILE *out);
/* Begins an operation of the fabric's; its callback brings the result. No word was given: NULL. */
typedef void command_begin_fn(struct fabric *fabric, fabric_done_fn *fn, void *arg);
typedef void command_act_fn(struct fabric *fabric, const char *word, fabric_done_fn *fn, void *arg);
/* Takes the arguments first; what is wrong with them is the callback's error. */
typedef void command_begin_with_fn(struct fabric *fabric, json_t *args, fabric_done_fn *fn,
				   void *arg);

/*
 * Puts the rows of an answer that is a list, one after another, so that memory does not grow with
 * their number; `put` takes the reference. False with the reason in err: none was put.
 */
typedef void command_put_fn(void *arg, json_t *row);
typedef bool command_rows_fn(const struct command_env *env, json_t *args, command_put_fn *put,
			     void *arg, char *err);

struct command_run {
	void (*before)(const struct command_env *env, json_t *args); /* before a child answers */
	command_answer_fn *answer;
	command_rows_fn *rows; /* in place of `answer` */
	command_text_fn *text;
	command_begin_fn *begin;
	command_act_fn *act;		   /* the same with the command's first word */
	command_begin_with_fn *begin_with; /* the same with arguments */
	bool long_answer;		   /* grows with the fabric: for a child to write */
	bool answers_after;  /* then `answer`, by a child: without the flag, with what was found */
	unsigned long_count; /* the same of one with a larger "count", or "since"; 0 = none is */
	bool follows;	     /* events come behind the answer, until the client goes */
	bool of_standby;     /* an operation of one that is not the master */
};
extern const struct command_run no_run; /* of what fmctl does alone */

const struct command *command_find(const char *name); /* by fmd's table; NULL = no such */
extern const struct command fmd_commands[];	      /* behind them one without a name */
/* Whether it is answered by a callback, as `begin`, `act` and `begin_with` are; runs that. */
bool command_is_operation(const struct command *command, json_t *args);
void command_begin(const struct command *command, struct fabric *fabric, json_t *args,
		   fabric_done_fn *fn, void *arg);
/* Whether its answer is for a child to write: it would hold the loop. */
bool command_is_long(const struct command *command, json_t *args);
/* Whether those may ask it who may only look. */
bool command_is_read_only(const struct command *command, json_t *args);

/*
 * What the command answers: with its filters taken out of the arguments and resolved, and its rows
 * sorted. The caller's, or NULL with the reason in err[COMMAND_ERROR_SIZE].
 */
json_t *command_answer(const struct command_env *env, const struct command *command, json_t *args,
		       char *err);

/*
 * The same as text, row by row, for what can be answered so: `head` goes before the first row, and
 * the end is the caller's. False with the reason in err: nothing was written.
 */
bool command_can_stream(const struct command *command, json_t *args);
bool command_stream(const struct command_env *env, const struct command *command, json_t *args,
		    const char *head, FILE *out, char *err);

/* For answers: the reason goes into err, and NULL comes back. */
__attribute__((format(printf, 2, 3))) json_t *command_refuse(char *err, const char *format, ...);
/* jansson's unpack, strict, with its own words in err; false = it does not fit. */
bool command_unpack(json_t *args, char *err, const char *format, ...);
/* The end {guid, port} of a row's link, as a port of the snapshot; TOPO_NONE = it is not there. */
uint32_t command_port_of(const struct topo *t, const json_t *end);
/* The published fabric, or its tables; NULL with the reason in err. */
const struct topo *command_topo(const struct command_env *env, char *err);
const struct tables *command_tables(const struct command_env *env, char *err);

/*
 * answer_operations.c: puts "congestion" and "ebb" of these tables into a document; by_port as in
 * congestion_study(). Which nodes of the published snapshot are storage, the caller's; NULL = none
 * is configured.
 */
void command_congestion(json_t *doc, const struct congestion_scene *scene, uint64_t *by_port);
bool *command_storage(const struct fabric *fabric, const struct topo *t);
/* By port, of either end of a link: whether it is not trusted (`links --sick`). The caller's. */
bool *command_sick(const struct fabric *fabric, const struct topo *t);

/* ---- What the counters of a port say of its link, by their latest rates ---------------------- */

/* Of bytes; counters NULL: never read. NAN: not known. */
double traffic_gbps(const struct port_counters *counters, unsigned counter);
/*
 * In per cent of what the link can carry at its present speed and width: what leaves the port
 * (PERF_XMIT_DATA); of the time: how long the port waited to send (PERF_XMIT_WAIT).
 */
double traffic_load(const struct topo_port *port, const struct port_counters *c, unsigned counter);
/* Those of all ports, by port, NULL = none are known: the caller's array of borrowed counters. */
const struct port_counters **traffic_counters(const struct fabric *fabric, const struct topo *t);
double traffic_errors(const struct port_counters *counters); /* of the link, a second */

/*
 * answer_events.c: which events the arguments of `events` ask for; count: how many at most. False:
 * the reason is in err[COMMAND_ERROR_SIZE].
 */
bool events_query(const struct fabric *fabric, json_t *args, struct event_query *query, int *count,
		  char *err);
