/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Rows in memory, the order of their keys, and rows as bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/state/rows.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

static void a_row_is_what_was_set_last(void **state)
{
	struct rowset rows = { .nkinds = 0 };
	struct rows_kind *kind = rows_kind(&rows, "lids", true);

	assert_null(rows_kind(&rows, "cordons", false));
	assert_ptr_equal(rows_kind(&rows, "lids", false), kind);
	assert_non_null(rows_set(kind, "a", "1", false));
	assert_null(rows_set(kind, "a", "1", false)); /* it was so already */
	assert_non_null(rows_set(kind, "a", "2", false));
	assert_string_equal(rows_find(kind, "a")->value, "2");
	assert_int_equal(kind->count, 1);
	assert_true(rows_drop(kind, "a"));
	assert_false(rows_drop(kind, "a"));
	assert_null(rows_find(kind, "a"));
	rows_fini(&rows);
}

static void of_a_cold_row_the_sum_alone_is_kept(void **state)
{
	struct rowset rows = { .nkinds = 0 };
	struct rows_kind *kind = rows_kind(&rows, "tables", true);

	assert_null(rows_set(kind, "a", "1", true)->value);
	assert_null(rows_set(kind, "a", "1", true));
	assert_non_null(rows_set(kind, "a", "2", true));
	rows_fini(&rows);
}

static void many_rows_are_found_and_listed_in_order(void **state)
{
	struct rowset rows = { .nkinds = 0 };
	struct rows_kind *kind = rows_kind(&rows, "lids", true);
	struct row **list;
	char key[16];

	for (unsigned i = 0; i < 5000; i++) {
		array_printf(key, "%u", (i * 7919) % 5000);
		assert_non_null(rows_set(kind, key, "x", false));
	}
	assert_int_equal(kind->count, 5000);
	list = rows_list(kind, true);
	for (unsigned i = 0; i < 5000; i++) {
		array_printf(key, "%u", i);
		assert_string_equal(list[i]->key, key);
		assert_ptr_equal(rows_find(kind, key), list[i]);
	}
	free(list);
	rows_fini(&rows);
}

static void keys_are_in_the_order_of_their_numbers(void **state)
{
	static const char *const order[] = {
		"",	  "0x0001 9", "0x0001 10", "0x0002",	 "0x0002 1",
		"gpu h1", "gpu h1 1", "gpu h1 10", "group 0xff", "joined 0x00",
	};

	for (unsigned i = 0; i < ARRAY_SIZE(order); i++)
		for (unsigned j = 0; j < ARRAY_SIZE(order); j++) {
			int said = rows_compare(order[i], order[j]);

			assert_int_equal((said > 0) - (said < 0), (i > j) - (i < j));
		}
}

static void a_flipped_bit_is_another_sum(void **state)
{
	char text[] = "0x0002c90300000100 257 0 and more of it";
	uint64_t sum = rows_sum("lids", "key", text);

	for (unsigned bit = 0; bit < 8 * (sizeof(text) - 1); bit++) {
		text[bit / 8] ^= 1 << bit % 8;
		assert_int_not_equal(rows_sum("lids", "key", text), sum);
		text[bit / 8] ^= 1 << bit % 8;
	}
	assert_int_not_equal(rows_sum("lids", "key ", text), sum);
	assert_int_not_equal(rows_sum("lid", "skey", text), sum);
}

static void rows_come_back_from_bytes(void **state)
{
	struct bytes bytes = { NULL, 0, 0, 0 };
	struct row_change change;
	size_t at = 0;

	row_bytes_add(&bytes, &(struct row_change){ "plan", "text", "two\nlines", 0 });
	row_bytes_add(&bytes, &(struct row_change){ "lids", "0x1", "", 0 });
	row_bytes_add(&bytes, &(struct row_change){ "lids", "0x2", NULL, 0 });
	assert_true(row_bytes_next(bytes.data, bytes.end, &at, &change));
	assert_string_equal(change.value, "two\nlines");
	assert_true(row_bytes_next(bytes.data, bytes.end, &at, &change));
	assert_string_equal(change.key, "0x1");
	assert_string_equal(change.value, "");
	assert_true(row_bytes_next(bytes.data, bytes.end, &at, &change));
	assert_null(change.value);
	assert_int_equal(at, bytes.end);
	assert_false(row_bytes_next(bytes.data, bytes.end, &at, &change));
	free(bytes.data);
}

/* In memory of its own, so that a sanitizer sees what is read beyond. */
static void bytes_that_are_no_rows_are_refused(void **state)
{
	struct bytes bytes = { NULL, 0, 0, 0 };
	struct row_change change;
	uint64_t seed = 1;

	row_bytes_add(&bytes, &(struct row_change){ "lids", "0x1", "257 0", 0 });
	for (size_t length = 0; length < bytes.end; length++) {
		char *cut = memcpy(mem_alloc(length + 1, 1), bytes.data, length);
		size_t at = 0;

		cut = mem_resize(cut, length ? length : 1, 1);
		assert_false(row_bytes_next(cut, length, &at, &change));
		assert_int_equal(at, 0);
		free(cut);
	}
	for (unsigned i = 0; i < 20000; i++) {
		size_t length = 1 + random_next(&seed) % 40, at = 0;
		char *noise = mem_alloc(length, 1);

		for (size_t b = 0; b < length; b++)
			noise[b] = random_next(&seed) % 4 ? random_next(&seed) : 0;
		while (row_bytes_next(noise, length, &at, &change))
			assert_true(*change.kind && *change.key);
		free(noise);
	}
	free(bytes.data);
}

static void the_key_of_a_line_is_what_its_kind_says(void **state)
{
	static const struct {
		const char *kind, *line, *key;
	} rows[] = {
		{ "cordons", "0x01 7 2026-11-29T00:00:00Z", "0x01 7" },
		{ "cordons", "0x01 7", "0x01 7" },
		{ "groups", "group 0x1 0x2 0xc000 0xffff", "group 0x1 0x2" },
		{ "groups", "joined 0x1 0x2 0x3 1 0", "joined 0x1 0x2 0x3" },
		{ "hosts", "DEGRADED host one", "DEGRADED host one" },
		{ "lids", "0x1", "0x1" },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t length = state_key_length(state_rule(rows[i].kind), rows[i].line);

		assert_int_equal(length, strlen(rows[i].key));
		assert_memory_equal(rows[i].line, rows[i].key, length);
	}
	assert_null(state_rule("of tomorrow"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_is_what_was_set_last),
		cmocka_unit_test(of_a_cold_row_the_sum_alone_is_kept),
		cmocka_unit_test(many_rows_are_found_and_listed_in_order),
		cmocka_unit_test(keys_are_in_the_order_of_their_numbers),
		cmocka_unit_test(a_flipped_bit_is_another_sum),
		cmocka_unit_test(rows_come_back_from_bytes),
		cmocka_unit_test(bytes_that_are_no_rows_are_refused),
		cmocka_unit_test(the_key_of_a_line_is_what_its_kind_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
