/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The fabric double itself, and transactions over it: what the tests of the layers above stand on.
 *
 * The fabric: two hosts and a second one on a leaf each, one spine.
 *   h1 (0x110) p1 - p1 leaf1 (0x1) p9 - p1 spine (0x3) p2 - p9 leaf2 (0x2) p1 - p1 h2 (0x120)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "fm/mad/mad.h"
#include "tests/fabric/double.h"

enum { LEAF1 = 0x1, LEAF2 = 0x2, SPINE = 0x3, H1 = 0x110, H2 = 0x120 };
enum { LID_H1 = 1, LID_H2 = 2, LID_LEAF1 = 3, LID_LEAF2 = 4, LID_SPINE = 5 };

/* ---- World ------------------------------------------------------------------------------------ */

struct world {
	struct loop *loop;
	struct topo *topo;
	struct double_fabric *d;
	struct mad *mad;
	unsigned done, ok;
	struct mad_answer last;
	uint8_t data[64];
	unsigned traps;
	struct wire_notice trap;
	struct wire_mad heard;
	unsigned sets, caught;
	uint8_t caught_mad[1024];
	size_t caught_len;
};

static int add_node(struct topo_builder *b, guid_t guid, uint8_t type, uint8_t nports,
		    const char *desc)
{
	const struct topo_node_attr attr = {
		.guid = guid, .desc = desc, .type = type, .nports = nports, .vendor = 0x2c9
	};

	return topo_builder_node(b, &attr);
}

static void add_cable(struct topo_builder *b, int a, unsigned pa, int z, unsigned pz,
		      enum topo_speed speed)
{
	const struct topo_port_attr attr = { .speed = (uint8_t)speed, .width = 4 };

	assert_int_equal(topo_builder_port(b, a, pa, &attr), 0);
	assert_int_equal(topo_builder_port(b, z, pz, &attr), 0);
	assert_int_equal(topo_builder_link(b, a, pa, z, pz, true), 0);
}

static struct topo *small_fabric(void)
{
	struct topo_builder *b = topo_builder_new();
	int leaf1 = add_node(b, LEAF1, TOPO_SWITCH, 40, "leaf-01");
	int leaf2 = add_node(b, LEAF2, TOPO_SWITCH, 40, "leaf-02");
	int spine = add_node(b, SPINE, TOPO_SWITCH, 4, "spine-01");
	int h1 = add_node(b, H1, TOPO_CA, 1, "h1 mlx5_0");
	int h2 = add_node(b, H2, TOPO_CA, 1, "h2 mlx5_0");

	add_cable(b, leaf1, 1, h1, 1, TOPO_NDR);
	add_cable(b, leaf2, 1, h2, 1, TOPO_EDR);
	add_cable(b, leaf1, 9, spine, 1, TOPO_XDR);
	add_cable(b, leaf2, 9, spine, 2, TOPO_HDR);
	return topo_freeze(b);
}

static void trap_cb(void *arg, const struct io_addr *from, const struct wire_mad *mad,
		    const uint8_t *raw, size_t len)
{
	struct world *w = arg;
	uint8_t copy[WIRE_MAD_SIZE];

	w->heard = *mad;
	if (mad->method != WIRE_TRAP)
		return;
	memcpy(copy, raw, sizeof(copy));
	w->traps++;
	wire_notice_decode(wire_smp_data(copy), &w->trap);
}

static void set_cb(void *arg, guid_t node, uint16_t attr_id, uint32_t attr_mod)
{
	((struct world *)arg)->sets++;
}

static void world_init(struct world *w, const struct double_conf *conf)
{
	const struct mad_conf mad_conf = { .timeout_ms = 100, .retries = 2 };

	*w = (struct world){ .loop = loop_new_simulated(), .topo = small_fabric() };
	w->d = double_new(w->loop, w->topo, H1, 1, conf);
	w->mad = mad_new(w->loop, double_io(w->d), &mad_conf);
	mad_handle(w->mad, WIRE_SMI_LID, trap_cb, w);
	mad_handle(w->mad, WIRE_SMI_DR, trap_cb, w);
	mad_handle(w->mad, WIRE_SA, trap_cb, w);
	double_on_set(w->d, set_cb, w);
}

static void world_fini(struct world *w)
{
	mad_free(w->mad);
	double_free(w->d);
	topo_unref(w->topo);
	loop_free(w->loop);
}

static void done_cb(void *arg, const struct mad_answer *answer)
{
	struct world *w = arg;

	w->done++;
	w->ok += answer->result == MAD_OK;
	w->last = *answer;
	if (answer->data)
		memcpy(w->data, answer->data, sizeof(w->data));
}

static const struct mad_path to_h1 = { .hops = 0 };
static const struct mad_path to_leaf1 = { .hops = 1, .ports = { 1 } };
static const struct mad_path to_spine = { .hops = 2, .ports = { 1, 9 } };
static const struct mad_path to_leaf2 = { .hops = 3, .ports = { 1, 9, 2 } };
static const struct mad_path to_h2 = { .hops = 4, .ports = { 1, 9, 2, 1 } };

/* Asks and waits; the answer's data is in w->data. */
static enum mad_result ask(struct world *w, struct mad_request request)
{
	unsigned before = w->done;

	request.method = request.data ? WIRE_SET : WIRE_GET;
	mad_send(w->mad, &request, done_cb, w);
	loop_run(w->loop);
	assert_int_equal(w->done, before + 1);
	return w->last.result;
}

static enum mad_result get(struct world *w, const struct mad_path *path, uint16_t attr_id,
			   uint32_t mod)
{
	return ask(w, (struct mad_request){ .path = path, .attr_id = attr_id, .attr_mod = mod });
}

static enum mad_result set(struct world *w, const struct mad_path *path, uint16_t attr_id,
			   uint32_t mod, const uint8_t data[64])
{
	return ask(w, (struct mad_request){
			      .path = path, .attr_id = attr_id, .attr_mod = mod, .data = data });
}

/* Get, change, Set. */
typedef void port_change_fn(struct wire_port_info *info, unsigned value);

static enum mad_result port_change(struct world *w, const struct mad_path *path, unsigned port,
				   port_change_fn *change, unsigned value)
{
	struct wire_port_info info;
	uint8_t data[64];

	assert_int_equal(get(w, path, WIRE_PORT_INFO, port), MAD_OK);
	wire_port_info_decode(w->data, &info);
	info.state = 0;
	if (!info.lid)
		info.lid = 0x99;
	change(&info, value);
	wire_port_info_encode(&info, data);
	return set(w, path, WIRE_PORT_INFO, port, data);
}

static void change_state(struct wire_port_info *info, unsigned value)
{
	info->state = (uint8_t)value;
}

static void change_lid(struct wire_port_info *info, unsigned value)
{
	info->lid = (uint16_t)value;
	info->sm_lid = LID_H1;
}

static void change_phys(struct wire_port_info *info, unsigned value)
{
	info->phys_state = (uint8_t)value;
}

static void change_mtu(struct wire_port_info *info, unsigned value)
{
	info->neighbor_mtu = (uint8_t)value;
}

static void top_set(struct world *w, const struct mad_path *path, uint16_t top)
{
	struct wire_switch_info si;
	uint8_t data[64];

	assert_int_equal(get(w, path, WIRE_SWITCH_INFO, 0), MAD_OK);
	wire_switch_info_decode(w->data, &si);
	si.lft_top = top;
	si.port_state_change = true;
	wire_switch_info_encode(&si, data);
	assert_int_equal(set(w, path, WIRE_SWITCH_INFO, 0, data), MAD_OK);
}

static void table_set(struct world *w, const struct mad_path *path, const uint8_t ports[6])
{
	uint8_t block[64];

	memset(block, 255, sizeof(block));
	memcpy(block, ports, 6);
	assert_int_equal(set(w, path, WIRE_LFT, 0, block), MAD_OK);
	top_set(w, path, 5);
}

/* LIDs, tables and Active links, all by SMPs. */
static void bring_up(struct world *w)
{
	const struct mad_path *paths[] = { &to_h1, &to_h2, &to_leaf1, &to_leaf2, &to_spine };
	const struct {
		const struct mad_path *path;
		unsigned port;
	} ends[] = { { &to_h1, 1 },    { &to_leaf1, 1 }, { &to_leaf1, 9 }, { &to_spine, 1 },
		     { &to_spine, 2 }, { &to_leaf2, 9 }, { &to_leaf2, 1 }, { &to_h2, 1 } };

	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(port_change(w, paths[i], i < 2, change_lid, i + 1), MAD_OK);
	table_set(w, &to_leaf1, (uint8_t[]){ 255, 1, 9, 0, 9, 9 });
	table_set(w, &to_spine, (uint8_t[]){ 255, 1, 2, 1, 2, 0 });
	table_set(w, &to_leaf2, (uint8_t[]){ 255, 9, 1, 9, 0, 9 });
	for (unsigned state = TOPO_ARMED; state <= TOPO_ACTIVE; state++)
		for (unsigned i = 0; i < 8; i++)
			assert_int_equal(
				port_change(w, ends[i].path, ends[i].port, change_state, state),
				MAD_OK);
	assert_int_equal(double_ports_not_active(w->d), 0);
}

/* ---- Directed routes -------------------------------------------------------------------------- */

static void directed_route_reaches_each_node_and_comes_back(void **state)
{
	struct world w;
	struct wire_node_info ni;
	char desc[65];

	world_init(&w, NULL);
	assert_int_equal(get(&w, &to_h2, WIRE_NODE_INFO, 0), MAD_OK);
	wire_node_info_decode(w.data, &ni);
	assert_int_equal(ni.node_guid, H2);
	assert_int_equal(ni.local_port, 1);
	assert_int_equal(w.last.rtt_us, 10 + 2 * 4 * 2);
	assert_int_equal(get(&w, &to_spine, WIRE_NODE_INFO, 0), MAD_OK);
	wire_node_info_decode(w.data, &ni);
	assert_int_equal(ni.node_guid, SPINE);
	assert_int_equal(ni.local_port, 1);
	assert_int_equal(get(&w, &to_h1, WIRE_NODE_DESC, 0), MAD_OK);
	wire_node_desc_decode(w.data, desc);
	assert_string_equal(desc, "h1 mlx5_0");
	world_fini(&w);
}

static void directed_route_into_nothing_is_lost(void **state)
{
	const struct mad_path no_cable = { .hops = 2, .ports = { 1, 5 } };
	const struct mad_path no_port = { .hops = 2, .ports = { 1, 41 } };
	const struct mad_path through_host = { .hops = 5, .ports = { 1, 9, 2, 1, 1 } };
	const struct mad_path other_port = { .hops = 1, .ports = { 2 } };
	struct world w;

	world_init(&w, NULL);
	assert_int_equal(get(&w, &no_cable, WIRE_NODE_INFO, 0), MAD_TIMEOUT);
	assert_int_equal(double_drops(w.d)->dead_link, 3);
	assert_int_equal(get(&w, &no_port, WIRE_NODE_INFO, 0), MAD_TIMEOUT);
	assert_int_equal(get(&w, &through_host, WIRE_NODE_INFO, 0), MAD_TIMEOUT);
	assert_int_equal(get(&w, &other_port, WIRE_NODE_INFO, 0), MAD_TIMEOUT);
	assert_int_equal(double_drops(w.d)->bad_route, 9);
	double_cut(w.d, SPINE, 2);
	assert_int_equal(get(&w, &to_h2, WIRE_NODE_INFO, 0), MAD_TIMEOUT);
	double_join(w.d, LEAF2, 9);
	assert_int_equal(get(&w, &to_h2, WIRE_NODE_INFO, 0), MAD_OK);
	world_fini(&w);
}

/* ---- State ------------------------------------------------------------------------------------ */

static void speeds_need_the_modifier_bit(void **state)
{
	struct world w;
	struct wire_port_info pi;

	world_init(&w, NULL);
	get(&w, &to_leaf1, WIRE_PORT_INFO, 9 | WIRE_MOD_EXT_SPEEDS);
	wire_port_info_decode(w.data, &pi);
	assert_int_equal(wire_port_info_speed(&pi), TOPO_XDR);
	get(&w, &to_leaf1, WIRE_PORT_INFO, 9);
	wire_port_info_decode(w.data, &pi);
	assert_int_equal(wire_port_info_speed(&pi), TOPO_QDR);
	get(&w, &to_h1, WIRE_PORT_INFO, 1 | WIRE_MOD_EXT_SPEEDS);
	wire_port_info_decode(w.data, &pi);
	assert_int_equal(wire_port_info_speed(&pi), TOPO_NDR);
	assert_int_equal(wire_port_info_lanes(&pi), 4);
	assert_true(pi.capmask & WIRE_CAP_EXT_SPEEDS);
	assert_true(pi.capmask2 & WIRE_CAP2_NDR);
	get(&w, &to_h1, WIRE_PORT_INFO, 1);
	wire_port_info_decode(w.data, &pi);
	assert_int_equal(wire_port_info_speed(&pi), TOPO_QDR);
	world_fini(&w);
}

static void link_goes_up_by_the_book_only(void **state)
{
	struct world w;

	world_init(&w, NULL);
	assert_int_equal(double_link_state(w.d, LEAF1, 1), TOPO_INIT);
	assert_int_equal(port_change(&w, &to_leaf1, 1, change_state, TOPO_ACTIVE), MAD_STATUS);
	assert_int_equal(port_change(&w, &to_leaf1, 1, change_state, TOPO_INIT), MAD_STATUS);
	assert_int_equal(port_change(&w, &to_leaf1, 5, change_state, TOPO_ARMED),
			 MAD_STATUS); /* no cable */
	assert_int_equal(port_change(&w, &to_leaf1, 1, change_state, TOPO_ARMED), MAD_OK);
	assert_int_equal(port_change(&w, &to_leaf1, 1, change_state, TOPO_ACTIVE),
			 MAD_STATUS); /* peer Init */
	assert_int_equal(w.last.status, 0x1c);
	assert_int_equal(port_change(&w, &to_h1, 1, change_state, TOPO_ARMED), MAD_OK);
	assert_int_equal(port_change(&w, &to_leaf1, 1, change_state, TOPO_ACTIVE), MAD_OK);
	assert_int_equal(port_change(&w, &to_h1, 1, change_state, TOPO_ACTIVE), MAD_OK);
	assert_int_equal(double_link_state(w.d, H1, 1), TOPO_ACTIVE);
	assert_false(double_switch_info(w.d, LEAF1)->port_state_change);
	assert_int_equal(port_change(&w, &to_leaf1, 9, change_state, TOPO_DOWN), MAD_OK);
	assert_int_equal(double_link_state(w.d, SPINE, 1), TOPO_INIT); /* trains again at once */
	assert_true(double_switch_info(w.d, SPINE)->port_state_change);
	world_fini(&w);
}

static void values_that_do_not_fit_are_refused_whole(void **state)
{
	struct world w;

	world_init(&w, NULL);
	assert_int_equal(port_change(&w, &to_h1, 1, change_mtu, 6), MAD_STATUS);
	assert_int_equal(port_change(&w, &to_h1, 1, change_lid, 0xc000), MAD_STATUS);
	assert_int_equal(double_port_info(w.d, H1, 1)->lid, 0);
	assert_int_equal(w.sets, 0);
	assert_int_equal(port_change(&w, &to_h1, 1, change_lid, 7), MAD_OK);
	assert_int_equal(double_port_info(w.d, H1, 1)->lid, 7);
	assert_int_equal(w.sets, 1);
	assert_int_equal(get(&w, &to_h1, WIRE_SWITCH_INFO, 0), MAD_STATUS);
	assert_int_equal(w.last.status, 0x0c);
	assert_int_equal(get(&w, &to_leaf1, WIRE_PORT_INFO, 41), MAD_STATUS);
	world_fini(&w);
}

static void disabled_port_stays_down_until_told_to_poll(void **state)
{
	struct world w;

	world_init(&w, NULL);
	assert_int_equal(port_change(&w, &to_leaf1, 9, change_phys, 3), MAD_OK);
	assert_int_equal(double_link_state(w.d, SPINE, 1), TOPO_DOWN);
	assert_int_equal(get(&w, &to_spine, WIRE_NODE_INFO, 0), MAD_TIMEOUT);
	assert_int_equal(port_change(&w, &to_leaf1, 9, change_phys, 2), MAD_OK);
	assert_int_equal(double_link_state(w.d, SPINE, 1), TOPO_INIT);
	world_fini(&w);
}

static void tables_read_back_as_written(void **state)
{
	struct world w;
	uint8_t block[64], masks[64] = { 0x80, 0x02 };
	uint16_t pkeys[32] = { 0x8001, 0xffff };
	unsigned count;

	world_init(&w, NULL);
	for (int i = 0; i < 64; i++)
		block[i] = (uint8_t)(i % 40);
	assert_int_equal(set(&w, &to_leaf1, WIRE_LFT, 3, block), MAD_OK);
	assert_int_equal(double_lft(w.d, LEAF1, 3 * 64 + 39), 39);
	assert_int_equal(double_lft(w.d, LEAF1, 5), 255);
	assert_int_equal(get(&w, &to_leaf1, WIRE_LFT, 3), MAD_OK);
	assert_memory_equal(w.data, block, sizeof(block));
	assert_int_equal(get(&w, &to_leaf1, WIRE_LFT, 768), MAD_STATUS); /* past LinearFDBCap */

	assert_int_equal(set(&w, &to_leaf1, WIRE_MFT, 1u << 28 | 2, masks), MAD_OK);
	assert_true(double_mft(w.d, LEAF1, 0xc000 + 64, 31));
	assert_true(double_mft(w.d, LEAF1, 0xc000 + 64, 17));
	assert_false(double_mft(w.d, LEAF1, 0xc000 + 64, 15));
	assert_int_equal(set(&w, &to_leaf1, WIRE_MFT, 3u << 28, masks),
			 MAD_STATUS); /* 41 ports: 3 columns */

	wire_pkeys_encode(pkeys, block);
	assert_int_equal(set(&w, &to_leaf1, WIRE_PKEY_TABLE, 9u << 16, block), MAD_OK);
	assert_int_equal(double_pkeys(w.d, LEAF1, 9, &count)[0], 0x8001);
	assert_int_equal(double_pkeys(w.d, LEAF1, 1, &count)[0], 0xffff);
	assert_int_equal(w.sets, 3);
	world_fini(&w);
}

static void state_table_shows_two_ports_a_byte(void **state)
{
	struct world w;

	world_init(&w, NULL);
	assert_int_equal(get(&w, &to_leaf1, WIRE_PORT_STATE_TABLE, 0), MAD_STATUS);
	double_set_state_table(w.d, LEAF1, true);
	assert_int_equal(get(&w, &to_leaf1, WIRE_PORT_STATE_TABLE, 0), MAD_OK);
	assert_int_equal(w.data[0], TOPO_ACTIVE << 4 | TOPO_INIT); /* ports 0 and 1 */
	assert_int_equal(w.data[4], TOPO_DOWN << 4 | TOPO_INIT);   /* 8 and 9 */
	assert_int_equal(w.data[20], TOPO_DOWN << 4);		   /* 40 is the last */
	get(&w, &to_leaf1, WIRE_PORT_INFO, 0);
	assert_true(double_port_info(w.d, LEAF1, 0)->capmask2 & WIRE_CAP2_STATE_TABLE);
	world_fini(&w);
}

/* ---- By LID ----------------------------------------------------------------------------------- */

static void lid_routed_smp_follows_the_tables(void **state)
{
	struct world w;
	struct wire_node_info ni;

	world_init(&w, NULL);
	assert_int_equal(ask(&w, (struct mad_request){ .lid = LID_H2, .attr_id = WIRE_NODE_INFO }),
			 MAD_TIMEOUT);
	bring_up(&w);
	assert_int_equal(ask(&w, (struct mad_request){ .lid = LID_H2, .attr_id = WIRE_NODE_INFO }),
			 MAD_OK);
	wire_node_info_decode(w.data, &ni);
	assert_int_equal(ni.node_guid, H2);
	assert_int_equal(double_trace(w.d, H1, 1, LID_H2), 4);
	assert_int_equal(double_trace(w.d, H1, 1, LID_SPINE), 2);
	assert_int_equal(double_trace(w.d, H1, 1, 9), -ENOENT);
	double_set_lft(w.d, LEAF1, 60, 9); /* above LinearFDBTop: as if it were not there */
	double_set_lft(w.d, SPINE, 60, 1);
	assert_int_equal(double_trace(w.d, H1, 1, 60), -ENOENT);
	assert_int_equal(double_drops(w.d)->no_entry, 3); /* who only looks is not counted */
	double_set_lft(w.d, SPINE, LID_H2, 1);
	assert_int_equal(double_trace(w.d, H1, 1, LID_H2), -ELOOP);
	double_set_lft(w.d, SPINE, LID_H2, 3);
	assert_int_equal(double_trace(w.d, H1, 1, LID_H2), -ENOTCONN);
	world_fini(&w);
}

static void catch_cb(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct world *w = arg;

	w->caught++;
	w->caught_len = len;
	memcpy(w->caught_mad, mad, len < sizeof(w->caught_mad) ? len : sizeof(w->caught_mad));
}

struct answering {
	struct world *w;
	size_t len;
};

static void sa_answer_cb(void *arg, const struct io_addr *from, const struct wire_mad *mad,
			 const uint8_t *raw, size_t len)
{
	struct answering *a = arg;
	struct wire_mad m = *mad;
	uint8_t answer[1024] = { 0 };

	assert_int_equal(from->lid, LID_H2);
	assert_int_equal(from->qp, 1);
	memcpy(answer, raw, len);
	m.method = WIRE_GET_TABLE_RESP;
	wire_mad_encode(&m, answer);
	assert_int_equal(mad_reply(a->w->mad, from, answer, a->len), 0);
}

static void sa_query_from_a_host_is_answered_there(void **state)
{
	const struct wire_mad query = {
		.mgmt_class = WIRE_SA, .class_version = 2, .method = WIRE_GET_TABLE, .tid = 0x42
	};
	const struct io_addr to_sm = { .lid = LID_H1, .qp = 1 };
	const size_t lengths[] = { 120, 256, 900 }; /* RMPP may be shorter and longer than a MAD */
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };
	struct answering a;
	struct world w;

	world_init(&w, NULL);
	bring_up(&w);
	wire_mad_encode(&query, mad);
	for (unsigned i = 0; i < 3; i++) {
		a = (struct answering){ &w, lengths[i] };
		mad_handle(w.mad, WIRE_SA, sa_answer_cb, &a);
		double_inject(w.d, H2, 1, &to_sm, mad, sizeof(mad), catch_cb, &w);
		loop_run(w.loop);
		assert_int_equal(w.caught, i + 1);
		assert_int_equal(w.caught_len, lengths[i]);
		assert_int_equal(w.caught_mad[3], WIRE_GET_TABLE_RESP);
		assert_int_equal(w.caught_mad[15], 0x42);
	}
	port_change(&w, &to_leaf2, 1, change_state, TOPO_DOWN); /* data passes Active links only */
	double_inject(w.d, H2, 1, &to_sm, mad, sizeof(mad), catch_cb, &w);
	loop_run(w.loop);
	assert_int_equal(w.caught, 3);
	assert_int_equal(double_drops(w.d)->inactive, 1);
	world_fini(&w);
}

static void sm_answer_cb(void *arg, const struct io_addr *from, const struct wire_mad *mad,
			 const uint8_t *raw, size_t len)
{
	struct world *w = arg;
	struct wire_mad m = *mad;
	uint8_t answer[WIRE_MAD_SIZE];

	memcpy(answer, raw, sizeof(answer));
	m.method = WIRE_GET_RESP;
	m.returning = true;
	wire_mad_encode(&m, answer);
	assert_int_equal(mad_reply(w->mad, from, answer, sizeof(answer)), 0);
}

static void another_sm_asks_ours_by_directed_route(void **state)
{
	const struct wire_mad query = {
		.mgmt_class = WIRE_SMI_DR,
		.class_version = 1,
		.method = WIRE_GET,
		.attr_id = WIRE_SM_INFO,
		.hop_count = 4,
		.dr_slid = 0xffff,
		.dr_dlid = 0xffff,
		.path = { 0, 1, 9, 1, 1 },
	};
	const struct io_addr to = { .lid = 0xffff };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };
	struct world w;

	world_init(&w, NULL);
	mad_handle(w.mad, WIRE_SMI_DR, sm_answer_cb, &w);
	wire_mad_encode(&query, mad);
	double_inject(w.d, H2, 1, &to, mad, sizeof(mad), catch_cb, &w);
	loop_run(w.loop);
	assert_int_equal(w.caught, 1);
	assert_int_equal(w.caught_mad[3], WIRE_GET_RESP);
	world_fini(&w);
}

static void other_sm_answers_when_there_is_one(void **state)
{
	const struct wire_sm_info sm = { .guid = 0x121, .priority = 3, .state = 3 };
	struct wire_sm_info got;
	struct world w;

	world_init(&w, NULL);
	assert_int_equal(get(&w, &to_h2, WIRE_SM_INFO, 0), MAD_STATUS);
	double_set_sm(w.d, H2, 1, &sm);
	assert_int_equal(get(&w, &to_h2, WIRE_SM_INFO, 0), MAD_OK);
	wire_sm_info_decode(w.data, &got);
	assert_int_equal(got.priority, 3);
	world_fini(&w);
}

/* ---- What happens by itself ------------------------------------------------------------------- */

static void cut_raises_trap_128_and_port_state_change(void **state)
{
	struct world w;

	world_init(&w, NULL);
	bring_up(&w);
	double_cut(w.d, LEAF2, 1);
	loop_run(w.loop);
	assert_int_equal(w.traps, 1);
	assert_int_equal(w.trap.trap, 128);
	assert_int_equal(w.trap.lid, LID_LEAF2);
	assert_true(double_switch_info(w.d, LEAF2)->port_state_change);
	assert_false(double_switch_info(w.d, LEAF1)->port_state_change);
	top_set(&w, &to_leaf2, 5); /* writes the bit, too */
	assert_false(double_switch_info(w.d, LEAF2)->port_state_change);

	double_cut(w.d, SPINE, 2); /* leaf2's trap has no way, the spine's has */
	loop_run(w.loop);
	assert_int_equal(w.traps, 2);
	assert_int_equal(w.trap.lid, LID_SPINE);
	world_fini(&w);
}

static void reboot_forgets_what_was_told(void **state)
{
	struct world w;

	world_init(&w, NULL);
	bring_up(&w);
	double_reboot(w.d, SPINE);
	loop_run(w.loop);
	assert_int_equal(double_port_info(w.d, SPINE, 0)->lid, 0);
	assert_int_equal(double_lft(w.d, SPINE, LID_H1), 255);
	assert_int_equal(double_switch_info(w.d, SPINE)->lft_top, 0);
	assert_int_equal(double_link_state(w.d, LEAF1, 9), TOPO_INIT);
	assert_true(double_switch_info(w.d, LEAF1)->port_state_change);
	assert_int_equal(w.traps, 1); /* leaf1's; leaf2 is cut off */
	assert_int_equal(double_ports_not_active(w.d), 4);
	world_fini(&w);
}

static void new_description_raises_trap_144(void **state)
{
	struct world w;

	world_init(&w, NULL);
	bring_up(&w);
	double_set_desc(w.d, H2, "h2-renamed mlx5_0");
	loop_run(w.loop);
	assert_int_equal(w.trap.trap, 144);
	assert_int_equal(w.trap.lid, LID_H2);
	assert_true(w.trap.desc_changed);
	world_fini(&w);
}

/* ---- Misbehaviour ----------------------------------------------------------------------------- */

static void silent_node_is_silent_and_others_are_not(void **state)
{
	struct world w;

	world_init(&w, NULL);
	double_set_silent(w.d, SPINE, true);
	assert_int_equal(get(&w, &to_spine, WIRE_NODE_INFO, 0), MAD_TIMEOUT);
	assert_int_equal(get(&w, &to_h2, WIRE_NODE_INFO, 0), MAD_OK); /* it passes on still */
	world_fini(&w);
}

static void node_may_claim_another_guid(void **state)
{
	struct world w;
	struct wire_node_info ni;

	world_init(&w, NULL);
	double_set_guid(w.d, H2, H1);
	get(&w, &to_h2, WIRE_NODE_INFO, 0);
	wire_node_info_decode(w.data, &ni);
	assert_int_equal(ni.node_guid, H1);
	world_fini(&w);
}

static void faulty_answers_are_dropped_and_counted(void **state)
{
	struct world w;

	world_init(&w, NULL);
	double_set_fault(w.d, H2, DOUBLE_TRUNCATE, 1000, 70);
	assert_int_equal(get(&w, &to_h2, WIRE_NODE_INFO, 0), MAD_TIMEOUT);
	assert_int_equal(mad_stats(w.mad).dropped_short, 3);
	double_set_fault(w.d, H2, DOUBLE_TRUNCATE, 0, 0);
	double_set_fault(w.d, H2, DOUBLE_WRONG_ATTR, 1000, 0);
	assert_int_equal(get(&w, &to_h2, WIRE_NODE_INFO, 0), MAD_TIMEOUT);
	assert_int_equal(mad_stats(w.mad).dropped_mismatch, 3);
	double_set_fault(w.d, 0, DOUBLE_WRONG_ATTR, 0, 0);
	double_set_fault(w.d, 0, DOUBLE_DUPLICATE, 1000, 0);
	assert_int_equal(get(&w, &to_h2, WIRE_NODE_INFO, 0), MAD_OK);
	assert_int_equal(mad_stats(w.mad).dropped_late, 1);
	double_set_fault(w.d, 0, DOUBLE_DUPLICATE, 0, 0);
	double_set_fault(w.d, 0, DOUBLE_DELAY, 1000, 150000);
	assert_int_equal(get(&w, &to_h2, WIRE_NODE_INFO, 0),
			 MAD_OK); /* of the first try, during the second */
	assert_int_equal(w.last.tries, 2);
	double_set_fault(w.d, 0, DOUBLE_DELAY, 0, 0);
	double_set_fault(w.d, 0, DOUBLE_BAD_STATUS, 1000, 0x1c);
	assert_int_equal(get(&w, &to_h2, WIRE_NODE_INFO, 0), MAD_STATUS);
	world_fini(&w);
}

static void lossy_cable_costs_retries_and_no_answers(void **state)
{
	const struct double_conf conf = { .seed = 5 };
	const struct mad_request r = { .path = &to_h2,
				       .method = WIRE_GET,
				       .attr_id = WIRE_NODE_INFO };
	struct world w;

	world_init(&w, &conf);
	mad_configure(w.mad, &(struct mad_conf){ .timeout_ms = 10, .retries = 20 });
	double_set_loss(w.d, LEAF1, 9, 200);
	for (int i = 0; i < 500; i++)
		mad_send(w.mad, &r, done_cb, &w);
	loop_run(w.loop);
	assert_int_equal(w.ok, 500);
	assert_true(double_drops(w.d)->lost > 100);
	assert_int_equal(mad_stats(w.mad).retried, double_drops(w.d)->lost);
	world_fini(&w);
}

static void wrong_mkey_is_not_answered(void **state)
{
	struct wire_port_info pi;
	uint8_t data[64];
	struct world w;

	world_init(&w, NULL);
	get(&w, &to_h2, WIRE_PORT_INFO, 1);
	wire_port_info_decode(w.data, &pi);
	pi.state = 0;
	pi.lid = 1;
	pi.mkey = 0x55;
	wire_port_info_encode(&pi, data);
	assert_int_equal(set(&w, &to_h2, WIRE_PORT_INFO, 1, data), MAD_OK);
	assert_int_equal(set(&w, &to_h2, WIRE_PORT_INFO, 1, data), MAD_TIMEOUT);
	assert_int_equal(get(&w, &to_h2, WIRE_PORT_INFO, 1),
			 MAD_OK); /* protection 0 lets Gets pass */
	mad_configure(w.mad, &(struct mad_conf){ .mkey = 0x55 });
	assert_int_equal(set(&w, &to_h2, WIRE_PORT_INFO, 1, data), MAD_OK);
	assert_int_equal(double_drops(w.d)->mkey, 3);
	world_fini(&w);
}

static void requests_are_counted_by_attribute_and_method(void **state)
{
	struct world w;
	uint8_t block[64] = { 0 };

	world_init(&w, NULL);
	get(&w, &to_leaf1, WIRE_NODE_INFO, 0);
	get(&w, &to_leaf1, WIRE_PORT_INFO, 1);
	get(&w, &to_leaf1, WIRE_PORT_INFO, 2);
	set(&w, &to_leaf1, WIRE_LFT, 0, block);
	assert_int_equal(double_sent(w.d, WIRE_GET, WIRE_PORT_INFO), 2);
	assert_int_equal(double_sent(w.d, WIRE_SET, 0), 1);
	assert_int_equal(double_sent(w.d, 0, WIRE_LFT), 1);
	assert_int_equal(double_sent(w.d, 0, 0), 4);
	double_sent_reset(w.d);
	assert_int_equal(double_sent(w.d, 0, 0), 0);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(directed_route_reaches_each_node_and_comes_back),
		cmocka_unit_test(directed_route_into_nothing_is_lost),
		cmocka_unit_test(speeds_need_the_modifier_bit),
		cmocka_unit_test(link_goes_up_by_the_book_only),
		cmocka_unit_test(values_that_do_not_fit_are_refused_whole),
		cmocka_unit_test(disabled_port_stays_down_until_told_to_poll),
		cmocka_unit_test(tables_read_back_as_written),
		cmocka_unit_test(state_table_shows_two_ports_a_byte),
		cmocka_unit_test(lid_routed_smp_follows_the_tables),
		cmocka_unit_test(sa_query_from_a_host_is_answered_there),
		cmocka_unit_test(another_sm_asks_ours_by_directed_route),
		cmocka_unit_test(other_sm_answers_when_there_is_one),
		cmocka_unit_test(cut_raises_trap_128_and_port_state_change),
		cmocka_unit_test(reboot_forgets_what_was_told),
		cmocka_unit_test(new_description_raises_trap_144),
		cmocka_unit_test(silent_node_is_silent_and_others_are_not),
		cmocka_unit_test(node_may_claim_another_guid),
		cmocka_unit_test(faulty_answers_are_dropped_and_counted),
		cmocka_unit_test(lossy_cable_costs_retries_and_no_answers),
		cmocka_unit_test(wrong_mkey_is_not_answered),
		cmocka_unit_test(requests_are_counted_by_attribute_and_method),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
