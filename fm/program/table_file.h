/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * table_file: forwarding tables in a file, one switch after the other.
 *
 *   header  16 bytes: "fmd-lfts", version, byte order mark (32 bits each)
 *   switch  GUID; number of blocks that follow, 0; two sets of blocks, 96 bytes each: those that
 *           are in the file, and of these those without any entry, which take no room; then the
 *           others by number, 64 entries a block
 *   ..      by ascending GUID
 *   end     0; number of switches, 0; sum of all that stands before it
 *
 * Counts are of 32 bits, GUIDs, sums and the words of sets of 64, in the byte order of the machine:
 * a file from another one is foreign. The last thing read is the sum, so nothing of a file is to be
 * relied on before TABLE_END.
 */
#ifndef FMD_PROGRAM_TABLE_FILE_H
#define FMD_PROGRAM_TABLE_FILE_H

#include "fm/program/program_priv.h"

#define TABLE_FILE_VERSION 1

struct table_writer {
	FILE *out; /* the caller's; errors are left to ferror() */
	uint64_t sum;
	uint32_t switches;
};
/* Writes the header; w is the caller's memory. */
void table_write_begin(struct table_writer *w, FILE *out);
/* By ascending GUID. Those blocks of the switch that are in the set, which may be empty. */
void table_write_switch(struct table_writer *w, const struct store_switch *sw,
			const struct store_set *blocks);
void table_write_end(struct table_writer *w);

enum table_result {
	TABLE_SWITCH,
	TABLE_END, /* and all of it was right */
	TABLE_BAD,
};
struct table_record {
	guid_t guid;
	struct store_set blocks, empty;
	const uint8_t *content; /* of those that are not empty; good until the next one is read */
};
struct table_reader;
/* The caller's, never NULL. Takes the file over, and closes it at its end. */
struct table_reader *table_reader_new(FILE *in);
void table_reader_free(struct table_reader *r); /* NULL is fine */
/* TABLE_BAD: *why, a literal, has the reason, and there is nothing more to be read. */
enum table_result table_reader_next(struct table_reader *r, struct table_record *record,
				    const char **why);

/* Continues a sum over so many bytes, a multiple of 8. */
uint64_t table_sum(uint64_t sum, const void *words, size_t bytes);

#endif
