/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * source: a source of the state of hosts' NVLinks: exporters that fmd requests, kernel logs that it
 * receives, health reports of other programs. Each is a `const struct
 * health_source_ops source_NAME`, and one row of the table in intake_sources.c; ARCHITECTURE.md has
 * the steps to add one.
 *
 * A source passes what it learns to state_health.h: a state that is reported repeatedly by
 * health_source_add() and health_hear(), a line of a kernel log by health_hear_log(). Then it calls
 * source_heard(). A source decides nothing: state_health.c has hold-down, guard and trust.
 */
#ifndef FMD_NVSWITCH_INTAKE_SOURCES_H
#define FMD_NVSWITCH_INTAKE_SOURCES_H

#include "fm/nvswitch/state_health.h"
#include "fm/nvswitch/intake_logs.h"
#include "fm/nvswitch/state_monitor.h"

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
	uint16_t by[3], with[3];
	int kind;   /* the source's own, for its open() */
	bool stays; /* stays open if its configuration is equal: it can't be opened twice */
	/*
	 * Returns the source, which close() frees; NULL with the reason in err. It must not change
	 * anything that others see yet, and home->conf is still the configuration before.
	 */
	void *(*open)(const struct health_source_ops *ops, struct source_home *home,
		      const struct nvswitch_conf *conf, char *err, size_t err_size);
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
	/*
	 * A new list with a row for each thing that health source `number` of a host leaves out;
	 * NULL = it is another source's.
	 */
	json_t *(*missing)(const void *source, unsigned host, unsigned number);
	/* A host's memory was read from the state file. */
	void (*recall)(struct source_home *home, unsigned host);
	/*
	 * Whether the files that a configuration names can be used: 0, or -1 with the reason in
	 * err.
	 */
	int (*check)(const struct nvswitch_conf *conf, char *err, size_t err_size);
};

extern const struct health_source_ops source_exporters; /* intake_scrape.c */

/* The command `health-report`: 0, or -1 with the reason in err; see nvswitch_hear_report(). */
int source_report_hear(struct source_home *home, const struct nvswitch_said *report, char *err,
		       size_t err_size);

/* ---- All sources that one configuration wants ------------------------------------------------ */

/*
 * When fmd starts, a source that cannot be opened (a port that another daemon has, a list that does
 * not exist yet) raises an alert and is retried; the others work. Later configurations are applied
 * as a whole or refused, and the one before stays; a source that was not open before and has the
 * same configuration is no reason to refuse.
 */

struct sources;
struct sources_opened; /* by a configuration that is not applied yet */

/* Without open sources. The caller owns it; `home` is borrowed. Free closes all; NULL is fine. */
struct sources *sources_new(struct source_home *home);
void sources_free(struct sources *sources);

/*
 * Opens what conf wants beside what is open; the caller gives it to sources_take(). NULL with the
 * reason in err: the configuration is refused and nothing has changed.
 */
struct sources_opened *sources_open(struct sources *sources, const struct nvswitch_conf *conf,
				    char *err, size_t err_size);
/* Replaces the sources by what was opened and frees `opened`; home->conf is the new one then. */
void sources_take(struct sources *sources, struct sources_opened *opened);
/* Whether the files that a configuration names can be used: 0, or -1 with the reason in err. */
int sources_check(const struct nvswitch_conf *conf, char *err, size_t err_size);

/* home->present has changed; and the memory of a host was read from its state file. */
void sources_hosts_changed(struct sources *sources);
void sources_recall(const struct sources *sources, unsigned host);

/* Adds "inputs", whether each source that is wanted is open, and "input_errors", why one is not. */
void sources_add_inputs(const struct sources *sources, json_t *doc);
/* A list, which the caller owns, of what source `number` of a host does not report but should. */
json_t *sources_missing(const struct sources *sources, unsigned host, unsigned number);

#endif
