/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any bytes as a row of tables: as they are, or behind a first byte that is odd in base 64, so that
 * this keeps nobody out. Whatever is read has blocks within a table and all of their content, and
 * written again it is read again as the same.
 */
#include <assert.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include "fm/program/table_row.h"
#include "topology/base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* It as a line; NULL: it has no blocks. */
static char *again(const struct table_record *record)
{
	struct store_switch *sw = mem_new(sw);
	uint8_t *row = calloc(STORE_BLOCKS, TABLES_BLOCK);
	const uint8_t *content = record->content;
	char *line;

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
	line = table_row_write(sw, &record->blocks);
	free(row);
	free(sw);
	return line;
}

static void check(const char *line)
{
	struct table_record record;
	char *once, *twice;

	if (!table_row_read(line, &record))
		return;
	once = again(&record);
	assert(!once == (store_next(&record.blocks, 0) == STORE_BLOCKS));
	if (!once)
		return;
	assert(table_row_read(once, &record));
	twice = again(&record);
	assert(!strcmp(once, twice));
	free(once);
	free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line;

	if (size < 2)
		return 0;
	if (data[0] & 1) {
		line = mem_alloc(1, 24 + (size + 2) / 3 * 4);
		strcpy(line, "0x100 ");
		EVP_EncodeBlock((unsigned char *)line + 6, data + 1, size - 1);
	} else {
		line = mem_printf("%.*s", (int)(size - 1), (const char *)data + 1);
	}
	check(line);
	free(line);
	return 0;
}
