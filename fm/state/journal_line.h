/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * journal_line: the lines of a journal of state_dir (journal.h), as bytes. Pure.
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
#ifndef FMD_STATE_JOURNAL_LINE_H
#define FMD_STATE_JOURNAL_LINE_H

#include <stdint.h>
#include "fm/state/records.h"

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

#endif
