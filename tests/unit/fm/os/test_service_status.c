/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The line of `systemctl status`: what does not work stands first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "fm/os/service_status.h"

#define SIZE  "\"hcas\":16,\"switches\":4,\"links_down\":0"
#define PROOF "\"proof\":{\"unreachable\":0,\"loops\":0,\"bad_ports\":0,\"credit_cycles\":0}"

static void what_does_not_work_is_first(void **state)
{
	static const char *const cases[][2] = {
		{ "{}", "STATUS=unknown: 0 HCAs, 0 switches, 0 links down" },
		{ "{\"state\":\"up\",\"cut_off\":null,\"alerts\":[]," PROOF "," SIZE "}",
		  "STATUS=up: 16 HCAs, 4 switches, 0 links down" },
		{ "{\"state\":\"up\",\"alerts\":[{\"what\":\"peer\"}]," PROOF "," SIZE "}",
		  "STATUS=up, 1 alert: 16 HCAs, 4 switches, 0 links down" },
		{ "{\"state\":\"up\",\"cut_off\":\"8 HCAs cut off: leaf-1 is down\","
		  "\"alerts\":[{\"what\":\"hcas-cut-off\"},{\"what\":\"a\"},{\"what\":\"b\"}]," SIZE
		  "}",
		  "STATUS=8 HCAs cut off: leaf-1 is down; up, 2 alerts: 16 HCAs, 4 switches, 0 "
		  "links down" },
		{ "{\"state\":\"changing\",\"proof\":{\"unreachable\":6,\"loops\":1}," SIZE "}",
		  "STATUS=6 port pairs unreachable; errors in the forwarding tables; changing: 16 "
		  "HCAs, 4 switches, 0 links down" },
	};
	char text[SERVICE_STATUS];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *status = json_loads(cases[i][0], 0, NULL);

		assert_non_null(status);
		service_status(status, text);
		assert_string_equal(text, cases[i][1]);
		json_decref(status);
	}
}

static void a_long_name_leaves_room_for_the_state(void **state)
{
	char name[1000], text[SERVICE_STATUS];
	json_t *status;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	status = json_pack("{ss ss}", "state", "up", "cut_off", name);
	service_status(status, text);
	assert_non_null(strstr(text, "x; up: 0 HCAs"));
	json_decref(status);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_does_not_work_is_first),
		cmocka_unit_test(a_long_name_leaves_room_for_the_state),
	};
	return cmocka_run_group_tests_name("service_status", tests, NULL, NULL);
}
