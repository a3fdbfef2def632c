/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Whole files in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "topology/base/mem.h"

#define FIRST_BUFFER (1 << 16) /* of mem_read_all() */

/* Sizes on both sides of a buffer's end: a text ends with its '\0' in all of them. */
static void a_file_is_read_whole_and_ends_with_a_nul(void **state)
{
	for (size_t size = FIRST_BUFFER - 1; size <= FIRST_BUFFER + 1; size++) {
		char path[] = "/tmp/fmd-test-XXXXXX";
		FILE *out = fdopen(mkstemp(path), "w");
		size_t len = 0;
		char *text;

		assert_non_null(out);
		for (size_t i = 0; i < size; i++)
			fputc('x', out);
		fclose(out);
		text = mem_read_path(path, &len);
		unlink(path);
		assert_non_null(text);
		assert_int_equal(len, size);
		assert_int_equal(text[len], '\0');
		assert_int_equal(strspn(text, "x"), size);
		free(text);
	}
}

static void a_file_that_cannot_be_read_leaves_its_error(void **state)
{
	size_t len;

	errno = 0;
	assert_null(mem_read_path("/tmp/no such folder/file", &len));
	assert_int_equal(errno, ENOENT);
	assert_null(mem_read_path("/tmp", &len));
	assert_int_equal(errno, EISDIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_read_whole_and_ends_with_a_nul),
		cmocka_unit_test(a_file_that_cannot_be_read_leaves_its_error),
	};

	return cmocka_run_group_tests_name("mem", tests, NULL, NULL);
}
