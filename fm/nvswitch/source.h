/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * source: a source of the state of hosts' NVLinks: exporters that fmd requests, kernel logs that it
 * receives, health reports of other programs. Each is one file with a `const struct
 * health_source_ops source_NAME`, and one row of the table in sources.c; ARCHITECTURE.md has the
 * steps to add one.
 *
 * A source passes what it learns to health.h: a state that is reported repeatedly by
 * health_source_add() and health_hear(), a line of a kernel log by health_hear_log(). Then it calls
 * source_heard(). A source decides nothing: health.c has hold-down, guard and trust.
 */
#ifndef FMD_NVSWITCH_SOURCE_H
#define FMD_NVSWITCH_SOURCE_H

#include <jansson.h>
#include <stddef.h>
#include "fm/nvswitch/health.h"
#include "fm/nvswitch/log_server.h"
#include "fm/nvswitch/nvswitch.h"

struct log_intake;

struct source_home { /* what the monitor lends its sources, and outlives them */
	struct loop *loop;
	const struct nvswitch_ops *ops; /* of the monitor's owner */
	void *arg;			/* the argument of ops */
	struct health *health;
	struct log_intake *intake;	  /* assigns kernel logs to hosts */
	const struct nvswitch_conf *conf; /* in force; NULL before the first */
	char **present;			  /* the fabric's hosts, [npresent] */
	unsigned npresent;
	void (*heard)(struct source_home *home); /* from the monitor: source_heard() */
};

/* Called after something was passed to health: the monitor evaluates all hosts soon, once. */
static inline void source_heard(struct source_home *home)
{
	home->heard(home);
}

/* A key of struct conf_nvswitch that is a text, for the table; 0 = none. */
#define SOURCE_TEXT(name) (offsetof(struct conf_nvswitch, name) + 1)

/*
 * A source is opened aside, before the configuration that names it counts: so a configuration is
 * taken whole or refused. NULL members are not needed; `source` is what open() returned.
 */
struct health_source_ops {
	const char *name; /* in the summary's inputs and in alerts */
	/*
	 * The texts of the configuration that name it: with all of `by` empty it is not wanted.
	 * `with` belongs to what it is opened with, and does not make it wanted.
	 */
	uint16_t by[2], with;
	bool stays; /* stays open if its configuration is equal: it can't be opened twice */
	/*
	 * Returns the source, which close() frees; NULL with the reason in err. It must not change
	 * anything that others see yet, and home->conf is still the configuration before.
	 */
	void *(*open)(struct source_home *home, const struct nvswitch_conf *conf, char *err,
		      size_t err_size);
	void (*close)(void *source);
	/*
	 * The source is used from now on. before: the one that it replaces, which is closed next;
	 * NULL = none.
	 */
	void (*start)(void *source, void *before);
	/*
	 * Adds all its health sources, whenever those of any source have changed. Never called
	 * before start().
	 */
	void (*announce)(void *source);
	/* The fabric's hosts have changed; returns true if that changes what it announces. */
	bool (*hosts)(void *source);
	/* Adds the known addresses of hosts, from which kernel logs may come. */
	void (*addresses)(const void *source, struct senders *senders);
	/*
	 * A new list with a row for each thing that health source `number` of a host leaves out;
	 * NULL = it is another source's.
	 */
	json_t *(*missing)(const void *source, unsigned host, unsigned number);
	/* Adds what it counted of kernel logs. */
	void (*count)(const void *source, struct log_server_stats *sum);
	/* A host's memory was read from the state file. */
	void (*recall)(struct source_home *home, unsigned host);
	/*
	 * Whether the files that a configuration names can be used: 0, or -1 with the reason in
	 * err.
	 */
	int (*check)(const struct nvswitch_conf *conf, char *err, size_t err_size);
};

/* The command `health-report`: 0, or -1 with the reason in err; see nvswitch_hear_report(). */
int source_report_hear(struct source_home *home, const struct nvswitch_said *report, char *err,
		       size_t err_size);

#endif
