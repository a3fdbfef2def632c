/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What counters come to: the room of link health alone, with a pipe that only looks like one, and
 * ports of the fabric double that count.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>
#include "fm/keys/module.h"
#include "fm/links_out/module.h"
#include "fm/perf/module.h"
#include "fm/program/program.h"
#include "fm/traps/module.h"
#include "routing/ftree/route.h"
#include "tests/lib/fake_pipe.h"
#include "tests/lib/sweep_bench.h"

#define INTERVAL_MS 10000
#define PASS_US	    (INTERVAL_MS * 1000ull)

/* The rooms that this one calls. */
static unsigned quarantines;

void links_out_ask(struct fabric *f, const struct out_ask *ask)
{
	quarantines += ask->cause == OUT_QUARANTINE;
}

uint64_t *links_out_clean_us(const struct fabric *f, guid_t node, uint8_t port)
{
	return NULL;
}

void links_out_rows(const struct fabric *f, json_t *rows)
{
}

void error_traps_unhealthy(const struct fabric *f, json_t *rows)
{
}

void port_keys_unhealthy(const struct fabric *f, json_t *rows)
{
}

struct room {
	struct bench b;
	struct fabric f;
	guid_t leaf;
	uint8_t uplink;	 /* of that leaf, to a switch */
	uint64_t errors; /* that it has counted */
};

struct answer {
	unsigned count, links;
	char error[64];
};

static void answer_cb(void *arg, json_t *doc, const char *error)
{
	struct answer *a = arg;

	a->count++;
	a->links = (unsigned)json_integer_value(json_object_get(doc, "sick"));
	snprintf(a->error, sizeof(a->error), "%s", error ? error : "");
}

static void programmed_cb(void *arg, const struct program_result *result)
{
	assert_int_equal(result->failed, 0);
}

/* Counters are asked by LID. */
static void program_tables(struct bench *b)
{
	struct tables tables = { 0 };
	struct route *route = route_new();
	struct program *program = program_new(b->loop, b->mad, sweep_inventory(b->sweep), 18);

	assert_int_equal(
		route_compute(route, b->found, b->lids, &(struct route_params){ 0 }, &tables), 0);
	program_apply(program, b->found, &tables, programmed_cb, NULL);
	loop_run(b->loop);
	program_free(program);
	tables_fini(&tables);
	route_free(route);
}

static void begin(struct room *r, enum conf_action action)
{
	const struct topo_port *up;

	*r = (struct room){ 0 };
	quarantines = 0;
	bench_init(&r->b, design_pgft2(), NULL);
	bench_discover(&r->b);
	bench_bringup(&r->b);
	program_tables(&r->b);
	bench_refresh(&r->b, &r->b.found->nodes[0].guid, 1);
	fake_pipe_init_on(&r->f, &link_health_module, topo_ref(r->b.found),
			  &(struct fabric_services){ .loop = r->b.loop,
						     .mad = r->b.mad,
						     .inventory = sweep_inventory(r->b.sweep) });
	r->f.conf.perf.interval_ms = INTERVAL_MS;
	r->f.conf.perf.symbol_errors = 10;
	r->f.conf.perf.action = action;
	r->f.conf.ber.limit = r->f.conf.ber.long_limit = 0;
	link_health_module.configure(r->f.room);
	r->leaf = r->b.found->nodes[0].guid;
	for (r->uplink = 1;; r->uplink++) {
		up = topo_port(r->b.found, 0, r->uplink);
		if (topo_peer(r->b.found, up) &&
		    topo_peer(r->b.found, up)->node < r->b.found->nswitches)
			break;
	}
}

static void end(struct room *r)
{
	fake_pipe_fini(&r->f);
	bench_fini(&r->b);
}

/* In each pass the leaf's uplink has that many symbol errors more. */
static void passes(struct room *r, unsigned count, unsigned errors)
{
	for (unsigned i = 0; i < count; i++) {
		r->errors += errors;
		double_set_counter(r->b.d, r->leaf, r->uplink, PERF_SYMBOL, r->errors);
		fake_run_for(&r->f, PASS_US);
	}
}

static unsigned unhealthy(const struct room *r)
{
	json_t *rows = link_health_links(&r->f);
	unsigned count;

	count = (unsigned)json_array_size(rows);
	json_decref(rows);
	return count;
}

static void a_link_with_many_errors_is_logged_named_and_quarantined(void **state)
{
	const char *text = "";
	struct room r;

	begin(&r, CONF_QUARANTINE);
	passes(&r, 4, 0);
	assert_int_equal(unhealthy(&r), 0);
	passes(&r, 4, 1000);
	assert_int_equal(fake_events(&r.f, "link-sick", &text), 1);
	assert_non_null(strstr(text, "symbol errors"));
	assert_int_equal(unhealthy(&r), 1);
	assert_true(quarantines > 0);
	passes(&r, 100, 0);
	assert_int_equal(fake_events(&r.f, "link-well", NULL), 1);
	assert_int_equal(unhealthy(&r), 0);
	end(&r);
}

static void where_only_warnings_are_wanted_nothing_is_quarantined(void **state)
{
	struct room r;

	begin(&r, CONF_WARN);
	passes(&r, 6, 1000);
	assert_int_equal(fake_events(&r.f, "link-sick", NULL), 1);
	assert_int_equal(unhealthy(&r), 1);
	assert_int_equal(quarantines, 0);
	end(&r);
}

static void limits_that_are_reloaded_count_from_the_next_reading(void **state)
{
	struct room r;

	begin(&r, CONF_QUARANTINE);
	r.f.conf.perf.symbol_errors = 100000;
	link_health_module.configure(r.f.room);
	passes(&r, 6, 1000);
	assert_int_equal(fake_events(&r.f, "link-sick", NULL), 0);
	r.f.conf.perf.symbol_errors = 10;
	link_health_module.configure(r.f.room);
	passes(&r, 4, 1000);
	assert_int_equal(fake_events(&r.f, "link-sick", NULL), 1);
	end(&r);
}

static void who_asks_for_a_reading_is_answered_once_when_it_ends(void **state)
{
	struct answer a = { 0 }, late = { 0 };
	struct room r;

	begin(&r, CONF_QUARANTINE);
	passes(&r, 4, 1000);
	link_health_read(&r.f, answer_cb, &a);
	assert_int_equal(a.count, 0);
	fake_run_for(&r.f, PASS_US);
	assert_int_equal(a.count, 1);
	assert_int_equal(a.links, 1);
	assert_string_equal(a.error, "");
	link_health_read(&r.f, answer_cb, &late);
	link_health_module.role(r.f.room, FABRIC_ROLE_MASTER, FABRIC_ROLE_LEFT);
	assert_int_equal(late.count, 1);
	assert_non_null(strstr(FABRIC_ROLE_CHANGED, late.error)); /* as much of it as is kept */
	fake_run_for(&r.f, 2 * PASS_US);
	assert_int_equal(late.count, 1);
	end(&r);
}

struct walk {
	unsigned ports, read;
	uint32_t last;
};

static void walk_cb(void *arg, uint32_t port, const struct port_counters *counters)
{
	struct walk *walk = arg;

	assert_true(!walk->ports++ || port > walk->last);
	walk->last = port;
	walk->read += counters != NULL;
}

static void the_latest_reading_of_every_port_with_a_cable_is_kept(void **state)
{
	struct walk none = { 0 }, all = { 0 };
	const struct port_counters *c;
	struct room r;

	begin(&r, CONF_QUARANTINE);
	link_health_each_port(&r.f, walk_cb, &none);
	assert_int_equal(none.ports, 2 * r.b.found->nlinks);
	assert_int_equal(none.read, 0);
	assert_null(link_health_counters(&r.f, r.leaf, r.uplink));
	passes(&r, 4, 50);
	link_health_each_port(&r.f, walk_cb, &all);
	assert_int_equal(all.read, 2 * r.b.found->nlinks);
	c = link_health_counters(&r.f, r.leaf, r.uplink);
	assert_int_equal(c->value[PERF_SYMBOL], r.errors);
	assert_float_equal(c->rate[PERF_SYMBOL], 50 / (INTERVAL_MS / 1e3), 0.5);
	assert_null(link_health_counters(&r.f, r.leaf, 0));
	assert_null(link_health_counters(&r.f, r.leaf, UINT8_MAX));
	assert_null(link_health_counters(&r.f, 1, 1));
	end(&r);
}

static json_t *status_of(const struct room *r)
{
	json_t *doc = json_object(), *health;

	link_health_module.status(r->f.room, doc);
	health = json_incref(json_object_get(doc, "health"));
	json_decref(doc);
	return health;
}

static void configure_interval(struct room *r, unsigned ms)
{
	r->f.conf.perf.interval_ms = (int)ms;
	link_health_module.configure(r->f.room);
}

static void passes_that_outlast_their_interval_are_one_trouble_until_they_do_not(void **state)
{
	uint64_t oldest;
	json_t *health;
	struct room r;

	begin(&r, CONF_QUARANTINE);
	passes(&r, 3, 0);
	assert_null(trouble_error(r.f.services.alerts, "perf_interval"));
	health = status_of(&r);
	assert_false(json_is_true(json_object_get(health, "pass_exceeds")));
	json_decref(health);
	double_set_direction_fault(r.b.d, design_sm(r.b.design)->guid, 1, DOUBLE_LATE, 1000, 5000);
	configure_interval(&r, 1);
	fake_run_for(&r.f, 2 * PASS_US);
	assert_non_null(strstr(trouble_error(r.f.services.alerts, "perf_interval"), "0.001 s"));
	assert_int_equal(fake_events(&r.f, "trouble", NULL), 1);
	health = status_of(&r);
	assert_true(json_is_true(json_object_get(health, "pass_exceeds")));
	assert_true(json_real_value(json_object_get(health, "pass_ms")) > 1);
	/* Readings are no older than passes make them: they are shown still. */
	oldest = loop_now_us(r.f.services.loop) - link_health_oldest_us(&r.f);
	assert_true(oldest >=
		    (uint64_t)llround(3e3 * json_real_value(json_object_get(health, "pass_ms"))));
	json_decref(health);
	configure_interval(&r, 100);
	fake_run_for(&r.f, PASS_US);
	assert_null(trouble_error(r.f.services.alerts, "perf_interval"));
	assert_int_equal(fake_events(&r.f, "trouble-over", NULL), 1);
	end(&r);
}

static void who_asks_while_a_pass_is_summed_up_gets_one_of_his_own(void **state)
{
	struct answer first = { 0 }, second = { 0 };
	struct room r;

	begin(&r, CONF_QUARANTINE);
	link_health_read(&r.f, answer_cb, &first);
	while (!first.count)
		fake_run_for(&r.f, 1000);
	link_health_read(&r.f, answer_cb, &second);
	assert_int_equal(first.count, 1);
	assert_int_equal(second.count, 0);
	fake_run_for(&r.f, PASS_US);
	assert_int_equal(second.count, 1);
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_link_with_many_errors_is_logged_named_and_quarantined),
		cmocka_unit_test(where_only_warnings_are_wanted_nothing_is_quarantined),
		cmocka_unit_test(limits_that_are_reloaded_count_from_the_next_reading),
		cmocka_unit_test(the_latest_reading_of_every_port_with_a_cable_is_kept),
		cmocka_unit_test(who_asks_for_a_reading_is_answered_once_when_it_ends),
		cmocka_unit_test(
			passes_that_outlast_their_interval_are_one_trouble_until_they_do_not),
		cmocka_unit_test(who_asks_while_a_pass_is_summed_up_gets_one_of_his_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
