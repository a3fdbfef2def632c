/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any bytes as rows that another manager sends. Whatever is read lies within them, written again it
 * is the same bytes, and keys have one order. As a line, each byte of it is of its key or value.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "fm/state/rows.h"
#include "topology/base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(const char *line)
{
	for (const struct state_rule *rule = state_rules; rule->name; rule++) {
		size_t length = state_key_length(rule, line);

		assert(length <= strlen(line));
		assert(rule->words == KIND_TEXT || !line[length] || line[length] == ' ');
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *bytes = malloc(size ? size : 1); /* exact: the sanitizer sees a step too far */
	struct bytes again = { 0 };
	struct rowset rows = { 0 };
	struct row_change change;
	size_t at = 0;

	memcpy(bytes, data, size);
	while (row_bytes_next(bytes, size, &at, &change)) {
		struct rows_kind *kind = rows_kind(&rows, change.kind, true);

		assert(at <= size);
		row_bytes_add(&again, &change);
		check_line(change.key);
		if (kind && change.value)
			rows_set(kind, change.key, change.value, false);
		else if (kind)
			rows_drop(kind, change.key);
	}
	assert(again.end <= at);
	for (unsigned k = 0; k < rows.nkinds; k++) {
		struct row **list = rows_list(&rows.kinds[k], true);

		for (size_t i = 0; i < rows.kinds[k].count; i++) {
			assert(rows_find(&rows.kinds[k], list[i]->key) == list[i]);
			assert(i == 0 || rows_compare(list[i - 1]->key, list[i]->key) <= 0);
			assert(i == 0 || rows_compare(list[i]->key, list[i - 1]->key) >= 0);
		}
		free(list);
	}
	rows_fini(&rows);
	free(again.data);
	free(bytes);
	return 0;
}
