/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * state: all facts that outlive this process, as rows of a kind, a key and a value (rows.h). All
 * of them are in memory; a thread brings each change to the disk (disk.h), a standby follows the
 * changes (fm/mirror/module.h). Nobody waits for a disk, and one that is full or slow keeps nothing
 * from being in force.
 *
 * An owner puts and removes single rows, or says that its kind has changed: then it is asked for
 * the text of all its rows, which is compared with what there is, row by row.
 *
 * Only a master writes: a standby knows less than its state_dir, which serves it when it takes
 * over.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include "fm/events/alert.h"
#include "fm/state/rows.h"

struct state;

#define STATE_LINES 500 /* that the loop may be held for */

/* What an owner keeps. Its functions have the owner as their argument. A line is `KEY VALUE`. */
struct state_kind {
	const char *name, *form; /* of rows.h; form: of a line, for messages */
	/* Takes a row, without its end, by key. False: it can't be, and is dropped. */
	bool (*line)(void *owner, const char *line);
	/*
	 * Writes lines from a place on, its first is 0, and returns the next place, 0 = that was
	 * all. They are STATE_LINES, and as many more as belong together. NULL = it puts its rows
	 * alone.
	 */
	uint64_t (*write)(const void *owner, uint64_t from, FILE *out);
	/* In one line, without its end, what people would have to know if it were lost; or NULL. */
	void (*summary)(const void *owner, FILE *out);
	bool always;		/* put by who is no master, too */
	uint64_t gather_us;	/* it is asked when nothing has changed for so long; 0 = at once */
	uint64_t gather_max_us; /* or when the first change is so old; 0 = gather_us */
};

/*
 * Reads state_dir, also one of a version before state.db. loop, alerts and events are borrowed.
 * What can't be written and what was lost is an alert. Writable at first.
 */
struct state *state_open(struct loop *loop, const char *folder, struct alerts *alerts,
			 struct event_log *events);
void state_close(struct state *state); /* NULL is fine; writes nothing that is not under way */
/*
 * retry_us: before what could not be written is tried again. full: what was answered survives that
 * the machine loses power, too; else it may lose the last second.
 */
void state_configure(struct state *state, uint64_t retry_us, bool full);
/* What becomes due meanwhile waits, and is dropped where its owner ends before. */
void state_set_writable(struct state *state, bool writable);

/*
 * Has kind->line take all rows: 0; -ENOENT: there never were any; -EINVAL: some were lost, and that
 * is an alert. From now on it is that owner's, until state_detach().
 */
int state_read(struct state *state, const struct state_kind *kind, void *owner);
/* The value of a row, borrowed until a row of that kind changes; NULL = there is none. */
const char *state_value(const struct state *state, const char *name, const char *key);
/* Of a kind that is one text: the caller's copy; NULL = there is none. */
char *state_text(const struct state *state, const char *name);

/* What the owner keeps is another. */
void state_changed(struct state *state, const struct state_kind *kind, void *owner);
/* One row is so now: a line, or the text. While the kind is read this is state_changed(). */
void state_put(struct state *state, const struct state_kind *kind, void *owner, const char *line);
/* There is no row of that line's key any more. The same. */
void state_remove(struct state *state, const struct state_kind *kind, void *owner,
		  const char *line);
/* The owner is asked at once; waits until all rows are on disk, `us` at most. */
void state_sync(struct state *state, const struct state_kind *kind, uint64_t us);
/*
 * Calls fn once the disk has all rows as they are, or could not be written; from the loop. False,
 * and it is not called: the disk has them.
 */
typedef void state_fn(void *arg);
bool state_when_kept(struct state *state, state_fn *fn, void *arg);
/* The same, once what is due has become rows: nothing is gathered any more. False as above. */
bool state_when_settled(struct state *state, state_fn *fn, void *arg);
void state_forget(struct state *state, const void *arg); /* it is not called any more */
/* Says in an answer ("not_saved") why nothing can be written, if so. */
void state_report(const struct state *state, json_t *result);

/*
 * What owners keep is about to go: what is due becomes rows. Where this is not writable nothing
 * that is only due is kept: the rows know better.
 */
void state_detach(struct state *state);
/* For the end: all that is due becomes rows, and is written. */
void state_flush(struct state *state);

/* ---- For other managers ---------------------------------------------------------------------- */

const struct rowset *state_rows(const struct state *state); /* all there are, borrowed */
/* The number of the latest change; it grows. */
uint64_t state_number(const struct state *state);
/* fn is called with each change that an owner makes; NULL = nobody follows. */
typedef void state_change_fn(void *arg, const struct row_change *change);
void state_follow(struct state *state, state_change_fn *fn, void *arg);
/*
 * Another manager's row, or of nobody here: whoever is master; value NULL = it goes. False: there
 * are too many kinds.
 */
bool state_take(struct state *state, const char *kind, const char *key, const char *value);
/*
 * All rows of a kind of this version, as a text of lines that is taken apart, some with each call.
 * False: that was all, and others of that kind are gone. Begin first.
 */
void state_take_begin(struct state *state, const char *name);
bool state_take_lines(struct state *state, const char *name, char **text);
void state_drop_kind(struct state *state, const char *name); /* all its rows */
/* Whether the disk has all rows, or refuses them. */
bool state_is_kept(const struct state *state);

enum state_mark {
	/*
	 * As standby: state_dir has what the manager that was master until now knew; what hosts
	 * registered with that one is known here. As master: another manager has all rows.
	 */
	STATE_COPIED,
	/*
	 * As standby of a manager without a mirror: what hosts registered with it was read from its
	 * SA since this manager stands by. What they registered after that is missing.
	 */
	STATE_READ,
	/* Other managers are to copy this one: one that is not connected is waited for, too. */
	STATE_EXPECTED,
	STATE_MARKS
};
/* Sets one, or clears it; and whether it is set. None is at first. */
void state_mark(struct state *state, enum state_mark mark, bool on);
bool state_is(const struct state *state, enum state_mark mark);
/*
 * What another manager is about to go on with: all that is due becomes rows. True: the disk has
 * them, and another manager has, or none is expected. To be asked again until then.
 */
bool state_passed_on(struct state *state);
