/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * source: where fmd learns the state of hosts' NVLinks from: exporters that it asks, kernel logs
 * that it is sent, health reports of other programs. Each is one file with a `const struct
 * health_source_ops source_NAME`, and one row of the table in sources.c; ARCHITECTURE.md has the
 * steps to add one.
 *
 * What a source learns of a host goes into health.h: a state that is reported again and again by
 * health_source_add() and health_hear(), a line of a kernel log by health_hear_log().
 * source_heard() says that something did. A source decides nothing: hold-down, guard and trust are
 * health's.
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
	const struct nvswitch_ops *ops; /* of the monitor's owner.. */
	void *arg;			/* ..with their argument */
	struct health *health;
	struct log_intake *intake; /* who may send kernel logs, and which hosts they are about */
	const struct nvswitch_conf *conf; /* in force; NULL before the first */
	char **present;			  /* the fabric's hosts, [npresent] */
	unsigned npresent;
	void (*heard)(struct source_home *home); /* from the monitor: source_heard() */
};

/*
 * Something went into health: the monitor brings all hosts up to date soon, once for all that comes
 * till then.
 */
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
	bool stays; /* an equal configuration leaves it open: what it holds can't be opened twice */
	/*
	 * The source, which close() ends; NULL with the reason in err. It is opened aside: it
	 * changes nothing that others see, and home->conf is still the configuration before.
	 */
	void *(*open)(struct source_home *home, const struct nvswitch_conf *conf, char *err,
		      size_t err_size);
	void (*close)(void *source);
	/*
	 * It counts from now on. before: the one of this row until now, which is closed next; NULL
	 * = none.
	 */
	void (*start)(void *source, void *before);
	/*
	 * Adds its health sources, all of them: any source's may have changed. Never called before
	 * start().
	 */
	void (*announce)(void *source);
	/* The fabric's hosts have changed; true: what it announces, too. */
	bool (*hosts)(void *source);
	/* Adds the addresses of hosts that it knows, from which kernel logs may come. */
	void (*addresses)(const void *source, struct senders *senders);
	/*
	 * A row for each thing that this host's health source number `number` leaves out; NULL = it
	 * is not ours.
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

/* `health-report`, see nvswitch_hear_report(). */
int source_report_hear(struct source_home *home, const struct nvswitch_said *report, char *err,
		       size_t err_size);

#endif
