/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * When a miswiring is an event: the room alone, with a pipe that only looks like one, and fabrics
 * in which cables were exchanged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/cabling/module.h"
#include "fm/fabric/host_verdict.h"
#include "tests/lib/fabrics.h"
#include "tests/lib/fake_pipe.h"
#include "tests/lib/miswiring.h"
#include "topology/files/netfile.h"
#include "topology/snapshot/topo_builder.h"

#define QUIET_US 1100000ull
#define LATE_US	 9000000ull /* more, until a cable is missing */

/* Takes the snapshot. */
static void publish(struct fabric *f, struct topo *next)
{
	const struct topo *before = f->view.topo;

	f->view.topo = next;
	f->module->published(f->room, FABRIC_PUBLISHED, before);
	f->module->settled(f->room, FABRIC_SETTLED);
	topo_unref(before);
	fake_run_for(f, QUIET_US);
}

/* Takes the snapshot. */
static void begin(struct fabric *f, struct topo *first)
{
	fake_pipe_init(f, &cabling_module, first);
	cabling_module.published(f->room, FABRIC_PUBLISHED, NULL);
	cabling_module.settled(f->room, FABRIC_SETTLED);
	fake_run_for(f, QUIET_US);
}

static struct topo *miswired(const struct topo *t, enum mistake mistake, unsigned times)
{
	struct miswiring *m = miswiring_new(t, 7);
	struct topo *bad;

	for (unsigned i = 0; i < times; i++)
		assert_true(miswiring_add(m, mistake));
	bad = miswiring_freeze(m);
	miswiring_free(m);
	return bad;
}

static int miswired_count(const struct fabric *f)
{
	json_t *doc = json_object();
	const json_t *count;
	int value;

	cabling_module.status(f->room, doc);
	count = json_object_get(doc, "miswired");
	value = json_is_null(count) ? -1 : (int)json_integer_value(count);
	json_decref(doc);
	return value;
}

/* It is no miswired cable, and its host is not whole: the reason says where it is expected. */
static void an_hca_that_was_never_met_degrades_its_host(void **state)
{
	struct topo *good = pod(2);
	struct fabric f;
	unsigned degraded = 0;

	begin(&f, miswired(good, MISTAKE_NO_HCA, 1));
	for (uint32_t host = 0; host < f.view.topo->nhosts; host++) {
		struct host_verdict v = { .hcas = f.view.topo->hosts[host].ncas };

		cabling_judge_host(&f, host, &v);
		assert_int_equal(v.hcas, 8);
		if (v.state == HOST_HEALTHY)
			continue;
		degraded++;
		assert_int_equal(v.state, HOST_DEGRADED);
		assert_non_null(strstr(v.reasons[0].text, "missing HCA at leaf-su0"));
		assert_non_null(strstr(v.reasons[0].text, "mlx5_"));
	}
	assert_int_equal(degraded, 1);
	assert_int_equal(miswired_count(&f), 0);
	publish(&f, topo_ref(good));
	for (uint32_t host = 0; host < f.view.topo->nhosts; host++) {
		struct host_verdict v = { 0 };

		cabling_judge_host(&f, host, &v);
		assert_int_equal(v.state, HOST_HEALTHY);
	}
	fake_pipe_fini(&f);
	topo_unref(good);
}

static void a_miswiring_is_one_event_and_one_when_it_is_right_again(void **state)
{
	struct topo *good = pod(2);
	const char *text = "";
	json_t *rows;
	struct fabric f;

	begin(&f, topo_ref(good));
	assert_int_equal(fake_events(&f, "miswiring", NULL), 0);
	assert_int_equal(miswired_count(&f), 0);
	publish(&f, miswired(good, MISTAKE_RAILS, 1));
	assert_int_equal(fake_events(&f, "miswiring", &text), 1);
	rows = event_log_json(f.services.events, 1);
	assert_non_null(json_object_get(json_array_get(rows, 0), "node"));
	json_decref(rows);
	assert_non_null(strstr(text, "exchange them"));
	assert_int_equal(miswired_count(&f), 1);
	publish(&f, miswired(good, MISTAKE_RAILS, 1)); /* it stays */
	assert_int_equal(fake_events(&f, "miswiring", NULL), 1);
	assert_int_equal(fake_events(&f, "miswiring-over", NULL), 0);
	publish(&f, topo_ref(good));
	assert_int_equal(fake_events(&f, "miswiring-over", &text), 1);
	assert_non_null(strstr(text, "no more"));
	assert_int_equal(miswired_count(&f), 0);
	fake_pipe_fini(&f);
	topo_unref(good);
}

/* Devices that come back have theirs by then. */
static void a_cable_that_nobody_sees_is_missing_ten_seconds_later(void **state)
{
	struct topo *good = pod(2);
	const char *text = "";
	struct fabric f;

	begin(&f, topo_ref(good));
	publish(&f, miswired(good, MISTAKE_LOST, 1));
	assert_int_equal(miswired_count(&f), 0);
	publish(&f, topo_ref(good));
	fake_run_for(&f, LATE_US);
	assert_int_equal(fake_events(&f, "miswiring", NULL), 0);
	publish(&f, miswired(good, MISTAKE_LOST, 1));
	fake_run_for(&f, LATE_US);
	assert_int_equal(miswired_count(&f), 1);
	assert_int_equal(fake_events(&f, "miswiring", &text), 1);
	assert_non_null(strstr(text, "missing cable"));
	publish(&f, topo_ref(good));
	assert_int_equal(miswired_count(&f), 0);
	assert_int_equal(fake_events(&f, "miswiring-over", NULL), 1);
	fake_pipe_fini(&f);
	topo_unref(good);
}

/* What was wrong when fmd began is one event, and waits for that. */
static void cables_that_were_missing_from_the_beginning_are_one_event(void **state)
{
	struct topo *good = pod(2);
	const char *text = "";
	struct fabric f;

	begin(&f, miswired(good, MISTAKE_LOST, 3));
	assert_int_equal(fake_events(&f, "miswiring", NULL), 0);
	fake_run_for(&f, LATE_US);
	assert_int_equal(fake_events(&f, "miswiring", &text), 1);
	assert_non_null(strstr(text, "3 findings"));
	assert_int_equal(miswired_count(&f), 3);
	fake_pipe_fini(&f);
	topo_unref(good);
}

static void all_ports_say(struct fabric *f, enum topo_state state)
{
	struct inventory *inv = &f->inventory;
	const struct topo *t = f->view.topo;

	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		const struct wire_node_info info = { .type = TOPO_SWITCH,
						     .nports = t->nodes[sw].nports,
						     .node_guid = t->nodes[sw].guid };
		struct inv_node *node = inventory_find(inv, t->nodes[sw].guid);

		node = node ? node : inventory_add(inv, &info);
		for (unsigned p = 1; p <= node->nports; p++) {
			node->ports[p].known = true;
			node->ports[p].state = (uint8_t)state;
		}
	}
}

static void a_port_whose_link_is_up_misses_no_cable(void **state)
{
	struct topo *good = pod(2);
	struct fabric f;

	begin(&f, topo_ref(good));
	all_ports_say(&f, TOPO_INIT);
	publish(&f, miswired(good, MISTAKE_LOST, 1));
	fake_run_for(&f, LATE_US);
	assert_int_equal(miswired_count(&f), 0);
	publish(&f, topo_ref(good));
	all_ports_say(&f, TOPO_DOWN);
	publish(&f, miswired(good, MISTAKE_LOST, 1));
	fake_run_for(&f, LATE_US);
	assert_int_equal(miswired_count(&f), 1);
	fake_pipe_fini(&f);
	topo_unref(good);
}

static void what_was_so_from_the_beginning_is_one_event(void **state)
{
	struct topo *good = pod(2);
	const char *text = "";
	struct fabric f;

	begin(&f, miswired(good, MISTAKE_RAILS, 5));
	assert_int_equal(fake_events(&f, "miswiring", &text), 1);
	assert_non_null(strstr(text, "5 findings"));
	publish(&f, miswired(good, MISTAKE_RAILS, 6));
	assert_int_equal(fake_events(&f, "miswiring", &text), 2);
	assert_non_null(strstr(text, "exchange them"));
	fake_pipe_fini(&f);
	topo_unref(good);
}

static void hundreds_at_once_are_bounded(void **state)
{
	struct topo *good = pod(4);
	const char *text = "";
	struct fabric f;

	begin(&f, topo_ref(good));
	publish(&f, miswired(good, MISTAKE_RAILS, 40));
	assert_int_equal(fake_events(&f, "miswiring", &text), 21);
	assert_non_null(strstr(text, "20 more findings"));
	assert_int_equal(miswired_count(&f), 40);
	publish(&f, topo_ref(good));
	assert_int_equal(fake_events(&f, "miswiring-over", NULL), 21);
	fake_pipe_fini(&f);
	topo_unref(good);
}

/* The states of ports move no cable, and a fabric that changes is not compared yet. */
static void links_are_compared_when_the_fabric_has_been_quiet(void **state)
{
	struct topo *good = pod(2);
	const struct topo *before;
	struct fabric f;

	begin(&f, topo_ref(good));
	before = f.view.topo;
	f.view.topo = miswired(good, MISTAKE_RAILS, 1);
	cabling_module.published(f.room, FABRIC_PUBLISHED, before);
	cabling_module.settled(f.room, FABRIC_SETTLED);
	fake_run_for(&f, QUIET_US / 2);
	assert_int_equal(fake_events(&f, "miswiring", NULL), 0);
	cabling_module.published(f.room, FABRIC_PUBLISHED, before); /* once more: it waits anew */
	cabling_module.settled(f.room, FABRIC_SETTLED);
	fake_run_for(&f, QUIET_US / 2);
	assert_int_equal(fake_events(&f, "miswiring", NULL), 0);
	fake_run_for(&f, QUIET_US);
	assert_int_equal(fake_events(&f, "miswiring", NULL), 1);
	topo_unref(before);
	fake_pipe_fini(&f);
	topo_unref(good);
}

static void write_plan(struct fabric *f, const struct topo *plan)
{
	FILE *out;

	snprintf(f->conf.cabling_plan, sizeof(f->conf.cabling_plan), "%s/plan", f->folder);
	out = fopen(f->conf.cabling_plan, "w");
	assert_non_null(out);
	assert_int_equal(netfile_write(plan, out), 0);
	fclose(out);
}

static void reload(struct fabric *f)
{
	cabling_module.configure(f->room);
	fake_run_for(f, QUIET_US);
}

/*
 * Two hosts' HCAs at each other's port of one leaf: no pattern can tell, a plan can.
 */
static void a_plan_finds_what_no_pattern_can_tell(void **state)
{
	struct topo *good = pod(2);
	const char *text = "";
	char err[512] = "";
	struct fabric f;

	begin(&f, topo_ref(good));
	publish(&f, miswired(good, MISTAKE_SAME_UNIT, 1));
	assert_int_equal(fake_events(&f, "miswiring", NULL), 0);
	publish(&f, topo_ref(good));
	write_plan(&f, good);
	assert_int_equal(cabling_module.check(&f.conf, err, sizeof(err)), 0);
	reload(&f);
	assert_int_equal(miswired_count(&f), 0);
	publish(&f, miswired(good, MISTAKE_SAME_UNIT, 1));
	assert_in_range(fake_events(&f, "miswiring", &text), 1, 16);
	assert_in_range(miswired_count(&f), 1, 16);
	publish(&f, topo_ref(good));
	assert_int_equal(fake_events(&f, "miswiring-over", NULL),
			 fake_events(&f, "miswiring", NULL));
	snprintf(f.conf.cabling_plan, sizeof(f.conf.cabling_plan), "%s/none", f.folder);
	assert_int_equal(cabling_module.check(&f.conf, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "/none"));
	fake_pipe_fini(&f);
	topo_unref(good);
}

static void a_plan_that_is_written_anew_counts_from_the_reload_on(void **state)
{
	struct topo *good = pod(2), *other = miswired(good, MISTAKE_SAME_UNIT, 1);
	struct fabric f;

	begin(&f, topo_ref(good));
	write_plan(&f, good);
	reload(&f);
	assert_int_equal(miswired_count(&f), 0);
	write_plan(&f, other);
	reload(&f);
	assert_in_range(miswired_count(&f), 1, 16);
	assert_in_range(fake_events(&f, "miswiring", NULL), 1, 16);
	write_plan(&f, good);
	reload(&f);
	assert_int_equal(miswired_count(&f), 0);
	assert_int_equal(fake_events(&f, "miswiring-over", NULL),
			 fake_events(&f, "miswiring", NULL));
	fake_pipe_fini(&f);
	topo_unref(other);
	topo_unref(good);
}

static void a_snapshot_of_the_same_links_is_not_compared_again(void **state)
{
	struct topo *good = pod(2), *other = miswired(good, MISTAKE_SAME_UNIT, 1);
	struct fabric f;

	begin(&f, topo_ref(good));
	write_plan(&f, good);
	reload(&f);
	write_plan(&f, other); /* shows whether it is read */
	publish(&f, topo_ref(good));
	assert_int_equal(miswired_count(&f), 0);
	publish(&f, topo_ref(other));
	publish(&f, topo_ref(good));
	assert_in_range(miswired_count(&f), 1, 16);
	fake_pipe_fini(&f);
	topo_unref(other);
	topo_unref(good);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_snapshot_of_the_same_links_is_not_compared_again),
		cmocka_unit_test(a_plan_that_is_written_anew_counts_from_the_reload_on),
		cmocka_unit_test(an_hca_that_was_never_met_degrades_its_host),
		cmocka_unit_test(a_miswiring_is_one_event_and_one_when_it_is_right_again),
		cmocka_unit_test(a_cable_that_nobody_sees_is_missing_ten_seconds_later),
		cmocka_unit_test(cables_that_were_missing_from_the_beginning_are_one_event),
		cmocka_unit_test(a_port_whose_link_is_up_misses_no_cable),
		cmocka_unit_test(what_was_so_from_the_beginning_is_one_event),
		cmocka_unit_test(hundreds_at_once_are_bounded),
		cmocka_unit_test(links_are_compared_when_the_fabric_has_been_quiet),
		cmocka_unit_test(a_plan_finds_what_no_pattern_can_tell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
