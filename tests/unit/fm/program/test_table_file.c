/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Tables in a file: what is written is read again, and what is not just that is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "fm/program/table_file.h"
#include "tests/fabric/damage.h"

#define SWITCHES 3
#define BLOCKS	 200

struct written {
	struct store store;
	uint8_t rows[SWITCHES][BLOCKS * TABLES_BLOCK];
	struct store_set sets[SWITCHES];
	char *bytes;
	size_t size;
};

/* Rows with empty blocks among the others; the middle switch has nothing to be written. */
static void write_some(struct written *w)
{
	struct table_writer writer;
	uint64_t seed = 7;
	FILE *out = open_memstream(&w->bytes, &w->size);

	cl_qmap_init(&w->store.switches);
	table_write_begin(&writer, out);
	for (uint32_t s = 0; s < SWITCHES; s++) {
		struct store_switch *sw = store_get(&w->store, 0x100 + s);

		store_rebase(sw, w->rows[s], BLOCKS);
		for (uint32_t b = 0; b < BLOCKS; b++) {
			memset(w->rows[s] + b * TABLES_BLOCK,
			       b % 7 == 0 ? TABLES_NO_ROUTE : (int)(damage_random(&seed) % 60),
			       TABLES_BLOCK);
			store_put(&w->sets[s], b, s != 1 && damage_random(&seed) % 3 != 0);
		}
		table_write_switch(&writer, sw, &w->sets[s]);
	}
	table_write_end(&writer);
	fclose(out);
}

static void written_fini(struct written *w)
{
	store_fini(&w->store);
	free(w->bytes);
}

static void assert_record(const struct written *w, const struct table_record *record)
{
	uint32_t s = (uint32_t)(record->guid - 0x100);
	const uint8_t *content = record->content;

	assert_true(s < SWITCHES);
	assert_memory_equal(&record->blocks, &w->sets[s], sizeof(record->blocks));
	for (uint32_t b = 0; b < STORE_BLOCKS; b++) {
		if (!store_has(&record->blocks, b))
			continue;
		assert_int_equal(store_has(&record->empty, b), b % 7 == 0);
		if (store_has(&record->empty, b))
			continue;
		assert_memory_equal(content, w->rows[s] + b * TABLES_BLOCK, TABLES_BLOCK);
		content += TABLES_BLOCK;
	}
}

static enum table_result read_all(const char *bytes, size_t size, const struct written *w,
				  unsigned *records)
{
	struct table_reader *r = table_reader_new(fmemopen((void *)bytes, size, "r"));
	struct table_record record;
	enum table_result result;
	const char *why;

	*records = 0;
	while ((result = table_reader_next(r, &record, &why)) == TABLE_SWITCH) {
		if (w)
			assert_record(w, &record);
		++*records;
	}
	assert_true(!why == (result == TABLE_END));
	table_reader_free(r);
	return result;
}

static void what_is_written_is_read(void **state)
{
	struct written *w = calloc(1, sizeof(*w));
	unsigned records;

	write_some(w);
	assert_int_equal(read_all(w->bytes, w->size, w, &records), TABLE_END);
	assert_int_equal(records, 2); /* a switch of which nothing is known is not in the file */
	written_fini(w);
	free(w);
}

static void a_file_cut_anywhere_is_refused(void **state)
{
	struct written *w = calloc(1, sizeof(*w));
	unsigned records;

	write_some(w);
	for (size_t size = 1; size < w->size; size += size < 600 ? 1 : 61)
		assert_int_equal(read_all(w->bytes, size, NULL, &records), TABLE_BAD);
	written_fini(w);
	free(w);
}

static void any_other_byte_is_refused(void **state)
{
	struct written *w = calloc(1, sizeof(*w));
	uint64_t seed = 3;
	unsigned records;

	write_some(w);
	for (size_t at = 0; at < w->size; at += at < 600 ? 1 : 1 + damage_random(&seed) % 60) {
		char bit = (char)(1 << damage_random(&seed) % 8);

		w->bytes[at] ^= bit;
		assert_int_equal(read_all(w->bytes, w->size, NULL, &records), TABLE_BAD);
		w->bytes[at] ^= bit;
	}
	assert_int_equal(read_all(w->bytes, w->size, w, &records), TABLE_END);
	written_fini(w);
	free(w);
}

static void more_than_a_file_is_refused(void **state)
{
	struct written *w = calloc(1, sizeof(*w));
	unsigned records;
	char *more;

	write_some(w);
	more = calloc(1, w->size + 1);
	memcpy(more, w->bytes, w->size);
	assert_int_equal(read_all(more, w->size + 1, NULL, &records), TABLE_BAD);
	free(more);
	written_fini(w);
	free(w);
}

/* A GUID twice, or out of order: with a sum that is right. */
static void switches_out_of_order_are_refused(void **state)
{
	struct written *w = calloc(1, sizeof(*w));
	struct table_writer writer;
	char *bytes;
	size_t size;
	FILE *out = open_memstream(&bytes, &size);
	unsigned records;

	write_some(w);
	table_write_begin(&writer, out);
	for (unsigned i = 0; i < 2; i++)
		table_write_switch(&writer, store_find(&w->store, 0x102), &w->sets[2]);
	table_write_end(&writer);
	fclose(out);
	assert_int_equal(read_all(bytes, size, NULL, &records), TABLE_BAD);
	assert_int_equal(records, 1);
	free(bytes);
	written_fini(w);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(a_file_cut_anywhere_is_refused),
		cmocka_unit_test(any_other_byte_is_refused),
		cmocka_unit_test(more_than_a_file_is_refused),
		cmocka_unit_test(switches_out_of_order_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
