/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The last multicast LID that there is, 0xFFFE, is used like any other. (The sanitizers see whether
 * anything is read behind it.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/multicast/module.h"
#include "tests/lib/fabric_world.h"

#define LAST_MLID 0xfffe

static void a_group_at_the_last_mlid_is_kept_and_planned(void **state)
{
	char text[256];
	json_t *groups;
	struct world w;

	world_init(&w, small_tree());
	snprintf(text, sizeof(text),
		 "group 0xff12a01bfe800000 0x1 0x%x 0xffff 0x1 4 3 18 0 0x0 0 0\n"
		 "joined 0xff12a01bfe800000 0x1 0x%llx 1 0\n",
		 LAST_MLID,
		 (unsigned long long)w.design
			 ->ports[w.design->nodes[w.design->nswitches + 3].port0 + 1]
			 .guid);
	assert_true(restart_with(&w, "groups", text));
	run_for(&w, 5 * SECOND_US);
	assert_true(is_up(&w));
	groups = multicast_groups(w.fabric);
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(groups, json_array_size(groups) - 1), "mlid")),
			    "0xfffe");
	json_decref(groups);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_group_at_the_last_mlid_is_kept_and_planned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
