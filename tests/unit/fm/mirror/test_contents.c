/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Copied files of state_dir and their records: what a master may make its standby keep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mirror/contents.h"
#include "topology/base/mem.h"

/* Its bytes are never read, so that a test need not have them. */
static struct text text_of(size_t length)
{
	return (struct text){ mem_strdup(""), length };
}

static void records_count_among_the_bytes_of_all_files(void **state)
{
	static const char records[] = "0123456789";
	struct contents c = { .count = 0 };

	assert_true(contents_set(&c, "groups", text_of(CONTENTS_BYTES - 15)));
	assert_true(contents_append(&c, "services", records, 10));
	assert_false(contents_append(&c, "services", records, 6));
	assert_false(contents_set(&c, "lids", text_of(6)));
	assert_true(contents_append(&c, "services", records, 5));
	assert_int_equal(contents_find(&c, "services")->records.length, 15);
	assert_true(contents_set(&c, "groups", text_of(1)));
	assert_true(contents_set(&c, "lids", text_of(CONTENTS_BYTES - 16)));
	contents_fini(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_count_among_the_bytes_of_all_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
