/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Ports and links of the double: what a port is after power-on, and the link state machine (IBA
 * 7.2.7, 14.2.5.6).
 *
 * A link is up when its cable is in and neither end is disabled; both ends then go Down -> Init by
 * themselves. Init -> Armed and Armed -> Active are the subnet manager's, each end on its own, but
 * the other end may not lag more than one state behind. A switch raises PortStateChange when a link
 * came up or went down, not for what the manager did, and sends trap 128.
 */
#include <stdlib.h>
#include <string.h>
#include "tests/fabric/double_own.h"
#include "topology/base/mem.h"

#define STATUS_BAD_FIELD 0x1c /* IBA 13.4.7: a field is invalid */

struct speed_code {
	uint8_t base, ext, ext2;
};

static struct speed_code speed_code(uint8_t speed)
{
	switch (speed) {
	case TOPO_SDR:
		return (struct speed_code){ .base = 1 };
	case TOPO_DDR:
		return (struct speed_code){ .base = 2 };
	case TOPO_FDR:
		return (struct speed_code){ .base = 4, .ext = 1 };
	case TOPO_EDR:
		return (struct speed_code){ .base = 4, .ext = 2 };
	case TOPO_HDR:
		return (struct speed_code){ .base = 4, .ext = 4 };
	case TOPO_NDR:
		return (struct speed_code){ .base = 4, .ext = 8 };
	case TOPO_XDR:
		return (struct speed_code){ .base = 4, .ext2 = 1 };
	default:
		return (struct speed_code){ .base = 4 };
	}
}

static uint8_t width_code(uint8_t lanes)
{
	switch (lanes) {
	case 1:
		return 1;
	case 2:
		return 16;
	case 8:
		return 4;
	case 12:
		return 8;
	default:
		return 2;
	}
}

/* What a switch can do is said at its port 0 for all of its cables. */
static uint8_t fastest(const struct dport *port)
{
	const struct dnode *node = port->node;
	uint8_t speed = TOPO_SPEED_NONE;

	if (!is_switch(node))
		return port->speed;
	for (unsigned n = 1; n <= node->ni.nports; n++)
		if (node->ports[n].peer && node->ports[n].speed > speed)
			speed = node->ports[n].speed;
	return speed;
}

static void port_capabilities(struct dport *port)
{
	const struct dnode *node = port->node;
	struct wire_port_info *info = &port->info;
	uint8_t speed;

	info->capmask = port->capmask & ~WIRE_CAP_IS_SM;
	if (!is_switch(port->node))
		info->capmask |= WIRE_CAP_REREGISTER;
	if (is_switch(node) && port->num)
		return;
	speed = fastest(port);
	if (speed >= TOPO_FDR)
		info->capmask |= WIRE_CAP_EXT_SPEEDS;
	if (speed >= TOPO_HDR)
		info->capmask2 |= WIRE_CAP2_PORT_INFO_EXT | WIRE_CAP2_2X | WIRE_CAP2_HDR;
	if (speed >= TOPO_NDR)
		info->capmask2 |= WIRE_CAP2_NDR;
	if (speed >= TOPO_XDR)
		info->capmask2 |= WIRE_CAP2_EXT_SPEEDS2 | WIRE_CAP2_XDR;
	if (node->state_table)
		info->capmask2 |= WIRE_CAP2_STATE_TABLE;
	if (info->capmask2)
		info->capmask |= WIRE_CAP_HAS_CAPMASK2;
}

/* Codes of supported speeds are masks: all up to the fastest. */
static void port_speeds(struct dport *port)
{
	struct speed_code code = speed_code(port->speed);
	struct wire_port_info *info = &port->info;

	info->speed_supported = info->speed_enabled = (uint8_t)(code.base * 2 - 1);
	info->speed_ext_supported = code.ext2 ? 0xf : code.ext ? (uint8_t)(code.ext * 2 - 1) : 0;
	info->speed_ext_enabled = info->speed_ext_supported;
	info->speed_ext2_supported = info->speed_ext2_enabled = code.ext2;
	info->width_supported = (uint8_t)(width_code(port->width) | (port->width == 2 ? 1 : 3));
	if (port->speed >= TOPO_HDR)
		info->width_supported |= width_code(2);
	info->width_enabled = info->width_supported;
}

/* SL n on VL n, and no weights. */
static void port_lanes_power_on(const struct double_fabric *d, struct dport *port)
{
	unsigned inputs = is_switch(port->node) ? port->node->ni.nports + 1u : 1;

	port->info.arb_low_cap = port->info.arb_high_cap = d->conf.arb_cap;
	if (d->conf.arb_cap)
		port->info.capmask |= WIRE_CAP_SL_MAP;
	memset(port->arb, 0, sizeof(port->arb));
	free(port->sl2vl);
	port->sl2vl = mem_alloc(inputs, sizeof(*port->sl2vl));
	for (unsigned in = 0; in < inputs; in++)
		for (unsigned i = 0; i < 8; i++)
			port->sl2vl[in][i] = (uint8_t)(i << 5 | (2 * i + 1));
}

void port_power_on(struct double_fabric *d, struct dport *port)
{
	struct dnode *node = port->node;

	memset(port->sl_masks, 0, sizeof(port->sl_masks));
	port->info = (struct wire_port_info){
		.state = TOPO_DOWN,
		.phys_state = PHYS_POLLING,
		.down_default = 2,
		.vl_cap = 4,
		.op_vls = 1,
		.mtu_cap = 5,
		.neighbor_mtu = 4,
		.guid_cap = !is_switch(node) ? DOUBLE_ALIASES
			    : port->num	     ? 0
					     : 1,
		.resp_time = 8,
		.lid = port->flash_lid,
	};
	port_speeds(port);
	port_capabilities(port);
	if (is_switch(node) && !port->num) {
		port->info.state = TOPO_ACTIVE; /* a base port 0 has no link */
		port->info.phys_state = PHYS_LINK_UP;
	}
	port->disabled = false;
	port->fec_mode = DOUBLE_FEC_USUAL;
	free(port->pkeys);
	port->pkeys = NULL;
	port_lanes_power_on(d, port);
}

static void state_changed(struct double_fabric *d, struct dport *port)
{
	struct dnode *node = port->node;
	uint16_t lid = node->ports[0].info.lid;
	struct wire_notice notice = {
		.generic = true,
		.type = 1, /* urgent */
		.producer = TOPO_SWITCH,
		.trap = 128,
		.lid = lid,
	};

	if (!is_switch(node) || node->off)
		return;
	node->si.port_state_change = true;
	net_trap(d, node, &notice);
}

/* The port can, and may: each speed is a bit of one of three masks. */
static bool speed_allowed(const struct dport *port, uint8_t speed)
{
	const struct wire_port_info *info = &port->info;
	struct speed_code code = speed_code(speed);

	if (speed > port->speed)
		return false;
	if (code.ext2)
		return info->speed_ext2_enabled & code.ext2;
	return code.ext ? info->speed_ext_enabled & code.ext : info->speed_enabled & code.base;
}

/* The fastest that both ends and the cable can; a link always comes up, at SDR if need be. */
static uint8_t speed_trained(const struct dport *a, const struct dport *b)
{
	uint8_t speed = a->cable_speed ? a->cable_speed : TOPO_XDR;

	while (speed > TOPO_SDR && !(speed_allowed(a, speed) && speed_allowed(b, speed)))
		speed--;
	return speed;
}

static uint8_t lanes_trained(const struct dport *a, const struct dport *b)
{
	static const uint8_t lanes[] = { 12, 8, 4, 2 };
	uint8_t both = a->info.width_enabled & b->info.width_enabled;

	for (size_t i = 0; i < sizeof(lanes); i++)
		if (both & width_code(lanes[i]) &&
		    (!a->cable_lanes || lanes[i] <= a->cable_lanes) && lanes[i] <= a->width &&
		    lanes[i] <= b->width)
			return lanes[i];
	return 1;
}

/* TOPO_SPEED_NONE, 0 lanes: what it trains to. */
static void port_runs_at(struct dport *port, uint8_t speed, uint8_t lanes)
{
	struct speed_code code;

	port->trained = speed ? speed : speed_trained(port, port->peer);
	code = speed_code(port->trained);
	port->info.speed_active = code.base;
	port->info.speed_ext_active = code.ext;
	port->info.speed_ext2_active = code.ext2;
	port->info.width_active = width_code(lanes ? lanes : lanes_trained(port, port->peer));
}

static void port_up(struct dport *port)
{
	port->training = false;
	port->up_us = loop_now_us(port->node->d->loop);
	port->info.state = TOPO_INIT;
	port->info.phys_state = PHYS_LINK_UP;
	port_runs_at(port, TOPO_SPEED_NONE, 0);
}

static void port_down(struct dport *port)
{
	port->training = false;
	if (port->trains)
		loop_timer_stop(port->trains);
	port->info.state = TOPO_DOWN;
	port->info.phys_state = port->disabled ? PHYS_DISABLED : PHYS_POLLING;
}

static void link_becomes(struct double_fabric *d, struct dport *port, bool up)
{
	ways_changed(d);
	d->changed_us = loop_clock_us(d->loop);
	(up ? port_up : port_down)(port);
	(up ? port_up : port_down)(port->peer);
	state_changed(d, port);
	state_changed(d, port->peer);
}

static void trained_cb(void *arg)
{
	struct dport *port = arg;

	link_becomes(port->node->d, port, true);
}

static void link_trains(struct double_fabric *d, struct dport *port)
{
	port->training = port->peer->training = true;
	port->info.phys_state = port->peer->info.phys_state = PHYS_TRAINING;
	if (!port->trains)
		port->trains = loop_timer_new(d->loop, trained_cb, port);
	loop_timer_set(port->trains, double_span(d, d->times.train_us));
}

void link_update(struct double_fabric *d, struct dport *port)
{
	bool up = port->info.phys_state == PHYS_LINK_UP;
	bool wanted;

	if (!port->peer)
		return;
	wanted = !port->cut && !port->disabled && !port->peer->disabled && !port->node->off &&
		 !port->peer->node->off;
	if ((up || port->training) == wanted)
		return;
	if (port->training) {
		port_down(port); /* it was not up: nobody is told */
		port_down(port->peer);
	} else if (wanted && d->times.train_us[1]) {
		link_trains(d, port);
	} else {
		link_becomes(d, port, wanted);
	}
}

void double_degrade(struct double_fabric *d, guid_t node, unsigned num, enum topo_speed speed,
		    unsigned lanes)
{
	struct dport *port = double_port(d, node, num);

	port_runs_at(port, (uint8_t)speed, (uint8_t)lanes);
	port_runs_at(port->peer, (uint8_t)speed, (uint8_t)lanes);
	ways_changed(d);
}

void link_drop(struct dport *port)
{
	if (!port->peer || port->info.phys_state != PHYS_LINK_UP)
		return;
	port_down(port);
	port_down(port->peer);
}

uint8_t port_set_state(struct double_fabric *d, struct dport *port, uint8_t state)
{
	struct wire_port_info *info = &port->info;
	uint8_t peer = port->peer ? port->peer->info.state : TOPO_DOWN;

	if (state == TOPO_NO_STATE || (is_switch(port->node) && !port->num))
		return 0;
	if (state == TOPO_DOWN) {
		link_drop(port);
		link_update(d, port);
		return 0;
	}
	if (state < TOPO_ARMED || state > TOPO_ACTIVE)
		return STATUS_BAD_FIELD;
	if (state == info->state)
		return 0;
	if (state != info->state + 1 || peer < state - 1)
		return STATUS_BAD_FIELD;
	if (state == TOPO_ACTIVE && port->active != DOUBLE_TAKES_ACTIVE)
		return port->active == DOUBLE_FEIGNS_ACTIVE ? 0 : STATUS_BAD_FIELD;
	info->state = state;
	return 0;
}
