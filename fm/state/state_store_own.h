/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* state_store_own: what the store's files have in common; nobody else includes it. */
#ifndef FMD_STATE_STATE_STORE_OWN_H
#define FMD_STATE_STATE_STORE_OWN_H

#include <sys/types.h>
#include "fm/events/alert.h"
#include "fm/events/event_log.h"
#include "fm/loop/loop.h"
#include "fm/state/journal.h"
#include "fm/state/state_copy.h"
#include "fm/state/state_file.h"
#include "fm/state/state_store.h"

#define LANE_FILES 16

enum { AT_ONCE, GATHERED, LANES };

struct kept {
	struct kept *next;
	const struct state_file *file;
	void *owner;	/* NULL = it has ended, and what it had is `held` or dropped */
	bool due;	/* differs from what is on disk or on its way */
	bool in_memory; /* `held` has all of that: its owner is gone */
	bool failed;	/* the last write, and nothing has changed since */
	bool reform;	/* the disk has the old form, or nothing: written even when unchanged */
	bool foreign;	/* file is its own to free: only state_store_put() named it */
	bool lane_held; /* what is on its way is `held` */
	bool untold;	/* something has changed that no record says.. */
	bool lane_untold, news; /* ..which is on its way; written, until asked for (take_news) */
	uint64_t since_us;	/* the first change that is due */
	uint64_t at_us;		/* it is to be written */
	uint64_t took_us;	/* the latest write of it, and of what went with it */
	struct lane *lane;	/* on its way; NULL = not */
	bool push;		/* its follower has an older text */
	uint64_t push_us;	/* the follower gets no text before that time */
	char *held;		/* rendered, and not on disk yet */
	size_t held_length;
	struct records records; /* since what is on disk, oldest first */
	size_t held_records;	/* bytes of them that `held` has */
	size_t lane_records;	/* bytes of them that what is on its way has */
	/*
	 * Lines of the journal, as numbers (journal_add()): the latest of this file, and the latest
	 * that `held`, what is on its way, and the disk have.
	 */
	uint64_t recorded, held_recorded, lane_recorded, saved;
	uint64_t in_segment[JOURNAL_SEGMENTS]; /* the latest in each; 0 = none */
};

struct lane {
	pid_t pid; /* 0 = idle */
	int said;  /* a pipe: a status a file */
	struct kept *files[LANE_FILES];
	unsigned count;
	uint64_t began_us;
	bool lists;	  /* writes the manifest as well */
	uint64_t wait_us; /* before it is looked at again */
};

/* Which files of state_dir were ever written, and a summary of each (state_store.h). */
#define STATE_MANIFEST "manifest"
struct state_manifest {
	struct listed *list;
	bool on_disk;	/* or it was lost and that was reported */
	bool due;	/* it differs from what is on disk or on its way */
	uint64_t at_us; /* written not before: the latest try failed */
};

struct state_store {
	struct loop *loop;
	char *folder;
	struct alerts *alerts;
	struct event_log *events;
	struct lost_file *lost;	    /* files that were lost, of which something is kept.. */
	struct loop_timer *recheck; /* ..until it was taken away */
	struct {
		state_wrote_fn *wrote; /* NULL = a free place */
		void *arg;
	} listeners[STATE_LISTENERS];
	enum state_haste haste;
	bool reading;		   /* what changes is no news */
	state_record_fn *recorded; /* NULL = nobody follows */
	state_text_fn *pushed;	   /* as well */
	void *follower;
	struct loop_timer *push; /* armed: a file is to be pushed */
	bool writable;
	bool marks[STATE_MARKS];
	uint64_t retry_us;
	struct kept *files;
	struct journal *journal;
	struct records unknown; /* lines of the journal that this version does not know */
	struct state_manifest manifest;
	struct lane lanes[LANES];
	struct loop_timer *timer;
};

/* A file whose records have grown so large is rendered: its disk is full, or slow. */
#define STATE_RECORDS_MOST (8u << 20)
/* Before what another manager sent is written: more of it follows. */
#define STATE_PUT_US 200000

/* state_kept.c */
/* What the store has of that file, borrowed; made when asked for, so never NULL. */
struct kept *state_store_kept(struct state_store *store, const struct state_file *file);
/* The same by name; of a file that has no owner yet it is made with that name alone. */
struct kept *state_store_named(struct state_store *store, const char *name);
/* The file's text as its owner has it now, the caller's. */
char *state_kept_render(const struct kept *kept, size_t *length);
/* Of a file that had no owner here: frees the description that was made by its name alone. */
void state_kept_free_foreign(struct kept *kept);

/* state_store.c */
/* Something may be due sooner by now: sets the timer for it. */
void state_store_schedule(struct state_store *store);
/* What it holds now is `held`. Its owner is there. */
void state_store_render(struct state_store *store, struct kept *kept);
/* The file, which has changed, goes to the follower soon, if it is small. */
void state_push_changed(struct state_store *store, struct kept *kept);

/* state_copy.c */
/* A copy of what is held, the caller's; a 0 follows it. */
char *state_store_held(const struct kept *kept, size_t *length);
/* What of its records the disk does not have, nor what is held; and they go to file->record(). */
struct records state_store_records_left(const struct kept *kept);
void state_store_records_apply(struct state_store *store, struct kept *kept, void *owner);

/* state_journal.c */
/* Opens it, and takes what an earlier life left of it. */
void state_journal_open(struct state_store *store);
/* A record of that file, without its end, was added to kept->records. False: it is lost. */
bool state_journal_record(struct state_store *store, struct kept *kept, const char *line,
			  size_t length);
/* The disk has the file up to kept->saved. */
void state_journal_saved(struct state_store *store, struct kept *kept);

/*
 * state_kept.c: what operators hear of files. One that can't be written is a trouble until it can;
 * one that was lost is an alert, until what is left of it (NAME.bad) was taken away; one without
 * its first and last line is an event.
 */
/* A write has ended: status 0 or -errno. */
void state_alerts_wrote(struct state_store *store, const char *name, int status);
/*
 * It is not what was written, and is not used. kept: where it is now, NULL = nowhere; summary: what
 * is known of it, "" = nothing.
 */
void state_alerts_lost(struct state_store *store, const char *name, const char *why,
		       const char *kept, const char *summary);
void state_lost_check(void *store); /* of the timer */

/* The manifest: takes over what is on disk. It writes its file: 0 or -errno. */
void state_manifest_read(struct state_store *store);
int state_manifest_write(struct state_store *store);
/* What it says of a file that was written once, borrowed until it changes; NULL = none was. */
const char *state_manifest_summary(const struct state_store *store, const char *name);
/* The manifest itself is not what was written: an alert; it is written again. */
void state_manifest_lose(struct state_store *store, const char *why);
/* The file is about to be written: the manifest is due if it is another by that. */
void state_manifest_note(struct state_store *store, const struct state_file *file,
			 const void *owner);
void state_read_free(struct state_store *store); /* what these keep; ends no alert */

#endif
