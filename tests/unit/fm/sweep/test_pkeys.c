/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * P_Key tables and their enforcement, on the fabric double: what ports hold, by how few requests,
 * and when.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include "fm/loop/log.h"
#include "fm/conf/partition.h"
#include "tests/lib/sweep_bench.h"
#include "topology/base/mem.h"
#include "topology/snapshot/topo_builder.h"

/* The same fabric with tables of another size. */
static struct topo *with_caps(struct topo *t, uint16_t ca_cap, uint16_t sw_cap)
{
	struct topo_builder *b = topo_builder_new();

	for (uint32_t n = 0; n < t->nnodes; n++) {
		const struct topo_node *node = &t->nodes[n];
		struct topo_node attr = { .guid = node->guid,
					  .desc = node->desc,
					  .type = node->type,
					  .nports = node->nports,
					  .pkey_cap = node->type == TOPO_SWITCH ? sw_cap : ca_cap };

		assert_int_equal(topo_builder_node(b, &attr), n);
	}
	for (uint32_t i = 0; i < t->nports; i++) {
		const struct topo_port *p = &t->ports[i], *peer = topo_peer(t, p);
		struct topo_port attr = {
			.guid = p->guid, .capmask = p->capmask, .speed = p->speed, .width = p->width
		};

		assert_int_equal(topo_builder_port(b, (int)p->node, p->num, &attr), 0);
		if (peer && peer < p)
			assert_int_equal(topo_builder_link(b, (int)p->node, p->num, (int)peer->node,
							   peer->num, true),
					 0);
	}
	topo_unref(t);
	return topo_freeze(b);
}

struct tenants {
	struct bench bench;
	struct partition_set *set;
	struct pkey_map *map;
	struct bringup_conf conf;
};

static guid_t host_port(const struct tenants *t, unsigned i)
{
	const struct topo *d = t->bench.design;

	return d->ports[d->nodes[d->nswitches + i].port0 + 1].guid;
}

static void read_partitions(struct tenants *t, char *text)
{
	const struct partition_options options = { .both = true };
	char err[256] = "";

	partition_free(t->set);
	t->set = partition_parse("test", text, &options, err, sizeof(err));
	assert_string_equal(err, "");
}

/* Hosts by turns in tenant 1 and 2, host 0 in both; all in 0x80, the last as the server. */
static void read_tenants(struct tenants *t)
{
	const struct topo *d = t->bench.design;
	uint32_t n = d->nnodes - d->nswitches;
	char text[4096], *at = text;

	at += sprintf(at, "a=1: 0x%llx=full", (unsigned long long)host_port(t, 0));
	for (uint32_t i = 1; i < n; i += 2)
		at += sprintf(at, ", 0x%llx=full", (unsigned long long)host_port(t, i));
	at += sprintf(at, "; b=2: 0x%llx=both", (unsigned long long)host_port(t, 0));
	for (uint32_t i = 2; i < n; i += 2)
		at += sprintf(at, ", 0x%llx=full", (unsigned long long)host_port(t, i));
	sprintf(at, "; io=0x80: ALL_CAS, 0x%llx=full;", (unsigned long long)host_port(t, n - 1));
	read_partitions(t, text);
}

static void tenants_apply(struct tenants *t)
{
	struct bench *b = &t->bench;
	struct pkey_map *old = t->map;
	uint32_t sm = topo_find_port(b->found, host_port(t, 0));

	t->map = partition_resolve(t->set, b->found, sm);
	if (!b->bringup)
		b->bringup = bringup_new(b->loop, b->mad, sweep_inventory(b->sweep), &t->conf);
	bringup_set_pkeys(b->bringup, t->map);
	bench_bringup(b);
	pkey_map_free(old);
}

static void tenants_init(struct tenants *t, uint16_t ca_cap, uint16_t sw_cap)
{
	*t = (struct tenants){ .conf = bringup_conf };
	t->conf.pkey_enforce_in = t->conf.pkey_enforce_out = true;
	bench_init(&t->bench, with_caps(design_pgft2(), ca_cap, sw_cap), NULL);
	bench_discover(&t->bench);
	read_tenants(t);
}

static void tenants_fini(struct tenants *t)
{
	bench_fini(&t->bench);
	pkey_map_free(t->map);
	partition_free(t->set);
}

/* ---- What is held ---------------------------------------------------------------------------- */

static bool holds(const struct tenants *t, const struct topo_port *port, uint16_t key)
{
	unsigned count;
	const uint16_t *held = double_pkeys(t->bench.d, t->bench.design->nodes[port->node].guid,
					    port->num, &count);

	for (unsigned i = 0; i < count; i++)
		if (held[i] == key)
			return true;
	return false;
}

static unsigned held_count(const struct tenants *t, const struct topo_port *port)
{
	unsigned count, n = 0;
	const uint16_t *held = double_pkeys(t->bench.d, t->bench.design->nodes[port->node].guid,
					    port->num, &count);

	for (unsigned i = 0; i < count; i++)
		n += held[i] != 0;
	return n;
}

static void assert_end_port(const struct tenants *t, uint32_t port)
{
	const struct topo_port *p = &t->bench.design->ports[port];
	const uint16_t *keys;
	unsigned n = pkey_map_keys(t->map, port, &keys);

	assert_int_equal(held_count(t, p), n);
	for (unsigned i = 0; i < n; i++)
		assert_true(holds(t, p, keys[i]));
}

/*
 * The switch's side: what the host may use, the limited membership only where there is no full one.
 */
static void assert_enforced(const struct tenants *t, const struct topo_port *p, bool enforced)
{
	const struct wire_port_info *info =
		double_port_info(t->bench.d, t->bench.design->nodes[p->node].guid, p->num);
	const uint16_t *keys;
	unsigned n = pkey_map_keys(t->map, p->peer, &keys), wanted = 0;

	assert_int_equal(info->pkey_enforce_in, enforced);
	assert_int_equal(info->pkey_enforce_out, enforced);
	for (unsigned i = 0; enforced && i < n; i++) {
		bool doubled = i && keys[i - 1] == (keys[i] | PKEY_FULL);

		wanted += !doubled;
		assert_int_equal(holds(t, p, keys[i]), !doubled);
	}
	if (enforced)
		assert_int_equal(held_count(t, p), wanted);
}

static void assert_tables(const struct tenants *t, bool enforced)
{
	const struct topo *d = t->bench.design;

	for (uint32_t i = 0; i < d->nports; i++) {
		const struct topo_port *p = &d->ports[i];
		bool is_switch = p->node < d->nswitches;

		if (is_switch == (p->num == 0))
			assert_end_port(t, i);
		else if (p->num && p->peer != TOPO_NONE)
			assert_enforced(t, p, enforced && d->ports[p->peer].node >= d->nswitches);
	}
	assert_int_equal(double_ports_not_active(t->bench.d), 0);
}

static void ports_hold_what_the_partitions_say(void **state)
{
	struct tenants t;

	tenants_init(&t, 64, 32);
	tenants_apply(&t);
	assert_tables(&t, true);
	tenants_fini(&t);
}

static void both_sides_of_enforcement_can_be_had_alone(void **state)
{
	struct tenants t;
	const struct topo_port *leaf;
	const struct wire_port_info *info;

	tenants_init(&t, 64, 32);
	t.conf.pkey_enforce_out = false;
	tenants_apply(&t);
	leaf = topo_peer(t.bench.design, topo_port(t.bench.design, t.bench.design->nswitches, 1));
	info = double_port_info(t.bench.d, t.bench.design->nodes[leaf->node].guid, leaf->num);
	assert_true(info->pkey_enforce_in);
	assert_false(info->pkey_enforce_out);
	tenants_fini(&t);
}

static void without_enforcement_switch_ports_are_left_alone(void **state)
{
	struct tenants t;

	tenants_init(&t, 64, 32);
	t.conf.pkey_enforce_in = t.conf.pkey_enforce_out = false;
	tenants_apply(&t);
	assert_tables(&t, false);
	assert_int_equal(gets(&t.bench, WIRE_PKEY_TABLE),
			 t.bench.design->nswitches + 2 * t.bench.design->ncas);
	tenants_fini(&t);
}

/* ---- By how few requests --------------------------------------------------------------------- */

static void blocks_are_read_once_and_written_where_they_differ(void **state)
{
	struct tenants t;
	const struct topo *d;

	tenants_init(&t, 64, 32);
	d = t.bench.design;
	tenants_apply(&t);
	assert_int_equal(gets(&t.bench, WIRE_PKEY_TABLE), d->nswitches + 3 * d->ncas);
	assert_int_equal(sets(&t.bench, WIRE_PKEY_TABLE),
			 d->nswitches + 2 * d->ncas); /* switches become limited */
	assert_int_equal(t.bench.up.pkeys_set, d->nswitches + 2 * d->ncas);
	tenants_apply(&t);
	assert_int_equal(double_sent(t.bench.d, 0, 0), 0);
	tenants_fini(&t);
}

/* The ports keep what they hold; who manages them knows nothing yet. */
static void bench_restart(struct bench *b)
{
	bringup_free(b->bringup);
	b->bringup = NULL;
	sweep_free(b->sweep);
	b->sweep = sweep_new(b->loop, b->mad);
	bench_discover(b);
}

static void a_restart_reads_all_and_writes_nothing(void **state)
{
	struct tenants t;
	struct bench *b = &t.bench;

	tenants_init(&t, 96, 32);
	tenants_apply(&t);
	bench_restart(b);
	tenants_apply(&t);
	assert_int_equal(gets(b, WIRE_PKEY_TABLE), b->design->nswitches + 4 * b->design->ncas);
	assert_int_equal(double_sent(b->d, WIRE_SET, 0), 0);
	assert_tables(&t, true);
	tenants_fini(&t);
}

static void one_member_more_costs_its_two_tables(void **state)
{
	struct tenants t;
	char text[4096];

	tenants_init(&t, 64, 32);
	tenants_apply(&t);
	sprintf(text, "a=1: 0x%llx=full, 0x%llx=full;", (unsigned long long)host_port(&t, 1),
		(unsigned long long)host_port(&t, 2));
	read_partitions(&t, text);
	tenants_apply(&t);
	sprintf(text, "a=1: 0x%llx=full, 0x%llx=full, 0x%llx=full;",
		(unsigned long long)host_port(&t, 1), (unsigned long long)host_port(&t, 2),
		(unsigned long long)host_port(&t, 3));
	read_partitions(&t, text);
	tenants_apply(&t);
	assert_int_equal(double_sent(t.bench.d, 0, 0), 2);
	assert_tables(&t, true);
	tenants_fini(&t);
}

static void without_partitions_again_tables_are_as_after_power_on(void **state)
{
	struct tenants t;
	const struct topo *d;

	tenants_init(&t, 64, 32);
	d = t.bench.design;
	tenants_apply(&t);
	partition_free(t.set);
	t.set = partition_default();
	tenants_apply(&t);
	assert_int_equal(sets(&t.bench, WIRE_PKEY_TABLE), d->nswitches + d->ncas);
	assert_int_equal(sets(&t.bench, WIRE_PORT_INFO), d->ncas); /* enforcement off */
	assert_tables(&t, false);
	tenants_fini(&t);
}

static void partitions_that_come_later_are_written_and_enforced(void **state)
{
	struct tenants t;

	tenants_init(&t, 64, 32);
	partition_free(t.set);
	t.set = partition_default();
	tenants_apply(&t);
	assert_tables(&t, false);
	read_tenants(&t);
	tenants_apply(&t);
	assert_tables(&t, true);
	tenants_fini(&t);
}

/*
 * A fabric manager that knows nothing of partitions comes after one that did: the first block
 * tells.
 */
static void leftovers_of_another_life_are_cleared(void **state)
{
	struct tenants t;
	struct bench *b = &t.bench;

	tenants_init(&t, 64, 32);
	tenants_apply(&t);
	bench_restart(b);
	bench_bringup(b);
	assert_int_equal(gets(b, WIRE_PKEY_TABLE), 2 * b->design->ncas);
	for (uint32_t n = b->design->nswitches; n < b->design->nnodes; n++)
		assert_int_equal(held_count(&t, topo_port(b->design, n, 1)), 1);
	tenants_fini(&t);
}

/* ---- When ------------------------------------------------------------------------------------ */

static void watch_default(void *arg, guid_t node, uint16_t attr, uint32_t mod)
{
	const struct tenants *t = arg;
	const struct topo *d = t->bench.design;
	uint32_t n = topo_find(d, node);
	const struct topo_port *port = topo_port(d, n, n < d->nswitches ? mod >> 16 : 1);

	if (attr == WIRE_PKEY_TABLE)
		assert_true(holds(t, port, 0xffff) || holds(t, port, 0x7fff));
}

static void the_default_partition_is_never_missing(void **state)
{
	struct tenants t;
	char text[256];

	tenants_init(&t, 64, 32);
	double_on_set(t.bench.d, watch_default, &t);
	tenants_apply(&t);
	sprintf(text, "a=1, indx0: ALL=full;");
	read_partitions(&t, text);
	tenants_apply(&t);
	assert_tables(&t, true);
	tenants_fini(&t);
}

static void watch_active(void *arg, guid_t node, uint16_t attr, uint32_t mod)
{
	const struct tenants *t = arg;
	const struct topo *d = t->bench.design;
	uint32_t n = topo_find(d, node);
	uint32_t port = d->nodes[n].port0 + (n < d->nswitches ? mod & 0xff : 1);

	if (attr != WIRE_PORT_INFO ||
	    double_link_state(t->bench.d, node, d->ports[port].num) != TOPO_ACTIVE)
		return;
	if (n < d->nswitches)
		port = d->ports[port].peer;
	if (port != TOPO_NONE && d->ports[port].node >= d->nswitches)
		assert_end_port(t, port);
}

static void no_host_is_on_the_fabric_before_its_table_is_right(void **state)
{
	struct tenants t;

	tenants_init(&t, 64, 32);
	double_on_set(t.bench.d, watch_active, &t);
	tenants_apply(&t);
	assert_tables(&t, true);
	tenants_fini(&t);
}

static void watch_enforced(void *arg, guid_t node, uint16_t attr, uint32_t mod)
{
	const struct tenants *t = arg;
	const struct topo *d = t->bench.design;
	uint32_t n = topo_find(d, node);
	const struct topo_port *port = topo_port(d, n, mod & 0xff);

	if (attr == WIRE_PORT_INFO && n < d->nswitches &&
	    double_port_info(t->bench.d, node, port->num)->pkey_enforce_in)
		assert_enforced(t, port, true);
}

static void nothing_is_enforced_before_the_switch_knows_what(void **state)
{
	struct tenants t;

	tenants_init(&t, 64, 32);
	double_on_set(t.bench.d, watch_enforced, &t);
	tenants_apply(&t);
	assert_tables(&t, true);
	tenants_fini(&t);
}

/* A snapshot in which the last node is not there yet. */
static struct topo *without_last(const struct topo *t)
{
	struct topo_builder *b = topo_builder_new();

	for (uint32_t n = 0; n + 1 < t->nnodes; n++) {
		const struct topo_node *node = &t->nodes[n];
		struct topo_node attr = { .guid = node->guid,
					  .desc = node->desc,
					  .type = node->type,
					  .nports = node->nports,
					  .pkey_cap = node->pkey_cap };

		assert_int_equal(topo_builder_node(b, &attr), n);
	}
	for (uint32_t i = 0; i < t->nodes[t->nnodes - 1].port0; i++)
		topo_builder_port(b, (int)t->ports[i].node, t->ports[i].num,
				  &(struct topo_port){ .guid = t->ports[i].guid });
	return topo_freeze(b);
}

/* Its cable comes back, and it has its LID still. */
static void a_host_that_the_snapshot_does_not_know_waits(void **state)
{
	struct tenants t;
	struct bench *b = &t.bench;
	const struct topo_node *last;
	struct topo *whole;
	guid_t ends[2];

	tenants_init(&t, 64, 32);
	tenants_apply(&t);
	last = &b->design->nodes[b->design->nnodes - 1];
	ends[0] = last->guid;
	ends[1] = b->design->nodes[topo_peer(b->design, &b->design->ports[last->port0 + 1])->node]
			  .guid;
	double_cut(b->d, last->guid, 1);
	double_join(b->d, last->guid, 1);
	bench_refresh(b, ends, 2);
	whole = b->found;
	b->found = without_last(whole);
	tenants_apply(&t);
	assert_int_equal(double_link_state(b->d, last->guid, 1), TOPO_ARMED);
	assert_int_equal(sets(b, WIRE_PKEY_TABLE), 0);
	topo_unref(b->found);
	b->found = whole;
	tenants_apply(&t);
	assert_tables(&t, true);
	tenants_fini(&t);
}

/* ---- What goes wrong ------------------------------------------------------------------------- */

static void rebooted_nodes_get_their_tables_back(void **state)
{
	struct tenants t;
	struct bench *b = &t.bench;

	tenants_init(&t, 64, 32);
	tenants_apply(&t);
	for (uint32_t n = 0; n < b->design->nnodes; n += 3) {
		double_reboot(b->d, b->design->nodes[n].guid);
		bench_poll(b);
		bench_refresh(b, b->changed, b->result.nchanged);
		tenants_apply(&t);
		assert_tables(&t, true);
	}
	tenants_fini(&t);
}

static void lossy_cables_delay_only(void **state)
{
	struct tenants t;

	tenants_init(&t, 64, 32);
	for (uint32_t i = 0; i < t.bench.design->nports; i++)
		if (t.bench.design->ports[i].peer != TOPO_NONE)
			double_set_loss(t.bench.d,
					t.bench.design->nodes[t.bench.design->ports[i].node].guid,
					t.bench.design->ports[i].num, 20);
	tenants_apply(&t);
	assert_tables(&t, true);
	tenants_fini(&t);
}

static void a_switch_without_room_does_not_enforce(void **state)
{
	struct tenants t;
	const struct topo *d;

	tenants_init(&t, 64, 2);
	d = t.bench.design;
	tenants_apply(&t);
	for (uint32_t n = d->nswitches; n < d->nnodes; n++) {
		assert_end_port(&t, d->nodes[n].port0 + 1);
		assert_enforced(&t, topo_peer(d, topo_port(d, n, 1)), false);
	}
	assert_int_equal(double_ports_not_active(t.bench.d), 0);
	tenants_fini(&t);
}

static void a_host_without_room_holds_what_fits(void **state)
{
	struct tenants t;
	const struct topo_port *port;

	tenants_init(&t, 2, 32);
	tenants_apply(&t);
	port = topo_port(t.bench.design, t.bench.design->nswitches + 1, 1);
	assert_true(holds(&t, port, 0x7fff));
	assert_true(holds(&t, port, 0x8001));
	assert_int_equal(held_count(&t, port), 2);
	assert_int_equal(double_ports_not_active(t.bench.d), 0);
	tenants_fini(&t);
}

static void a_host_that_refuses_delays_no_other(void **state)
{
	struct tenants t;
	guid_t host;

	tenants_init(&t, 64, 32);
	host = t.bench.design->nodes[t.bench.design->nnodes - 2].guid;
	double_set_silent(t.bench.d, host, true);
	tenants_apply(&t);
	assert_int_equal(t.bench.up.links_failed, 1);
	double_set_silent(t.bench.d, host, false);
	bench_wait(&t.bench);
	bench_retry(&t.bench);
	assert_tables(&t, true);
	tenants_fini(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_hold_what_the_partitions_say),
		cmocka_unit_test(both_sides_of_enforcement_can_be_had_alone),
		cmocka_unit_test(without_enforcement_switch_ports_are_left_alone),
		cmocka_unit_test(blocks_are_read_once_and_written_where_they_differ),
		cmocka_unit_test(a_restart_reads_all_and_writes_nothing),
		cmocka_unit_test(one_member_more_costs_its_two_tables),
		cmocka_unit_test(without_partitions_again_tables_are_as_after_power_on),
		cmocka_unit_test(partitions_that_come_later_are_written_and_enforced),
		cmocka_unit_test(leftovers_of_another_life_are_cleared),
		cmocka_unit_test(the_default_partition_is_never_missing),
		cmocka_unit_test(no_host_is_on_the_fabric_before_its_table_is_right),
		cmocka_unit_test(nothing_is_enforced_before_the_switch_knows_what),
		cmocka_unit_test(a_host_that_the_snapshot_does_not_know_waits),
		cmocka_unit_test(rebooted_nodes_get_their_tables_back),
		cmocka_unit_test(lossy_cables_delay_only),
		cmocka_unit_test(a_switch_without_room_does_not_enforce),
		cmocka_unit_test(a_host_without_room_holds_what_fits),
		cmocka_unit_test(a_host_that_refuses_delays_no_other),
	};

	log_set_level(-1, LOG_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
