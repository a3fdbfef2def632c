/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* bringup on the fabric double: what ports become, and by how few Sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include "fm/inventory/port_setup.h"
#include "fm/loop/log.h"
#include "fm/sweep/bringup_priv.h"
#include "tests/fabric/fault.h"
#include "tests/lib/sweep_bench.h"
#include "topology/base/mem.h"

static void bench_up(struct bench *b, struct topo *design, const struct double_conf *conf)
{
	bench_init(b, design, conf);
	bench_discover(b);
	bench_bringup(b);
}

/* Ends of cables, and end ports among them or without (a switch's port 0). */
static uint32_t count_ends(const struct topo *t)
{
	uint32_t i, n = 0;

	for (i = 0; i < t->nports; i++)
		n += t->ports[i].link_up;
	return n;
}

static void assert_all_active(const struct bench *b)
{
	assert_int_equal(double_ports_not_active(b->d), 0);
	assert_int_equal(b->up.links_failed, 0);
}

/* What the hardware holds is what the inventory says. */
static void assert_inventory_true(const struct bench *b)
{
	const struct topo *t = b->design;
	uint32_t i;

	for (i = 0; i < t->nports; i++) {
		const struct topo_port *p = &t->ports[i];
		const struct inv_node *node = inv(b, t->nodes[p->node].guid);
		struct wire_port_info info;

		if (!p->link_up)
			continue;
		wire_port_info_decode(node->ports[p->num].info, &info);
		assert_int_equal(info.state, double_link_state(b->d, node->guid, p->num));
		assert_int_equal(node->ports[p->num].state, info.state);
		assert_int_equal(info.lid, double_port_info(b->d, node->guid, p->num)->lid);
	}
}

static void all_links_go_active_by_two_sets_a_port(void **state)
{
	struct bench b;
	char err[128];
	struct topo *designs[] = { design_pgft2(), design_pgft3(),
				   generate_superpod(GENERATE_H100, 1, true, err, sizeof(err)) };
	unsigned i;

	for (i = 0; i < 3; i++) {
		bench_up(&b, designs[i], NULL);
		assert_all_active(&b);
		assert_inventory_true(&b);
		assert_int_equal(b.up.links_activated, b.design->nlinks);
		assert_int_equal(b.up.ports_set, count_ends(b.design) + b.design->nswitches);
		assert_int_equal(sets(&b, WIRE_PORT_INFO),
				 2 * count_ends(b.design) + b.design->nswitches);
		assert_int_equal(gets(&b, WIRE_PORT_INFO), 0);
		assert_int_equal(gets(&b, WIRE_PKEY_TABLE), b.design->nnodes - b.design->nswitches);
		assert_int_equal(b.up.smps, double_sent(b.d, 0, 0));
		bench_fini(&b);
	}
}

static void end_ports_hold_their_addresses(void **state)
{
	struct bench b;
	uint32_t i;

	bench_up(&b, design_pgft2(), NULL);
	for (i = 0; i < b.found->nports; i++) {
		const struct topo_port *p = &b.found->ports[i];
		const struct wire_port_info *info;
		bool is_switch = p->node < b.found->nswitches;

		if (is_switch ? p->num != 0 : !p->link_up)
			continue;
		info = double_port_info(b.d, b.found->nodes[p->node].guid, p->num);
		assert_true(info->lid != 0);
		assert_int_equal(info->lid, b.lids->lid_of_port[i]);
		assert_int_equal(p->lid, info->lid);
		assert_int_equal(info->lmc, 0);
		assert_int_equal(info->sm_lid, b.sm_lid);
		assert_int_equal(info->gid_prefix, bringup_conf.gid_prefix);
		assert_int_equal(info->subnet_timeout, bringup_conf.subnet_timeout);
	}
	bench_fini(&b);
}

static void second_apply_sends_nothing(void **state)
{
	struct bench b;

	bench_up(&b, design_pgft2(), NULL);
	bench_bringup(&b);
	assert_int_equal(b.up.ports_set, 0);
	assert_int_equal(double_sent(b.d, 0, 0), 0);
	bench_discover(&b);
	bench_bringup(&b);
	assert_int_equal(double_sent(b.d, 0, 0), 0);
	bench_fini(&b);
}

/* There are as many records as ports in the fabric. */
static void a_port_that_never_had_trouble_has_no_record_of_any(void **state)
{
	struct bench b;
	unsigned with = 0;

	bench_init(&b, design_pgft2(), NULL);
	bench_discover(&b);
	double_set_silent(b.d, b.design->nodes[b.design->nnodes - 1].guid, true);
	bench_bringup(&b);
	for (struct inv_node *node = inventory_first(sweep_inventory(b.sweep)); node;
	     node = inventory_next(sweep_inventory(b.sweep), node))
		for (unsigned p = 0; p <= node->nports; p++) {
			with += port_setup(node, p)->setback != NULL;
			assert_true(port_setup(node, p)->setback || !port_setup(node, p)->given_up);
		}
	assert_true(with > 0 && with <= 2);
	bench_fini(&b);
}

/* A new process on a running fabric: same LIDs, since the ports hold them, and no Set at all. */
static void restart_sets_nothing(void **state)
{
	struct bench b;

	bench_up(&b, design_pgft3(), NULL);
	bringup_free(b.bringup);
	b.bringup = NULL;
	sweep_free(b.sweep);
	lid_memory_fini(&b.memory);
	b.memory = (struct lid_memory){ 0 };
	b.sweep = sweep_new(b.loop, b.mad);
	bench_discover(&b);
	bench_bringup(&b);
	assert_int_equal(double_sent(b.d, WIRE_SET, 0), 0);
	assert_int_equal(b.up.ports_set, 0);
	assert_all_active(&b);
	bench_fini(&b);
}

static void lossy_cables_end_in_the_same_state(void **state)
{
	struct double_conf conf = { .seed = 11 };
	struct bench b;
	uint32_t i;

	bench_init(&b, design_pgft2(), &conf);
	for (i = 0; i < b.design->nports; i++)
		if (b.design->ports[i].link_up)
			double_set_loss(b.d, b.design->nodes[b.design->ports[i].node].guid,
					b.design->ports[i].num, 10);
	bench_discover(&b);
	bench_bringup(&b);
	assert_true(double_drops(b.d)->lost > 20);
	assert_all_active(&b);
	assert_inventory_true(&b);
	bench_fini(&b);
}

static void begin_record(struct inventory *inv)
{
	inventory_init(inv);
	bringup_open_columns(inv);
}

static struct inv_node *add(struct inventory *inv, uint8_t type)
{
	const struct wire_node_info info = { .type = type, .nports = 1, .node_guid = type };

	return inventory_add(inv, &info);
}

static void mtu_and_vls_are_the_lower_of_both_ends(void **state)
{
	struct inv_node *sw, *ca;
	struct wire_port_info info = { .state = TOPO_INIT, .mtu_cap = 5, .vl_cap = 4 }, want;
	struct inventory inv;

	begin_record(&inv);
	sw = add(&inv, TOPO_SWITCH);
	ca = add(&inv, TOPO_CA);
	inventory_link(&inv, sw, 1, ca, 1);
	wire_port_info_encode(&info, sw->ports[1].info);
	info.mtu_cap = 4;
	info.vl_cap = 3;
	wire_port_info_encode(&info, ca->ports[1].info);
	port_plan(&inv, &bringup_conf, 1, sw, 1, &want);
	assert_int_equal(want.neighbor_mtu, 4);
	assert_int_equal(want.op_vls, 3);
	assert_int_equal(want.hoq_life, bringup_conf.leaf_hoq_life);
	port_plan(&inv, &bringup_conf, 1, ca, 1, &want);
	assert_int_equal(want.neighbor_mtu, 4);
	assert_int_equal(want.op_vls, 3);
	assert_int_equal(want.sm_lid, 1);
	inventory_fini(&inv);
}

static void enhanced_port_0_takes_its_largest_mtu(void **state)
{
	struct inventory inv;
	struct inv_node *sw;
	struct wire_port_info info = { .state = TOPO_ACTIVE, .mtu_cap = 5, .neighbor_mtu = 1 },
			      want;

	begin_record(&inv);
	sw = add(&inv, TOPO_SWITCH);
	port_setup(sw, 0)->want_lid = 9;
	wire_port_info_encode(&info, sw->ports[0].info);
	port_plan(&inv, &bringup_conf, 1, sw, 0, &want);
	assert_int_equal(want.neighbor_mtu, 1); /* a base port 0 is no end port for data */
	sw->sw.flags = INV_ENHANCED_PORT0;
	assert_int_equal(port_plan(&inv, &bringup_conf, 1, sw, 0, &want), PORT_PLAN_MUST);
	assert_int_equal(want.neighbor_mtu, 5);
	inventory_fini(&inv);
}

/*
 * A switch that came back with more ports than the snapshot has: the ports behind it are another's.
 */
static void ports_that_the_snapshot_lacks_get_no_lid(void **state)
{
	struct wire_node_info info;
	struct inv_node *node;
	struct bench b;

	bench_up(&b, design_pgft2(), NULL);
	node = inventory_find(sweep_inventory(b.sweep), b.design->nodes[0].guid);
	info = node->info;
	info.nports += 39;
	inventory_remove(sweep_inventory(b.sweep), node);
	node = inventory_add(sweep_inventory(b.sweep), &info);
	bench_bringup(&b);
	for (unsigned i = 1; i <= 39; i++)
		assert_int_equal(port_setup(node, node->nports - i + 1)->want_lid, 0);
	bench_fini(&b);
}

static void silent_host_leaves_the_rest_active(void **state)
{
	struct bench b;
	guid_t host;

	bench_init(&b, design_pgft2(), NULL);
	bench_discover(&b);
	host = b.design->nodes[b.design->nnodes - 1].guid;
	double_set_silent(b.d, host, true);
	bench_bringup(&b);
	assert_int_equal(b.up.links_failed, 1);
	assert_int_equal(b.up.links_new, 1);
	assert_non_null(strstr(b.up.first_new, "does not answer"));
	assert_int_equal(b.up.links_activated, b.design->nlinks - 1);
	double_set_silent(b.d, host, false);
	assert_false(bringup_retry(b.bringup, bringup_done, &b)); /* it rests */
	bench_wait(&b);
	bench_retry(&b);
	assert_int_equal(b.up.links_failed, 0);
	assert_int_equal(b.up.retry_at_us, 0);
	assert_int_equal(b.up.cured, 1);
	assert_int_equal(b.up.links_activated, 1);
	assert_all_active(&b);
	bench_fini(&b);
}

/* One packet a try, and less and less of these; an apply in between sends none. */
static void port_that_takes_no_set_is_asked_less_and_less(void **state)
{
	struct bench b;
	uint64_t began;
	guid_t host;

	bench_init(&b, design_pgft2(), NULL);
	bench_discover(&b);
	host = b.design->nodes[b.design->nnodes - 1].guid;
	fault_set(b.d, fault_find("deaf"), host, 1, 1);
	bench_bringup(&b);
	began = loop_now_us(b.loop);
	for (unsigned tries = 1; tries <= 32 + 12; tries++) {
		assert_int_equal(b.up.links_failed, 1);
		bench_wait(&b);
		double_sent_reset(b.d);
		bench_bringup(&b);
		assert_int_equal(double_sent(b.d, 0, 0), 0);
		bench_retry(&b);
		assert_int_equal(double_sent(b.d, 0, 0), 1);
		assert_int_equal(b.up.links_new, 0);
	}
	assert_true(loop_now_us(b.loop) - began > 200000000);
	fault_set(b.d, fault_find("deaf"), host, 1, 0);
	bench_wait(&b);
	assert_true(loop_now_us(b.loop) - began < 400000000);
	bench_retry(&b);
	assert_int_equal(b.up.links_failed, 0);
	assert_all_active(&b);
	bench_fini(&b);
}

static void port_that_refuses_is_given_up(void **state)
{
	struct bench b;
	guid_t host;

	bench_init(&b, design_pgft2(), NULL);
	bench_discover(&b);
	host = b.design->nodes[b.design->nnodes - 1].guid;
	double_set_fault(b.d, host, DOUBLE_BAD_STATUS, 1000, 0x1c);
	bench_bringup(&b);
	assert_int_equal(b.up.links_failed, 1);
	assert_int_equal(b.up.links_activated, b.design->nlinks - 1);
	bench_fini(&b);
}

static void joined_cable_comes_up_alone(void **state)
{
	struct bench b;
	struct bench_cable cable;
	guid_t ends[2];

	bench_up(&b, design_pgft2(), NULL);
	cable = bench_cable(b.design, 0);
	ends[0] = cable.a;
	ends[1] = cable.b;
	double_cut(b.d, cable.a, cable.port_a);
	bench_refresh(&b, ends, 2);
	bench_bringup(&b);
	assert_int_equal(sets(&b, WIRE_PORT_INFO), 0);
	double_join(b.d, cable.a, cable.port_a);
	bench_refresh(&b, ends, 2);
	bench_bringup(&b);
	assert_int_equal(sets(&b, WIRE_PORT_INFO), 4);
	assert_int_equal(b.up.links_activated, 1);
	assert_all_active(&b);
	bench_fini(&b);
}

/* A host that came back has LID 0 and no partitions but the one of power-on. */
static void rebooted_host_gets_everything_back(void **state)
{
	struct bench b;
	guid_t host, leaf;
	uint16_t lid;

	bench_up(&b, design_pgft2(), NULL);
	host = b.design->nodes[b.design->nnodes - 1].guid;
	leaf = b.design->nodes[bench_leaf_port(b.design, b.design->nnodes - 1)->node].guid;
	lid = double_port_info(b.d, host, 1)->lid;
	double_reboot(b.d, host);
	bench_refresh(&b, &leaf, 1);
	bench_bringup(&b);
	assert_int_equal(double_port_info(b.d, host, 1)->lid, lid);
	assert_int_equal(gets(&b, WIRE_PKEY_TABLE), 1);
	assert_all_active(&b);
	bench_fini(&b);
}

static void rebooted_switch_gets_everything_back(void **state)
{
	struct bench b;
	guid_t sw;
	uint16_t lid;

	bench_up(&b, design_pgft2(), NULL);
	sw = b.design->nodes[1].guid;
	lid = double_port_info(b.d, sw, 0)->lid;
	double_reboot(b.d, sw);
	bench_poll(&b);
	bench_refresh(&b, b.changed, b.result.nchanged);
	bench_bringup(&b);
	assert_int_equal(double_port_info(b.d, sw, 0)->lid, lid);
	assert_all_active(&b);
	assert_inventory_true(&b);
	bench_fini(&b);
}

static void newer_apply_supersedes(void **state)
{
	struct bench b, other = { .sweeps = 0 };

	bench_init(&b, design_pgft2(), NULL);
	bench_discover(&b);
	bench_bringup_start(&b);
	bringup_apply(b.bringup, b.found, b.lids, b.sm_lid, bringup_done, &other);
	bench_bringup(&b);
	assert_int_equal(other.sweeps, 0);
	assert_all_active(&b);
	bench_fini(&b);
}

static void superseding_in_the_middle_loses_no_port(void **state)
{
	struct bench b;
	struct loop_timer *stop;
	unsigned when;

	for (when = 20; when < 400; when += 40) {
		bench_init(&b, design_pgft2(), NULL);
		bench_discover(&b);
		bench_bringup_start(&b);
		stop = loop_timer_new(b.loop, (loop_fn *)loop_stop, b.loop);
		loop_timer_set(stop, when);
		loop_run(b.loop);
		loop_timer_free(stop);
		b.sweeps = 0;
		bench_bringup(&b);
		assert_all_active(&b);
		assert_inventory_true(&b);
		bench_fini(&b);
	}
}

static void default_partition_is_written_where_it_is_missing(void **state)
{
	static const uint16_t tables[][32] = { { 0x7fff, 0x8001 }, { 0x8001, 0, 0x8002 } };
	const uint16_t *held;
	struct bench b;
	uint8_t data[64];
	unsigned i, count;
	guid_t host;

	for (i = 0; i < 2; i++) {
		bench_init(&b, design_pgft2(), NULL);
		bench_discover(&b);
		host = b.design->nodes[b.design->nnodes - 1].guid;
		wire_words_encode(tables[i], data);
		bench_set(&b, host, 1, WIRE_PKEY_TABLE, data);
		bench_bringup(&b);
		held = double_pkeys(b.d, host, 1, &count);
		assert_int_equal(held[0], 0xffff);
		for (unsigned k = 1; k < count; k++) /* nobody is in any other */
			assert_int_equal(held[k], 0);
		assert_int_equal(b.up.pkeys_set, 1);
		assert_int_equal(sets(&b, WIRE_PKEY_TABLE), 1);
		assert_int_equal(gets(&b, WIRE_PKEY_TABLE), b.design->nnodes - b.design->nswitches);
		bench_fini(&b);
	}
}

/*
 * Left so by somebody else: one end of an Active link has a smaller MTU. After a bounce they agree.
 */
static void active_link_whose_ends_disagree_is_bounced(void **state)
{
	struct wire_port_info info;
	struct bench_cable cable;
	struct bench b;
	uint8_t data[64];

	bench_up(&b, design_pgft2(), NULL);
	cable = bench_cable(b.design, 0);
	info = *double_port_info(b.d, cable.a, cable.port_a);
	assert_true(info.neighbor_mtu > 1);
	info.neighbor_mtu = 1;
	info.state = info.phys_state = 0;
	wire_port_info_encode(&info, data);
	bench_set(&b, cable.a, (uint8_t)cable.port_a, WIRE_PORT_INFO, data);
	bringup_free(b.bringup);
	b.bringup = NULL;
	sweep_free(b.sweep);
	b.sweep = sweep_new(b.loop, b.mad);
	bench_discover(&b);
	bench_bringup(&b);
	assert_int_equal(double_port_info(b.d, cable.a, cable.port_a)->neighbor_mtu,
			 double_port_info(b.d, cable.b, cable.port_b)->neighbor_mtu);
	bench_poll(&b);
	bench_refresh(&b, b.changed, b.result.nchanged);
	bench_bringup(&b);
	assert_all_active(&b);
	assert_true(double_port_info(b.d, cable.a, cable.port_a)->neighbor_mtu > 1);
	bench_fini(&b);
}

static void new_configuration_is_written_once(void **state)
{
	struct bringup_conf conf = bringup_conf;
	struct bench b;

	bench_up(&b, design_pgft2(), NULL);
	conf.subnet_timeout = 17;
	conf.leaf_hoq_life = 0x0f;
	bringup_configure(b.bringup, &conf);
	bench_bringup(&b);
	/* Hosts, the leaves' ports to them, and each switch's own port. */
	assert_int_equal(sets(&b, WIRE_PORT_INFO),
			 2 * (b.design->nnodes - b.design->nswitches) + b.design->nswitches);
	bench_bringup(&b);
	assert_int_equal(sets(&b, WIRE_PORT_INFO), 0);
	assert_all_active(&b);
	bench_fini(&b);
}

static const struct CMUnitTest tests_list[] = {
	cmocka_unit_test(all_links_go_active_by_two_sets_a_port),
	cmocka_unit_test(end_ports_hold_their_addresses),
	cmocka_unit_test(second_apply_sends_nothing),
	cmocka_unit_test(a_port_that_never_had_trouble_has_no_record_of_any),
	cmocka_unit_test(restart_sets_nothing),
	cmocka_unit_test(lossy_cables_end_in_the_same_state),
	cmocka_unit_test(mtu_and_vls_are_the_lower_of_both_ends),
	cmocka_unit_test(enhanced_port_0_takes_its_largest_mtu),
	cmocka_unit_test(ports_that_the_snapshot_lacks_get_no_lid),
	cmocka_unit_test(silent_host_leaves_the_rest_active),
	cmocka_unit_test(port_that_takes_no_set_is_asked_less_and_less),
	cmocka_unit_test(port_that_refuses_is_given_up),
	cmocka_unit_test(joined_cable_comes_up_alone),
	cmocka_unit_test(rebooted_host_gets_everything_back),
	cmocka_unit_test(rebooted_switch_gets_everything_back),
	cmocka_unit_test(newer_apply_supersedes),
	cmocka_unit_test(superseding_in_the_middle_loses_no_port),
	cmocka_unit_test(default_partition_is_written_where_it_is_missing),
	cmocka_unit_test(active_link_whose_ends_disagree_is_bounced),
	cmocka_unit_test(new_configuration_is_written_once),
};

int main(void)
{
	log_set_level(-1, LOG_ERR);
	return cmocka_run_group_tests(tests_list, NULL, NULL);
}
