/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Links that are up and not Active: no table leads over them once the fabric was up, a repair is
 * Active before it is used, and what can not be made Active is named. Packets are followed by what
 * switches hold, over links whose both ends are Active.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/fabric_world.h"

#define LATENCY_US 100

static guid_t guid_of(const struct world *w, uint32_t node)
{
	return w->design->nodes[node].guid;
}

static void begin(struct world *w, struct topo *design, unsigned latency_us)
{
	const struct double_conf conf = { .latency_us = latency_us };

	assert_non_null(design);
	log_set_level(-1, LOG_ERR);
	*w = (struct world){ .design = design, .loop = loop_new_simulated() };
	strcpy(w->state_dir, "/tmp/fmd-test-XXXXXX");
	assert_non_null(mkdtemp(w->state_dir));
	conf_default(&w->conf);
	w->conf.audit.rate = 0;
	w->conf.rebalance.hold_ms = 0;
	snprintf(w->conf.state_dir, sizeof(w->conf.state_dir), "%s", w->state_dir);
	w->hw = double_new(w->loop, design, guid_of(w, design->nswitches), 1, &conf);
	w->stop = loop_timer_new(w->loop, stop_cb, w->loop);
}

/* Ordered pairs of hosts whose data do not arrive; `stride` > 1: a sample. */
static unsigned dark_pairs(const struct world *w, unsigned stride)
{
	const struct topo *t = w->design;
	unsigned dark = 0;

	for (uint32_t i = 0; i < t->ncas * t->ncas; i += stride) {
		uint32_t from = i / t->ncas, to = i % t->ncas;
		uint16_t lid = double_port_info(w->hw, guid_of(w, t->nswitches + to), 1)->lid;

		dark += from != to &&
			double_trace_data(w->hw, guid_of(w, t->nswitches + from), 1, lid) < 0;
	}
	return dark;
}

/* Host pairs whose packets the tables lead over that cable, either way. */
static unsigned led_over(const struct world *w, uint32_t sw, unsigned num)
{
	const struct topo *t = fabric_topo(w->fabric);
	uint32_t node = topo_find(t, guid_of(w, sw));
	const struct topo_port *peer = topo_peer(t, topo_port(t, node, num));
	unsigned count = 0;

	for (uint32_t lid = 1; lid <= fabric_tables(w->fabric)->top; lid++)
		count += (tables_row(fabric_tables(w->fabric), node)[lid] == num) +
			 (tables_row(fabric_tables(w->fabric), peer->node)[lid] == peer->num);
	return count;
}

/* ---- What can not be made Active ------------------------------------------------------------- */

static void stays_out_of_use(enum double_active how)
{
	struct world w;
	uint32_t leaf;
	unsigned num;

	begin(&w, small_tree(), 0);
	leaf = far_leaf(&w);
	num = uplink_of(w.design, leaf);
	double_set_active(w.hw, guid_of(&w, leaf), num, how);
	start_fabric(&w);
	run_for(&w, 20 * SECOND_US);
	assert_int_equal(double_link_state(w.hw, guid_of(&w, leaf), num), TOPO_ARMED);
	assert_int_equal(dark_pairs(&w, 1), 0);
	assert_int_equal(led_over(&w, leaf, num), 0);
	assert_int_equal(count_alerts(&w, "isolated", w.design->nodes[leaf].desc), 1);
	assert_int_equal(status_number(&w, NULL, "links_down"), 1);
	/* It works after all. */
	double_set_active(w.hw, guid_of(&w, leaf), num, DOUBLE_TAKES_ACTIVE);
	run_for(&w, 120 * SECOND_US);
	assert_int_equal(double_ports_not_active(w.hw), 0);
	assert_int_equal(count_alerts(&w, "isolated", ""), 0);
	assert_int_equal(status_number(&w, NULL, "links_down"), 0);
	assert_true(led_over(&w, leaf, num) > 0);
	assert_hardware_holds_the_tables(&w);
	assert_int_equal(dark_pairs(&w, 1), 0);
	world_fini(&w);
}

static void a_port_that_refuses_active_takes_no_traffic(void **state)
{
	stays_out_of_use(DOUBLE_REFUSES_ACTIVE);
}

static void nor_does_one_that_says_ok_and_stays_as_it_is(void **state)
{
	stays_out_of_use(DOUBLE_FEIGNS_ACTIVE);
}

/* It worked, fell, and is not to be made Active again. */
static void a_cable_that_comes_back_and_stays_armed_takes_none(void **state)
{
	struct world w;
	uint32_t leaf;
	unsigned num;

	world_init(&w, small_tree());
	leaf = far_leaf(&w);
	num = uplink_of(w.design, leaf);
	double_set_active(w.hw, guid_of(&w, leaf), num, DOUBLE_REFUSES_ACTIVE);
	double_cut(w.hw, guid_of(&w, leaf), num);
	run_for(&w, 2 * SECOND_US);
	assert_int_equal(dark_pairs(&w, 1), 0);
	double_join(w.hw, guid_of(&w, leaf), num);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(double_link_state(w.hw, guid_of(&w, leaf), num), TOPO_ARMED);
	assert_int_equal(dark_pairs(&w, 1), 0);
	assert_int_equal(led_over(&w, leaf, num), 0);
	assert_int_equal(count_alerts(&w, "isolated", "cannot be made Active"), 1);
	world_fini(&w);
}

/* It is up again when it is looked at: to bring it up is quicker than to lead around it. */
static void a_bounce_moves_nothing(void **state)
{
	struct world w;
	uint32_t leaf;
	unsigned num;
	double blocks;

	world_init(&w, small_tree());
	leaf = far_leaf(&w);
	num = uplink_of(w.design, leaf);
	blocks = status_number(&w, NULL, "lft_blocks_written");
	double_cut(w.hw, guid_of(&w, leaf), num);
	double_join(w.hw, guid_of(&w, leaf), num);
	run_for(&w, 20000);
	assert_int_equal(double_ports_not_active(w.hw), 0);
	assert_int_equal(dark_pairs(&w, 1), 0);
	run_for(&w, SECOND_US);
	assert_int_equal(status_number(&w, NULL, "lft_blocks_written"), blocks);
	assert_int_equal(count_logged(&w, "link-bounced", ""), 1);
	assert_int_equal(count_logged(&w, "rerouted", ""), 0);
	world_fini(&w);
}

static void unless_it_does_not_become_active_again(void **state)
{
	struct world w;
	uint32_t leaf;
	unsigned num;

	world_init(&w, small_tree());
	leaf = far_leaf(&w);
	num = uplink_of(w.design, leaf);
	double_set_active(w.hw, guid_of(&w, leaf), num, DOUBLE_FEIGNS_ACTIVE);
	double_cut(w.hw, guid_of(&w, leaf), num);
	double_join(w.hw, guid_of(&w, leaf), num);
	run_for(&w, 100000);
	assert_int_equal(dark_pairs(&w, 1), 0);
	assert_int_equal(led_over(&w, leaf, num), 0);
	world_fini(&w);
}

/* A restart is no reason to lead over it again. */
static void a_restart_writes_nothing_for_it(void **state)
{
	struct world w;
	uint32_t leaf;
	unsigned num;

	begin(&w, small_tree(), 0);
	leaf = far_leaf(&w);
	num = uplink_of(w.design, leaf);
	double_set_active(w.hw, guid_of(&w, leaf), num, DOUBLE_REFUSES_ACTIVE);
	start_fabric(&w);
	run_for(&w, 20 * SECOND_US);
	stop_fabric(&w);
	start_fabric(&w);
	run_for(&w, 20 * SECOND_US);
	assert_true(is_up(&w));
	assert_int_equal(status_number(&w, NULL, "lft_blocks_written"), 0);
	assert_int_equal(led_over(&w, leaf, num), 0);
	assert_int_equal(dark_pairs(&w, 1), 0);
	world_fini(&w);
}

/* A host's cable: there is nothing to lead around, and it is named. */
static void a_host_that_does_not_become_active_is_named(void **state)
{
	struct world w;
	uint32_t host;

	begin(&w, small_tree(), 0);
	host = w.design->nswitches + 9;
	double_set_active(w.hw, guid_of(&w, host), 1, DOUBLE_REFUSES_ACTIVE);
	start_fabric(&w);
	run_for(&w, 20 * SECOND_US);
	assert_int_equal(count_alerts(&w, "isolated", w.design->nodes[host].desc), 1);
	assert_int_equal(count_alerts(&w, "refusing", ""), 0);
	double_set_active(w.hw, guid_of(&w, host), 1, DOUBLE_TAKES_ACTIVE);
	run_for(&w, 120 * SECOND_US);
	assert_int_equal(count_alerts(&w, "isolated", ""), 0);
	assert_int_equal(dark_pairs(&w, 1), 0);
	world_fini(&w);
}

/* ---- Too many -------------------------------------------------------------------------------- */

/* From the cold on all links of so many spines of 8 refuse. */
static void with_refusing_spines(struct world *w, unsigned spines)
{
	static const unsigned m[] = { 4, 8 }, up[] = { 1, 8 }, p[] = { 1, 1 };
	char err[256];

	begin(w, generate_pgft(2, m, up, p, err, sizeof(err)), 0);
	for (uint32_t sw = 0; sw < w->design->nswitches; sw++) {
		if (w->design->nodes[sw].level != 1 || !spines)
			continue;
		spines--;
		for (unsigned num = 1; num <= w->design->nodes[sw].nports; num++)
			double_set_active(w->hw, guid_of(w, sw), num, DOUBLE_REFUSES_ACTIVE);
	}
	start_fabric(w);
	run_for(w, 30 * SECOND_US);
}

static void a_quarter_of_a_tier_is_led_around(void **state)
{
	struct world w;

	with_refusing_spines(&w, 2);
	assert_int_equal(dark_pairs(&w, 1), 0);
	assert_int_equal(count_alerts(&w, "refusing", ""), 0);
	assert_int_equal(status_number(&w, NULL, "links_down"), 16);
	world_fini(&w);
}

static void beyond_that_nothing_is_moved_and_one_alert_says_so(void **state)
{
	struct world w;
	double blocks;

	with_refusing_spines(&w, 3);
	assert_int_equal(count_alerts(&w, "refusing", "24 devices reject Sets"), 1);
	assert_int_equal(count_alerts(&w, "refusing", "m_key"), 1);
	assert_int_equal(count_alerts(&w, "isolated", ""), 0);
	assert_int_equal(status_number(&w, NULL, "links_down"), 0);
	blocks = status_number(&w, NULL, "lft_blocks_written");
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "lft_blocks_written"), blocks);
	world_fini(&w);
}

/* ---- What comes back ------------------------------------------------------------------------- */

static struct {
	struct world *w;
	unsigned stride, most, sets;
} watch;

/* After each write, as it takes force. */
static void set_cb(void *arg, guid_t node, uint16_t attr, uint32_t mod)
{
	unsigned dark = dark_pairs(watch.w, watch.stride);

	watch.sets++;
	if (dark > watch.most)
		watch.most = dark;
}

static void watch_begin(struct world *w, unsigned stride)
{
	watch.w = w;
	watch.stride = stride;
	watch.most = watch.sets = 0;
	double_on_set(w->hw, set_cb, NULL);
}

static void a_returning_link_cuts_off_no_host(void **state)
{
	for (unsigned latency_us = 10; latency_us <= 1000; latency_us *= 10) {
		struct world w;
		uint32_t leaf;
		unsigned num;

		begin(&w, small_tree(), latency_us);
		leaf = far_leaf(&w);
		num = uplink_of(w.design, leaf);
		start_fabric(&w);
		run_for(&w, 5 * SECOND_US);
		double_cut(w.hw, guid_of(&w, leaf), num);
		run_for(&w, 5 * SECOND_US);
		watch_begin(&w, 1);
		double_join(w.hw, guid_of(&w, leaf), num);
		run_for(&w, 5 * SECOND_US);
		double_on_set(w.hw, NULL, NULL);
		assert_true(watch.sets > 3);
		assert_int_equal(watch.most, 0);
		assert_true(led_over(&w, leaf, num) > 0);
		assert_int_equal(count_logged(&w, "restored", ""), 1);
		world_fini(&w);
	}
}

static void each_cable(struct world *w, uint32_t sw,
		       void (*fn)(struct double_fabric *d, guid_t node, unsigned port))
{
	for (unsigned num = 1; num <= w->design->nodes[sw].nports; num++)
		if (topo_peer(w->design, topo_port(w->design, sw, num)))
			fn(w->hw, guid_of(w, sw), num);
}

static uint32_t last_of_level(const struct world *w, unsigned level)
{
	for (uint32_t sw = w->design->nswitches; sw-- > 0;)
		if (w->design->nodes[sw].level == level)
			return sw;
	fail();
	return 0;
}

static void a_returning_spine(bool reboots)
{
	struct world w;
	uint32_t spine;

	begin(&w, pod(1), LATENCY_US);
	spine = last_of_level(&w, 1);
	start_fabric(&w);
	run_for(&w, 5 * SECOND_US);
	each_cable(&w, spine, double_cut);
	run_for(&w, 5 * SECOND_US);
	assert_int_equal(dark_pairs(&w, 31), 0);
	if (reboots)
		double_reboot(w.hw, guid_of(&w, spine));
	watch_begin(&w, 31);
	each_cable(&w, spine, double_join);
	run_for(&w, 5 * SECOND_US);
	double_on_set(w.hw, NULL, NULL);
	assert_true(watch.sets > 64);
	assert_int_equal(watch.most, 0);
	assert_true(led_over(&w, spine, 1) > 0);
	assert_hardware_holds_the_tables(&w);
	world_fini(&w);
}

static void a_returning_spine_cuts_off_no_host(void **state)
{
	a_returning_spine(false);
}

static void nor_does_one_that_lost_its_tables(void **state)
{
	a_returning_spine(true);
}

/*
 * A spine's worth of cables comes back beside a host that takes no Set: they are in use before it
 * is given up.
 */
static void a_repair_does_not_wait_for_a_host_that_takes_no_set(void **state)
{
	struct world w;
	uint32_t leaf, host;
	unsigned num;

	begin(&w, small_tree(), 0);
	leaf = far_leaf(&w);
	num = uplink_of(w.design, leaf);
	host = w.design->nswitches + 9;
	const struct topo_port *seat = topo_peer(w.design, topo_port(w.design, host, 1));

	start_fabric(&w);
	run_for(&w, 5 * SECOND_US);
	double_cut(w.hw, guid_of(&w, leaf), num);
	double_cut(w.hw, guid_of(&w, seat->node), seat->num);
	run_for(&w, 5 * SECOND_US);
	double_set_no_sets(w.hw, guid_of(&w, host), true);
	double_join(w.hw, guid_of(&w, seat->node), seat->num);
	double_join(w.hw, guid_of(&w, leaf), num);
	run_for(&w, SECOND_US / 10);
	assert_true(led_over(&w, leaf, num) > 0);
	assert_hardware_holds_the_tables(&w);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_port_that_refuses_active_takes_no_traffic),
		cmocka_unit_test(nor_does_one_that_says_ok_and_stays_as_it_is),
		cmocka_unit_test(a_cable_that_comes_back_and_stays_armed_takes_none),
		cmocka_unit_test(a_bounce_moves_nothing),
		cmocka_unit_test(unless_it_does_not_become_active_again),
		cmocka_unit_test(a_restart_writes_nothing_for_it),
		cmocka_unit_test(a_host_that_does_not_become_active_is_named),
		cmocka_unit_test(a_quarter_of_a_tier_is_led_around),
		cmocka_unit_test(beyond_that_nothing_is_moved_and_one_alert_says_so),
		cmocka_unit_test(a_returning_link_cuts_off_no_host),
		cmocka_unit_test(a_returning_spine_cuts_off_no_host),
		cmocka_unit_test(nor_does_one_that_lost_its_tables),
		cmocka_unit_test(a_repair_does_not_wait_for_a_host_that_takes_no_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
