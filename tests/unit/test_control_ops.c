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

static void whatif_fails_cables_in_a_copy(void **state)
{
	struct fixture *f = *state;
	json_t *answer = ask(f, "{\"cmd\":\"whatif\",\"args\":{\"fail\":[\"leaf-1:2\"]}}\n");
	json_t *result = json_object_get(answer, "result");

	assert_int_equal(json_integer_value(json_object_get(result, "links_failed")), 1);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(result, "proof"), "reachable")),
		2);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(result, "delta"), "entries")),
		1);
	assert_true(topo_port(f->fabric.topo, 0, 2)->link_up);
	json_decref(answer);
}

static void whatif_refuses_what_is_not_there(void **state)
{
	struct fixture *f = *state;

	say(f, "{\"cmd\":\"whatif\",\"args\":{\"fail\":[\"leaf-1:4\"]}}\n"
	       "{\"cmd\":\"whatif\",\"args\":{\"cordon\":[\"leaf-1\"]}}\n"
	       "{\"cmd\":\"whatif\",\"args\":{\"fail\":\"leaf-1\"}}\n"
	       "{\"cmd\":\"whatif\",\"args\":{\"cordon\":[7]}}\n");
	answers(f, "{\"ok\":false,\"error\":\"leaf-1:4: no such cable there\"}");
	answers(f, "{\"ok\":false,\"error\":\"leaf-1: no such cable there\"}");
	answers(f, "{\"ok\":false,\"error\":\"arguments: a list of names is expected\"}");
	answers(f, "{\"ok\":false,\"error\":\"arguments: a name is a text\"}");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(whatif_fails_cables_in_a_copy),
		TEST(whatif_refuses_what_is_not_there),
		TEST(cordon_is_an_act_with_an_argument),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
