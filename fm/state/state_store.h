/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * state_store: the one reader and writer of state_dir. Every file goes through it, so that all have
 * one form (state_file.h), one manifest, one way to fail, and so that nobody waits for a disk. A
 * full disk, or another, keeps nothing from being in force.
 *
 * Whoever owns what a file holds says that it has changed. When changes have gathered for as long
 * as the file allows, a forked child writes it: its copy of the memory holds still meanwhile, and
 * its fsync() keeps nobody waiting. Two children at most: files that may not wait go in one, the
 * others in the other. What cannot be written is reported and tried again.
 *
 * `manifest` lists the files that were ever written, `NAME SUMMARY` each: a file that it lists and
 * that is not there was lost. The summary is what a person would have to know of a file that is
 * lost (`state_file.summary`).
 */
#ifndef FMD_STATE_STATE_STORE_H
#define FMD_STATE_STATE_STORE_H

#include <stdio.h>
#include "fm/events/alert.h"
#include "fm/events/event_log.h"
#include "fm/loop/loop.h"

struct state_store;
typedef void state_name_fn(void *arg, const char *name); /* of a file of state_dir */

/*
 * A file of state_dir. All of its functions are of its owner, who is their argument; those that
 * write run in a child, too.
 */
struct state_file {
	const char *name, *form; /* form: of a line, for messages */
	/*
	 * Takes a line that is neither blank nor a comment; false: it can't be. Or reads all lines:
	 * 0, or the number of such a line.
	 */
	bool (*line)(void *owner, const char *line);
	unsigned (*read)(void *owner, FILE *in);
	void (*forget)(void *owner); /* what was read of that file */
	void (*write)(const void *owner, FILE *out);
	void (*summary)(const void *owner, FILE *out); /* one line, without its end; NULL = none */
	/*
	 * Takes a change of one record, as state_store_record() had it; false: it is none that this
	 * version knows. NULL = changes are told by writing it whole alone.
	 */
	bool (*record)(void *owner, const char *line);
	/* Rendered within milliseconds: another manager that waits has it ahead of the disk. */
	bool small;
	uint64_t gather_us; /* it is written when nothing has changed for so long; 0 = at once */
	uint64_t gather_max_us; /* or when the first change is so old; 0 = gather_us */
};

/*
 * loop, alerts and events are borrowed. What can't be written is a trouble, what was lost is an
 * alert. Writable at first, and nothing is tried again before state_store_retry().
 */
struct state_store *state_store_new(struct loop *loop, const char *folder, struct alerts *alerts,
				    struct event_log *events);
void state_store_free(struct state_store *store); /* NULL is fine; ends children, writes nothing */
/* Before what could not be written is written again; 0 = never again. */
void state_store_retry(struct state_store *store, uint64_t retry_us);
/*
 * Each time that a file was written, or could not be (status: -errno); STATE_LISTENERS at most.
 * They may say that files have changed.
 */
typedef void state_wrote_fn(void *arg, const char *name, int status);
#define STATE_LISTENERS 2
void state_store_listen(struct state_store *store, state_wrote_fn *wrote, void *arg);
void state_store_unlisten(struct state_store *store, const void *arg);
/*
 * Only a master writes: a standby knows less than its files, which serve it when it takes over.
 * What becomes due meanwhile waits, and is dropped where its owner ends before.
 */
void state_store_set_writable(struct state_store *store, bool writable);

/* Has `take` take all lines, as file->line. 0, or the number of a line that can't be. */
unsigned state_lines(FILE *in, bool (*take)(void *owner, const char *line), void *owner);
/*
 * Reads the file by file->line or read: 0; -ENOENT: there is none; -EINVAL: it was lost, and that
 * is an alert.
 */
int state_store_read(struct state_store *store, const struct state_file *file, void *owner);
/*
 * For what is not read by lines: the content, the caller's; NULL unless it returns 0. Returns what
 * state_store_read() does.
 */
int state_store_load(struct state_store *store, const struct state_file *file, void *owner,
		     char **content, size_t *length);

/* What it holds differs from what was written. Asked for later, until state_store_detach(). */
void state_store_changed(struct state_store *store, const struct state_file *file, void *owner);
/*
 * The same, and what has changed is that record: a line, without its end, that the file's record()
 * takes. It says how its record is now, whatever it was: taken again, it changes nothing. The
 * journal has it when this returns (journal.h), and another manager soon (state_copy.h). While a
 * file is read it is state_store_changed().
 */
void state_store_record(struct state_store *store, const struct state_file *file, void *owner,
			const char *line);
/* It gathers no longer. */
void state_store_hasten(struct state_store *store, const struct state_file *file);
/* It does not: what was just read is no change. */
void state_store_unchanged(struct state_store *store, const struct state_file *file);
/*
 * It has changed, and neither the file nor the journal has it yet. By name; false for what nobody
 * keeps.
 */
bool state_store_waits(const struct state_store *store, const char *name);
/* Says in an answer ("not_saved") why that file could not be written, if it could not. */
void state_store_report(const struct state_store *store, const char *name, json_t *result);

/*
 * What the files hold is about to go: renders what is not on disk, so that it is written behind,
 * and read from memory until then. Waits for nobody. Where this store is not writable nothing that
 * is only due is kept: the files know better.
 */
void state_store_detach(struct state_store *store);
/* For the end: writes all that may be written and is due, and waits for it. */
void state_store_flush(struct state_store *store);

#endif
