/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Build: plain. Page faults are counted. */
/* Memory of tables that a child shared: touched in quiet, its first writes take no faults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "routing/tables.h"

#define SWITCHES 512
#define TOP	 16383 /* 8 MB: in several calls */

static long minor_faults(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return usage.ru_minflt;
}

static void share_with_a_child(void)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
}

static unsigned touch(const struct tables *t)
{
	unsigned calls = 1;
	size_t at = 0;

	while (tables_touch(t, &at))
		calls++;
	return calls;
}

static void fill(struct tables *t, uint8_t value)
{
	memset(t->lft, value, t->capacity);
}

static void memory_that_was_shared_takes_no_faults_once_touched(void **state)
{
	struct tables t = { 0 };
	long before, untouched;

	tables_resize(&t, SWITCHES, TOP);
	fill(&t, 1);
	share_with_a_child();
	before = minor_faults();
	fill(&t, 2);
	untouched = minor_faults() - before;
	share_with_a_child();
	assert_true(touch(&t) > 1);
	before = minor_faults();
	fill(&t, 3);
	print_message("%ld faults after a child, %ld once touched\n", untouched,
		      minor_faults() - before);
	assert_true(minor_faults() - before <= untouched / 8 + 1);
	tables_fini(&t);
}

static void a_touch_leaves_contents_as_they_are(void **state)
{
	struct tables t = { 0 }, none = { 0 };
	uint8_t *bytes;

	tables_resize(&t, SWITCHES, TOP);
	bytes = t.lft;
	for (size_t i = 0; i < t.capacity; i++)
		bytes[i] = (uint8_t)(i * 31 + i / 4096);
	touch(&t);
	for (size_t i = 0; i < t.capacity; i++)
		assert_true(bytes[i] == (uint8_t)(i * 31 + i / 4096));
	assert_int_equal(touch(&none), 1);
	tables_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_that_was_shared_takes_no_faults_once_touched),
		cmocka_unit_test(a_touch_leaves_contents_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
