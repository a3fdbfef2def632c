/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Operators' acts and questions at the control socket. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/unit/control_world.h"

static void cordon_is_an_act_with_an_argument(void **state)
{
	struct fixture *f = *state;

	f->fabric.instant = true;
	say(f, "{\"cmd\":\"cordon\"}\n{\"cmd\":\"cordon\",\"args\":{\"what\":\"leaf-1\"}}\n");
	answers(f, "{\"ok\":false,\"error\":\"arguments: Object item not found: what\"}");
	answers(f, "{\"ok\":true,\"result\":{\"blocks\":7}}");
	assert_string_equal(f->fabric.cordoned, "leaf-1");
	assert_true(f->fabric.cordon_on);
	say(f, "{\"cmd\":\"uncordon\",\"args\":{\"what\":\"leaf-2\"}}\n");
	answers(f, "{\"ok\":true,\"result\":{\"blocks\":7}}");
	assert_string_equal(f->fabric.cordoned, "leaf-2");
	assert_false(f->fabric.cordon_on);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(cordon_is_an_act_with_an_argument),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
