/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* AdaptiveRoutingInfo, ARLinearForwardingTable and ARGroupTable: where their fields lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "fm/mad/wire_optional.h"

/* Numbers of bytes and bits, apart from the list of fields. */
static void the_fields_of_the_info_lie_where_they_are_known_to(void **state)
{
	uint8_t data[64] = { 0 }, back[64];
	struct wire_ar_info info;

	data[0] = 1 << 4 | 1 << 0;	    /* by SL; no fallback */
	data[1] = 0x17;			    /* directions of notifications */
	data[2] = 0x32;			    /* copies; sub-groups */
	data[3] = 1 << 0 | 1 << 3 | 1 << 4; /* on; fast recovery: able, on */
	data[4] = 0x52;			    /* strings; tables */
	data[5] = 0xab, data[6] = 0xcd, data[7] = 0xef;
	data[8] = 0xff, data[9] = 0xfe;
	data[10] = 4;
	data[11] = 0x21;
	data[15] = 0x0a;
	data[19] = 30;
	data[20] = 1 << 7 | 1 << 1; /* HBF and pFRN: able */
	data[22] = 1 << 7 | 1 << 4; /* the same, on */
	data[24] = 0x60;
	data[26] = 0x12, data[27] = 0x34;
	wire_ar_info_decode(data, &info);
	assert_true(info.by_sl && info.no_fallback && !info.by_sl_able && !info.is4_mode);
	assert_int_equal(info.rn_directions, 0x17);
	assert_int_equal(info.copy_cap, 3);
	assert_int_equal(info.subgroups, 2);
	assert_true(info.on && info.fr_able && info.fr && !info.rn_xmit);
	assert_int_equal(info.string_width, 5);
	assert_int_equal(info.tables, 2);
	assert_int_equal(info.group_top, 0xabc);
	assert_int_equal(info.group_cap, 0xdef);
	assert_int_equal(info.sl_mask, 0xfffe);
	assert_int_equal(info.subgroup_cap, 4);
	assert_int_equal(info.rn_version, 2);
	assert_int_equal(info.version, 1);
	assert_int_equal(info.transport_off, 0xa);
	assert_int_equal(info.ageing_us, 30);
	assert_true(info.hbf_able && info.pfrn_able && !info.whbf_able);
	assert_true(info.hbf_by_sl && info.pfrn && !info.whbf && !info.by_vl);
	assert_int_equal(info.whbf_granularity, 3);
	assert_int_equal(info.hbf_sl_mask, 0x1234);
	assert_true(wire_adaptive_on(data));
	wire_ar_info_encode(&info, back);
	assert_memory_equal(back, data, sizeof(data));
}

static void an_entry_and_a_set_of_ports_lie_where_they_are_known_to(void **state)
{
	const uint8_t data[WIRE_AR_ENTRY_BYTES] = { 0x43, 17, 0x01, 0x02 };
	uint8_t block[64] = { 0 }, back[64];
	struct wire_ar_entry entry;
	struct wire_ar_groups groups;

	wire_ar_entry_decode(data, &entry);
	assert_int_equal(entry.state, WIRE_AR_FREE);
	assert_int_equal(entry.table, 3);
	assert_int_equal(entry.port, 17);
	assert_int_equal(entry.group, 0x102);
	wire_ar_entry_encode(&entry, back);
	assert_memory_equal(back, data, sizeof(data));
	block[31] = 1 << 1;	 /* port 1 of the first set */
	block[31 - 8] = 1 << 0;	 /* port 64 */
	block[63 - 31] = 1 << 7; /* port 255 of the second */
	wire_ar_groups_decode(block, &groups);
	for (unsigned num = 0; num < 256; num++) {
		assert_int_equal(wire_ar_has(groups.first, num), num == 1 || num == 64);
		assert_int_equal(wire_ar_has(groups.second, num), num == 255);
	}
	wire_ar_groups_encode(&groups, back);
	assert_memory_equal(back, block, sizeof(block));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_fields_of_the_info_lie_where_they_are_known_to),
		cmocka_unit_test(an_entry_and_a_set_of_ports_lie_where_they_are_known_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
