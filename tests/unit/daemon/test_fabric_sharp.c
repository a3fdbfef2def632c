/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Who is a SHARP aggregation node: by what it says itself where name and place disagree, else by
 * its name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_optional.h"
#include "tests/lib/fabric_world.h"
#include "topology/files/dump.h"

#define NAMED "Mellanox Technologies Aggregation Node"

static uint32_t an_of(const struct topo *t, uint32_t sw)
{
	return topo_peer(t, topo_port(t, sw, t->nodes[sw].nports))->node;
}

static guid_t guid_of(const struct world *w, uint32_t node)
{
	return w->design->nodes[node].guid;
}

/* A host that is not the SM's. */
static uint32_t far_host(const struct world *w)
{
	return w->design->nodes[w->design->nnodes - 1].sharp
		       ? w->design->host_cas[w->design->hosts[w->design->nhosts - 1].first]
		       : w->design->nnodes - 1;
}

static const char *role_of(const struct world *w, guid_t guid, char role[16])
{
	json_t *rows = dump_json_nodes(fabric_topo(w->fabric), false), *row;
	char text[24];
	size_t i;

	role[0] = '\0';
	snprintf(text, sizeof(text), "0x%016llx", (unsigned long long)guid);
	json_array_foreach (rows, i, row)
		if (!strcmp(json_string_value(json_object_get(row, "guid")), text))
			snprintf(role, 16, "%s", json_string_value(json_object_get(row, "role")));
	json_decref(rows);
	return role;
}

static void assert_role(const struct world *w, uint32_t node, const char *role)
{
	char found[16];

	assert_string_equal(role_of(w, guid_of(w, node), found), role);
}

static uint32_t specials(const struct world *w)
{
	return fabric_topo(w->fabric)->nspecials;
}

static void assert_sound(const struct world *w)
{
	assert_true(is_up(w));
	assert_hardware_holds_the_tables(w);
	assert_hardware_delivers(w, 5);
}

/*
 * CAs that were asked since the count began; switches that have tables are asked once in a life
 * about adaptive routing.
 */
static unsigned asked(const struct world *w)
{
	unsigned sent = double_sent(w->hw, WIRE_GET, WIRE_GENERAL_INFO);

	return sent >= w->design->nswitches ? sent - w->design->nswitches : sent;
}

/* As delivered: what they are called and where they are is as it should be. */
static void nothing_is_asked_where_name_and_place_agree(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	assert_int_equal(double_sent(w.hw, WIRE_GET, WIRE_GENERAL_INFO), 0);
	assert_int_equal(specials(&w), w.design->nspecials);
	world_fini(&w);
}

static void an_aggregation_node_of_another_name_is_still_one(void **state)
{
	struct world w;
	struct tables before = { 0 };
	uint32_t an;

	world_init(&w, pod(1));
	an = an_of(w.design, 2);
	tables_copy(&before, fabric_tables(w.fabric));
	double_set_sharp(w.hw, guid_of(&w, an), true);
	double_set_desc(w.hw, guid_of(&w, an), "reduction-03 HCA-1");
	run_for(&w, 5 * SECOND_US);
	assert_role(&w, an, "sharp");
	assert_int_equal(specials(&w), w.design->nspecials);
	assert_int_equal(asked(&w), 1);
	assert_memory_equal(before.lft, fabric_tables(w.fabric)->lft,
			    (size_t)before.nswitches * before.stride);
	tables_fini(&before);
	assert_sound(&w);
	world_fini(&w);
}

/* Over a start too, and it is asked once in a life. */
static void it_is_asked_once(void **state)
{
	struct world w;
	uint32_t an;

	world_init(&w, pod(1));
	an = an_of(w.design, 2);
	stop_fabric(&w);
	double_set_sharp(w.hw, guid_of(&w, an), true);
	double_set_desc(w.hw, guid_of(&w, an), "reduction-03 HCA-1");
	double_sent_reset(w.hw);
	start_fabric(&w);
	run_for(&w, 5 * SECOND_US);
	assert_role(&w, an, "sharp");
	assert_int_equal(asked(&w), 1);
	double_set_desc(w.hw, guid_of(&w, an), "reduction-04 HCA-1");
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(asked(&w), 1);
	assert_role(&w, an, "sharp");
	assert_sound(&w);
	world_fini(&w);
}

static void a_host_of_that_name_is_a_host_when_it_says_so(void **state)
{
	struct world w;
	uint32_t host;

	world_init(&w, pod(1));
	host = far_host(&w);
	double_set_sharp(w.hw, guid_of(&w, host), false);
	double_set_desc(w.hw, guid_of(&w, host), NAMED);
	run_for(&w, 5 * SECOND_US);
	assert_role(&w, host, "host");
	assert_int_equal(specials(&w), w.design->nspecials);
	assert_sound(&w);
	world_fini(&w);
}

/* Old firmware: a status, or silence. */
static void who_does_not_know_the_question_goes_by_its_name(void **state)
{
	for (int mute = 0; mute < 2; mute++) {
		struct world w;
		uint32_t host, an;

		world_init(&w, pod(1));
		host = far_host(&w);
		an = an_of(w.design, 2);
		if (mute) {
			double_set_mute(w.hw, guid_of(&w, host), WIRE_GET, WIRE_GENERAL_INFO);
			double_set_mute(w.hw, guid_of(&w, an), WIRE_GET, WIRE_GENERAL_INFO);
		}
		double_set_desc(w.hw, guid_of(&w, host), NAMED);
		double_set_desc(w.hw, guid_of(&w, an), "node-77 HCA-1");
		run_for(&w, 30 * SECOND_US);
		assert_role(&w, host, "sharp");
		assert_role(&w, an, "host");
		assert_int_equal(specials(&w), w.design->nspecials);
		double_sent_reset(w.hw);
		run_for(&w, 60 * SECOND_US);
		assert_int_equal(asked(&w), 0);
		assert_sound(&w);
		world_fini(&w);
	}
}

/* A host on the highest port of a switch without an aggregation node is one SMP. */
static void a_host_on_a_switchs_highest_port_stays_one(void **state)
{
	struct world w;
	uint32_t an;

	world_init(&w, pod(1));
	an = an_of(w.design, 2);
	stop_fabric(&w);
	double_set_sharp(w.hw, guid_of(&w, an), false);
	double_set_desc(w.hw, guid_of(&w, an), "login-1 HCA-1");
	double_sent_reset(w.hw);
	start_fabric(&w);
	run_for(&w, 60 * SECOND_US);
	assert_role(&w, an, "host");
	assert_int_equal(asked(&w), 1);
	assert_sound(&w);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_asked_where_name_and_place_agree),
		cmocka_unit_test(an_aggregation_node_of_another_name_is_still_one),
		cmocka_unit_test(it_is_asked_once),
		cmocka_unit_test(a_host_of_that_name_is_a_host_when_it_says_so),
		cmocka_unit_test(who_does_not_know_the_question_goes_by_its_name),
		cmocka_unit_test(a_host_on_a_switchs_highest_port_stays_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
