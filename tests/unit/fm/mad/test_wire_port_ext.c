/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* PortInfoExtended: where its words lie, and what no port can say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <infiniband/iba/ib_types.h>
#include "fm/mad/wire_optional.h"
#include "fm/mad/wire.h"
#include "tests/fabric/double_answers.h"
#include "topology/base/sort.h"

/* OpenSM's own structure has the words up to HDR's. */
static void words_lie_where_opensm_has_them(void **state)
{
	ib_port_info_ext_t theirs = { .cap_mask = IB_PORT_EXT_CAP_IS_FEC_MODE_SUPPORTED,
				      .fec_mode_active = IB_PORT_EXT_RS_FEC_MODE_ACTIVE,
				      .fdr_fec_mode_sup = CL_HTON16(0x0102),
				      .fdr_fec_mode_enable = CL_HTON16(0x0304),
				      .edr_fec_mode_sup = CL_HTON16(0x0506),
				      .edr_fec_mode_enable = CL_HTON16(0x0708),
				      .hdr_fec_mode_sup = CL_HTON16(0x090a),
				      .hdr_fec_mode_enable = CL_HTON16(0x0b0c),
				      .reserved = { 0x0d, 0x0e, 0x0f, 0x10 } };
	struct wire_port_ext ours;
	uint8_t data[64], back[64];

	assert_int_equal(sizeof(theirs), sizeof(data));
	memcpy(data, &theirs, sizeof(data));
	assert_true(wire_port_ext_decode(data, &ours));
	assert_true(ours.has_fec);
	assert_int_equal(ours.active, 2);
	assert_int_equal(ours.supported[WIRE_EXT_FDR], 0x0102);
	assert_int_equal(ours.enabled[WIRE_EXT_FDR], 0x0304);
	assert_int_equal(ours.supported[WIRE_EXT_EDR], 0x0506);
	assert_int_equal(ours.enabled[WIRE_EXT_EDR], 0x0708);
	assert_int_equal(ours.supported[WIRE_EXT_HDR], 0x090a);
	assert_int_equal(ours.enabled[WIRE_EXT_HDR], 0x0b0c);
	assert_int_equal(ours.supported[WIRE_EXT_NDR], 0x0d0e);
	assert_int_equal(ours.enabled[WIRE_EXT_NDR], 0x0f10);
	wire_port_ext_encode(&ours, back);
	assert_memory_equal(back, data, sizeof(data));
}

static void a_number_that_no_mode_has_is_refused(void **state)
{
	struct wire_port_ext info = { .has_fec = true, .active = WIRE_FEC_MODES - 1 };
	uint8_t data[64];

	wire_port_ext_encode(&info, data);
	assert_true(wire_port_ext_decode(data, &info));
	info.active = WIRE_FEC_MODES;
	wire_port_ext_encode(&info, data);
	assert_false(wire_port_ext_decode(data, &info));
	info.has_fec = false; /* the field says nothing then */
	wire_port_ext_encode(&info, data);
	assert_true(wire_port_ext_decode(data, &info));
	assert_false(info.has_fec);
}

static void any_bytes_come_back_as_they_were_read(void **state)
{
	uint64_t seed = 7;
	uint8_t data[64], once[64];
	struct wire_port_ext info, again;

	for (unsigned round = 0; round < 2000; round++) {
		for (unsigned i = 0; i < sizeof(data); i++)
			data[i] = (uint8_t)random_next(&seed);
		wire_port_ext_decode(data, &info);
		wire_port_ext_encode(&info, once);
		wire_port_ext_decode(once, &again);
		assert_memory_equal(&info, &again, sizeof(info));
		assert_memory_equal(once + 4, data + 4, 18);
	}
}

static void each_speed_has_its_words_and_each_mode_its_name(void **state)
{
	assert_int_equal(wire_port_ext_speed(TOPO_EDR), WIRE_EXT_EDR);
	assert_int_equal(wire_port_ext_speed(TOPO_NDR), WIRE_EXT_NDR);
	assert_int_equal(wire_port_ext_speed(TOPO_XDR), WIRE_EXT_SPEEDS);
	assert_int_equal(wire_port_ext_speed(TOPO_QDR), WIRE_EXT_SPEEDS);
	assert_string_equal(wire_fec_mode_name(0), "none");
	assert_string_equal(wire_fec_mode_name(4), "rs-544-514");
	assert_null(wire_fec_mode_name(5));
}

static void capability_mask_2_counts_where_it_is_announced(void **state)
{
	struct wire_port_info info = { .capmask = WIRE_CAP_HAS_CAPMASK2,
				       .capmask2 = WIRE_CAP2_PORT_INFO_EXT };
	uint8_t data[64];

	wire_port_info_encode(&info, data);
	assert_int_equal(wire_port_info_capmask2(data), WIRE_CAP2_PORT_INFO_EXT);
	info.capmask = 0;
	wire_port_info_encode(&info, data);
	assert_int_equal(wire_port_info_capmask2(data), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_lie_where_opensm_has_them),
		cmocka_unit_test(a_number_that_no_mode_has_is_refused),
		cmocka_unit_test(any_bytes_come_back_as_they_were_read),
		cmocka_unit_test(each_speed_has_its_words_and_each_mode_its_name),
		cmocka_unit_test(capability_mask_2_counts_where_it_is_announced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
