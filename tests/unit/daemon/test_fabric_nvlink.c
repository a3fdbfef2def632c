/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What ill NVLinks do to the fabric's tables, on the fabric double: spread, bounded, and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/nvswitch/module.h"
#include "routing/report/congestion.h"
#include "routing/report/report.h"
#include "routing/path.h"
#include "tests/lib/fabric_world.h"

#define HOST "dgx-su01-05"

/* Hosts without peer-to-peer are dealt over the spines, as the configuration may want it. */
static void spreading_world_init(struct world *w, struct topo *design)
{
	world_init(w, design);
	w->conf.nvswitch.no_p2p_class = CONF_CLASS_CROSSRAIL;
	w->conf.nvswitch.no_p2p_weight = 2;
	w->conf.nvswitch.fatal_class = CONF_CLASS_IDLE;
	w->conf.nvswitch.fatal_weight = 0;
	fabric_configure(w->fabric, &w->conf);
}

static struct reply set(struct world *w, const char *host, const char *state)
{
	struct reply r = { 0 };

	nvlink_set(w->fabric, host, state, reply_cb, &r);
	run_for(w, SECOND_US);
	assert_int_equal(r.count, 1);
	return r;
}

static void assert_set(struct world *w, const char *host, const char *state, bool rerouted)
{
	struct reply r = set(w, host, state);

	assert_string_equal(r.error, "");
	assert_int_equal(json_is_true(json_object_get(r.result, "rerouted")), rerouted);
	json_decref(r.result);
}

/* ---- Loads ----------------------------------------------------------------------------------- */

static const struct topo_host *find_host(const struct topo *t, const char *name)
{
	for (uint32_t h = 0; h < t->nhosts; h++)
		if (!strcmp(t->hosts[h].name, name))
			return &t->hosts[h];
	fail_msg("no %s", name);
	return NULL;
}

static uint32_t end_port(const struct topo *t, const struct topo_host *host, unsigned i)
{
	return t->nodes[t->host_cas[host->first + i]].port0 + 1;
}

/*
 * Flows by port that leave a switch upwards, when each adapter of the host sends to each other one
 * of it.
 */
static void add_cross_rail(const struct world *w, const struct topo_host *host, unsigned *up)
{
	const struct topo *t = fabric_topo(w->fabric);
	const struct lid_map *lids = fabric_lids(w->fabric);

	for (unsigned a = 0; a < host->ncas; a++)
		for (unsigned b = 0; b < host->ncas; b++) {
			struct path path;
			uint16_t lid = lids->lid_of_port[end_port(t, host, b)];

			if (a == b)
				continue;
			assert_int_equal(path_trace(t, lids, fabric_tables(w->fabric),
						    end_port(t, host, a), lid, &path),
					 0);
			if (path.count > 3)
				up[t->nodes[path.hops[1].node].port0 + path.hops[1].out_port]++;
		}
}

static unsigned worst_uplink(const struct world *w, const char *name)
{
	const struct topo *t = fabric_topo(w->fabric);
	unsigned *up = mem_alloc(t->nports, sizeof(*up)), worst = 0;

	add_cross_rail(w, find_host(t, name), up);
	for (uint32_t p = 0; p < t->nports; p++)
		worst = up[p] > worst ? up[p] : worst;
	free(up);
	return worst;
}

/*
 * Flows by port when each adapter sends to the one `step` hosts on of its rail, ill hosts among
 * themselves across rails too.
 */
static void add_rail_shift(const struct world *w, unsigned step, unsigned *load)
{
	const struct topo *t = fabric_topo(w->fabric);
	const struct lid_map *lids = fabric_lids(w->fabric);

	for (uint32_t h = 0; h < t->nhosts; h++) {
		const struct topo_host *from = &t->hosts[h],
				       *to = &t->hosts[(h + step) % t->nhosts];

		for (unsigned i = 0; i < from->ncas && i < to->ncas; i++) {
			struct path path;

			assert_int_equal(path_trace(t, lids, fabric_tables(w->fabric),
						    end_port(t, from, i),
						    lids->lid_of_port[end_port(t, to, i)], &path),
					 0);
			for (unsigned hop = 1; hop + 1 < path.count; hop++)
				load[t->nodes[path.hops[hop].node].port0 +
				     path.hops[hop].out_port]++;
		}
	}
}

/* By host: the worst link that its own traffic of the pattern meets. */
static unsigned *worst_links(const struct world *w, unsigned step)
{
	const struct topo *t = fabric_topo(w->fabric);
	const struct lid_map *lids = fabric_lids(w->fabric);
	unsigned *load = mem_alloc(t->nports, sizeof(*load));
	unsigned *worst = mem_alloc(t->nhosts, sizeof(*worst));

	add_rail_shift(w, step, load);
	for (uint32_t h = 0; h < t->nhosts; h++) {
		const struct topo_host *from = &t->hosts[h],
				       *to = &t->hosts[(h + step) % t->nhosts];

		for (unsigned i = 0; i < from->ncas && i < to->ncas; i++) {
			struct path path;

			path_trace(t, lids, fabric_tables(w->fabric), end_port(t, from, i),
				   lids->lid_of_port[end_port(t, to, i)], &path);
			for (unsigned hop = 1; hop + 1 < path.count; hop++) {
				unsigned here = load[t->nodes[path.hops[hop].node].port0 +
						     path.hops[hop].out_port];

				worst[h] = here > worst[h] ? here : worst[h];
			}
		}
	}
	free(load);
	return worst;
}

static struct congestion measure(const struct world *w)
{
	const struct congestion_scene scene = { .t = fabric_topo(w->fabric),
						.lids = fabric_lids(w->fabric),
						.tables = fabric_tables(w->fabric) };
	struct congestion c;

	congestion_study(&scene, &c, NULL);
	return c;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void a_host_without_p2p_is_spread_over_the_spines_of_four_units(void **state)
{
	static const unsigned steps[] = { 1, 7, 32, 33, 64 };
	struct world w;
	unsigned *before[5], *after;

	spreading_world_init(&w, pod(4));
	run_for(&w, 3 * SECOND_US);
	assert_int_equal(worst_uplink(&w, HOST), 7); /* of seven flows each, all in one */
	struct congestion even = measure(&w);
	for (unsigned i = 0; i < 5; i++)
		before[i] = worst_links(&w, steps[i]);
	assert_set(&w, HOST, "NO_P2P", true);
	assert_true(worst_uplink(&w, HOST) <= 2);
	assert_int_equal(worst_uplink(&w, "dgx-su01-06"), 7); /* well, and left alone */
	for (unsigned i = 0; i < 5; i++) {
		after = worst_links(&w, steps[i]);
		for (uint32_t h = 0; h < fabric_topo(w.fabric)->nhosts; h++)
			assert_true(after[h] <= before[i][h] + 1);
		free(before[i]);
		free(after);
	}
	struct congestion spread = measure(&w);
	assert_true(spread.shift_max <= even.shift_max + 1);
	assert_true(spread.rail_shift_max <= even.rail_shift_max + 1);
	assert_hardware_delivers(&w, 5);
	world_fini(&w);
}

/* Entries that differ lead to the host's LIDs. */
static void assert_only_the_host_moved(const struct world *w, const struct tables *before,
				       const char *name, bool any)
{
	const struct topo *t = fabric_topo(w->fabric);
	const struct tables *now = fabric_tables(w->fabric);
	const struct lid_map *lids = fabric_lids(w->fabric);
	unsigned moved = 0;

	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		for (uint32_t lid = 1; lid <= now->top; lid++) {
			if (tables_row(now, sw)[lid] == tables_row(before, sw)[lid])
				continue;
			uint32_t owner = t->ports[lids->port_of_lid[lid]].node;
			if (t->nodes[owner].host == TOPO_NONE ||
			    strcmp(t->hosts[t->nodes[owner].host].name, name))
				fail_msg("%s LID %u", t->nodes[sw].desc, lid);
			moved++;
		}
	assert_int_equal(moved > 0, any);
}

static void only_the_hosts_own_entries_move_and_move_back(void **state)
{
	static const char *const states[] = { "NO_P2P", "FATAL" };

	for (unsigned i = 0; i < 2; i++) {
		struct tables before = { 0 };
		struct world w;

		spreading_world_init(&w, pod(1));
		tables_copy(&before, fabric_tables(w.fabric));
		assert_set(&w, HOST, states[i], true);
		assert_only_the_host_moved(&w, &before, HOST, true);
		assert_int_equal(status_number(&w, "proof", "reachable"), 256 * 255);
		assert_hardware_holds_the_tables(&w);
		assert_set(&w, HOST, NULL, true);
		assert_only_the_host_moved(&w, &before, HOST, false);
		assert_hardware_holds_the_tables(&w);
		tables_fini(&before);
		world_fini(&w);
	}
}

static void a_degraded_link_moves_nothing(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	double sent = status_number(&w, NULL, "lft_blocks_written");
	assert_set(&w, HOST, "DEGRADED_LINK", false);
	assert_int_equal(status_number(&w, NULL, "lft_blocks_written"), sent);
	json_t *doc = nvlink_hosts(w.fabric), *row = NULL, *it;
	size_t i;
	json_array_foreach (json_object_get(doc, "hosts"), i, it)
		if (!strcmp(json_string_value(json_object_get(it, "host")), HOST))
			row = it;
	assert_string_equal(json_string_value(json_object_get(row, "state")), "DEGRADED_LINK");
	assert_string_equal(json_string_value(json_object_get(row, "override")), "DEGRADED_LINK");
	assert_int_equal(json_array_size(json_object_get(doc, "hosts")), 32);
	json_decref(doc);
	world_fini(&w);
}

static json_int_t worst_in(const json_t *row, const char *when)
{
	return json_integer_value(json_object_get(json_object_get(row, when), "worst_uplink"));
}

static uint64_t entries_apart(const struct tables *a, const struct tables *b)
{
	struct delta delta = { 0 };

	delta_count(a, b, &delta);
	return delta.entries;
}

/*
 * What is assumed of a host gives the very tables that its state brings later, and the loads that
 * packets meet.
 */
static void what_if_says_beforehand_what_a_state_brings(void **state)
{
	struct tables tried = { 0 }, before = { 0 };
	uint8_t *states = NULL;
	char err[256];
	struct world w;

	spreading_world_init(&w, pod(1));
	assert_set(&w, "dgx-su01-09", "FATAL", true); /* and stays so in what is assumed */
	tables_copy(&before, fabric_tables(w.fabric));
	json_int_t load = worst_uplink(&w, HOST);
	assert_int_equal(nvlink_assume(w.fabric, HOST "=no_p2p", &states, err, sizeof(err)), 0);
	struct fabric_policy policy = nvlink_policy(w.fabric, fabric_topo(w.fabric), states);
	fabric_try(w.fabric, fabric_topo(w.fabric), &policy, &tried, &(struct fabric_tried){ 0 });
	fabric_policy_fini(&policy);
	json_t *rows = nvlink_trial(w.fabric, fabric_topo(w.fabric), states, &tried);
	assert_int_equal(entries_apart(&before, fabric_tables(w.fabric)), 0);
	assert_set(&w, HOST, "NO_P2P", true);
	assert_int_equal(entries_apart(&tried, fabric_tables(w.fabric)), 0);
	assert_true(entries_apart(&tried, &before) > 0);
	assert_int_equal(json_array_size(rows), 1);
	assert_int_equal(worst_in(json_array_get(rows, 0), "cross_rail_before"), load);
	assert_int_equal(worst_in(json_array_get(rows, 0), "cross_rail"), worst_uplink(&w, HOST));
	json_decref(rows);
	free(states);
	tables_fini(&tried);
	tables_fini(&before);
	world_fini(&w);
}

static void what_is_assumed_must_be_a_host_and_a_state(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ HOST, HOST ": HOST=STATE is expected" },
		{ HOST "=ILL", "unknown state ILL: HEALTHY, DEGRADED_LINK, NO_P2P or FATAL" },
		{ HOST "=UNKNOWN",
		  "unknown state UNKNOWN: HEALTHY, DEGRADED_LINK, NO_P2P or FATAL" },
		{ "moon=FATAL", "the fabric has no host moon, or several" },
		{ "=FATAL", "the fabric has no host , or several" },
	};
	uint8_t *states = NULL;
	struct world w;

	world_init(&w, pod(1));
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char err[256] = "";

		assert_int_equal(nvlink_assume(w.fabric, bad[i].text, &states, err, sizeof(err)),
				 -1);
		assert_string_equal(err, bad[i].why);
	}
	for (uint32_t h = 0; h < fabric_topo(w.fabric)->nhosts; h++)
		assert_int_equal(states[h], 0);
	free(states);
	world_fini(&w);
}

static void the_table_of_states_is_the_configurations(void **state)
{
	struct world w;

	world_init(&w, pod(1));
	w.conf.nvswitch.no_p2p_class = CONF_CLASS_UNCHANGED;
	w.conf.nvswitch.no_p2p_weight = 1;
	w.conf.nvswitch.degraded_class = CONF_CLASS_CROSSRAIL;
	fabric_configure(w.fabric, &w.conf);
	run_for(&w, SECOND_US);
	assert_set(&w, HOST, "NO_P2P", false);
	assert_int_equal(worst_uplink(&w, HOST), 7);
	assert_set(&w, HOST, "DEGRADED_LINK", true);
	assert_true(worst_uplink(&w, HOST) <= 2);
	world_fini(&w);
}

static void a_restart_moves_nothing(void **state)
{
	struct world w;

	spreading_world_init(&w, pod(1));
	assert_set(&w, HOST, "NO_P2P", true);
	struct tables before = { 0 };
	tables_copy(&before, fabric_tables(w.fabric));
	stop_fabric(&w);
	start_fabric(&w);
	run_for(&w, 2 * SECOND_US);
	assert_true(is_up(&w));
	assert_only_the_host_moved(&w, &before, HOST, false);
	assert_set(&w, HOST, NULL, true);
	assert_only_the_host_moved(&w, &before, HOST, true);
	tables_fini(&before);
	world_fini(&w);
}

static void several_degraded_hosts_are_spread_each(void **state)
{
	static const char *const names[] = { "dgx-su01-01", "dgx-su01-02", "dgx-su01-09" };
	struct world w;

	spreading_world_init(&w, pod(1));
	for (unsigned i = 0; i < 3; i++)
		assert_set(&w, names[i], "NO_P2P", true);
	for (unsigned i = 0; i < 3; i++)
		assert_true(worst_uplink(&w, names[i]) <= 2);
	world_fini(&w);
}

static void what_can_not_be_set_is_refused(void **state)
{
	static const struct {
		const char *host, *state, *reason;
	} cases[] = { { "moon", "FATAL", "moon" },
		      { HOST, "SICK", "unknown state SICK" },
		      { HOST, "UNKNOWN", "unknown state UNKNOWN" } };
	struct world w;

	world_init(&w, small_tree());
	for (unsigned i = 0; i < 3; i++) {
		struct reply r = set(&w, cases[i].host, cases[i].state);

		assert_null(r.result);
		if (!strstr(r.error, cases[i].reason))
			fail_msg("'%s' has no '%s'", r.error, cases[i].reason);
	}
	world_fini(&w);
}

/* ---- Ports that are not ours ----------------------------------------------------------------- */

static void assert_refused(uint32_t (*which)(const struct world *w), const char *desc, bool refused)
{
	struct world w;

	world_init(&w, small_tree());
	guid_t guid = w.design->nodes[which(&w)].guid;
	assert_int_equal(count_logged(&w, "nvlink-subnet", ""), 0);
	stop_fabric(&w);
	double_set_desc(w.hw, guid, desc);
	uint64_t tables = double_sent(w.hw, WIRE_SET, WIRE_LFT);
	uint64_t ports = double_sent(w.hw, WIRE_SET, WIRE_PORT_INFO);
	log_set_level(LOG_CORE, LOG_ERR - 1);
	start_fabric(&w);
	run_for(&w, 30 * SECOND_US);
	if (is_up(&w) != !refused)
		fail_msg("%s", desc);
	assert_int_equal(count_logged(&w, "nvlink-subnet", desc), refused);
	if (refused) {
		assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_LFT), tables);
		assert_int_equal(double_sent(w.hw, WIRE_SET, WIRE_PORT_INFO), ports);
	}
	world_fini(&w);
}

static uint32_t last_adapter(const struct world *w)
{
	return w->design->nnodes - 1;
}

/* What NVLink switches of two generations and a GPU were recorded to call themselves. */
static void a_port_into_an_nvlink_subnet_is_refused_with_the_reason(void **state)
{
	assert_refused(far_leaf, "MF0;gb-nvl-087-switch03:N5110_LD/U1", true);
	assert_refused(far_leaf, "MF0;sw06:N5400_LD/U1", true);
	assert_refused(last_adapter, "GB100 Nvidia Technologies", true);
}

static void names_that_are_only_alike_are_no_nvlink_subnet(void **state)
{
	assert_refused(far_leaf, "MF0;leaf-N52:MQM9700/U1", false);
	assert_refused(far_leaf, "MF0;sw:N_LD/U1", false);
	assert_refused(last_adapter, "GB100-node mlx5_0", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_host_without_p2p_is_spread_over_the_spines_of_four_units),
		cmocka_unit_test(only_the_hosts_own_entries_move_and_move_back),
		cmocka_unit_test(a_degraded_link_moves_nothing),
		cmocka_unit_test(what_if_says_beforehand_what_a_state_brings),
		cmocka_unit_test(what_is_assumed_must_be_a_host_and_a_state),
		cmocka_unit_test(the_table_of_states_is_the_configurations),
		cmocka_unit_test(a_restart_moves_nothing),
		cmocka_unit_test(several_degraded_hosts_are_spread_each),
		cmocka_unit_test(what_can_not_be_set_is_refused),
		cmocka_unit_test(a_port_into_an_nvlink_subnet_is_refused_with_the_reason),
		cmocka_unit_test(names_that_are_only_alike_are_no_nvlink_subnet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
