/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any bytes as a file of tables. Behind a first byte that is odd they stand between a header and an
 * end that are right, so that the sum keeps nobody out. Whatever is read has blocks within a table
 * and all of their content, and a file that was read to its end is, written again, read again as
 * the same.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "fm/program/table_file.h"

#define RECORDS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct read {
	enum table_result result;
	uint32_t records;
	uint64_t sum; /* of all that was in them */
	char *again;  /* as it was written again */
	size_t size;
};

static uint64_t take(const struct table_record *record, struct table_writer *again)
{
	struct store_switch *sw = calloc(1, sizeof(*sw));
	uint8_t *row = calloc(STORE_BLOCKS, TABLES_BLOCK);
	const uint8_t *content = record->content;
	uint64_t sum;

	for (uint32_t b = store_next(&record->blocks, 0); b < STORE_BLOCKS;
	     b = store_next(&record->blocks, b + 1)) {
		if (store_has(&record->empty, b)) {
			memset(row + b * TABLES_BLOCK, TABLES_NO_ROUTE, TABLES_BLOCK);
			continue;
		}
		memcpy(row + b * TABLES_BLOCK, content, TABLES_BLOCK);
		content += TABLES_BLOCK;
	}
	sw->guid = record->guid;
	store_rebase(sw, row, STORE_BLOCKS);
	table_write_switch(again, sw, &record->blocks);
	sum = table_sum(record->guid, row, STORE_BLOCKS * TABLES_BLOCK);
	free(row);
	free(sw);
	return sum;
}

static struct read read_all(const void *bytes, size_t size)
{
	struct table_reader *r = table_reader_new(fmemopen((void *)bytes, size, "r"));
	struct read out = { .records = 0 };
	struct table_writer again;
	struct table_record record;
	FILE *to = open_memstream(&out.again, &out.size);
	const char *why;

	table_write_begin(&again, to);
	while ((out.result = table_reader_next(r, &record, &why)) == TABLE_SWITCH &&
	       out.records < RECORDS) {
		uint64_t sum = take(&record, &again);
		bool any = store_next(&record.blocks, 0) < STORE_BLOCKS;

		out.records += any; /* those of nothing are not written again */
		out.sum = any ? out.sum * 31 + sum : out.sum;
	}
	assert((out.result == TABLE_BAD) == (why != NULL));
	table_write_end(&again);
	fclose(to);
	table_reader_free(r);
	return out;
}

/* Returns a file of it; the number of switches is that of the writer's guess. */
static char *framed(const uint8_t *body, size_t size, uint32_t switches, size_t *out_size)
{
	struct table_writer w;
	char *bytes, *file;
	size_t written;
	FILE *out = open_memstream(&bytes, &written);

	table_write_begin(&w, out);
	w.sum = table_sum(w.sum, body, size & ~(size_t)7);
	fwrite(body, 1, size & ~(size_t)7, out);
	w.switches = switches;
	table_write_end(&w);
	fclose(out);
	file = malloc(written); /* exact: the sanitizer sees a step too far */
	memcpy(file, bytes, written);
	free(bytes);
	*out_size = written;
	return file;
}

static void check(const void *bytes, size_t size)
{
	struct read once = read_all(bytes, size), twice;

	if (once.result == TABLE_END) {
		twice = read_all(once.again, once.size);
		assert(twice.result == TABLE_END && twice.records == once.records);
		assert(twice.sum == once.sum && twice.size == once.size);
		assert(!memcmp(twice.again, once.again, once.size));
		free(twice.again);
	}
	free(once.again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *file;
	size_t length;

	if (size < 2)
		return 0;
	if (data[0] & 1) {
		file = framed(data + 1, size - 1, data[0] >> 1, &length);
		check(file, length);
		free(file);
	} else {
		check(data + 1, size - 1);
	}
	return 0;
}
