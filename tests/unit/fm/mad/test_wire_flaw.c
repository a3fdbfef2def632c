/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What no device can answer, field by field; and what devices in use do answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "fm/mad/wire.h"

static const struct wire_node_info ca = {
	.type = TOPO_CA, .nports = 1, .local_port = 1, .node_guid = 5, .port_guid = 6
};
static const struct wire_node_info sw = {
	.type = TOPO_SWITCH, .nports = 65, .local_port = 65, .node_guid = 5, .port_guid = 5
};

static void assert_flaw(const char *flaw, const char *expected)
{
	if (expected) {
		assert_non_null(flaw);
		assert_string_equal(flaw, expected);
	} else {
		assert_null(flaw);
	}
}

static void assert_node(struct wire_node_info info, const char *expected)
{
	uint8_t data[64];

	wire_node_info_encode(&info, data);
	assert_flaw(wire_flaw(WIRE_NODE_INFO, 0, false, data), expected);
}

#define NODE(base, field, value, expected)                                                         \
	do {                                                                                       \
		struct wire_node_info changed = base;                                              \
                                                                                                   \
		changed.field = value;                                                             \
		assert_node(changed, expected);                                                    \
	} while (0)

static void node_info_is_that_of_a_node(void **state)
{
	assert_node(ca, NULL);
	assert_node(sw, NULL);
	NODE(ca, type, TOPO_ROUTER, NULL);
	NODE(sw, local_port, 0, NULL);
	NODE(sw, port_guid, 0, NULL);
	NODE(sw, nports, 254, NULL);
	NODE(ca, type, 0, "NodeType");
	NODE(ca, type, 4, "NodeType");
	NODE(ca, node_guid, 0, "NodeGUID");
	NODE(ca, node_guid, UINT64_MAX, "NodeGUID");
	NODE(ca, port_guid, 0, "PortGUID");
	NODE(sw, port_guid, UINT64_MAX, "PortGUID");
	NODE(sw, nports, 0, "NumPorts");
	NODE(sw, nports, 255, "NumPorts");
	NODE(sw, local_port, 66, "LocalPortNum");
	NODE(ca, local_port, 0, "LocalPortNum");
}

static void assert_port(struct wire_port_info info, unsigned port, bool set, const char *expected)
{
	uint8_t data[64];

	wire_port_info_encode(&info, data);
	assert_flaw(wire_flaw(WIRE_PORT_INFO, port | WIRE_MOD_EXT_SPEEDS, set, data), expected);
}

static struct wire_port_info active(void)
{
	return (struct wire_port_info){ .state = TOPO_ACTIVE,
					.phys_state = 5,
					.width_active = 2,
					.speed_active = 4,
					.mtu_cap = 5 };
}

#define PORT(field, value, port, set, expected)                                                    \
	do {                                                                                       \
		struct wire_port_info changed = active();                                          \
                                                                                                   \
		changed.field = value;                                                             \
		assert_port(changed, port, set, expected);                                         \
	} while (0)

static void port_info_has_a_state_that_ports_have(void **state)
{
	for (uint8_t code = TOPO_DOWN; code <= TOPO_ACTIVE; code++)
		PORT(state, code, 1, false, NULL);
	PORT(state, 0, 1, false, "PortState");
	PORT(state, 0, 0, false, NULL); /* a switch's own port without a link layer */
	PORT(state, 0, 1, true, NULL);	/* a Set that is repeated: no change */
	PORT(state, 5, 1, false, "PortState");
	PORT(state, 15, 0, false, "PortState");
	PORT(state, 15, 1, true, "PortState");
	for (uint8_t code = 0; code <= 7; code++)
		PORT(phys_state, code, 1, false, NULL);
	PORT(phys_state, 8, 1, false, "PortPhysicalState");
	PORT(phys_state, 15, 0, false, "PortPhysicalState");
}

/* 1x to 12x and 2x; SDR to QDR and FDR10's bit; FDR to NDR; XDR, which has none of these. */
static void port_info_has_a_width_and_speeds_that_links_have(void **state)
{
	for (unsigned bit = 1; bit <= 16; bit *= 2)
		PORT(width_active, (uint8_t)bit, 1, false, NULL);
	for (unsigned bit = 1; bit <= 8; bit *= 2) {
		PORT(speed_active, (uint8_t)bit, 1, false, NULL);
		PORT(speed_ext_active, (uint8_t)bit, 1, false, NULL);
	}
	PORT(width_active, 0, 1, false, NULL);
	PORT(speed_active, 0, 1, false, NULL);
	PORT(speed_ext2_active, 1, 1, false, NULL);
	PORT(width_active, 3, 1, false, "LinkWidthActive");
	PORT(width_active, 32, 1, false, "LinkWidthActive");
	PORT(speed_active, 5, 1, false, "LinkSpeedActive");
	PORT(speed_ext_active, 3, 1, false, "LinkSpeedExtActive");
	PORT(width_active, 0xff, 0, false, NULL);
	PORT(speed_active, 0xf, 0, false, NULL);
}

static void links_that_are_down_have_any_width(void **state)
{
	struct wire_port_info down = { .state = TOPO_DOWN,
				       .width_active = 0xff,
				       .speed_active = 7 };

	assert_port(down, 1, false, NULL);
	down.state = TOPO_INIT;
	assert_port(down, 1, false, "LinkWidthActive");
}

static void zeros_and_ones_are_no_answer(void **state)
{
	static const uint16_t attributes[] = { WIRE_NODE_INFO, WIRE_PORT_INFO, WIRE_SWITCH_INFO };
	uint8_t zeros[64] = { 0 }, ones[64];

	memset(ones, 0xff, sizeof(ones));
	for (unsigned i = 0; i < sizeof(attributes) / sizeof(*attributes); i++) {
		assert_non_null(wire_flaw(attributes[i], 0, false, zeros));
		assert_non_null(wire_flaw(attributes[i], 0, false, ones));
	}
	assert_null(wire_flaw(WIRE_SWITCH_INFO, 0, true, zeros));
	assert_null(wire_flaw(WIRE_PORT_INFO, 0, true, zeros));
	assert_non_null(wire_flaw(WIRE_SM_INFO, 0, false, ones));
	assert_null(wire_flaw(WIRE_NODE_DESC, 0, false, ones));
	assert_null(wire_flaw(WIRE_PORT_STATE_TABLE, 0, false, zeros));
}

static void switch_has_no_more_unicast_lids_than_there_are(void **state)
{
	struct wire_switch_info info = { .lft_cap = 0xc000, .mft_cap = 0xffff, .lft_top = 0xffff };
	uint8_t data[64];

	wire_switch_info_encode(&info, data);
	assert_null(wire_flaw(WIRE_SWITCH_INFO, 0, false, data));
	info.lft_cap++;
	wire_switch_info_encode(&info, data);
	assert_string_equal(wire_flaw(WIRE_SWITCH_INFO, 0, false, data), "LinearFDBCap");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(node_info_is_that_of_a_node),
		cmocka_unit_test(port_info_has_a_state_that_ports_have),
		cmocka_unit_test(port_info_has_a_width_and_speeds_that_links_have),
		cmocka_unit_test(links_that_are_down_have_any_width),
		cmocka_unit_test(zeros_and_ones_are_no_answer),
		cmocka_unit_test(switch_has_no_more_unicast_lids_than_there_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
