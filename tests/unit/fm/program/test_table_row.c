/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Tables in rows: what is written is read again, and what is not just that is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "fm/program/table_row.h"
#include "tests/fabric/damage.h"
#include "topology/base/mem.h"

#define BLOCKS 200
#define GUID   0x100ull

struct written {
	struct store store;
	uint8_t row[STORE_BLOCKS * TABLES_BLOCK];
	struct store_set set;
	char *line;
};

/* `count` blocks, with empty ones among them; of `part` not all are there. */
static struct written *write_some(uint32_t count, bool part)
{
	struct written *w = mem_new(w);
	struct store_switch *sw;
	uint64_t seed = 7;

	cl_qmap_init(&w->store.switches);
	sw = store_get(&w->store, GUID);
	for (uint32_t b = 0; b < count; b++) {
		memset(w->row + b * TABLES_BLOCK,
		       b % 7 == 0 ? TABLES_NO_ROUTE : (int)(damage_random(&seed) % 60),
		       TABLES_BLOCK);
		store_put(&w->set, b, !part || damage_random(&seed) % 3 != 0);
	}
	store_rebase(sw, w->row, count);
	w->line = table_row_write(sw, &w->set);
	return w;
}

static void written_free(struct written *w)
{
	store_fini(&w->store);
	free(w->line);
	free(w);
}

static void assert_record(const struct written *w, const struct table_record *record)
{
	const uint8_t *content = record->content;

	assert_int_equal(record->guid, GUID);
	assert_memory_equal(&record->blocks, &w->set, sizeof(record->blocks));
	for (uint32_t b = 0; b < STORE_BLOCKS; b++) {
		if (!store_has(&record->blocks, b))
			continue;
		assert_int_equal(store_has(&record->empty, b), b % 7 == 0);
		if (store_has(&record->empty, b))
			continue;
		assert_memory_equal(content, w->row + b * TABLES_BLOCK, TABLES_BLOCK);
		content += TABLES_BLOCK;
	}
}

/* Of any number of blocks: their length is a multiple of three bytes, or is not. */
static void what_is_written_is_read(void **state)
{
	static const uint32_t counts[] = { 1, 2, 3, 4, 5, BLOCKS, STORE_BLOCKS };
	struct table_record record;

	for (unsigned i = 0; i < 2 * ARRAY_SIZE(counts); i++) {
		struct written *w = write_some(counts[i / 2], i % 2 && counts[i / 2] > 5);

		assert_non_null(w->line);
		assert_true(table_row_read(w->line, &record));
		assert_record(w, &record);
		written_free(w);
	}
}

static void a_switch_of_which_nothing_is_known_has_no_row(void **state)
{
	struct written *w = write_some(0, false);

	assert_null(w->line);
	written_free(w);
}

static void a_row_cut_anywhere_is_refused(void **state)
{
	struct written *w = write_some(BLOCKS, true);
	struct table_record record;

	for (size_t length = strlen(w->line); length-- > 0;) {
		char *cut = mem_printf("%.*s", (int)length, w->line); /* none is read beyond it */

		assert_false(table_row_read(cut, &record));
		free(cut);
	}
	written_free(w);
}

static void what_is_more_than_a_row_or_another_is_refused(void **state)
{
	static const char *const more[] = { "=", "A", "AAAA", " ", " AAAA", "==" };
	struct written *w = write_some(BLOCKS, true);
	struct table_record record;
	char *line;

	for (unsigned i = 0; i < ARRAY_SIZE(more); i++) {
		line = mem_printf("%s%s", w->line, more[i]);
		assert_false(table_row_read(line, &record));
		free(line);
	}
	for (size_t at = strcspn(w->line, " ") + 1; at < strlen(w->line); at += 97) {
		line = mem_strdup(w->line);
		line[at] = '*';
		assert_false(table_row_read(line, &record));
		free(line);
	}
	written_free(w);
}

/* A block that is empty, and not there. */
static void sets_that_can_not_be_are_refused(void **state)
{
	struct written *w = write_some(BLOCKS, false);
	struct table_record record;
	char *digit = strchr(w->line, ' ') + 1;

	assert_int_equal(*digit, '/'); /* the first six blocks.. */
	*digit = '7';		       /* ..without some, of which one is empty */
	assert_false(table_row_read(w->line, &record));
	written_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(a_switch_of_which_nothing_is_known_has_no_row),
		cmocka_unit_test(a_row_cut_anywhere_is_refused),
		cmocka_unit_test(what_is_more_than_a_row_or_another_is_refused),
		cmocka_unit_test(sets_that_can_not_be_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
