/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which rows lists answer: by WHAT, by filters that combine, and in which order. The fabric is two
 * scalable units of 32 hosts with eight rails: 16 leaves, 8 spines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/control/answer.h"
#include "routing/ftree/route.h"
#include "tests/lib/control_fabric.h"
#include "tests/lib/fabrics.h"
#include "topology/snapshot/topo_builder.h"

#define LEAF "leaf-su02-rail3"
#define HOST "dgx-su02-05"

static int set_up_pod(void **state)
{
	struct fabric *f = mem_alloc(1, sizeof(*f));

	f->topo = pod(2);
	*state = f;
	return 0;
}

static int tear_down_pod(void **state)
{
	struct fabric *f = *state;

	topo_unref(f->topo);
	json_decref(f->unhealthy);
	free(f);
	return 0;
}

/* args as JSON with single quotes. The caller's; NULL with the reason in err. */
static json_t *try_list(struct fabric *f, const char *name, const char *args, char *err)
{
	const struct command_env env = { .fabric = f };
	char text[256];
	json_t *parsed, *answer;

	snprintf(text, sizeof(text), "%s", args);
	for (char *at = text; *at; at++)
		*at = *at == '\'' ? '"' : *at;
	parsed = json_loads(text, 0, NULL);
	assert_non_null(parsed);
	answer = command_answer(&env, command_find(name), parsed, err);
	json_decref(parsed);
	return answer;
}

static size_t count(struct fabric *f, const char *name, const char *args)
{
	char err[COMMAND_ERROR_SIZE] = "";
	json_t *rows = try_list(f, name, args, err);
	size_t many = json_array_size(rows);

	if (!rows)
		fail_msg("%s %s: %s", name, args, err);
	json_decref(rows);
	return many;
}

static void assert_refused(struct fabric *f, const char *name, const char *args, const char *word)
{
	char err[COMMAND_ERROR_SIZE] = "";

	assert_null(try_list(f, name, args, err));
	if (!strstr(err, word))
		fail_msg("%s %s: %s", name, args, err);
}

static void without_a_filter_lists_are_whole(void **state)
{
	struct fabric *f = *state;

	assert_int_equal(count(f, "nodes", "{}"), f->topo->nnodes);
	assert_int_equal(count(f, "switches", "{}"), f->topo->nswitches);
	assert_int_equal(count(f, "links", "{}"), f->topo->nlinks);
	assert_int_equal(count(f, "hosts", "{}"), 64);
}

static void what_names_a_host_a_node_or_a_port(void **state)
{
	struct fabric *f = *state;

	assert_int_equal(count(f, "nodes", "{'what':'" HOST "'}"), 8);
	assert_int_equal(count(f, "nodes", "{'what':'" LEAF "'}"), 1);
	assert_int_equal(count(f, "links", "{'what':'" HOST "'}"), 8);
	assert_int_equal(count(f, "links", "{'what':'" LEAF ":5'}"), 1);
	assert_int_equal(count(f, "hosts", "{'what':'" HOST "'}"), 1);
	assert_int_equal(count(f, "hosts", "{'what':'" HOST " mlx5_0'}"), 1);
	assert_int_equal(count(f, "hosts", "{'what':'" LEAF "'}"), 32);
	assert_int_equal(count(f, "hosts", "{'what':'" LEAF ":5'}"), 1);
	assert_int_equal(count(f, "switches", "{'what':'" HOST "'}"), 8);
	assert_refused(f, "nodes", "{'what':'moon'}", "moon");
}

static void places_are_asked_for_by_leaf_host_rail_and_unit(void **state)
{
	struct fabric *f = *state;

	assert_int_equal(count(f, "hosts", "{'leaf':'" LEAF "'}"), 32);
	assert_int_equal(count(f, "hosts", "{'su':2}"), 32);
	assert_int_equal(count(f, "switches", "{'su':2}"), 8);
	assert_int_equal(count(f, "switches", "{'rail':3}"), 2);
	assert_int_equal(count(f, "links", "{'host':'" HOST "'}"), 8);
	assert_int_equal(count(f, "switches", "{'host':'" HOST "'}"), 8);
	assert_refused(f, "links", "{'leaf':'" HOST "'}", "not a switch");
	assert_refused(f, "links", "{'host':'" LEAF "'}", "not a host");
}

static void filters_combine(void **state)
{
	struct fabric *f = *state;

	assert_int_equal(count(f, "nodes", "{'host':'" HOST "','rail':3}"), 2);
	assert_int_equal(count(f, "links", "{'host':'" HOST "','leaf':'" LEAF "'}"), 1);
	assert_int_equal(count(f, "switches", "{'rail':3,'su':1}"), 1);
	assert_int_equal(count(f, "hosts", "{'leaf':'" LEAF "','su':1}"), 0);
}

static void down_is_a_link_and_who_has_one(void **state)
{
	struct fabric *f = *state;
	struct topo_port *port;

	port = (struct topo_port *)&f->topo
		       ->ports[topo_port_of(f->topo, f->topo->nodes[f->topo->host_cas[0]].guid, 1)];
	port->link_up = false;
	((struct topo_port *)f->topo->ports)[port->peer].link_up = false;
	assert_int_equal(count(f, "links", "{'down':true}"), 1);
	assert_int_equal(count(f, "hosts", "{'down':true}"), 1);
	assert_int_equal(count(f, "nodes", "{'down':true}"), 2);
	assert_int_equal(count(f, "switches", "{'down':true}"), 1);
	assert_int_equal(count(f, "links", "{'down':true,'su':2}"), 0);
	assert_int_equal(count(f, "links", "{'down':false}"), f->topo->nlinks);
}

static void unhealthy_is_a_link_and_who_has_one(void **state)
{
	struct fabric *f = *state;
	uint32_t sw = topo_find(f->topo, f->topo->nodes[0].guid);

	f->unhealthy = json_array();
	json_array_append_new(f->unhealthy,
			      dump_json_unhealthy_link(f->topo, f->topo->nodes[sw].port0 + 1,
						       "sick", json_string("symbol errors")));
	assert_int_equal(count(f, "links", "{'unhealthy':true}"), 1);
	assert_int_equal(count(f, "links", "{'sick':true}"), 1);
	assert_int_equal(count(f, "links", "{'unhealthy':true,'down':true}"), 0);
	assert_int_equal(count(f, "nodes", "{'unhealthy':true}"), 2);
}

static void unhealthy_hosts_are_those_of_their_verdict(void **state)
{
	struct fabric *f = *state;

	assert_int_equal(count(f, "hosts", "{'unhealthy':true}"), 0);
	f->unhealthy_host = 1;
	assert_int_equal(count(f, "hosts", "{'unhealthy':true}"), 1);
	assert_int_equal(count(f, "hosts", "{'unhealthy':true,'su':2}"), 0);
}

static void classes_are_those_that_routing_goes_by(void **state)
{
	struct fabric *f = *state;

	assert_int_equal(count(f, "hosts", "{'class':'storage'}"), 0);
	assert_int_equal(count(f, "hosts", "{'class':'compute'}"), 64);
	f->classes = mem_alloc(f->topo->nports, 1);
	f->classes[f->topo->nodes[f->topo->host_cas[9]].port0 + 1] = ROUTE_STORAGE;
	assert_int_equal(count(f, "hosts", "{'class':'storage'}"), 1);
	f->classes = mem_alloc(f->topo->nports, 1);
	f->classes[f->topo->nodes[f->topo->host_cas[9]].port0 + 1] = ROUTE_STORAGE;
	assert_int_equal(count(f, "links", "{'class':'storage'}"), 1);
	f->classes = NULL;
	assert_refused(f, "hosts", "{'class':'royal'}", "royal");
}

static void what_a_list_does_not_know_is_refused(void **state)
{
	struct fabric *f = *state;

	assert_refused(f, "switches", "{'class':'compute'}", "class");
	assert_refused(f, "status", "{'su':1}", "su");
	assert_refused(f, "links", "{'rail':'three'}", "integer");
	assert_refused(f, "links", "{'sort':'MOON'}", "MOON");
	assert_refused(f, "status", "{'sort':'NAME'}", "sort");
}

static const char *name_at(const json_t *rows, size_t index)
{
	return json_string_value(json_object_get(json_array_get(rows, index), "name"));
}

static void rows_come_in_the_order_of_a_column(void **state)
{
	char err[COMMAND_ERROR_SIZE] = "";
	struct fabric *f = *state;
	json_t *rows = try_list(f, "switches", "{'sort':'-name'}", err);

	assert_string_equal(name_at(rows, 0), "spine-08");
	assert_string_equal(name_at(rows, 23), "leaf-su01-rail0");
	json_decref(rows);
	rows = try_list(f, "switches", "{'sort':'RAIL'}", err); /* spines have none: last */
	assert_string_equal(name_at(rows, 1), "leaf-su02-rail0");
	assert_string_equal(name_at(rows, 23), "spine-08");
	json_decref(rows);
	rows = try_list(f, "switches", "{'sort':'-rail'}", err);
	assert_string_equal(name_at(rows, 0), "leaf-su01-rail7");
	assert_string_equal(name_at(rows, 23), "spine-08");
	json_decref(rows);
}

/* What a stream writes, as JSON; NULL with the reason in err, and then it wrote nothing. */
static json_t *streamed(struct fabric *f, const char *name, json_t *args, char *err)
{
	const struct command_env env = { .fabric = f };
	const struct command *command = command_find(name);
	json_t *rows = NULL;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_true(command_can_stream(command, args));
	if (command_stream(&env, command, args, "[", out, err)) {
		fputc(']', out);
		fflush(out);
		rows = json_loads(text, 0, NULL);
		assert_non_null(rows);
	}
	fclose(out);
	assert_true(rows || !len);
	free(text);
	json_decref(args);
	return rows;
}

static void rows_one_by_one_are_the_same_as_all_at_once(void **state)
{
	static const char *const names[] = { "nodes", "links", "counters" };
	char err[COMMAND_ERROR_SIZE] = "";
	struct fabric *f = *state;

	for (unsigned i = 0; i < 3; i++) {
		json_t *rows = streamed(f, names[i], json_pack("{si}", "su", 2), err);
		json_t *whole = try_list(f, names[i], "{'su':2}", err);

		assert_true(json_equal(rows, whole));
		json_decref(rows);
		json_decref(whole);
		rows = streamed(f, names[i], json_pack("{si}", "su", 7), err); /* there are two */
		assert_int_equal(json_array_size(rows), 0);
		json_decref(rows);
		assert_null(streamed(f, names[i], json_pack("{ss}", "what", "moon"), err));
		assert_non_null(strstr(err, "moon"));
	}
	assert_false(command_can_stream(command_find("hosts"), NULL));
}

static void what_is_sorted_is_answered_as_a_whole(void **state)
{
	json_t *args = json_pack("{ss}", "sort", "name");

	assert_false(command_can_stream(command_find("nodes"), args));
	json_decref(args);
}

#define POD_TEST(test) cmocka_unit_test_setup_teardown(test, set_up_pod, tear_down_pod)

int main(void)
{
	const struct CMUnitTest tests[] = {
		POD_TEST(without_a_filter_lists_are_whole),
		POD_TEST(what_names_a_host_a_node_or_a_port),
		POD_TEST(places_are_asked_for_by_leaf_host_rail_and_unit),
		POD_TEST(filters_combine),
		POD_TEST(down_is_a_link_and_who_has_one),
		POD_TEST(unhealthy_is_a_link_and_who_has_one),
		POD_TEST(unhealthy_hosts_are_those_of_their_verdict),
		POD_TEST(classes_are_those_that_routing_goes_by),
		POD_TEST(what_a_list_does_not_know_is_refused),
		POD_TEST(rows_come_in_the_order_of_a_column),
		POD_TEST(rows_one_by_one_are_the_same_as_all_at_once),
		POD_TEST(what_is_sorted_is_answered_as_a_whole),
	};
	return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
