/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* MCMemberRecord and multicast table blocks, byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "fm/mad/wire_sa.h"
#include "topology/base/sort.h"

/* As a host sent it: IPoIB's broadcast group. */
static const uint8_t join_row[WIRE_MCMEMBER_SIZE] = {
	0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0,	  0,
	0,    0,    0,	  0,	0xff, 0xff, 0xff, 0xff, /* MGID */
	0xfe, 0x80, 0,	  0,	0,    0,    0,	  0,
	0,    2,    0xc9, 3,	0,    1,    2,	  3,	/* PortGID */
	0,    0,    0x0b, 0x1b, 0xc0, 0x05, 0x84, 0x07, /* Q_Key, MLID, MTU, TClass */
	0xff, 0xff, 0x83, 0x92, 0x41, 0x23, 0x45, 0x40, /* P_Key, rate, life, SL.. */
	0x21, 0x80, 0,	  0,	0,    0,    0,	  0,	/* scope and JoinState, proxy */
};

static void a_member_record_lies_as_the_standard_says(void **state)
{
	struct wire_mcmember rec;
	uint8_t row[WIRE_MCMEMBER_SIZE];

	wire_mcmember_decode(join_row, &rec);
	assert_true(rec.mgid.prefix == 0xff12401bffff0000ull && rec.mgid.guid == 0xffffffffull);
	assert_true(rec.port_gid.prefix == 0xfe80000000000000ull);
	assert_true(rec.port_gid.guid == 0x0002c90300010203ull);
	assert_int_equal(rec.qkey, 0xb1b);
	assert_int_equal(rec.mlid, 0xc005);
	assert_int_equal(rec.mtu_sel, WIRE_EXACT);
	assert_int_equal(rec.mtu, 4);
	assert_int_equal(rec.tclass, 7);
	assert_int_equal(rec.pkey, 0xffff);
	assert_int_equal(rec.rate_sel, WIRE_EXACT);
	assert_int_equal(rec.rate, 3);
	assert_int_equal(rec.life, 0x12);
	assert_int_equal(rec.sl, 4);
	assert_int_equal(rec.flow_label, 0x12345);
	assert_int_equal(rec.hop_limit, 0x40);
	assert_int_equal(rec.scope, 2);
	assert_int_equal(rec.join_state, WIRE_JOIN_FULL);
	assert_true(rec.proxy);
	wire_mcmember_encode(&rec, row);
	assert_memory_equal(row, join_row, sizeof(row));
}

static void any_member_record_survives_a_round(void **state)
{
	uint64_t seed = 56;

	for (unsigned i = 0; i < 1000; i++) {
		uint8_t row[WIRE_MCMEMBER_SIZE] = { 0 }, again[WIRE_MCMEMBER_SIZE];
		struct wire_mcmember rec;

		for (unsigned k = 0; k < 50; k++)
			row[k] = (uint8_t)random_next(&seed);
		row[49] &= 0x80; /* reserved bits are not kept */
		wire_mcmember_decode(row, &rec);
		wire_mcmember_encode(&rec, again);
		assert_memory_equal(row, again, sizeof(row));
	}
}

static void a_table_block_is_masks_by_mlid(void **state)
{
	uint16_t masks[WIRE_MFT_BLOCK] = { [0] = 0x8001, [31] = 0x0102 }, back[WIRE_MFT_BLOCK];
	uint8_t data[64];

	wire_words_encode(masks, data);
	assert_int_equal(data[0], 0x80);
	assert_int_equal(data[1], 0x01);
	assert_int_equal(data[62], 0x01);
	assert_int_equal(data[63], 0x02);
	wire_words_decode(data, back);
	assert_memory_equal(masks, back, sizeof(masks));
	assert_int_equal(WIRE_MFT_MODIFIER(4, 0x1ab), 0x400001ab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_member_record_lies_as_the_standard_says),
		cmocka_unit_test(any_member_record_survives_a_round),
		cmocka_unit_test(a_table_block_is_masks_by_mlid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
