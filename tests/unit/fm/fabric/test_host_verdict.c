/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "fm/fabric/host_verdict.h"

static void the_worst_part_wins_whatever_the_order(void **state)
{
	for (int a = 0; a < HOST_STATES; a++)
		for (int b = 0; b < HOST_STATES; b++) {
			struct host_verdict v = { 0 };

			host_verdict_add(&v, (enum host_state)a, "first");
			host_verdict_add(&v, (enum host_state)b, "second");
			assert_int_equal(v.state, a > b ? a : b);
			assert_int_equal(v.count, 2);
			assert_string_equal(host_verdict_reason(&v), b > a ? "second" : "first");
		}
}

static void reasons_stand_from_worst_to_best_and_as_they_came(void **state)
{
	struct host_verdict v = { 0 };

	host_verdict_add(&v, HOST_DEGRADED, "mlx5_%d", 0);
	host_verdict_add(&v, HOST_UNKNOWN, "NVLinks");
	host_verdict_add(&v, HOST_DEGRADED, "mlx5_%d", 1);
	host_verdict_add(&v, HOST_DEGRADED, "mlx5_%d", 0);
	host_verdict_add(&v, HOST_FATAL, "NVSwitch");
	assert_int_equal(v.count, 4);
	assert_string_equal(v.reasons[0].text, "NVSwitch");
	assert_string_equal(v.reasons[1].text, "mlx5_0");
	assert_string_equal(v.reasons[2].text, "mlx5_1");
	assert_string_equal(v.reasons[3].text, "NVLinks");
}

static void of_too_many_reasons_the_worst_are_kept_and_the_rest_counted(void **state)
{
	struct host_verdict v = { 0 };

	for (int i = 0; i < HOST_REASONS + 3; i++)
		host_verdict_add(&v, HOST_DEGRADED, "mlx5_%d", i);
	host_verdict_add(&v, HOST_CUT_OFF, "all");
	assert_int_equal(v.count, HOST_REASONS);
	assert_int_equal(v.more, 4);
	assert_string_equal(v.reasons[0].text, "all");
	assert_string_equal(v.reasons[HOST_REASONS - 1].text, "mlx5_14");
}

static void names_are_read_as_they_are_written(void **state)
{
	for (int s = 0; s < HOST_STATES; s++)
		assert_int_equal(host_state_parse(host_state_name((enum host_state)s)), s);
	assert_int_equal(host_state_parse("WELL"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_worst_part_wins_whatever_the_order),
		cmocka_unit_test(reasons_stand_from_worst_to_best_and_as_they_came),
		cmocka_unit_test(of_too_many_reasons_the_worst_are_kept_and_the_rest_counted),
		cmocka_unit_test(names_are_read_as_they_are_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
