/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* records: whole lines, one behind the other, in memory that grows. Zero-initialised is empty. */
#ifndef FMD_STATE_RECORDS_H
#define FMD_STATE_RECORDS_H

#include <stdbool.h>
#include <stddef.h>

struct records {
	char *bytes; /* its own, NULL while there was none; free() gives it back */
	size_t length, room;
};

/* Copies the bytes behind those that are there. */
void records_add(struct records *records, const char *bytes, size_t length);
/*
 * Returns the line at *at, which ends before `end`, and moves *at behind it; NULL: that is `end`.
 * length: without the line feed. A pointer into the bytes.
 */
const char *records_line(const char **at, const char *end, size_t *length);
/* Takes the oldest so many bytes away; length: at most records->length. */
void records_drop(struct records *records, size_t length);

#endif
