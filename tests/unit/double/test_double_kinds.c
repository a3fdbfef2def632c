/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The fabric double's kinds of devices: very large switches, split ports, enhanced port 0, HCAs of
 * several ports, aggregation nodes, small tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "fm/mad/mad.h"
#include "tests/fabric/double.h"
#include "topology/snapshot/topo_builder.h"

enum { BIG = 0x10, SMALL = 0x20, HCA = 0x100, AGGREGATION = 0x200 };

/*
 *   hca p1 - p1 big p254 - p4 small
 *   hca p2 - p2 big p253 - p1 aggregation node
 *
 * big has 254 ports and an enhanced port 0; small has 4 ports, 128 LIDs and 64 MLIDs.
 */
struct kinds {
	struct loop *loop;
	struct topo *topo;
	struct double_fabric *d;
	struct mad *mad;
	struct mad_answer last;
	uint8_t data[64];
};

static const struct mad_path to_hca = { .hops = 0 }, to_big = { .hops = 1, .ports = { 1 } },
			     to_small = { .hops = 2, .ports = { 1, 254 } },
			     to_aggregation = { .hops = 2, .ports = { 1, 253 } };

static int add(struct topo_builder *b, struct topo_node attr)
{
	attr.vendor = 0x2c9;
	return topo_builder_node(b, &attr);
}

static void cable(struct topo_builder *b, int a, unsigned pa, int z, unsigned pz, uint8_t speed,
		  uint8_t width)
{
	const struct topo_port attr = { .speed = speed, .width = width };

	topo_builder_port(b, a, pa, &attr);
	topo_builder_port(b, z, pz, &attr);
	assert_int_equal(topo_builder_link(b, a, pa, z, pz, true), 0);
}

static struct topo *kinds_topo(void)
{
	struct topo_builder *b = topo_builder_new();
	int big = add(b, (struct topo_node){ .guid = BIG,
					     .desc = "big",
					     .type = TOPO_SWITCH,
					     .nports = 254,
					     .enhanced_port0 = true });
	int small = add(b, (struct topo_node){ .guid = SMALL,
					       .desc = "small",
					       .type = TOPO_SWITCH,
					       .nports = 4,
					       .lft_cap = 128,
					       .mft_cap = 64 });
	int hca = add(b, (struct topo_node){
				 .guid = HCA, .desc = "h1 mlx5_0", .type = TOPO_CA, .nports = 2 });
	int aggregation =
		add(b, (struct topo_node){ .guid = AGGREGATION,
					   .desc = "Mellanox Technologies Aggregation Node",
					   .type = TOPO_CA,
					   .nports = 1,
					   .sharp = true });

	cable(b, hca, 1, big, 1, TOPO_HDR, 2);
	cable(b, hca, 2, big, 2, TOPO_NDR, 4);
	cable(b, big, 254, small, 4, TOPO_XDR, 4);
	cable(b, big, 253, aggregation, 1, TOPO_HDR, 4);
	return topo_freeze(b);
}

static void kinds_init(struct kinds *k)
{
	const struct double_conf conf = { .state_table = true };
	const struct mad_conf mad_conf = { .timeout_ms = 100, .retries = 1 };

	*k = (struct kinds){ .loop = loop_new_simulated(), .topo = kinds_topo() };
	k->d = double_new(k->loop, k->topo, HCA, 1, &conf);
	k->mad = mad_new(k->loop, double_io(k->d), &mad_conf);
}

static void kinds_fini(struct kinds *k)
{
	mad_free(k->mad);
	double_free(k->d);
	topo_unref(k->topo);
	loop_free(k->loop);
}

static void done_cb(void *arg, const struct mad_answer *answer)
{
	struct kinds *k = arg;

	k->last = *answer;
	if (answer->data)
		memcpy(k->data, answer->data, sizeof(k->data));
}

static enum mad_result ask(struct kinds *k, const struct mad_path *path, uint16_t attr_id,
			   uint32_t mod, const uint8_t *data)
{
	struct mad_request request = { .path = path,
				       .method = data ? WIRE_SET : WIRE_GET,
				       .attr_id = attr_id,
				       .attr_mod = mod,
				       .data = data };

	mad_send(k->mad, &request, done_cb, k);
	loop_run(k->loop);
	return k->last.result;
}

static struct wire_port_info port_info(struct kinds *k, const struct mad_path *path, unsigned port)
{
	struct wire_port_info info;

	assert_int_equal(ask(k, path, WIRE_PORT_INFO, port | WIRE_MOD_EXT_SPEEDS, NULL), MAD_OK);
	wire_port_info_decode(k->data, &info);
	return info;
}

static void a_switch_may_have_254_ports(void **state)
{
	const uint8_t block[64] = { [0] = 0x40 }; /* the column's port 14 */
	struct wire_node_info ni;
	struct kinds k;

	kinds_init(&k);
	assert_int_equal(ask(&k, &to_big, WIRE_NODE_INFO, 0, NULL), MAD_OK);
	wire_node_info_decode(k.data, &ni);
	assert_int_equal(ni.nports, 254);
	assert_int_equal(port_info(&k, &to_big, 254).state, TOPO_INIT);
	assert_int_equal(ask(&k, &to_big, WIRE_PORT_INFO, 255, NULL), MAD_STATUS);
	assert_int_equal(ask(&k, &to_big, WIRE_PORT_STATE_TABLE, 1, NULL), MAD_OK);
	assert_int_equal(k.data[(254 - 128) / 2] >> 4, TOPO_INIT);
	assert_int_equal(k.data[(253 - 128) / 2] & 0xf, TOPO_INIT);
	assert_int_equal(k.data[(252 - 128) / 2] >> 4, TOPO_DOWN);
	assert_int_equal(ask(&k, &to_big, WIRE_MFT, 15u << 28, block), MAD_OK);
	assert_true(double_mft(k.d, BIG, 0xc000, 254));
	assert_false(double_mft(k.d, BIG, 0xc000, 253));
	kinds_fini(&k);
}

static void tables_are_as_large_as_their_caps(void **state)
{
	const uint8_t block[64] = { 0 };
	struct wire_switch_info si;
	uint8_t data[64];
	struct kinds k;

	kinds_init(&k);
	assert_int_equal(ask(&k, &to_small, WIRE_SWITCH_INFO, 0, NULL), MAD_OK);
	wire_switch_info_decode(k.data, &si);
	assert_int_equal(si.lft_cap, 128);
	assert_int_equal(si.mft_cap, 64);
	assert_int_equal(ask(&k, &to_small, WIRE_LFT, 1, block), MAD_OK);
	assert_int_equal(ask(&k, &to_small, WIRE_LFT, 2, block), MAD_STATUS);
	assert_int_equal(ask(&k, &to_small, WIRE_MFT, 1, block), MAD_OK);
	assert_int_equal(ask(&k, &to_small, WIRE_MFT, 2, block), MAD_STATUS);
	assert_int_equal(ask(&k, &to_small, WIRE_MFT, 1u << 28, block), MAD_STATUS); /* 4 ports */
	si.lft_top = 128;
	wire_switch_info_encode(&si, data);
	assert_int_equal(ask(&k, &to_small, WIRE_SWITCH_INFO, 0, data), MAD_STATUS);
	kinds_fini(&k);
}

static enum mad_result set_lmc(struct kinds *k, const struct mad_path *path, uint16_t lid)
{
	struct wire_port_info info = port_info(k, path, 0);
	uint8_t data[64];

	info.state = 0;
	info.lid = lid;
	info.lmc = 2;
	wire_port_info_encode(&info, data);
	return ask(k, path, WIRE_PORT_INFO, 0, data);
}

/* A base port 0 has one LID (IBA 18.2.4.1). */
static void only_an_enhanced_port_0_has_several_lids(void **state)
{
	struct wire_switch_info si;
	struct kinds k;

	kinds_init(&k);
	assert_int_equal(ask(&k, &to_big, WIRE_SWITCH_INFO, 0, NULL), MAD_OK);
	wire_switch_info_decode(k.data, &si);
	assert_int_equal(si.flags & 0x08, 0x08);
	assert_int_equal(set_lmc(&k, &to_big, 8), MAD_OK);
	assert_int_equal(double_port_info(k.d, BIG, 0)->lmc, 2);
	assert_int_equal(set_lmc(&k, &to_small, 16), MAD_STATUS);
	assert_int_equal(double_port_info(k.d, SMALL, 0)->lid, 0);
	kinds_fini(&k);
}

static void a_split_port_has_two_lanes_and_an_hca_has_its_ports(void **state)
{
	struct wire_port_info info;
	struct kinds k;

	kinds_init(&k);
	info = port_info(&k, &to_hca, 1);
	assert_int_equal(wire_port_info_speed(&info), TOPO_HDR);
	assert_int_equal(wire_port_info_lanes(&info), 2);
	assert_false(info.width_supported & 2); /* no 4x: its other half is another port */
	assert_true(info.capmask2 & WIRE_CAP2_2X);
	info = port_info(&k, &to_hca, 2);
	assert_int_equal(wire_port_info_speed(&info), TOPO_NDR);
	assert_int_equal(wire_port_info_lanes(&info), 4);
	info = port_info(&k, &to_small, 4);
	assert_int_equal(wire_port_info_speed(&info), TOPO_XDR);
	assert_int_equal(info.speed_ext2_active, 1);
	kinds_fini(&k);
}

static void an_aggregation_node_says_that_it_is_one(void **state)
{
	struct kinds k;

	kinds_init(&k);
	assert_int_equal(ask(&k, &to_aggregation, WIRE_MLNX_EXT_PORT_INFO, 1, NULL), MAD_OK);
	assert_int_equal(k.data[47], 0x81);
	assert_int_equal(ask(&k, &to_hca, WIRE_MLNX_EXT_PORT_INFO, 1, NULL), MAD_OK);
	assert_int_equal(k.data[47], 0);
	kinds_fini(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_switch_may_have_254_ports),
		cmocka_unit_test(tables_are_as_large_as_their_caps),
		cmocka_unit_test(only_an_enhanced_port_0_has_several_lids),
		cmocka_unit_test(a_split_port_has_two_lanes_and_an_hca_has_its_ports),
		cmocka_unit_test(an_aggregation_node_says_that_it_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
