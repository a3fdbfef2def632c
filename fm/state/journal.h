/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * journal: changes of files of state_dir, line by line, on disk before the whole
 * files are. Two segments, `journal-0` and `journal-1`, change places: one is appended to, the
 * other waits until whole files have all of its records, and is emptied.
 *
 * A line is written at once, so it outlives this process however that ends; only the lines of a
 * loop's turn behind its first JOURNAL_AT_ONCE gather until the turn is over. That the machine ends
 * takes fdatasync(), which a thread of its own calls, once in JOURNAL_SYNC_US.
 *
 * What the disk has no room for is gathered and tried again; beyond JOURNAL_GATHER bytes there is a
 * gap, and nothing is taken until journal_turn().
 */
#ifndef FMD_STATE_JOURNAL_H
#define FMD_STATE_JOURNAL_H

#include "fm/loop/loop.h"
#include "fm/state/state_file.h"

/*
 * The lines, as bytes; pure.
 *
 *   SUM SEQ WORD NAME TEXT
 *
 * SUM is state_sum() of what stands behind it, in 16 hexadecimal digits. SEQ is the line's number:
 * it grows through all segments. WORD says what the line is:
 *
 *   journal  the first line of a segment; NAME is the version of this form, 1
 *   record   TEXT is a change of the file NAME
 *   saved    the file NAME, as it is on disk, has all records up to the number in TEXT
 *
 * A reader keeps lines of any other word, for it may be older than who wrote them.
 */

#define JOURNAL_NAME_SIZE 64
#define JOURNAL_BEGIN	  "journal"
#define JOURNAL_RECORD	  "record"
#define JOURNAL_SAVED	  "saved"
#define JOURNAL_VERSION	  "1"

struct journal_line {
	uint64_t seq;
	char word[16], name[JOURNAL_NAME_SIZE];
	const char *text; /* borrowed from the bytes that are read; without a line feed */
	size_t length;
};

enum journal_result {
	JOURNAL_LINE,
	JOURNAL_END,
	JOURNAL_TORN,	 /* the last line has no end: it was being written */
	JOURNAL_DAMAGED, /* a whole line that is not what was written */
};

/* What is read, and how much of it was: `at` is the offset of what journal_next() judged last. */
struct journal_reader {
	const char *bytes; /* borrowed */
	size_t length, at, next;
};

/* The next line. Behind TORN and DAMAGED nothing can be read, and `at` stays where it is. */
enum journal_result journal_next(struct journal_reader *r, struct journal_line *line);
/*
 * Appends a line to `to`. False, and nothing is appended: word or name are empty, too long or have
 * a blank in them, or the text has a line feed.
 */
bool journal_put(struct records *to, const struct journal_line *line);

/* ---- The journal ----------------------------------------------------------------------------- */

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

/* Writes what is gathered, if the disk takes it, and waits for the thread. NULL is fine. */
void journal_free(struct journal *j);

struct journal_found {
	int damaged;   /* the segment in which the replay ended; -1 = none */
	char why[128]; /* with the offset; "" unless damaged */
	char *kept;    /* where that segment is now, the caller's; NULL = nowhere */
};

/* Returns the name of that segment's file, a literal; never NULL. */
const char *journal_name(unsigned segment);
/* True: all lines that it took are written, and it has no gap. */
bool journal_is_written(const struct journal *j);

#endif
