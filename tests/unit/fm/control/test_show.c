/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* `show`: what its documents say of marks, counters, news and paths, on one scalable unit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/control/answer.h"
#include "routing/ftree/route.h"
#include "tests/lib/control_fabric.h"
#include "tests/lib/fabrics.h"
#include "tests/sim/view.h"
#include "topology/snapshot/topo_builder.h"
#include "topology/what/what.h"

#define LEAF "leaf-su01-rail0"
#define HOST "dgx-su01-05"

/* ---- The fabric ------------------------------------------------------------------------------ */

static void take(struct fabric *f, struct topo *t)
{
	struct route *route = route_new();
	struct lid_map *lids = lid_plan(t, NULL, 0);

	f->topo = t;
	f->lids = *lids;
	assert_int_equal(route_compute(route, t, lids, &(struct route_params){ .engine = "ftree" },
				       &f->tables),
			 0);
	free(lids); /* what it points to is the fabric's now */
	route_free(route);
}

static void give_back(struct fabric *f)
{
	topo_unref(f->topo);
	tables_fini(&f->tables);
	free(f->lids.lid_of_port);
	free(f->lids.port_of_lid);
}

static int set_up(void **state)
{
	struct fabric *f = mem_alloc(1, sizeof(*f));

	f->unhealthy = json_array();
	f->events = json_array();
	take(f, pod(1));
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fabric *f = *state;

	give_back(f);
	json_decref(f->unhealthy);
	json_decref(f->events);
	free(f->counters);
	free(f);
	return 0;
}

typedef int mark_fn(struct topo_builder *b, int node, unsigned port);

static void mark(struct fabric *f, mark_fn *fn, const char *text)
{
	struct topo_builder *b = topo_builder_from(f->topo);
	char err[WHAT_ERROR_SIZE];
	unsigned port;
	uint32_t node = topo_resolve(f->topo, text, &port, err, sizeof(err));

	for (unsigned num = 1; num <= f->topo->nodes[node].nports; num++)
		if (!port || port == num)
			fn(b, (int)node, num);
	give_back(f);
	take(f, topo_freeze(b));
}

static json_t *try_show(struct fabric *f, const char *what, const char *from, char *err)
{
	const struct command_env env = { .fabric = f };
	json_t *args = json_pack("{ss ss*}", "what", what, "from", from);
	json_t *doc = command_answer(&env, command_find("show"), args, err);

	json_decref(args);
	return doc;
}

static json_t *show(struct fabric *f, const char *what)
{
	char err[COMMAND_ERROR_SIZE] = "";
	json_t *doc = try_show(f, what, NULL, err);

	if (!doc)
		fail_msg("%s: %s", what, err);
	return doc;
}

static const char *text_of(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text ? text : "";
}

static json_t *row_of(const json_t *doc, const char *table, const char *key, int value)
{
	json_t *row;
	size_t i;

	json_array_foreach (json_object_get(doc, table), i, row)
		if (json_integer_value(json_object_get(row, key)) == value)
			return row;
	fail_msg("no row %s = %d in %s", key, value, table);
	return NULL;
}

/* ---- Shape ----------------------------------------------------------------------------------- */

static void documents_are_flat_and_say_what_they_are(void **state)
{
	static const char *const whats[][2] = {
		{ LEAF, "switch" },	      { HOST, "host" },
		{ HOST " mlx5_0", "hca" },    { LEAF ":33", "port" },
		{ LEAF " - " HOST, "cable" }, { "1", "lid" },
		{ "0xc001", "group" },
	};

	for (size_t i = 0; i < sizeof(whats) / sizeof(whats[0]); i++) {
		json_t *doc = show(*state, whats[i][0]), *value, *row, *cell;
		const char *key, *column;
		size_t n;

		assert_string_equal(text_of(doc, "kind"), whats[i][1]);
		assert_true(*text_of(doc, "name"));
		json_object_foreach (doc, key, value) {
			assert_false(json_is_object(value));
			json_array_foreach (value, n, row) {
				assert_true(json_is_string(row) || json_is_object(row));
				json_object_foreach (row, column, cell)
					assert_false(json_is_object(cell) || json_is_array(cell));
			}
		}
		json_decref(doc);
	}
}

/* ---- News ------------------------------------------------------------------------------------ */

static void add_event(struct fabric *f, const char *kind, struct event_subject subject,
		      const char *text)
{
	json_t *row = json_pack("{ss ss ss ss}", "time", "2026-11-23T03:00:00Z", "level", "notice",
				"kind", kind, "text", text);

	event_subject_put(&subject, row);
	json_array_append_new(f->events, row);
}

static uint32_t node_called(const struct fabric *f, const char *name)
{
	uint32_t n = 0;

	while (strcmp(f->topo->nodes[n].name, name) != 0)
		n++;
	return n;
}

static struct event_subject node_of(const struct fabric *f, const char *name)
{
	return event_subject_node(f->topo, node_called(f, name));
}

static struct event_subject port_of(const struct fabric *f, const char *name, unsigned num)
{
	return event_subject_port(f->topo, f->topo->nodes[node_called(f, name)].port0 + num);
}

static size_t news(struct fabric *f, const char *what)
{
	json_t *doc = show(f, what);
	size_t count = json_array_size(json_object_get(doc, "events"));

	json_decref(doc);
	return count;
}

static void events_are_those_that_name_it_and_not_its_namesakes(void **state)
{
	struct fabric *f = *state;
	const struct event_subject none = { 0 };
	struct event_subject link = node_of(f, "spine-01"), leaf = node_of(f, LEAF);

	link.port = 4;
	link.peer = leaf.node;
	link.peer_port = 36;
	add_event(f, "link-down", link, "spine-01 p4 - " LEAF " p36: down");
	add_event(f, "link-down", port_of(f, "spine-01", 44), "down");
	add_event(f, "link-down", none, "my-spine-01: down");
	add_event(f, "link-down", none, "spine-011: down");
	add_event(f, "x", node_of(f, "spine-01"), "rebooted");
	add_event(f, "x", node_of(f, HOST " mlx5_0"), "bad");
	assert_int_equal(news(f, "spine-01"), 3);
	assert_int_equal(news(f, "spine-01:4"), 1);
	assert_int_equal(news(f, "spine-01:44"), 1);
	assert_int_equal(news(f, LEAF ":36"), 1);
	assert_int_equal(news(f, LEAF ":3"), 0);
	assert_int_equal(news(f, HOST), 1);
	assert_int_equal(news(f, "dgx-su01-06"), 0);
	for (unsigned i = 0; i < 50; i++)
		add_event(f, "x", node_of(f, "spine-02"), "again");
	assert_int_equal(news(f, "spine-02"), 20);
}

/* ---- Marks ----------------------------------------------------------------------------------- */

static void a_cordon_is_shown_with_its_time(void **state)
{
	struct fabric *f = *state;
	json_t *doc;

	mark(f, topo_builder_cordon, "spine-02");
	add_event(f, "cordoned", node_of(f, "spine-02"), "spine-02: cordoned, 64 cables");
	doc = show(f, "spine-02");
	assert_true(json_is_true(json_object_get(doc, "cordoned")));
	assert_string_equal(text_of(doc, "cordoned_since"), "2026-11-23T03:00:00Z");
	json_decref(doc);
	doc = show(f, LEAF ":41");
	assert_true(json_is_true(json_object_get(doc, "cordoned")));
	assert_string_equal(text_of(doc, "cordoned_since"), "2026-11-23T03:00:00Z");
	json_decref(doc);
	doc = show(f, "spine-02");
	f->cordoned_node = strtoull(text_of(doc, "guid"), NULL, 16);
	json_decref(doc);
	doc = show(f, "spine-02");
	assert_string_equal(text_of(doc, "cordoned_since"), "2026-11-20T01:00:00.000Z");
	json_decref(doc);
	f->cordoned_node = 0;
	doc = show(f, LEAF);
	assert_true(json_is_false(json_object_get(doc, "cordoned")));
	assert_int_equal(json_integer_value(json_object_get(doc, "links_cordoned")), 8);
	assert_string_equal(text_of(row_of(doc, "ports", "port", 41), "note"),
			    "not Active, cordoned");
	assert_string_equal(text_of(row_of(doc, "ports", "port", 40), "note"), "not Active");
	json_decref(doc);
}

static void what_is_unhealthy_has_its_reason_at_both_ends(void **state)
{
	struct fabric *f = *state;
	uint32_t leaf = topo_find(f->topo, 0x2c90300000100);
	json_t *row = dump_json_unhealthy_link(f->topo, f->topo->nodes[leaf].port0 + 33,
					       "quarantined", json_string("fell 4 times"));
	json_t *doc;

	json_object_set_new(row, "left_s", json_integer(60));
	json_array_append_new(f->unhealthy, row);
	for (const char *const *what = (const char *const[]){ LEAF ":33", "spine-01:1", NULL };
	     *what; what++) {
		doc = show(f, *what);
		assert_string_equal(text_of(doc, "note"),
				    "not Active, quarantined: fell 4 times, for 60 s more");
		assert_string_equal(text_of(doc, "why"), "fell 4 times");
		json_decref(doc);
	}
	doc = show(f, "spine-01");
	assert_int_equal(json_integer_value(json_object_get(doc, "links_unhealthy")), 1);
	json_decref(doc);
}

static void a_switch_without_a_live_link_is_shown_as_such(void **state)
{
	struct fabric *f = *state;
	json_t *doc;

	mark(f, topo_builder_link_down, "spine-03");
	doc = show(f, "spine-03");
	assert_string_equal(text_of(doc, "note"), "all of its links are down");
	json_decref(doc);
	f->down_since = "2026-11-23T03:00:00Z";
	doc = show(f, "spine-03");
	assert_string_equal(text_of(doc, "note"),
			    "all of its links are down since 2026-11-23T03:00:00Z");
	assert_int_equal(json_array_size(json_object_get(doc, "ports")), 65);
	assert_int_equal(
		json_integer_value(json_object_get(row_of(doc, "neighbours", "cables", 8), "up")),
		0);
	json_decref(doc);
}

/* ---- Counters -------------------------------------------------------------------------------- */

static void counters_stand_beside_those_of_the_far_end(void **state)
{
	const uint32_t both = 1u << PERF_XMIT_DATA | 1u << PERF_SYMBOL;
	struct fabric *f = *state;
	json_t *doc, *row;

	f->counters = mem_alloc(f->topo->nports, sizeof(*f->counters));
	for (uint32_t p = 0; p < f->topo->nports; p++) {
		f->counters[p].known = f->counters[p].rated = both;
		f->counters[p].value[PERF_XMIT_DATA] = 123456789012345;
		f->counters[p].rate[PERF_XMIT_DATA] = 25e9f;
		f->counters[p].rate[PERF_SYMBOL] = 0.5f;
	}
	doc = show(f, LEAF ":33");
	assert_int_equal(json_array_size(json_object_get(doc, "counters")), 2);
	row = json_array_get(json_object_get(doc, "counters"), 0);
	if (json_integer_value(json_object_get(row, "here")) != 123456789012345)
		row = json_array_get(json_object_get(doc, "counters"), 1);
	assert_int_equal(json_integer_value(json_object_get(row, "there")), 123456789012345);
	row = json_array_get(json_object_get(doc, "ends"), 0);
	assert_true(json_real_value(json_object_get(row, "out_gbps")) == 200);
	assert_true(json_is_null(json_object_get(row, "in_gbps")));
	assert_true(json_real_value(json_object_get(row, "errors_per_s")) == 0.5);
	json_decref(doc);
}

/* ---- Paths ----------------------------------------------------------------------------------- */

static void a_path_to_it_begins_where_it_is_asked_to(void **state)
{
	char err[COMMAND_ERROR_SIZE] = "";
	json_t *doc = try_show(*state, HOST " mlx5_0", "dgx-su01-06 mlx5_3", err), *hops;

	assert_non_null(doc);
	hops = json_object_get(doc, "path");
	assert_string_equal(text_of(doc, "path_from"), "dgx-su01-06 mlx5_3");
	assert_int_equal(json_array_size(hops), 5);
	assert_string_equal(text_of(json_array_get(hops, 4), "name"), HOST " mlx5_0");
	json_decref(doc);
	assert_null(try_show(*state, HOST, "spine-01", err));
	assert_non_null(strstr(err, "the destination of a path is a node, a port or a LID"));
	assert_null(try_show(*state, LEAF, HOST, err));
	assert_non_null(strstr(err, "has 8 HCAs: name one of them as the source of the path"));
	assert_null(try_show(*state, LEAF, "moon", err));
	assert_non_null(strstr(err, "no node matches 'moon'"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(documents_are_flat_and_say_what_they_are),
		TEST(events_are_those_that_name_it_and_not_its_namesakes),
		TEST(a_cordon_is_shown_with_its_time),
		TEST(what_is_unhealthy_has_its_reason_at_both_ends),
		TEST(a_switch_without_a_live_link_is_shown_as_such),
		TEST(counters_stand_beside_those_of_the_far_end),
		TEST(a_path_to_it_begins_where_it_is_asked_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
