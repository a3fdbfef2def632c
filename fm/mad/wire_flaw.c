/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/mad/wire_flaw.h"
#include "fm/mad/wire.h"

#define ONES	      UINT64_MAX
#define LFT_CAP_MOST  0xc000 /* unicast LIDs, and 0 */
#define STATE_MOST    4	     /* Active */
#define PHYS_MOST     7	     /* Phy Test */
#define WIDTH_MOST    0x10   /* 2x; the others are 1x, 4x, 8x, 12x */
#define SM_STATE_MOST 3

enum { /* bytes of PortInfo (IBA 14.2.5.6) */
       PORT_WIDTH = 31,
       PORT_STATE,
       PORT_PHYS,
       PORT_SPEED = 35,
       PORT_SPEED_EXT = 62,
};

static bool is_one_bit(unsigned value)
{
	return (value & (value - 1)) == 0; /* or none */
}

static bool is_all_zero(const uint8_t data[64])
{
	unsigned any = 0;

	for (unsigned i = 0; i < 64; i++)
		any |= data[i];
	return !any;
}

const char *wire_node_info_flaw(const struct wire_node_info *info)
{
	bool is_switch = info->type == TOPO_SWITCH;

	if (info->type < TOPO_CA || info->type > TOPO_ROUTER)
		return "NodeType";
	if (!info->node_guid || info->node_guid == ONES)
		return "NodeGUID";
	if ((!info->port_guid && !is_switch) || info->port_guid == ONES)
		return "PortGUID";
	if (!info->nports || info->nports == UINT8_MAX)
		return "NumPorts";
	if (info->local_port > info->nports || (!info->local_port && !is_switch))
		return "LocalPortNum";
	return NULL;
}

static const char *node_info_flaw(const uint8_t data[64])
{
	struct wire_node_info info;

	wire_node_info_decode(data, &info);
	return wire_node_info_flaw(&info);
}

static const char *link_flaw(const uint8_t data[64])
{
	if (data[PORT_WIDTH] > WIDTH_MOST || !is_one_bit(data[PORT_WIDTH]))
		return "LinkWidthActive";
	if (!is_one_bit(data[PORT_SPEED] >> 4))
		return "LinkSpeedActive";
	return is_one_bit(data[PORT_SPEED_EXT] >> 4) ? NULL : "LinkSpeedExtActive";
}

static const char *port_info_flaw(unsigned port, bool set, const uint8_t data[64])
{
	uint8_t state = data[PORT_STATE] & 0xf;

	if (state > STATE_MOST || (!state && port && !set))
		return "PortState";
	if (data[PORT_PHYS] >> 4 > PHYS_MOST)
		return "PortPhysicalState";
	if (port && state >= TOPO_INIT)
		return link_flaw(data);
	return set || !is_all_zero(data) ? NULL : "all fields are 0";
}

static const char *switch_info_flaw(bool set, const uint8_t data[64])
{
	struct wire_switch_info info;

	wire_switch_info_decode(data, &info);
	if (info.lft_cap > LFT_CAP_MOST)
		return "LinearFDBCap";
	return set || !is_all_zero(data) ? NULL : "all fields are 0";
}

static const char *sm_info_flaw(const uint8_t data[64])
{
	struct wire_sm_info info;

	wire_sm_info_decode(data, &info);
	return info.state > SM_STATE_MOST ? "SMState" : NULL;
}

const char *wire_flaw(uint16_t attr_id, uint32_t attr_mod, bool set, const uint8_t data[64])
{
	switch (attr_id) {
	case WIRE_NODE_INFO:
		return node_info_flaw(data);
	case WIRE_PORT_INFO:
		return port_info_flaw(attr_mod & UINT8_MAX, set, data);
	case WIRE_SWITCH_INFO:
		return switch_info_flaw(set, data);
	case WIRE_SM_INFO:
		return sm_info_flaw(data);
	}
	return NULL;
}
