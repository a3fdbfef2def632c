/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * state_file: the form of all files of state_dir, and how one is put on disk and taken from it.
 *
 *   # fmd state 2: NAME  the first line
 *   ..                   the content, whatever it is
 *   # end LENGTH SUM     the last line, 44 bytes: bytes of content in 20 decimal digits, their sum
 *                        in 16 hexadecimal
 *
 * A file that was cut, has a flipped bit or stands under another's name is found out. Version 1 is
 * the content alone. A file of version 2 becomes one of version 1, for who wants to edit it by
 * hand, by taking its first and last line away.
 */
#ifndef FMD_STATE_STATE_FILE_H
#define FMD_STATE_STATE_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum state_result {
	STATE_WHOLE,
	STATE_OLD,     /* version 1, or written by hand: nothing says whether it is whole */
	STATE_ABSENT,  /* there is no such file */
	STATE_DAMAGED, /* see why */
};

struct state_content {
	/* the caller's: free() gives it back; NULL unless WHOLE or OLD; of WHOLE a 0 follows it */
	char *bytes;
	size_t length;
	const char *why; /* DAMAGED: a literal, "cut short" .. */
};

/*
 * Reads it whole. Takes regular files of up to 1 GiB alone: a FIFO or a device is DAMAGED, without
 * waiting for it.
 */
enum state_result state_file_load(const char *path, const char *name,
				  struct state_content *content);

/*
 * Makes or replaces it: written as PATH.new, fsync, renamed, fsync of the folder. After a crash it
 * is the old one or the new one. Waits for the disk: for processes that may. 0 or -errno, and then
 * nothing of it is left.
 */
typedef void state_write_fn(void *arg, FILE *out);
int state_file_save(const char *path, const char *name, state_write_fn *write, void *arg);

/* 64 bits over any bytes; changes for certain where one bit does. */
uint64_t state_sum(const void *bytes, size_t length);

/* Whole lines, one behind the other, in memory that grows. Zero-initialised is empty. */
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

/*
 * The file `lock`: one daemon a state_dir, for two would write each other's files. Returns 0: the
 * lock is this process's until it ends, however that ends, or state_dir is on a read-only file
 * system, where nobody writes. -1: it is not to be used; the log has the reason.
 */
int state_lock(const char *state_dir);

#endif
