/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/sweep_bench.h"
#include "topology/snapshot/topo_builder.h"

static const struct mad_conf mad_conf = {
	.window_max = 64, .window_device = 8, .timeout_ms = 200, .retries = 3
};

struct topo *design_pgft2(void)
{
	unsigned m[] = { 4, 6 }, w[] = { 1, 3 }, p[] = { 1, 2 };
	char err[128];

	return generate_pgft(2, m, w, p, err, sizeof(err));
}

struct topo *design_pgft3(void)
{
	unsigned m[] = { 3, 3, 4 }, w[] = { 1, 3, 2 }, p[] = { 1, 1, 1 };
	char err[128];

	return generate_pgft(3, m, w, p, err, sizeof(err));
}

const struct topo_node *design_sm(const struct topo *t)
{
	assert_true(t->nnodes > t->nswitches);
	return &t->nodes[t->nswitches];
}

void bench_init(struct bench *b, struct topo *design, const struct double_conf *conf)
{
	assert_non_null(design);
	*b = (struct bench){ .design = design, .loop = loop_new_simulated() };
	b->d = double_new(b->loop, design, design_sm(design)->guid, 1, conf);
	b->mad = mad_new(b->loop, double_io(b->d), &mad_conf);
	b->sweep = sweep_new(b->loop, b->mad);
}

void bench_fini(struct bench *b)
{
	bringup_free(b->bringup);
	lid_map_free(b->lids);
	lid_memory_fini(&b->memory);
	sweep_free(b->sweep);
	mad_free(b->mad);
	double_free(b->d);
	loop_free(b->loop);
	topo_unref(b->found);
	topo_unref(b->design);
}

void bench_swept(void *arg, const struct sweep_result *result)
{
	struct bench *b = arg;

	for (unsigned i = 0; i < result->nchanged && b->nchanged < 64; i++)
		b->changed[b->nchanged++] = result->changed[i];
	b->early += result->rest;
	if (result->rest)
		return;
	b->result = *result;
	b->result.nchanged = b->nchanged;
	b->nchanged = 0;
	b->sweeps++;
}

static void bench_run(struct bench *b)
{
	unsigned before = b->sweeps;

	loop_run(b->loop);
	assert_int_equal(b->sweeps, before + 1);
	assert_false(sweep_busy(b->sweep));
	topo_unref(b->found);
	b->found = topo_freeze(inventory_snapshot_builder(sweep_inventory(b->sweep)));
}

void bench_discover(struct bench *b)
{
	double_sent_reset(b->d);
	sweep_discover(b->sweep, bench_swept, b);
	bench_run(b);
}

void bench_refresh(struct bench *b, const guid_t *guids, unsigned count)
{
	double_sent_reset(b->d);
	sweep_refresh(b->sweep, guids, count, bench_swept, b);
	bench_run(b);
}

void bench_poll(struct bench *b)
{
	double_sent_reset(b->d);
	sweep_poll(b->sweep, bench_swept, b);
	bench_run(b);
}

const struct bringup_conf bringup_conf = {
	.gid_prefix = 0xfe80000000000000,
	.subnet_timeout = 18,
	.max_op_vls = 5,
	.packet_life_time = 0x12,
	.hoq_life = 0x12,
	.leaf_hoq_life = 0x10,
	.vl_stall = 7,
	.leaf_vl_stall = 7,
};

void bringup_done(void *arg, const struct bringup_result *result)
{
	struct bench *b = arg;

	b->up = *result;
	b->sweeps++;
}

void bench_bringup_start(struct bench *b)
{
	struct inventory *inv = sweep_inventory(b->sweep);
	uint32_t sm;

	if (!b->bringup)
		b->bringup = bringup_new(b->loop, b->mad, inv, &bringup_conf);
	lid_map_free(b->lids);
	b->lids = lid_plan(b->found, &b->memory, 0);
	lid_memory_learn(&b->memory, b->found, b->lids, 0);
	sm = topo_find(b->found, inv->local->guid);
	b->sm_lid = b->lids->lid_of_port[b->found->nodes[sm].port0 + inv->local_port];
	double_sent_reset(b->d);
	bringup_apply(b->bringup, b->found, b->lids, b->sm_lid, bringup_done, b);
}

void bench_bringup(struct bench *b)
{
	bench_bringup_start(b);
	bench_run(b);
}

static void bench_wait_cb(void *arg)
{
	loop_stop(arg);
}

void bench_wait(struct bench *b)
{
	struct loop_timer *timer = loop_timer_new(b->loop, bench_wait_cb, b->loop);

	assert_true(b->up.retry_at_us > 0);
	loop_timer_set(timer, b->up.retry_at_us - loop_now_us(b->loop));
	loop_run(b->loop);
	loop_timer_free(timer);
}

void bench_retry(struct bench *b)
{
	assert_true(bringup_retry(b->bringup, bringup_done, b));
	bench_run(b);
}

static void answered_cb(void *arg, const struct mad_answer *answer)
{
	*(enum mad_result *)arg = answer->result;
}

void bench_set(struct bench *b, guid_t guid, uint8_t port, uint16_t attr, const uint8_t data[64])
{
	struct inventory *inv = sweep_inventory(b->sweep);
	enum mad_result result = MAD_TIMEOUT;
	struct mad_path path;
	struct mad_request request = { .path = &path,
				       .method = WIRE_SET,
				       .attr_id = attr,
				       .attr_mod = attr == WIRE_PORT_INFO ? port : 0,
				       .data = data };
	assert_true(inventory_port_path(inv, inventory_find(inv, guid), port, &path));
	mad_send(b->mad, &request, answered_cb, &result);
	loop_run(b->loop);
	assert_int_equal(result, MAD_OK);
}

static void bench_tamper_recv(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct bench_tamper *t = arg;
	uint8_t copy[WIRE_MAD_SIZE];
	struct wire_mad header;

	assert_int_equal(len, sizeof(copy));
	memcpy(copy, mad, sizeof(copy));
	if (!wire_mad_decode(copy, len, &header))
		t->fn(t->arg, &header, wire_smp_data(copy));
	t->recv(t->recv_arg, from, copy, len);
}

void bench_tamper(struct bench *b, struct bench_tamper *t, bench_tamper_fn *fn, void *arg)
{
	struct io *io = double_io(b->d);

	*t = (struct bench_tamper){ .recv = io->recv, .recv_arg = io->arg, .fn = fn, .arg = arg };
	io->recv = bench_tamper_recv;
	io->arg = t;
}

/* Node, then port and cable by cable: the same fabric. */
static void assert_same_port(const struct topo *a, const struct topo *b, uint32_t i)
{
	const struct topo_port *x = &a->ports[i], *y = &b->ports[i];

	assert_int_equal(x->node, y->node);
	assert_int_equal(x->num, y->num);
	assert_int_equal(x->peer, y->peer);
	assert_int_equal(x->link_up, y->link_up);
	if (x->num == 0 || !x->link_up)
		return;
	assert_int_equal(x->guid, y->guid);
	if (x->speed != TOPO_FDR10) /* no code of PortInfo says FDR10: it reads as QDR */
		assert_int_equal(x->speed, y->speed);
	assert_int_equal(x->width, y->width);
}

/* But for blanks at the end, which the wire does not keep. */
static void assert_same_text(const char *design, const char *found)
{
	size_t len = strlen(design);

	while (len && design[len - 1] == ' ')
		len--;
	assert_int_equal(strlen(found), len);
	assert_memory_equal(design, found, len);
}

void assert_same_fabric(const struct topo *a, const struct topo *b)
{
	uint32_t i;

	assert_int_equal(a->nnodes, b->nnodes);
	assert_int_equal(a->nswitches, b->nswitches);
	assert_int_equal(a->nports, b->nports);
	assert_int_equal(a->nlinks, b->nlinks);
	assert_int_equal(a->nlinks_down, b->nlinks_down);
	for (i = 0; i < a->nnodes; i++) {
		const struct topo_node *x = &a->nodes[i], *y = &b->nodes[i];

		assert_int_equal(x->guid, y->guid);
		assert_int_equal(x->sys_guid, y->sys_guid);
		assert_same_text(x->desc, y->desc);
		assert_int_equal(x->type, y->type);
		assert_int_equal(x->nports, y->nports);
		assert_int_equal(x->sharp, y->sharp);
	}
	for (i = 0; i < a->nports; i++)
		assert_same_port(a, b, i);
}

struct bench_cable bench_cable(const struct topo *t, uint32_t from)
{
	uint32_t i;

	for (i = from; i < t->nports; i++) {
		const struct topo_port *a = &t->ports[i], *z = topo_peer(t, a);

		if (z && a->link_up && a->node < t->nswitches && z->node < t->nswitches)
			return (struct bench_cable){ .a = t->nodes[a->node].guid,
						     .port_a = a->num,
						     .b = t->nodes[z->node].guid,
						     .port_b = z->num,
						     .next = i + 1 };
	}
	fail_msg("no such cable");
	return (struct bench_cable){ 0 };
}

const struct topo_port *bench_leaf_port(const struct topo *t, uint32_t ca)
{
	unsigned p;

	for (p = 1; p <= t->nodes[ca].nports; p++)
		if (topo_peer(t, topo_port(t, ca, p)))
			return topo_peer(t, topo_port(t, ca, p));
	fail_msg("no cable");
	return NULL;
}
