/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sweep on the fabric double: what it finds is held against the snapshot that the double was made
 * from, what it sends against what there is to ask.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include "fm/loop/log.h"
#include "tests/lib/fabrics.h"
#include "tests/lib/sweep_bench.h"
#include "topology/files/netfile.h"
#include "topology/snapshot/topo_builder.h"

/*
 * SMPs of a first discovery without loss: each thing is asked once. `crossed`: cables whose two
 * ends may be found up within one round trip, so that both probes are on their way; none in a tree.
 */
static void assert_asked_once(const struct bench *b, unsigned crossed)
{
	const struct topo *t = b->design;
	uint32_t i, ports = 0, up_cas = 0;

	for (i = 0; i < t->nports; i++)
		ports += i < t->nodes[t->nswitches].port0; /* of switches, port 0 too */
	for (i = t->nodes[t->nswitches].port0; i < t->nports; i++)
		up_cas += t->ports[i].link_up;
	assert_in_range(gets(b, WIRE_NODE_INFO), t->nlinks + 1, t->nlinks + 1 + crossed);
	assert_int_equal(gets(b, WIRE_NODE_DESC), t->nnodes);
	assert_int_equal(gets(b, WIRE_SWITCH_INFO), t->nswitches);
	assert_in_range(double_sent(b->d, WIRE_SET, WIRE_SWITCH_INFO), 0, t->nswitches);
	/* The SM's own port once more where speeds are extended: nothing spoke for it before. */
	assert_in_range(gets(b, WIRE_PORT_INFO), ports + up_cas, ports + up_cas + 1);
	assert_int_equal(b->result.smps, double_sent(b->d, 0, 0));
}

static void discover_and_compare(struct topo *design, unsigned crossed)
{
	struct bench b;

	bench_init(&b, design, NULL);
	bench_discover(&b);
	assert_int_equal(b.result.error, 0);
	assert_int_equal(b.result.silent, 0);
	assert_int_equal(b.result.duplicates, 0);
	assert_int_equal(b.result.gone, 0);
	assert_same_fabric(b.design, b.found);
	assert_asked_once(&b, crossed);
	bench_fini(&b);
}

static void generated_fabrics_are_found_exactly(void **state)
{
	char err[128];

	discover_and_compare(design_pgft2(), 0);
	discover_and_compare(design_pgft3(), 0);
	discover_and_compare(generate_superpod(GENERATE_H100, 1, true, err, sizeof(err)), 0);
	discover_and_compare(generate_superpod(GENERATE_B200, 2, true, err, sizeof(err)), 0);
}

static void irregular_fabrics_are_found_exactly(void **state)
{
	for (size_t i = 0; i < IRREGULARS; i++) {
		struct topo *t = irregular_fabric(i);

		if (t)
			discover_and_compare(t, 20);
	}
}

static void second_discovery_asks_each_node_once(void **state)
{
	struct bench b;

	bench_init(&b, design_pgft3(), NULL);
	bench_discover(&b);
	bench_discover(&b);
	assert_same_fabric(b.design, b.found);
	assert_int_equal(gets(&b, WIRE_NODE_DESC), b.design->nnodes);
	assert_int_equal(gets(&b, WIRE_NODE_INFO), b.design->nlinks + 1);
	assert_int_equal(sets(&b, WIRE_SWITCH_INFO), 0);
	bench_fini(&b);
}

static void state_table_saves_the_ports_that_are_down(void **state)
{
	struct double_conf conf = { .state_table = true };
	struct bench b;
	char err[128];
	uint32_t i, up = 0;

	bench_init(&b, generate_superpod(GENERATE_B200, 1, true, err, sizeof(err)), &conf);
	bench_discover(&b);
	assert_same_fabric(b.design, b.found);
	for (i = 0; i < b.design->nports; i++)
		up += b.design->ports[i].link_up;
	assert_in_range(gets(&b, WIRE_PORT_INFO), up + b.design->nswitches,
			up + b.design->nswitches + 1);
	assert_int_equal(gets(&b, WIRE_PORT_STATE_TABLE), b.design->nswitches);
	bench_fini(&b);
}

static void lanes_of_every_generation_arrive(void **state)
{
	static const enum topo_speed speeds[] = { TOPO_EDR, TOPO_HDR, TOPO_NDR, TOPO_XDR };
	unsigned i;

	for (i = 0; i < 4; i++) {
		struct topo_builder *tb = topo_builder_new();
		struct topo_node sw = { .guid = 0x10,
					.desc = "sw",
					.type = TOPO_SWITCH,
					.nports = 4,
					.lft_cap = 1024 };
		struct topo_node ca = { .guid = 0x20, .desc = "ca", .type = TOPO_CA, .nports = 1 };
		struct topo_port port = { .speed = (uint8_t)speeds[i],
					  .width = 4,
					  .mtu = 5,
					  .state = TOPO_INIT,
					  .capmask = WIRE_CAP_EXT_SPEEDS };
		struct bench b;
		int s = topo_builder_node(tb, &sw), c = topo_builder_node(tb, &ca);

		topo_builder_port(tb, s, 0, &(struct topo_port){ .capmask = port.capmask });
		topo_builder_port(tb, s, 2, &port);
		port.guid = 0x21;
		topo_builder_port(tb, c, 1, &port);
		topo_builder_link(tb, s, 2, c, 1, true);
		bench_init(&b, topo_freeze(tb), NULL);
		bench_discover(&b);
		assert_int_equal(topo_port(b.found, 0, 2)->speed, speeds[i]);
		assert_int_equal(topo_port(b.found, 1, 1)->speed, speeds[i]);
		assert_int_equal(topo_port(b.found, 1, 1)->width, 4);
		bench_fini(&b);
	}
}

static void cut_cable_stays_known_as_down(void **state)
{
	struct bench b;
	struct bench_cable cable;
	guid_t ends[2];

	bench_init(&b, design_pgft2(), NULL);
	bench_discover(&b);
	bench_bringup(&b); /* a port in Init would be asked who is there */
	cable = bench_cable(b.design, 0);
	ends[0] = cable.a;
	ends[1] = cable.b;
	double_cut(b.d, cable.a, cable.port_a);
	bench_refresh(&b, ends, 2);
	assert_int_equal(b.found->nlinks, b.design->nlinks);
	assert_int_equal(b.found->nlinks_down, 1);
	assert_false(topo_port(b.found, topo_find(b.found, cable.a), cable.port_a)->link_up);
	assert_int_equal(gets(&b, WIRE_NODE_INFO), 0);
	/* One question more when the way to the second end crossed the cable. */
	assert_in_range(gets(&b, WIRE_SWITCH_INFO), 2, 3);
	assert_int_equal(sets(&b, WIRE_SWITCH_INFO), 2);

	double_join(b.d, cable.a, cable.port_a);
	bench_refresh(&b, ends, 2);
	assert_same_fabric(b.design, b.found);
	assert_int_equal(gets(&b, WIRE_NODE_INFO), 1);
	bench_poll(&b); /* PortStateChange was cleared */
	assert_int_equal(b.result.nchanged, 0);
	bench_fini(&b);
}

/* Many cables in turn, so the ways to the ends cross some. In the double's time it takes < 1 ms. */
static void refresh_is_not_delayed_by_a_dead_path(void **state)
{
	struct bench b;
	uint32_t from = 0, i;

	bench_init(&b, design_pgft3(), NULL);
	bench_discover(&b);
	for (i = 0; i < 20; i++) {
		struct bench_cable cable = bench_cable(b.design, from);
		guid_t ends[2] = { cable.a, cable.b };

		from = cable.next;
		double_cut(b.d, cable.a, cable.port_a);
		bench_refresh(&b, ends, 2);
		assert_int_equal(b.found->nlinks_down, 1);
		assert_int_equal(b.result.silent, 0);
		assert_true(b.result.took_us < 5000);
		double_join(b.d, cable.a, cable.port_a);
		bench_refresh(&b, ends, 2);
		assert_int_equal(b.found->nlinks_down, 0);
		assert_true(b.result.took_us < 5000);
	}
	bench_fini(&b);
}

static void refresh_by_one_end_alone_finds_another_path(void **state)
{
	struct bench b;
	uint32_t from = 0, i;

	bench_init(&b, design_pgft3(), NULL);
	bench_discover(&b);
	for (i = 0; i < 20; i++) {
		struct bench_cable cable = bench_cable(b.design, from);

		from = cable.next;
		double_cut(b.d, cable.b, cable.port_b);
		bench_refresh(&b, &cable.b, 1);
		assert_int_equal(b.found->nlinks_down, 1);
		assert_int_equal(b.result.silent, 0);
		double_join(b.d, cable.b, cable.port_b);
		bench_refresh(&b, &cable.b, 1);
		assert_int_equal(b.found->nlinks_down, 0);
	}
	bench_fini(&b);
}

static void host_without_cable_is_gone_and_kept(void **state)
{
	const struct topo_port *leaf;
	struct bench b;
	guid_t host, at;

	bench_init(&b, design_pgft2(), NULL);
	bench_discover(&b);
	host = b.design->nodes[b.design->nnodes - 1].guid;
	leaf = bench_leaf_port(b.design, b.design->nnodes - 1);
	at = b.design->nodes[leaf->node].guid;
	double_cut(b.d, at, leaf->num);
	bench_refresh(&b, &at, 1);
	assert_int_equal(b.result.gone, 1);
	assert_int_equal(b.result.silent, 0);
	assert_true(inv(&b, host)->gone);
	assert_int_equal(b.found->nnodes, b.design->nnodes);
	assert_int_equal(b.found->nlinks_down, 1);
	bench_discover(&b);
	assert_int_equal(b.result.gone, 1);
	assert_int_equal(b.found->nlinks, b.design->nlinks);

	double_set_desc(b.d, host, "renamed HCA-1");
	double_join(b.d, at, leaf->num);
	bench_refresh(&b, &at, 1);
	assert_int_equal(b.result.gone, 0);
	assert_string_equal(inv(&b, host)->desc, "renamed HCA-1");
	bench_fini(&b);
}

static void poll_costs_one_smp_a_switch(void **state)
{
	struct bench b;
	struct bench_cable cable;

	bench_init(&b, design_pgft3(), NULL);
	bench_discover(&b);
	bench_poll(&b);
	assert_int_equal(b.result.nchanged, 0);
	assert_int_equal(b.result.smps, b.design->nswitches);
	assert_int_equal(double_sent(b.d, 0, 0), b.design->nswitches);
	double_set_traps(b.d, false);
	cable = bench_cable(b.design, 0);
	double_cut(b.d, cable.a, cable.port_a);
	bench_poll(&b);
	assert_int_equal(b.result.nchanged, 2);
	bench_refresh(&b, b.changed, 2);
	assert_int_equal(b.found->nlinks_down, 1);
	bench_fini(&b);
}

/* The last host loses its cable, and no trap comes. */
static guid_t cut_unheard(struct bench *b)
{
	const struct topo_port *leaf = bench_leaf_port(b->design, b->design->nnodes - 1);

	bench_discover(b);
	bench_bringup(b); /* a refresh reads ports that are not Active */
	double_set_traps(b->d, false);
	double_cut(b->d, b->design->nodes[leaf->node].guid, leaf->num);
	return b->design->nodes[leaf->node].guid;
}

/* A fault may come each time before the switches have answered the light sweep. */
static void refresh_that_replaces_a_poll_finds_what_the_poll_would_have_found(void **state)
{
	struct bench b;
	guid_t other;

	bench_init(&b, design_pgft3(), NULL);
	other = b.design->nodes[0].guid;
	assert_true(cut_unheard(&b) != other);
	sweep_poll(b.sweep, bench_swept, &b);
	bench_refresh(&b, &other, 1);
	assert_int_equal(b.found->nlinks_down, 1);
	bench_fini(&b);
}

/* A slow agent keeps the refresh going. */
static void poll_beside_a_refresh_reads_what_it_finds_and_ends_with_it(void **state)
{
	struct bench b;
	guid_t slow;

	bench_init(&b, design_pgft3(), NULL);
	slow = b.design->nodes[0].guid;
	assert_true(cut_unheard(&b) != slow);
	double_set_fault(b.d, slow, DOUBLE_DELAY, 1000, 100000);
	sweep_refresh(b.sweep, &slow, 1, bench_swept, &b);
	sweep_poll_beside(b.sweep);
	bench_refresh(&b, &slow, 1);
	assert_int_equal(b.found->nlinks_down, 1);
	assert_int_equal(b.result.silent, 0);
	assert_false(sweep_busy(b.sweep));
	bench_fini(&b);
}

static void switch_that_rebooted_is_found_by_poll(void **state)
{
	struct wire_switch_info info;
	struct bench b;
	guid_t sw;

	bench_init(&b, design_pgft2(), NULL);
	bench_discover(&b);
	sw = b.design->nodes[1].guid;
	info = inv(&b, sw)->sw;
	info.lft_top = 77; /* as if program had set it */
	inv(&b, sw)->sw = info;
	inv_wanted(inv(&b, sw))->top = 77;
	double_set_traps(b.d, false);
	double_reboot(b.d, sw);
	bench_poll(&b);
	assert_true(b.result.nchanged > 1);
	bench_refresh(&b, b.changed, b.result.nchanged);
	assert_true(inv(&b, sw)->rebooted);
	assert_same_fabric(b.design, b.found);
	bench_fini(&b);
}

static struct topo *design_looped(void)
{
	struct topo_builder *tb = topo_builder_new();
	struct topo_node sw = {
		.guid = 0x10, .desc = "sw", .type = TOPO_SWITCH, .nports = 8, .lft_cap = 1024
	};
	struct topo_node ca = { .guid = 0x20, .desc = "ca", .type = TOPO_CA, .nports = 2 };
	int s = topo_builder_node(tb, &sw), c = topo_builder_node(tb, &ca);

	topo_builder_port(tb, c, 1, &(struct topo_port){ .guid = 0x21 });
	topo_builder_port(tb, c, 2, &(struct topo_port){ .guid = 0x22 });
	topo_builder_link(tb, s, 1, c, 1, true);
	topo_builder_link(tb, s, 2, c, 2, true);
	topo_builder_link(tb, s, 4, s, 7, true);
	return topo_freeze(tb);
}

static void cable_from_a_switch_to_itself_is_a_link(void **state)
{
	struct bench b;

	bench_init(&b, design_looped(), NULL);
	bench_discover(&b);
	assert_int_equal(b.found->nlinks, 3);
	assert_int_equal(b.result.duplicates, 0);
	assert_ptr_equal(inv(&b, 0x10)->ports[4].peer, inv(&b, 0x10));
	assert_int_equal(inv(&b, 0x10)->ports[4].peer_port, 7);
	bench_discover(&b);
	assert_int_equal(b.found->nlinks, 3);
	bench_fini(&b);
}

static struct topo *design_chain(unsigned nswitches)
{
	struct topo_builder *tb = topo_builder_new();
	struct topo_node ca = { .guid = 0x1000, .desc = "ca", .type = TOPO_CA, .nports = 1 };
	int before = topo_builder_node(tb, &ca);
	unsigned i;

	for (i = 0; i < nswitches; i++) {
		struct topo_node sw = { .guid = 0x10 + i,
					.desc = "sw",
					.type = TOPO_SWITCH,
					.nports = 2,
					.lft_cap = 1024 };
		int s = topo_builder_node(tb, &sw);

		topo_builder_link(tb, before, i ? 2 : 1, s, 1, true);
		before = s;
	}
	return topo_freeze(tb);
}

static void nodes_past_63_hops_are_left_alone(void **state)
{
	struct bench b;

	bench_init(&b, design_chain(70), NULL);
	bench_discover(&b);
	assert_int_equal(b.result.error, 0);
	assert_int_equal(b.found->nswitches, 63);
	assert_int_equal(b.result.silent, 0);
	bench_fini(&b);
}

static void newer_discovery_replaces_the_running_one(void **state)
{
	struct bench b, other = { .sweeps = 0 };

	bench_init(&b, design_pgft2(), NULL);
	sweep_discover(b.sweep, bench_swept, &other);
	loop_run(b.loop);
	assert_int_equal(other.sweeps, 1);
	sweep_discover(b.sweep, bench_swept, &other);
	bench_discover(&b);
	assert_int_equal(other.sweeps, 1);
	assert_same_fabric(b.design, b.found);
	bench_fini(&b);
}

static void refresh_joins_a_running_discovery(void **state)
{
	struct bench b, other = { .sweeps = 0 };

	bench_init(&b, design_pgft2(), NULL);
	bench_discover(&b);
	sweep_discover(b.sweep, bench_swept, &other);
	bench_refresh(&b, &b.design->nodes[0].guid, 1);
	assert_int_equal(other.sweeps, 0);
	assert_same_fabric(b.design, b.found);
	assert_int_equal(gets(&b, WIRE_NODE_INFO), b.design->nlinks + 1);
	bench_fini(&b);
}

static void refresh_of_nothing_ends_too(void **state)
{
	struct bench b;
	guid_t unknown = 0x1234;

	bench_init(&b, design_pgft2(), NULL);
	bench_refresh(&b, &unknown, 1);
	assert_int_equal(b.result.smps, 0);
	bench_fini(&b);
}

static const struct CMUnitTest tests_list[] = {
	cmocka_unit_test(generated_fabrics_are_found_exactly),
	cmocka_unit_test(irregular_fabrics_are_found_exactly),
	cmocka_unit_test(second_discovery_asks_each_node_once),
	cmocka_unit_test(state_table_saves_the_ports_that_are_down),
	cmocka_unit_test(lanes_of_every_generation_arrive),
	cmocka_unit_test(cut_cable_stays_known_as_down),
	cmocka_unit_test(refresh_is_not_delayed_by_a_dead_path),
	cmocka_unit_test(refresh_by_one_end_alone_finds_another_path),
	cmocka_unit_test(host_without_cable_is_gone_and_kept),
	cmocka_unit_test(poll_costs_one_smp_a_switch),
	cmocka_unit_test(refresh_that_replaces_a_poll_finds_what_the_poll_would_have_found),
	cmocka_unit_test(poll_beside_a_refresh_reads_what_it_finds_and_ends_with_it),
	cmocka_unit_test(switch_that_rebooted_is_found_by_poll),
	cmocka_unit_test(cable_from_a_switch_to_itself_is_a_link),
	cmocka_unit_test(nodes_past_63_hops_are_left_alone),
	cmocka_unit_test(newer_discovery_replaces_the_running_one),
	cmocka_unit_test(refresh_joins_a_running_discovery),
	cmocka_unit_test(refresh_of_nothing_ends_too),
};

int main(void)
{
	log_set_level(-1, LOG_ERR);
	return cmocka_run_group_tests(tests_list, NULL, NULL);
}
