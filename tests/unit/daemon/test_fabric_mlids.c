/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Room for multicast groups: how much there is, and who is told when it runs out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/fabric_mcast_world.h"

#define ROOM 20 /* of the smallest switch */

static const char *smallest_switch(const struct world *w, char name[65])
{
	json_t *status = fabric_status(w->fabric);
	json_t *multicast = json_object_get(status, "multicast");

	snprintf(name, 65, "%s", json_string_value(json_object_get(multicast, "smallest_switch")));
	json_decref(status);
	return name;
}

static void init(struct world *w)
{
	struct topo *design = small_tree();

	for (uint32_t sw = 0; sw < design->nswitches; sw++)
		((struct topo_node *)design->nodes)[sw].mft_cap = sw == 3 ? ROOM : 1024;
	world_init(w, design);
	log_set_level(LOG_SA, LOG_ERR - 1);
	log_set_level(LOG_CORE, LOG_ERR - 1);
}

/* Of one host, beside the broadcast group that is there. */
static void make_groups(struct world *w, unsigned host, unsigned first, unsigned count)
{
	for (unsigned i = first; i < first + count; i++) {
		struct wire_mcmember rec = member_of(w, port_of(w, host), 1);
		struct heard h = { 0 };

		rec.mgid.prefix += i; /* answer_cb() notes by GUID */
		ask_for(w, host, WIRE_SET, &rec, &h);
		run_for(w, 1000);
	}
}

static void the_switch_with_least_room_is_shown(void **state)
{
	struct world w;
	char name[65];

	init(&w);
	assert_string_equal(smallest_switch(&w, name), w.design->nodes[3].desc);
	assert_int_equal(status_number(&w, "multicast", "mlids_room"), ROOM);
	assert_int_equal(status_number(&w, "multicast", "mlids"), 1);
	world_fini(&w);
}

static void few_mlids_and_none_are_reported_once_with_who_holds_most(void **state)
{
	char who[80];
	struct world w;

	init(&w);
	snprintf(who, sizeof(who), "%s (port GUID", w.design->nodes[w.design->nswitches + 7].desc);
	for (unsigned i = 0; i < 13; i++) /* each holds one: there are few */
		make_groups(&w, 10 + i, i, 1);
	make_groups(&w, 7, 0, 2); /* which are there */
	make_groups(&w, 7, 13, 1);
	make_groups(&w, 8, 20, 1);
	assert_int_equal(count_logged(&w, "mlids", ""), 1);
	assert_int_equal(count_logged(&w, "mlids", "16 of 20"), 1);
	assert_int_equal(count_logged(&w, "mlids", who), 1);
	assert_int_equal(count_logged(&w, "mlids", w.design->nodes[3].desc), 1);
	make_groups(&w, 30, 21, 1);
	make_groups(&w, 31, 22, 1);
	assert_int_equal(count_logged(&w, "mlids", ""), 1);
	for (unsigned i = 0; i < 10; i++)
		make_groups(&w, 32 + i, 23 + i, 1);
	assert_int_equal(count_logged(&w, "mlids", "20 of 20"), 1);
	assert_int_equal(count_logged(&w, "mlids", ""), 2);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_switch_with_least_room_is_shown),
		cmocka_unit_test(few_mlids_and_none_are_reported_once_with_who_holds_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
