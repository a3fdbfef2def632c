/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The conductor on the fabric double: from a dark fabric through faults and repairs to a restart. Time is the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/core/log.h"
#include "fm/fabric.h"
#include "tests/fabric/damage.h"
#include "tests/fabric/double.h"
#include "topology/generate.h"
#include "topology/mem.h"

#define SECOND_US     1000000ull
#define CHAOS_STEPS   200
#define SAMPLED_PAIRS 64

struct world {
	char state_dir[64];
	struct topo *design;
	struct loop *loop;
	struct double_fabric *hw;
	struct mad *mad;
	struct conf conf;
	struct fabric *fabric;
	struct loop_timer *stop;
};

static void stop_cb(void *arg)
{
	loop_stop(arg);
}

static void run_for(struct world *w, uint64_t us)
{
	loop_timer_set(w->stop, us);
	assert_int_equal(loop_run(w->loop), 0);
}

static void start_fabric(struct world *w)
{
	const struct mad_conf mad = {
		.window_max = 64, .window_device = 16, .timeout_ms = 200, .retries = 3
	};

	w->mad = mad_new(w->loop, double_io(w->hw), &mad);
	w->fabric = fabric_new(w->loop, w->mad, &w->conf);
	fabric_start(w->fabric);
}

static void stop_fabric(struct world *w)
{
	fabric_free(w->fabric);
	mad_free(w->mad);
}

/* The SM sits at the first host. Takes the design. */
static void world_init(struct world *w, struct topo *design)
{
	assert_non_null(design);
	log_set_level(-1, LOG_ERR);
	*w = (struct world){ .design = design, .loop = loop_new_simulated() };
	strcpy(w->state_dir, "/tmp/fmd-test-XXXXXX");
	assert_non_null(mkdtemp(w->state_dir));
	conf_default(&w->conf);
	snprintf(w->conf.state_dir, sizeof(w->conf.state_dir), "%s", w->state_dir);
	w->hw = double_new(w->loop, design, design->nodes[design->nswitches].guid, 1, NULL);
	w->stop = loop_timer_new(w->loop, stop_cb, w->loop);
	start_fabric(w);
	run_for(w, 2 * SECOND_US);
}

static void remove_state(const struct world *w, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", w->state_dir, name);
	unlink(path);
}

static void world_fini(struct world *w)
{
	stop_fabric(w);
	double_free(w->hw);
	loop_timer_free(w->stop);
	loop_free(w->loop);
	remove_state(w, "lids");
	remove_state(w, "lids.bad");
	rmdir(w->state_dir);
	topo_unref(w->design);
}

static struct topo *pod(unsigned su)
{
	char err[256];

	return generate_superpod(GENERATE_H100, su, err, sizeof(err));
}

static struct topo *small_tree(void)
{
	static const unsigned m[] = { 4, 4, 3 }, w[] = { 1, 4, 2 }, p[] = { 1, 1, 2 };
	char err[256];

	return generate_pgft(3, m, w, p, err, sizeof(err));
}

static bool is_up(const struct world *w)
{
	json_t *status = fabric_status(w->fabric);
	bool up = strcmp(json_string_value(json_object_get(status, "state")), "up") == 0;

	json_decref(status);
	return up;
}

static double status_number(const struct world *w, const char *section, const char *key)
{
	json_t *status = fabric_status(w->fabric);
	json_t *from = section ? json_object_get(status, section) : status;
	double value = json_number_value(json_object_get(from, key));

	json_decref(status);
	return value;
}

static uint16_t lid_of(const struct world *w, uint32_t host)
{
	const struct topo *t = fabric_topo(w->fabric);
	uint32_t node = topo_find(t, w->design->nodes[w->design->nswitches + host].guid);

	return fabric_lids(w->fabric)->lid_of_port[t->nodes[node].port0 + 1];
}

/* Packets of sampled pairs arrive by what the switches hold; `cut_host` (or -1) is left out. */
static void assert_hardware_delivers(const struct world *w, uint64_t seed)
{
	const struct topo *t = w->design;

	for (unsigned i = 0; i < SAMPLED_PAIRS; i++) {
		uint32_t from = damage_random(&seed) % t->ncas, to = damage_random(&seed) % t->ncas;
		int hops =
			double_trace(w->hw, t->nodes[t->nswitches + from].guid, 1, lid_of(w, to));

		if (hops < 0)
			print_error("%s -> %s: %d\n", t->nodes[t->nswitches + from].desc,
				    t->nodes[t->nswitches + to].desc, hops);
		assert_true(hops >= 0);
	}
}

static void assert_hardware_holds_the_tables(const struct world *w)
{
	const struct topo *t = fabric_topo(w->fabric);
	const struct tables *tables = fabric_tables(w->fabric);

	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		for (uint32_t lid = 1; lid <= tables->top; lid++)
			if (double_lft(w->hw, t->nodes[sw].guid, lid) !=
			    tables_row(tables, sw)[lid])
				fail_msg("%s LID %u", t->nodes[sw].desc, lid);
}

static void a_dark_fabric_comes_up_proven_and_programmed(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	assert_true(is_up(&w));
	assert_int_equal(double_ports_not_active(w.hw), 0);
	assert_int_equal(status_number(&w, "proof", "reachable"), 256 * 255);
	assert_hardware_holds_the_tables(&w);
	assert_hardware_delivers(&w, 1);
	world_fini(&w);
}

static void an_idle_sweep_costs_one_smp_a_switch(void **state)
{
	struct world w;
	double before;

	world_init(&w, pod(1));
	before = status_number(&w, NULL, "smps_sent");
	run_for(&w, 10 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "smps_sent") - before, 12);
	world_fini(&w);
}

/* A leaf's first port to a spine. */
static unsigned uplink_of(const struct topo *t, uint32_t leaf)
{
	for (unsigned num = 1; num <= t->nodes[leaf].nports; num++) {
		const struct topo_port *peer = topo_peer(t, topo_port(t, leaf, num));

		if (peer && peer->node < t->nswitches)
			return num;
	}
	fail();
	return 0;
}

static uint32_t far_leaf(const struct world *w)
{
	for (uint32_t sw = w->design->nswitches; sw-- > 0;)
		if (w->design->nodes[sw].level == 0)
			return sw;
	fail();
	return 0;
}

static void a_cut_cable_is_answered_by_a_trap_and_comes_back_the_same(void **state)
{
	struct world w;
	struct tables before = { 0 };

	world_init(&w, small_tree());
	uint32_t leaf = far_leaf(&w);
	unsigned port = uplink_of(w.design, leaf);
	tables_copy(&before, fabric_tables(w.fabric));
	double_cut(w.hw, w.design->nodes[leaf].guid, port);
	run_for(&w, SECOND_US / 10);
	assert_true(is_up(&w));
	assert_int_equal(status_number(&w, NULL, "links_down"), 1);
	assert_true(status_number(&w, "last_fault", "lft_blocks_written") > 0);
	assert_true(status_number(&w, "last_fault", "detected_to_programmed_ms") < 50);
	assert_hardware_holds_the_tables(&w);
	assert_hardware_delivers(&w, 2);
	double_join(w.hw, w.design->nodes[leaf].guid, port);
	run_for(&w, SECOND_US / 10);
	assert_int_equal(status_number(&w, NULL, "links_down"), 0);
	assert_memory_equal(before.lft, fabric_tables(w.fabric)->lft,
			    (size_t)before.nswitches * before.stride);
	assert_hardware_holds_the_tables(&w);
	assert_int_equal(double_ports_not_active(w.hw), 0);
	tables_fini(&before);
	world_fini(&w);
}

static void a_fault_whose_trap_is_lost_is_found_by_the_poll(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	double_set_traps(w.hw, false);
	double_cut(w.hw, w.design->nodes[far_leaf(&w)].guid, uplink_of(w.design, far_leaf(&w)));
	run_for(&w, SECOND_US / 2);
	assert_int_equal(status_number(&w, NULL, "links_down"), 0);
	run_for(&w, 11 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "links_down"), 1);
	assert_hardware_delivers(&w, 3);
	world_fini(&w);
}

static void a_restart_keeps_every_lid_and_sets_none(void **state)
{
	struct world w;
	uint16_t lids[256];

	world_init(&w, pod(1));
	for (uint32_t h = 0; h < 256; h++)
		lids[h] = lid_of(&w, h);
	stop_fabric(&w);
	double_sent_reset(w.hw);
	start_fabric(&w);
	run_for(&w, 2 * SECOND_US);
	assert_true(is_up(&w));
	for (uint32_t h = 0; h < 256; h++)
		assert_int_equal(lid_of(&w, h), lids[h]);
	assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_PORT_INFO), 0);
	world_fini(&w);
}

static void hosts_that_forgot_their_lids_get_the_same_again(void **state)
{
	struct world w;
	uint16_t lid;

	world_init(&w, small_tree());
	lid = lid_of(&w, 9);
	double_reboot(w.hw, w.design->nodes[w.design->nswitches + 9].guid);
	run_for(&w, 12 * SECOND_US);
	assert_int_equal(lid_of(&w, 9), lid);
	assert_int_equal(
		double_port_info(w.hw, w.design->nodes[w.design->nswitches + 9].guid, 1)->lid, lid);
	assert_int_equal(double_ports_not_active(w.hw), 0);
	world_fini(&w);
}

static void a_switch_that_forgot_its_tables_gets_them_again(void **state)
{
	struct world w;

	world_init(&w, small_tree());
	double_reboot(w.hw, w.design->nodes[far_leaf(&w)].guid);
	run_for(&w, 12 * SECOND_US);
	assert_true(is_up(&w));
	assert_hardware_holds_the_tables(&w);
	assert_int_equal(double_ports_not_active(w.hw), 0);
	world_fini(&w);
}

static void a_spoilt_lid_map_is_set_aside_and_held_lids_serve(void **state)
{
	struct world w;
	char path[128], aside[128];
	uint16_t lid;
	FILE *out;

	world_init(&w, small_tree());
	lid = lid_of(&w, 3);
	stop_fabric(&w);
	snprintf(path, sizeof(path), "%s/lids", w.state_dir);
	snprintf(aside, sizeof(aside), "%s/lids.bad", w.state_dir);
	out = fopen(path, "w");
	fputs("0x1 5 0\n0x2 5 0\n", out);
	fclose(out);
	log_set_level(LOG_CORE, LOG_ERR - 1);
	start_fabric(&w);
	run_for(&w, 2 * SECOND_US);
	assert_int_equal(lid_of(&w, 3), lid);
	assert_int_equal(access(aside, F_OK), 0);
	world_fini(&w);
}

struct answer {
	unsigned count;
	bool failed;
};

static void act_cb(void *arg, json_t *result, const char *error)
{
	struct answer *a = arg;

	a->count++;
	a->failed = error != NULL || !result;
}

static void operators_acts_are_answered_once(void **state)
{
	struct world w;
	struct answer sweep = { 0 }, reroute = { 0 }, readback = { 0 }, gone = { 0 };

	world_init(&w, small_tree());
	fabric_sweep(w.fabric, act_cb, &sweep);
	fabric_reroute(w.fabric, act_cb, &reroute);
	fabric_readback(w.fabric, act_cb, &readback);
	fabric_sweep(w.fabric, act_cb, &gone);
	fabric_act_cancel(w.fabric, &gone);
	run_for(&w, 2 * SECOND_US);
	assert_int_equal(sweep.count, 1);
	assert_int_equal(reroute.count, 1);
	assert_int_equal(readback.count, 1);
	assert_false(sweep.failed || reroute.failed || readback.failed);
	assert_int_equal(gone.count, 0);
	world_fini(&w);
}

/* Cuts and repairs in random order. A cable is only cut while at most three are down, so no host is ever cut off. */
static void random_faults_and_repairs_always_end_programmed(void **state)
{
	struct world w;
	uint64_t seed = 4711;
	struct {
		guid_t node;
		unsigned port;
	} down[3];
	unsigned ndown = 0;

	world_init(&w, small_tree());
	for (unsigned step = 0; step < CHAOS_STEPS; step++) {
		if (ndown == 3 || (ndown && damage_random(&seed) % 2)) {
			unsigned i = damage_random(&seed) % ndown;

			double_join(w.hw, down[i].node, down[i].port);
			down[i] = down[--ndown];
		} else {
			uint32_t sw = damage_random(&seed) % w.design->nswitches;
			unsigned port = 1 + damage_random(&seed) % w.design->nodes[sw].nports;
			const struct topo_port *peer =
				topo_peer(w.design, topo_port(w.design, sw, port));

			if (!peer || peer->node >= w.design->nswitches ||
			    double_link_state(w.hw, w.design->nodes[sw].guid, port) == TOPO_DOWN)
				continue;
			down[ndown].node = w.design->nodes[sw].guid;
			down[ndown++].port = port;
			double_cut(w.hw, w.design->nodes[sw].guid, port);
		}
		run_for(&w, SECOND_US / 2 + 11 * SECOND_US * (step % 8 == 0));
		assert_true(is_up(&w));
		assert_int_equal(status_number(&w, "proof", "unreachable"), 0);
	}
	run_for(&w, 11 * SECOND_US);
	assert_int_equal(status_number(&w, NULL, "links_down"), ndown);
	assert_hardware_holds_the_tables(&w);
	assert_hardware_delivers(&w, 5);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dark_fabric_comes_up_proven_and_programmed),
		cmocka_unit_test(an_idle_sweep_costs_one_smp_a_switch),
		cmocka_unit_test(a_cut_cable_is_answered_by_a_trap_and_comes_back_the_same),
		cmocka_unit_test(a_fault_whose_trap_is_lost_is_found_by_the_poll),
		cmocka_unit_test(a_restart_keeps_every_lid_and_sets_none),
		cmocka_unit_test(hosts_that_forgot_their_lids_get_the_same_again),
		cmocka_unit_test(a_switch_that_forgot_its_tables_gets_them_again),
		cmocka_unit_test(a_spoilt_lid_map_is_set_aside_and_held_lids_serve),
		cmocka_unit_test(operators_acts_are_answered_once),
		cmocka_unit_test(random_faults_and_repairs_always_end_programmed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
