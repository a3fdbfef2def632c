/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* control_own: commands and their words, shared by control's files. */
#pragma once

#include "tests/fabric/double_own.h"
#include "tests/sim/control.h"

#define CONTROL_WORDS 16

/* A line, word by word. */
struct args {
	struct sim_control *c;
	struct double_fabric *d;
	FILE *out;
	const char *line;		/* without blanks before it */
	char *words[CONTROL_WORDS];	/* without quotes, but for those of "NODE"[PORT] */
	unsigned starts[CONTROL_WORDS]; /* where in the line */
	unsigned count, next;
};

/* 0 or -EINVAL, by bad(). */
typedef int command_fn(struct args *a);

struct command {
	const char *name, *args, *help;
	unsigned least, most; /* words behind the name */
	command_fn *fn;
};

/* One table a file; each ends with a row without a name. */
extern const struct command commands_link[], commands_node[], commands_look[], commands_load[],
	commands_judge[], commands_power[], commands_adaptive[], commands_sequence[];
/* A row of the table of faults, by the line's first word. */
int sim_control_fault(struct args *a);

int bad(struct args *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The next word, NULL behind the last. */
const char *next_word(struct args *a);
bool next_is(struct args *a, const char *word); /* takes it if it is that one */
/* These take the next word, and complain where it is missing or not of the kind. */
bool next_node(struct args *a, struct dnode **node); /* a port's number behind it is wrong */
bool next_port(struct args *a,
	       struct dport **port); /* NODE:PORT; a CA of one port may go without */
bool next_cable(struct args *a, struct dport **port); /* one that a cable is in */
bool next_time(struct args *a, uint64_t *us);
bool next_share(struct args *a, unsigned *per_mille);
bool next_number(struct args *a, uint64_t *number, uint64_t max);
bool next_on(struct args *a, bool *on); /* on, off */

const char *node_name(const struct dnode *node);
/* `leaf-01:33` */
void print_port(FILE *out, const struct dport *port);

struct sequence;
/* Where control keeps it until its end; NULL at first. */
struct sequence **sim_control_sequence(struct sim_control *c);
void sequence_free(struct sequence *s); /* NULL is fine */

/* The line's rest from word `at` on is done that much later. */
void sim_control_put_off(struct sim_control *c, uint64_t us, const char *line);
unsigned sim_control_to_come(const struct sim_control *c); /* lines that are put off */
/* Seconds from the start of control to a time of the loop. */
double sim_control_seconds(const struct sim_control *c, uint64_t us);
const struct command *sim_control_find(const char *name);
/* Each command once, in the tables' order, until fn says false. */
typedef bool command_each_fn(void *arg, const struct command *command);
void sim_control_each(command_each_fn *fn, void *arg);
