/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The wire codec, three ways: known bytes at known offsets (so that an error made alike in encoder
 * and decoder shows), every field alone through encode and decode, and random bytes through decode
 * and encode.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "fm/mad/wire.h"
#include "fm/mad/wire_perf.h"

/* ---- Headers --------------------------------------------------------------------------------- */

static void directed_header_has_its_bytes_in_place(void **state)
{
	const struct wire_mad mad = {
		.mgmt_class = WIRE_SMI_DR,
		.class_version = 1,
		.method = WIRE_GET,
		.status = 0x1c,
		.tid = 0x0102030405060708,
		.attr_id = WIRE_PORT_INFO,
		.attr_mod = 0x80000003,
		.key = 0x1122334455667788,
		.returning = true,
		.hop_ptr = 2,
		.hop_count = 3,
		.dr_slid = 0xffff,
		.dr_dlid = 0xfffe,
		.path = { 0, 7, 8, 9 },
	};
	const uint8_t start[36] = { 1,	  0x81, 1,    1,    0x80, 0x1c, 2,    3,    1,
				    2,	  3,	4,    5,    6,	  7,	8,    0x00, 0x15,
				    0,	  0,	0x80, 0,    0,	  3,	0x11, 0x22, 0x33,
				    0x44, 0x55, 0x66, 0x77, 0x88, 0xff, 0xff, 0xff, 0xfe };
	const uint8_t path[4] = { 0, 7, 8, 9 };
	uint8_t buf[WIRE_MAD_SIZE] = { 0 }, again[WIRE_MAD_SIZE] = { 0 };
	struct wire_mad back;

	wire_mad_encode(&mad, buf);
	assert_memory_equal(buf, start, sizeof(start));
	assert_memory_equal(buf + 128, path, sizeof(path));
	assert_ptr_equal(wire_smp_data(buf), buf + 64);
	assert_int_equal(wire_mad_decode(buf, sizeof(buf), &back), 0);
	wire_mad_encode(&back, again);
	assert_memory_equal(again, buf, sizeof(buf));
}

static void sa_header_holds_sm_key_behind_rmpp(void **state)
{
	const struct wire_mad mad = { .mgmt_class = WIRE_SA, .class_version = 2, .key = 0xa1 };
	uint8_t buf[WIRE_MAD_SIZE] = { 0 };
	struct wire_mad back;

	wire_mad_encode(&mad, buf);
	assert_int_equal(buf[43], 0xa1);
	assert_int_equal(wire_mad_decode(buf, sizeof(buf), &back), 0);
	assert_int_equal(back.key, 0xa1);
}

static void encoding_over_a_request_leaves_data_and_return_path(void **state)
{
	struct wire_mad mad;
	uint8_t buf[WIRE_MAD_SIZE], before[WIRE_MAD_SIZE];

	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = (uint8_t)i;
	buf[0] = 1;
	buf[1] = WIRE_SMI_DR;
	memcpy(before, buf, sizeof(buf));
	assert_int_equal(wire_mad_decode(buf, sizeof(buf), &mad), 0);
	mad.method = WIRE_GET_RESP;
	wire_mad_encode(&mad, buf);
	assert_int_equal(buf[3], WIRE_GET_RESP);
	before[3] = WIRE_GET_RESP;
	assert_memory_equal(buf, before, sizeof(buf));
}

static void bad_headers_are_refused(void **state)
{
	uint8_t buf[WIRE_MAD_SIZE] = { 1, WIRE_SMI_DR };
	struct wire_mad mad;

	assert_int_equal(wire_mad_decode(buf, WIRE_MAD_SIZE, &mad), 0);
	assert_int_equal(wire_mad_decode(buf, WIRE_MAD_SIZE - 1, &mad), -EBADMSG);
	assert_int_equal(wire_mad_decode(buf, 0, &mad), -EBADMSG);
	buf[7] = WIRE_MAX_HOPS + 1;
	assert_int_equal(wire_mad_decode(buf, WIRE_MAD_SIZE, &mad), -EBADMSG);
	buf[7] = WIRE_MAX_HOPS;
	buf[6] = WIRE_MAX_HOPS + 2;
	assert_int_equal(wire_mad_decode(buf, WIRE_MAD_SIZE, &mad), -EBADMSG);
	buf[6] = 0;
	buf[0] = 2;
	assert_int_equal(wire_mad_decode(buf, WIRE_MAD_SIZE, &mad), -EBADMSG);
}

/* ---- PortInfo -------------------------------------------------------------------------------- */

/*
 * Each field: where it stands (first bit of the attribute, bits), as IBA table 155 and the newer
 * offsets say.
 */
#define FIELD(name, first_bit, nbits)                                                              \
	{                                                                                          \
#name, offsetof(struct wire_port_info, name),                                      \
			sizeof(((struct wire_port_info *)0)->name), first_bit, nbits               \
	}
static const struct field {
	const char *name;
	size_t offset, size;
	unsigned bit, bits;
} port_fields[] = {
	FIELD(mkey, 0, 64),
	FIELD(gid_prefix, 64, 64),
	FIELD(lid, 128, 16),
	FIELD(sm_lid, 144, 16),
	FIELD(capmask, 160, 32),
	FIELD(diag_code, 192, 16),
	FIELD(mkey_lease, 208, 16),
	FIELD(local_port, 224, 8),
	FIELD(width_enabled, 232, 8),
	FIELD(width_supported, 240, 8),
	FIELD(width_active, 248, 8),
	FIELD(speed_supported, 256, 4),
	FIELD(state, 260, 4),
	FIELD(phys_state, 264, 4),
	FIELD(down_default, 268, 4),
	FIELD(mkey_protect, 272, 2),
	FIELD(lmc, 277, 3),
	FIELD(speed_active, 280, 4),
	FIELD(speed_enabled, 284, 4),
	FIELD(neighbor_mtu, 288, 4),
	FIELD(sm_sl, 292, 4),
	FIELD(vl_cap, 296, 4),
	FIELD(init_type, 300, 4),
	FIELD(vl_high_limit, 304, 8),
	FIELD(arb_high_cap, 312, 8),
	FIELD(arb_low_cap, 320, 8),
	FIELD(init_type_reply, 328, 4),
	FIELD(mtu_cap, 332, 4),
	FIELD(vl_stall, 336, 3),
	FIELD(hoq_life, 339, 5),
	FIELD(op_vls, 344, 4),
	FIELD(pkey_enforce_in, 348, 1),
	FIELD(pkey_enforce_out, 349, 1),
	FIELD(filter_raw_in, 350, 1),
	FIELD(filter_raw_out, 351, 1),
	FIELD(mkey_violations, 352, 16),
	FIELD(pkey_violations, 368, 16),
	FIELD(qkey_violations, 384, 16),
	FIELD(guid_cap, 400, 8),
	FIELD(client_reregister, 408, 1),
	FIELD(mcast_pkey_suppression, 409, 2),
	FIELD(subnet_timeout, 411, 5),
	FIELD(resp_time, 419, 5),
	FIELD(local_phy_errors, 424, 4),
	FIELD(overrun_errors, 428, 4),
	FIELD(max_credit_hint, 432, 16),
	FIELD(speed_ext2_active, 449, 2),
	FIELD(speed_ext2_supported, 451, 2),
	FIELD(speed_ext2_enabled, 453, 3),
	FIELD(link_roundtrip, 456, 24),
	FIELD(capmask2, 480, 16),
	FIELD(speed_ext_active, 496, 4),
	FIELD(speed_ext_supported, 500, 4),
	FIELD(speed_ext_enabled, 507, 5),
};
#define NFIELDS (sizeof(port_fields) / sizeof(port_fields[0]))

static void bits_set(uint8_t data[64], unsigned first, unsigned bits)
{
	for (unsigned b = first; b < first + bits; b++)
		data[b / 8] |= (uint8_t)(0x80 >> b % 8);
}

/* The field with all its bits set, in host order. */
static void ones_put(struct wire_port_info *info, const struct field *field)
{
	uint64_t value = field->bits == 64 ? UINT64_MAX : (1ull << field->bits) - 1;

	memcpy((uint8_t *)info + field->offset, &value, field->size); /* little-endian hosts */
}

static bool field_is_ones(const struct wire_port_info *info, const struct field *field)
{
	struct wire_port_info ones = { 0 };

	ones_put(&ones, field);
	return !memcmp((const uint8_t *)info + field->offset,
		       (const uint8_t *)&ones + field->offset, field->size);
}

static void each_port_field_stands_at_its_bits_and_nowhere_else(void **state)
{
	for (size_t i = 0; i < NFIELDS; i++) {
		struct wire_port_info info, back;
		uint8_t data[64], expected[64] = { 0 };

		memset(&info, 0, sizeof(info));
		memset(&back, 0, sizeof(back));
		ones_put(&info, &port_fields[i]);
		bits_set(expected, port_fields[i].bit, port_fields[i].bits);
		memset(data, 0xee, sizeof(data));
		wire_port_info_encode(&info, data);
		if (memcmp(data, expected, sizeof(data)))
			fail_msg("%s is encoded wrongly", port_fields[i].name);
		wire_port_info_decode(data, &back);
		if (!field_is_ones(&back, &port_fields[i]))
			fail_msg("%s is decoded wrongly", port_fields[i].name);
	}
}

static void port_info_bytes_come_back_but_for_reserved_bits(void **state)
{
	uint8_t known[64] = { 0 };

	for (size_t i = 0; i < NFIELDS; i++)
		bits_set(known, port_fields[i].bit, port_fields[i].bits);
	srandom(1);
	for (int round = 0; round < 1000; round++) {
		uint8_t data[64], back[64];
		struct wire_port_info info;

		for (int i = 0; i < 64; i++)
			data[i] = (uint8_t)random();
		wire_port_info_decode(data, &info);
		wire_port_info_encode(&info, back);
		for (int i = 0; i < 64; i++)
			assert_int_equal(back[i], data[i] & known[i]);
	}
}

static void speed_is_the_fastest_encoding_in_use(void **state)
{
	const struct {
		uint8_t base, ext, ext2;
		enum topo_speed speed;
	} rows[] = {
		{ 0, 0, 0, TOPO_SPEED_NONE }, { 1, 0, 0, TOPO_SDR },
		{ 2, 0, 0, TOPO_DDR },	      { 4, 0, 0, TOPO_QDR },
		{ 4, 1, 0, TOPO_FDR },	      { 4, 2, 0, TOPO_EDR },
		{ 4, 4, 0, TOPO_HDR },	      { 4, 8, 0, TOPO_NDR },
		{ 4, 0, 1, TOPO_XDR },	      { 4, 8, 1, TOPO_XDR },
		{ 3, 0, 0, TOPO_SPEED_NONE }, { 15, 15, 3, TOPO_SPEED_NONE },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wire_port_info info = { .speed_active = rows[i].base,
					       .speed_ext_active = rows[i].ext,
					       .speed_ext2_active = rows[i].ext2 };

		assert_int_equal(wire_port_info_speed(&info), rows[i].speed);
	}
}

static void width_code_gives_lanes(void **state)
{
	const uint8_t codes[] = { 0, 1, 2, 4, 8, 16, 3 }, lanes[] = { 0, 1, 4, 8, 12, 2, 0 };

	for (size_t i = 0; i < sizeof(codes); i++) {
		struct wire_port_info info = { .width_active = codes[i] };

		assert_int_equal(wire_port_info_lanes(&info), lanes[i]);
	}
}

/* ---- Other attributes ------------------------------------------------------------------------ */

static void node_info_has_its_bytes_in_place(void **state)
{
	const struct wire_node_info info = {
		.base_version = 1,
		.class_version = 1,
		.type = 2,
		.nports = 64,
		.sys_guid = 0x0102030405060708,
		.node_guid = 0x1112131415161718,
		.port_guid = 0x2122232425262728,
		.partition_cap = 128,
		.device = 0xd2f2,
		.revision = 0xa1,
		.local_port = 33,
		.vendor = 0x2c9,
	};
	uint8_t data[64], again[64], zeros[24] = { 0 };
	struct wire_node_info back;

	wire_node_info_encode(&info, data);
	assert_int_equal(data[3], 64);
	assert_int_equal(data[4], 0x01);
	assert_int_equal(data[19], 0x18);
	assert_int_equal(data[20], 0x21);
	assert_int_equal(data[29], 128);
	assert_int_equal(data[30], 0xd2);
	assert_int_equal(data[35], 0xa1);
	assert_int_equal(data[36], 33);
	assert_int_equal(data[38], 0x02);
	assert_int_equal(data[39], 0xc9);
	assert_memory_equal(data + 40, zeros, sizeof(zeros));
	wire_node_info_decode(data, &back);
	wire_node_info_encode(&back, again);
	assert_memory_equal(again, data, sizeof(data));
}

static void switch_info_has_its_bytes_in_place(void **state)
{
	const struct wire_switch_info info = {
		.lft_cap = 49152,
		.rft_cap = 1,
		.mft_cap = 1024,
		.lft_top = 300,
		.default_port = 255,
		.default_mcast_primary = 254,
		.default_mcast_other = 253,
		.life_time = 19,
		.opt_sl2vl = 2,
		.port_state_change = true,
		.lids_per_port = 5,
		.enforce_cap = 32,
		.flags = 0x08,
		.mft_top = 0xc010,
	};
	uint8_t data[64], again[64];
	struct wire_switch_info back;

	wire_switch_info_encode(&info, data);
	assert_int_equal(data[0], 0xc0);
	assert_int_equal(data[4], 4);
	assert_int_equal(data[6], 1);
	assert_int_equal(data[7], 44);
	assert_int_equal(data[8], 255);
	assert_int_equal(data[11], 19 << 3 | 4 | 2);
	assert_int_equal(data[16], 8);
	assert_int_equal(data[18], 0xc0);
	wire_switch_info_decode(data, &back);
	wire_switch_info_encode(&back, again);
	assert_memory_equal(again, data, sizeof(data));
}

static void sm_info_has_its_bytes_in_place(void **state)
{
	const struct wire_sm_info info = {
		.guid = 0x42, .sm_key = 0x99, .act_count = 7, .priority = 14, .state = 3
	};
	uint8_t data[64], again[64];
	struct wire_sm_info back;

	wire_sm_info_encode(&info, data);
	assert_int_equal(data[7], 0x42);
	assert_int_equal(data[15], 0x99);
	assert_int_equal(data[19], 7);
	assert_int_equal(data[20], 0xe3);
	wire_sm_info_decode(data, &back);
	wire_sm_info_encode(&back, again);
	assert_memory_equal(again, data, sizeof(data));
}

static void pkeys_are_words(void **state)
{
	uint16_t pkeys[32] = { 0xffff, 0x8001 }, back[32];
	uint8_t data[64];

	wire_words_encode(pkeys, data);
	assert_int_equal(data[2], 0x80);
	assert_int_equal(data[3], 0x01);
	wire_words_decode(data, back);
	assert_memory_equal(back, pkeys, sizeof(pkeys));
}

static void node_description_is_trimmed_and_printable(void **state)
{
	uint8_t data[64] = "  dgx-01 \x01mlx5_0  ";
	char text[65];

	wire_node_desc_decode(data, text);
	assert_string_equal(text, "dgx-01 .mlx5_0");
	memset(data, 'x', sizeof(data));
	wire_node_desc_decode(data, text);
	assert_int_equal(strlen(text), 64);
	memset(data, ' ', sizeof(data));
	wire_node_desc_decode(data, text);
	assert_string_equal(text, "");
	wire_node_desc_encode(
		"a name longer than the sixty-four bytes that NodeDescription has for it", data);
	wire_node_desc_decode(data, text);
	assert_string_equal(text,
			    "a name longer than the sixty-four bytes that NodeDescription has");
}

/* ---- Notices --------------------------------------------------------------------------------- */

static void notice_header_has_its_bytes_in_place(void **state)
{
	const struct wire_notice notice = { .generic = true,
					    .type = 1,
					    .producer = 0x010002,
					    .trap = 128,
					    .issuer_lid = 9,
					    .toggle = true,
					    .count = 3,
					    .lid = 0x1234 };
	const uint8_t start[12] = { 0x81, 1, 0, 2, 0, 128, 0, 9, 0x80, 3, 0x12, 0x34 };
	uint8_t data[64];

	wire_notice_encode(&notice, data);
	assert_memory_equal(data, start, sizeof(start));
}

static void trap_details_are_read_where_the_trap_has_them(void **state)
{
	uint8_t data[64] = { 0x80 };
	struct wire_notice n;

	data[12] = 0x12;
	data[13] = 0x34;
	data[14] = 17;
	data[5] = 129;
	wire_notice_decode(data, &n);
	assert_int_equal(n.lid, 0x1234);
	assert_int_equal(n.port, 17);

	data[5] = 144;
	data[15] = 1;
	data[21] = 1;
	wire_notice_decode(data, &n);
	assert_int_equal(n.lid, 0x1234);
	assert_true(n.desc_changed);
	data[15] = 0;
	wire_notice_decode(data, &n);
	assert_false(n.desc_changed);

	data[5] = 145;
	data[23] = 0x77;
	wire_notice_decode(data, &n);
	assert_int_equal(n.guid & 0xff, 0x77);

	data[5] = 64;
	data[16] = 0xfe;
	data[31] = 0x55;
	wire_notice_decode(data, &n);
	assert_int_equal(n.gid[0], 0xfe);
	assert_int_equal(n.guid & 0xff, 0x55);
}

static void notices_of_every_trap_come_back(void **state)
{
	const uint16_t traps[] = { 64,	65,  66,  67,  128, 129, 130, 131,
				   144, 145, 256, 257, 258, 259, 1 };

	srandom(2);
	for (size_t t = 0; t < sizeof(traps) / sizeof(traps[0]); t++) {
		for (int round = 0; round < 50; round++) {
			uint8_t data[64], back[64];
			struct wire_notice n;

			for (int i = 0; i < 64; i++)
				data[i] = (uint8_t)random();
			data[4] = (uint8_t)(traps[t] >> 8);
			data[5] = (uint8_t)traps[t];
			wire_notice_decode(data, &n);
			wire_notice_encode(&n, back);
			assert_memory_equal(back, data, sizeof(data));
		}
	}
}

static void put32(uint8_t *data, unsigned at, uint32_t value)
{
	for (unsigned i = 0; i < 4; i++)
		data[WIRE_PERF_OFFSET + at + i] = (uint8_t)(value >> (24 - 8 * i));
}

/* Without RS-FEC lanes count blocks; with it they count symbols, and the port blocks. */
static void fec_counters_are_those_of_the_mode(void **state)
{
	uint8_t data[WIRE_GMP_DATA] = { 0 };
	uint64_t out[WIRE_FEC_COUNTERS];

	put32(data, 44, 7);		      /* corrected, lane 0 */
	put32(data, 44 + 4 * 11, 0xfffffff0); /* .. lane 11 */
	put32(data, 92, 3);		      /* uncorrected, lane 0 */
	put32(data, 92 + 4 * 11, 2);
	wire_fec_decode(data, out);
	assert_true(out[WIRE_FEC_CORRECTED] == 0xfffffff7);
	assert_int_equal(out[WIRE_FEC_UNCORRECTED], 5);
	assert_int_equal(out[WIRE_FEC_SYMBOLS], 0);
	put32(data, 140, 11);
	put32(data, 144, 12);
	put32(data, 148, 0x01020304);
	wire_fec_decode(data, out);
	assert_int_equal(out[WIRE_FEC_CORRECTED], 11);
	assert_int_equal(out[WIRE_FEC_UNCORRECTED], 12);
	assert_int_equal(out[WIRE_FEC_SYMBOLS], 0x01020304);
}

static void fec_is_a_capability_of_the_agent(void **state)
{
	uint8_t data[WIRE_GMP_DATA] = { 0 };
	struct wire_perf_caps caps;

	data[WIRE_PERF_OFFSET + 2] = 0x53; /* CapabilityMask, as ConnectX-6 has it */
	wire_perf_caps_decode(data, &caps);
	assert_true(caps.fec && caps.ext && caps.wait);
	data[WIRE_PERF_OFFSET + 2] = 0x13;
	wire_perf_caps_decode(data, &caps);
	assert_false(caps.fec);
}

static void unicast_and_multicast_packets_are_of_the_full_extended_counters(void **state)
{
	uint8_t data[WIRE_GMP_DATA] = { 0 };
	struct wire_perf_caps caps;
	struct wire_perf now;

	data[WIRE_PERF_OFFSET + 2] = 0x04; /* without these (16.1.4.1) */
	wire_perf_caps_decode(data, &caps);
	assert_true(caps.ext && !caps.casts);
	data[WIRE_PERF_OFFSET + 2] = 0x02;
	wire_perf_caps_decode(data, &caps);
	assert_true(caps.ext && caps.casts);
	data[WIRE_PERF_OFFSET + 40] = 0x80; /* UnicastXmitPkts, from byte 40 on */
	data[WIRE_PERF_OFFSET + 71] = 3;    /* MulticastRcvPkts, up to byte 71 */
	wire_perf_ext_decode(data, &now);
	assert_int_equal(now.value[PERF_XMIT_UNICAST], 1ull << 63);
	assert_int_equal(now.value[PERF_RCV_MULTICAST], 3);
	wire_perf_decode(data, &now);
	assert_int_equal(now.full[PERF_XMIT_UNICAST], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(directed_header_has_its_bytes_in_place),
		cmocka_unit_test(sa_header_holds_sm_key_behind_rmpp),
		cmocka_unit_test(encoding_over_a_request_leaves_data_and_return_path),
		cmocka_unit_test(bad_headers_are_refused),
		cmocka_unit_test(each_port_field_stands_at_its_bits_and_nowhere_else),
		cmocka_unit_test(port_info_bytes_come_back_but_for_reserved_bits),
		cmocka_unit_test(speed_is_the_fastest_encoding_in_use),
		cmocka_unit_test(width_code_gives_lanes),
		cmocka_unit_test(node_info_has_its_bytes_in_place),
		cmocka_unit_test(switch_info_has_its_bytes_in_place),
		cmocka_unit_test(sm_info_has_its_bytes_in_place),
		cmocka_unit_test(pkeys_are_words),
		cmocka_unit_test(node_description_is_trimmed_and_printable),
		cmocka_unit_test(notice_header_has_its_bytes_in_place),
		cmocka_unit_test(trap_details_are_read_where_the_trap_has_them),
		cmocka_unit_test(notices_of_every_trap_come_back),
		cmocka_unit_test(fec_counters_are_those_of_the_mode),
		cmocka_unit_test(fec_is_a_capability_of_the_agent),
		cmocka_unit_test(unicast_and_multicast_packets_are_of_the_full_extended_counters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
