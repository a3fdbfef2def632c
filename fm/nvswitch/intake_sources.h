/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * source: where the state of hosts' NVLinks comes from: exporters that fmd requests, kernel logs
 * that it receives, health reports of other programs; and a file of other names of hosts, which is
 * opened, replaced and retried like them. Each is a row of the table in intake_sources.c;
 * ARCHITECTURE.md has the steps to add one.
 *
 * A source passes what it learns to state_monitor.h: a state that is reported repeatedly by
 * health_source_add() and health_hear(), a line of a kernel log by health_hear_log(). Then it calls
 * home->heard(). A source decides nothing: state_health.c has hold-down, guard and trust.
 */
#ifndef FMD_NVSWITCH_INTAKE_SOURCES_H
#define FMD_NVSWITCH_INTAKE_SOURCES_H

#include "fm/nvswitch/state_monitor.h"

/* ---- A source -------------------------------------------------------------------------------- */

/* A text of the configuration, by its place in struct conf_nvswitch; 0 = none. */
#define SOURCE_TEXT(name) (offsetof(struct conf_nvswitch, name) + 1)
#define SOURCE_TEXTS	  6

/* NULL members are not needed; `source` is what open() returned. */
struct source_ops {
	const char *name; /* in the summary's inputs and in alerts */
	/* It is opened with these; with all of the first three empty it is not wanted. */
	uint16_t texts[SOURCE_TEXTS];
	bool stays; /* stays open if its configuration is equal: it can't be opened twice */
	bool files; /* open() only reads files, and needs no loop: so they are checked */
	/*
	 * Opens it aside, before the configuration that names it counts: it must not change
	 * anything that others see yet, and home->conf is still the configuration before. NULL with
	 * the reason in err.
	 */
	void *(*open)(struct source_home *home, const struct conf_nvswitch *conf, char *err);
	void (*close)(void *source);
	/* It is used from now on; before: the one that it replaces, closed next. NULL = none. */
	void (*start)(struct source_home *home, void *source, void *before);
	/* Adds all its health sources, whenever any have changed. */
	void (*announce)(void *source);
	/* The fabric's hosts have changed; true = so has what is announced. */
	bool (*hosts)(void *source);
};
extern const struct source_ops source_journal, source_socket; /* intake_logs.c */
/* Of hosts and of racks (intake_scrape.c): by URLs of a file, or a pattern for all hosts. */
extern const struct source_ops source_exporters;

/* ---- Health reports -------------------------------------------------------------------------- */

/* The command `health-report`: 0, or -1 with the reason in err; where all is checked. */
int source_report_hear(struct source_home *home, const struct nvswitch_said *report, char *err);
/* A host's report was read from the state file: it has a source, silent so far. */
void source_report_recall(struct source_home *home, unsigned host,
			  const struct memory_report *report);

/* ---- Kernel logs ----------------------------------------------------------------------------- */

/*
 * From a unix socket that a collector of this machine writes to (journald, rsyslog), and from
 * journals of this machine or others. Each line is assigned to the host that it is about. Lines
 * that are not about NVLinks are dropped at once, so nothing here grows with what is sent.
 */
struct log_intake;

/* The caller's, which frees it by free(3); `home` is borrowed until then. */
struct log_intake *log_intake_new(struct source_home *home);

/* New documents, which the caller owns: the counts; a row for the collector, once it wrote. */
json_t *log_intake_json(const struct log_intake *intake);
json_t *log_intake_senders(const struct log_intake *intake);

/* ---- All sources that one configuration wants ------------------------------------------------ */

/*
 * When fmd starts, a source that cannot be opened (a port that another daemon has, a list that does
 * not exist yet) raises an alert and is retried; the others work. Later configurations are applied
 * as a whole or refused, and the one before stays; a source that was not open before and has the
 * same configuration is no reason to refuse.
 */

struct sources;

/* Without open sources. The caller owns it; `home` is borrowed. Free closes all; NULL is fine. */
struct sources *sources_new(struct source_home *home);
void sources_free(struct sources *sources);

/*
 * Opens what conf wants beside what is open: 0, and sources_take() follows; or -1 with the reason
 * in err: the configuration is refused and nothing has changed.
 */
int sources_open(struct sources *sources, const struct conf_nvswitch *conf, char *err);
/* Replaces the sources by what was opened; home->conf is the new one then. */
void sources_take(struct sources *sources);
/* Whether the files that a configuration names can be used: 0, or -1 with the reason in err. */
int sources_check(const struct conf_nvswitch *conf, char *err);
/* Which hosts are present has changed. */
void sources_hosts_changed(struct sources *sources);

/* Adds "inputs", whether each source that is wanted is open, and "input_errors", why one is not. */
void sources_add_inputs(const struct sources *sources, json_t *doc);

#endif
