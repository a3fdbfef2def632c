/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * journal: changes of files of state_dir, line by line (journal_line.h), on disk before the whole
 * files are. Two segments, `journal-0` and `journal-1`, change places: one is appended to, the
 * other waits until whole files have all of its records, and is emptied.
 *
 * A line is written at once, so it outlives this process however that ends; only the lines of a
 * loop's turn behind its first JOURNAL_AT_ONCE gather until the turn is over. That the machine ends
 * takes fdatasync(), which a thread of its own calls (journal_disk.h), once in JOURNAL_SYNC_US.
 *
 * What the disk has no room for is gathered and tried again; beyond JOURNAL_GATHER bytes there is a
 * gap, and nothing is taken until journal_turn().
 */
#ifndef FMD_STATE_JOURNAL_H
#define FMD_STATE_JOURNAL_H

#include "fm/loop/loop.h"
#include "fm/state/journal_line.h"

#define JOURNAL_SEGMENTS 2
#define JOURNAL_AT_ONCE	 16
#define JOURNAL_SYNC_US	 1000000
#define JOURNAL_AGAIN_US 1000000      /* until what could not be written is tried again */
#define JOURNAL_GATHER	 (8u << 20)   /* bytes */
#define JOURNAL_LARGE	 (512u << 10) /* bytes of a segment that makes way when it can */
#define JOURNAL_MOST	 (64u << 20)  /* of a segment, behind which there is a gap */

struct journal;
/* A write has failed (-errno), or the first one behind a failure was done (0); from the loop. */
typedef void journal_wrote_fn(void *arg, int status);

/* loop and folder are borrowed. Opens nothing. The caller's: journal_free(). Never NULL. */
struct journal *journal_new(struct loop *loop, const char *folder, journal_wrote_fn *wrote,
			    void *arg);
/* Writes what is gathered, if the disk takes it, and waits for the thread. NULL is fine. */
void journal_free(struct journal *j);

/*
 * What an earlier life left, read twice from its beginning to its end; pass: 0 or 1. The line is
 * valid until the function returns.
 */
typedef void journal_take_fn(void *arg, unsigned pass, unsigned segment,
			     const struct journal_line *line);
struct journal_found {
	int damaged;   /* the segment in which the replay ended; -1 = none */
	char why[128]; /* with the offset; "" unless damaged */
	char *kept;    /* where that segment is now, the caller's; NULL = nowhere */
};
/*
 * Goes first, once. A torn end is cut off and logged; behind a damaged line nothing is taken, and
 * that segment, which is put aside as NAME.bad, begins anew.
 */
struct journal_found journal_replay(struct journal *j, journal_take_fn *take, void *arg);

/* The line's number; 0: it is not kept, for there is a gap or journal_put() refuses it. */
uint64_t journal_add(struct journal *j, const char *word, const char *name, const char *text,
		     size_t length);
/* Returns the number of the segment that journal_add() appends to. */
unsigned journal_segment(const struct journal *j);
/* Returns the name of that segment's file, a literal; never NULL. */
const char *journal_name(unsigned segment);
/* Bytes of that segment, with those that are gathered. */
size_t journal_size(const struct journal *j, unsigned segment);
/* True: all lines that it took are written, and it has no gap. */
bool journal_is_written(const struct journal *j);
/* True: there is a gap, and journal_add() takes nothing. */
bool journal_has_gap(const struct journal *j);
/* True: the other segment is empty, so journal_turn() may be called. */
bool journal_can_turn(const struct journal *j);
/* The other segment is appended to from now on; only where journal_can_turn(). */
void journal_turn(struct journal *j);
/* Nothing in the segment that is not appended to is needed any more. */
void journal_clear_other(struct journal *j);

#endif
