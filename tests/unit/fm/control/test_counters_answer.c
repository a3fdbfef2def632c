/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What ports have counted as rows, and the busiest links of them. The fabric is a scalable unit of
 * 32 hosts; its links carry 400 Gb/s.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/control/answer.h"
#include "tests/lib/control_fabric.h"
#include "tests/lib/fabrics.h"
#include "tests/sim/view.h"

#define LEAF   "leaf-su01-rail0"
#define NDR_BS (400e9 / 8) /* bytes a second */
#define NOW_US 90000000

static int set_up_pod(void **state)
{
	struct fabric *f = mem_alloc(1, sizeof(*f));

	f->topo = pod(1);
	f->counters = mem_alloc(f->topo->nports, sizeof(*f->counters));
	f->now_us = NOW_US;
	*state = f;
	return 0;
}

static int tear_down_pod(void **state)
{
	struct fabric *f = *state;

	free(f->counters);
	topo_unref(f->topo);
	free(f);
	return 0;
}

static struct port_counters *at(struct fabric *f, const char *what)
{
	char err[512];
	unsigned port;
	uint32_t node = topo_resolve(f->topo, what, &port, err, sizeof(err));

	assert_true(node != TOPO_NONE && port);
	return &f->counters[f->topo->nodes[node].port0 + port];
}

/* share: of what the link can. */
static void sends(struct fabric *f, const char *what, double share, double errors)
{
	struct port_counters *c = at(f, what);

	c->known = c->rated = 1u << PERF_XMIT_DATA | 1u << PERF_RCV_DATA | 1u << PERF_SYMBOL;
	c->value[PERF_XMIT_DATA] = 4000;
	c->value[PERF_SYMBOL] = 7;
	c->rate[PERF_XMIT_DATA] = (float)(NDR_BS * share);
	c->rate[PERF_SYMBOL] = (float)errors;
	c->read_us[COUNTERS_LINK] = c->read_us[COUNTERS_TRAFFIC] = NOW_US - 2000000;
}

static json_t *ask(struct fabric *f, const char *name, json_t *args)
{
	const struct command_env env = { .fabric = f };
	char err[COMMAND_ERROR_SIZE] = "";
	json_t *answer = command_answer(&env, command_find(name), args, err);

	if (!answer)
		fail_msg("%s: %s", name, err);
	json_decref(args);
	return answer;
}

static double number(const json_t *row, const char *key)
{
	return json_number_value(json_object_get(row, key));
}

static const char *name_in(const json_t *row, const char *end)
{
	return json_string_value(json_object_get(json_object_get(row, end), "name"));
}

static void a_row_has_what_its_port_counted(void **state)
{
	struct fabric *f = *state;
	json_t *rows, *row;

	sends(f, LEAF ":33", 0.5, 0);
	rows = ask(f, "counters", json_pack("{ss}", "what", LEAF ":33"));
	row = json_array_get(rows, 0);
	assert_int_equal(json_array_size(rows), 2); /* both its ends */
	assert_string_equal(json_string_value(json_object_get(row, "name")), LEAF);
	assert_string_equal(name_in(row, "to"), "spine-01");
	assert_int_equal(number(json_object_get(row, "values"), "xmit_bytes"), 4000);
	assert_int_equal(number(json_object_get(row, "values"), "symbol_errors"), 7);
	assert_true(number(row, "age_s") == 2);
	assert_null(json_object_get(row, "rates"));
	row = json_array_get(rows, 1); /* never read */
	assert_null(json_object_get(row, "values"));
	json_decref(rows);
}

static void rates_come_where_they_are_asked_for(void **state)
{
	struct fabric *f = *state;
	json_t *rows, *row;

	sends(f, LEAF ":33", 0.5, 3);
	rows = ask(f, "counters", json_pack("{ss sb}", "what", LEAF ":33", "rates", 1));
	row = json_array_get(rows, 0);
	assert_float_equal(number(row, "load_percent"), 50, 0.01);
	assert_float_equal(number(row, "xmit_gbps"), 200, 0.01);
	assert_float_equal(number(row, "errors_per_s"), 3, 0.01);
	assert_non_null(json_object_get(row, "rates"));
	row = json_array_get(rows, 1);
	assert_true(json_is_null(json_object_get(row, "load_percent")));
	json_decref(rows);
}

static void rows_are_of_the_ports_that_are_asked_for(void **state)
{
	struct fabric *f = *state;
	json_t *rows = ask(f, "counters", json_pack("{ss}", "what", LEAF));

	assert_int_equal(json_array_size(rows), 65); /* an aggregation node, too */
	json_decref(rows);
	rows = ask(f, "counters", json_pack("{ss}", "what", "dgx-su01-05"));
	assert_int_equal(json_array_size(rows), 8);
	json_decref(rows);
	rows = ask(f, "counters", json_pack("{ss ss}", "leaf", LEAF, "host", "dgx-su01-05"));
	assert_int_equal(json_array_size(rows), 2);
	json_decref(rows);
}

static void the_busiest_links_come_first_by_the_end_that_sends_more(void **state)
{
	struct fabric *f = *state;
	json_t *doc, *hottest, *errors;

	sends(f, LEAF ":33", 0.3, 0);
	sends(f, "spine-01:1", 0.9, 0); /* the same link */
	sends(f, LEAF ":34", 0.7, 12);
	sends(f, LEAF ":35", 0, 5);
	doc = ask(f, "top", json_object());
	hottest = json_object_get(doc, "hottest");
	errors = json_object_get(doc, "errors");
	assert_int_equal(number(doc, "links"), 512);
	assert_int_equal(number(doc, "known"), 3);
	assert_int_equal(json_array_size(hottest), 2); /* who sends nothing is not hot */
	assert_string_equal(name_in(json_array_get(hottest, 0), "from"), "spine-01");
	assert_float_equal(number(json_array_get(hottest, 0), "load_percent"), 90, 0.01);
	assert_float_equal(number(json_array_get(hottest, 0), "back_gbps"), 120, 0.01);
	assert_string_equal(name_in(json_array_get(hottest, 1), "from"), LEAF);
	assert_int_equal(json_array_size(errors), 2);
	assert_float_equal(number(json_array_get(errors, 0), "errors_per_s"), 12, 0.01);
	json_decref(doc);
	doc = ask(f, "top", json_pack("{si}", "n", 1));
	assert_int_equal(json_array_size(json_object_get(doc, "hottest")), 1);
	json_decref(doc);
	doc = ask(f, "top", json_pack("{ss}", "leaf", "leaf-su01-rail1"));
	assert_int_equal(number(doc, "links"), 64);
	assert_int_equal(json_array_size(json_object_get(doc, "hottest")), 0);
	json_decref(doc);
}

#define POD_TEST(test) cmocka_unit_test_setup_teardown(test, set_up_pod, tear_down_pod)

int main(void)
{
	const struct CMUnitTest tests[] = {
		POD_TEST(a_row_has_what_its_port_counted),
		POD_TEST(rates_come_where_they_are_asked_for),
		POD_TEST(rows_are_of_the_ports_that_are_asked_for),
		POD_TEST(the_busiest_links_come_first_by_the_end_that_sends_more),
	};
	return cmocka_run_group_tests_name("counters_answers", tests, NULL, NULL);
}
