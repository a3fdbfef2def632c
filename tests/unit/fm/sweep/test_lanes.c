/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* SL2VL and VL arbitration on the fabric double: what ports hold, and by how few requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "fm/inventory/port_setup.h"
#include "fm/conf/conf.h"
#include "fm/loop/log.h"
#include "tests/lib/sweep_bench.h"

#define ARB_CAP 8

struct lanes {
	struct bench bench;
	struct bringup_conf conf;
	struct bench_tamper tamper;
};

static void set_qos(struct lanes *l, const char *ca_sl2vl, const char *swe_low)
{
	struct conf conf;

	conf_default(&conf);
	conf.qos.on = true;
	conf.qos.kind[QOS_SWITCH_PORT].high_limit = 7;
	snprintf(conf.qos.kind[QOS_CA].sl2vl, sizeof(conf.qos.kind[QOS_CA].sl2vl), "%s", ca_sl2vl);
	snprintf(conf.qos.kind[QOS_SWITCH_PORT].vlarb_low,
		 sizeof(conf.qos.kind[QOS_SWITCH_PORT].vlarb_low), "%s", swe_low);
	qos_make(&conf.qos, &l->conf.qos);
}

static void lanes_apply(struct lanes *l)
{
	struct bench *b = &l->bench;

	if (!b->bringup)
		b->bringup = bringup_new(b->loop, b->mad, sweep_inventory(b->sweep), &l->conf);
	bench_bringup(b);
}

static void lanes_init(struct lanes *l, uint8_t arb_cap, bool wildcards)
{
	const struct double_conf conf = { .arb_cap = arb_cap, .wildcards = wildcards };

	*l = (struct lanes){ .conf = bringup_conf };
	set_qos(l, "0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,15", "0:1,1:2,2:3");
	bench_init(&l->bench, design_pgft2(), &conf);
}

static void lanes_up(struct lanes *l)
{
	bench_discover(&l->bench);
	lanes_apply(l);
	assert_int_equal(double_ports_not_active(l->bench.d), 0);
}

static void restart(struct lanes *l)
{
	struct bench *b = &l->bench;

	bringup_free(b->bringup);
	b->bringup = NULL;
	sweep_free(b->sweep);
	b->sweep = sweep_new(b->loop, b->mad);
	lanes_up(l);
}

/* ---- What ports hold ------------------------------------------------------------------------- */

static void assert_arb(const struct lanes *l, const struct topo_port *p,
		       const struct qos_tables *tables, unsigned vls)
{
	guid_t node = l->bench.design->nodes[p->node].guid;

	for (unsigned entry = 0; entry < ARB_CAP; entry++) {
		const uint8_t *low = double_arb(l->bench.d, node, p->num, 0) + 2 * entry,
			      *high = double_arb(l->bench.d, node, p->num, 2) + 2 * entry;

		assert_int_equal(low[0],
				 vls == 15 ? tables->low[entry].vl : tables->low[entry].vl % vls);
		assert_int_equal(low[1], tables->low[entry].weight);
		assert_int_equal(high[1], tables->high[entry].weight);
	}
}

static void assert_sl2vl(const uint8_t *data, const struct qos_tables *tables, unsigned vls)
{
	for (unsigned sl = 0; sl < QOS_SLS; sl++) {
		unsigned vl = sl % 2 ? data[sl / 2] & 0xf : data[sl / 2] >> 4,
			 wanted = tables->sl2vl[sl];

		assert_int_equal(vl, wanted == 15 || vls == 15 ? wanted : wanted % vls);
	}
}

static void assert_port(const struct lanes *l, const struct topo_port *p)
{
	const struct topo_node *node = &l->bench.design->nodes[p->node];
	const struct qos_tables *tables = &l->conf.qos.kind[inv_qos_kind(node->type, p->num)];
	const struct wire_port_info *info = double_port_info(l->bench.d, node->guid, p->num);
	static const unsigned vls[] = { 0, 1, 2, 4, 8, 15 };

	assert_int_equal(info->vl_high_limit, info->vl_cap > 1 ? tables->high_limit : 0);
	if (info->vl_cap > 1)
		assert_arb(l, p, tables, vls[info->op_vls]);
	for (unsigned in = 0; in <= (node->type == TOPO_SWITCH ? node->nports : 0); in++)
		assert_sl2vl(double_sl2vl(l->bench.d, node->guid, p->num, in), tables,
			     vls[info->op_vls]);
}

/* Of a switch the management port too: it is an enhanced one. */
static bool has_lanes(const struct topo *t, uint32_t port)
{
	return t->ports[port].node < t->nswitches &&
	       (!t->ports[port].num || t->ports[port].link_up);
}

static void assert_held(const struct lanes *l)
{
	for (uint32_t i = 0; i < l->bench.design->nports; i++)
		if (l->bench.design->ports[i].link_up || has_lanes(l->bench.design, i))
			assert_port(l, &l->bench.design->ports[i]);
}

static unsigned ends_of_switches(const struct topo *t)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < t->nports; i++)
		n += has_lanes(t, i);
	return n;
}

/* Requests of SL2VL that a switch without wildcards takes: one a pair of ports. */
static unsigned pairs_of_switches(const struct topo *t)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < t->nports; i++)
		if (has_lanes(t, i))
			n += t->nodes[t->ports[i].node].nports + 1u;
	return n;
}

static void ports_hold_what_is_configured_for_their_kind(void **state)
{
	struct lanes l;
	const struct topo *t;

	lanes_init(&l, ARB_CAP, false);
	lanes_up(&l);
	t = l.bench.design;
	assert_held(&l);
	assert_int_equal(gets(&l.bench, WIRE_SL2VL), t->ncas + pairs_of_switches(t));
	assert_int_equal(sets(&l.bench, WIRE_SL2VL),
			 t->ncas + pairs_of_switches(t)); /* folded down to eight lanes */
	assert_int_equal(gets(&l.bench, WIRE_VL_ARB), 2 * (t->ncas + ends_of_switches(t)));
	assert_int_equal(sets(&l.bench, WIRE_VL_ARB), 2 * (t->ncas + ends_of_switches(t)));
	lanes_apply(&l);
	assert_int_equal(double_sent(l.bench.d, 0, 0), 0);
	bench_fini(&l.bench);
}

static void a_restart_reads_and_writes_nothing(void **state)
{
	struct lanes l;

	lanes_init(&l, ARB_CAP, false);
	lanes_up(&l);
	restart(&l);
	assert_int_equal(double_sent(l.bench.d, WIRE_SET, 0), 0);
	assert_held(&l);
	bench_fini(&l.bench);
}

static void wildcards_take_one_set_a_switch(void **state)
{
	struct lanes l;
	const struct topo *t;

	lanes_init(&l, ARB_CAP, true);
	lanes_up(&l);
	t = l.bench.design;
	assert_held(&l);
	assert_int_equal(gets(&l.bench, WIRE_SL2VL), t->ncas);
	assert_int_equal(sets(&l.bench, WIRE_SL2VL), t->ncas + 2 * t->nswitches);
	/* port 0 has fewer lanes, and so one of its own */
	restart(&l);
	assert_int_equal(double_sent(l.bench.d, WIRE_SET, 0), 2 * t->nswitches);
	assert_held(&l);
	bench_fini(&l.bench);
}

/* Every fourth host has fewer lanes; the last has one. */
static void narrow_some(struct lanes *l)
{
	const struct topo *t = l->bench.design;

	for (uint32_t n = t->nswitches; n < t->nnodes; n += 4)
		double_set_vl_cap(l->bench.d, t->nodes[n].guid, 1, 2);
	double_set_vl_cap(l->bench.d, t->nodes[t->nnodes - 1].guid, 1, 1);
}

static void ports_with_fewer_lanes_have_tables_of_their_own(void **state)
{
	for (int wildcards = 0; wildcards < 2; wildcards++) {
		struct lanes l;

		lanes_init(&l, ARB_CAP, wildcards);
		narrow_some(&l);
		lanes_up(&l);
		assert_held(&l);
		bench_fini(&l.bench);
	}
}

static void without_arbitration_and_mapping_nothing_is_asked(void **state)
{
	struct lanes l;

	lanes_init(&l, 0, false);
	lanes_up(&l);
	assert_int_equal(
		double_sent(l.bench.d, 0, WIRE_SL2VL) + double_sent(l.bench.d, 0, WIRE_VL_ARB), 0);
	bench_fini(&l.bench);
}

static void off_asks_nothing_and_leaves_the_limit(void **state)
{
	struct lanes l;

	lanes_init(&l, ARB_CAP, false);
	l.conf.qos.on = false;
	lanes_up(&l);
	assert_int_equal(
		double_sent(l.bench.d, 0, WIRE_SL2VL) + double_sent(l.bench.d, 0, WIRE_VL_ARB), 0);
	bench_fini(&l.bench);
}

static void a_new_configuration_is_written_where_it_differs(void **state)
{
	struct lanes l;
	const struct topo *t;

	lanes_init(&l, ARB_CAP, false);
	lanes_up(&l);
	t = l.bench.design;
	set_qos(&l, "0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,15", "0:1,1:2,2:4");
	bringup_configure(l.bench.bringup, &l.conf);
	lanes_apply(&l);
	assert_held(&l);
	assert_int_equal(sets(&l.bench, WIRE_VL_ARB), ends_of_switches(t) - t->nswitches);
	assert_int_equal(double_sent(l.bench.d, WIRE_SET, 0), ends_of_switches(t) - t->nswitches);
	bench_fini(&l.bench);
}

/* ---- What goes wrong ------------------------------------------------------------------------- */

static void rebooted_nodes_get_their_tables_back(void **state)
{
	for (int wildcards = 0; wildcards < 2; wildcards++) {
		struct lanes l;
		struct bench *b = &l.bench;

		lanes_init(&l, ARB_CAP, wildcards);
		lanes_up(&l);
		for (uint32_t n = 0; n < b->design->nnodes; n += 5) {
			double_reboot(b->d, b->design->nodes[n].guid);
			bench_poll(b);
			bench_refresh(b, b->changed, b->result.nchanged);
			lanes_apply(&l);
			assert_held(&l);
		}
		bench_fini(b);
	}
}

static void lossy_cables_delay_only(void **state)
{
	for (int wildcards = 0; wildcards < 2; wildcards++) {
		struct lanes l;
		const struct topo *t;

		lanes_init(&l, ARB_CAP, wildcards);
		t = l.bench.design;
		bench_discover(&l.bench);
		for (uint32_t i = 0; i < t->nports; i++)
			if (t->ports[i].peer != TOPO_NONE)
				double_set_loss(l.bench.d, t->nodes[t->ports[i].node].guid,
						t->ports[i].num, 20);
		lanes_apply(&l);
		assert_held(&l);
		bench_fini(&l.bench);
	}
}

/* Switches say that they take wildcards, and don't. */
static void claim_wildcards(void *arg, const struct wire_mad *header, uint8_t data[64])
{
	if (header->attr_id == WIRE_SWITCH_INFO)
		data[11] |= 1;
}

static void refused_wildcards_are_written_out(void **state)
{
	struct lanes l;
	const struct topo *t;

	lanes_init(&l, ARB_CAP, false);
	t = l.bench.design;
	bench_tamper(&l.bench, &l.tamper, claim_wildcards, NULL);
	lanes_up(&l);
	assert_held(&l);
	assert_int_equal(gets(&l.bench, WIRE_SL2VL), t->ncas + pairs_of_switches(t));
	assert_int_equal(sets(&l.bench, WIRE_SL2VL), t->ncas + pairs_of_switches(t) + t->nswitches);
	bench_fini(&l.bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_hold_what_is_configured_for_their_kind),
		cmocka_unit_test(a_restart_reads_and_writes_nothing),
		cmocka_unit_test(wildcards_take_one_set_a_switch),
		cmocka_unit_test(ports_with_fewer_lanes_have_tables_of_their_own),
		cmocka_unit_test(without_arbitration_and_mapping_nothing_is_asked),
		cmocka_unit_test(off_asks_nothing_and_leaves_the_limit),
		cmocka_unit_test(a_new_configuration_is_written_where_it_differs),
		cmocka_unit_test(rebooted_nodes_get_their_tables_back),
		cmocka_unit_test(lossy_cables_delay_only),
		cmocka_unit_test(refused_wildcards_are_written_out),
	};

	log_set_level(-1, LOG_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
