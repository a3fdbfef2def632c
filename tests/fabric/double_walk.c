/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Ways through the double: over cables, and by LID through the tables and links as they are at that
 * moment.
 *
 * A CA sends out of its port, a switch by its table up to LinearFDBTop. SMPs pass links that are
 * merely up and know no lanes and partitions (IBA 10.9.2, 7.6.3); all else passes Active links
 * alone, by the lane that SL2VL names for its SL, and switches may look at its P_Key.
 */
#include <string.h>
#include "fm/mad/wire_optional.h"
#include "tests/fabric/double_own.h"

#define PKEY_BASE 0x7fff
#define PKEY_FULL 0x8000
#define VL_MGMT	  15

const char *walk_end_text(enum walk_end end)
{
	static const char *const texts[WALK_ENDS] = {
		[WALK_ARRIVES] = "arrives",
		[WALK_NO_ENTRY] = "the table has no entry for it",
		[WALK_NOT_BY_TABLE] = "the switch does not forward by its table (adaptive routing)",
		[WALK_LOOP] = "goes around in a loop",
		[WALK_DEAD_LINK] = "the link is down",
		[WALK_NOT_ACTIVE] = "the link is not Active",
		[WALK_NO_LANE] = "its SL has no lane here",
		[WALK_PKEY_OUT] = "the port lets its P_Key not out",
		[WALK_PKEY_IN] = "the port lets its P_Key not in",
		[WALK_PKEY_END] = "the end has no such P_Key",
		[WALK_WRONG_HOST] = "comes to a host that it is not for",
		[WALK_LOST] = "is lost on the cable",
		[WALK_NO_PORT] = "there is no such port",
	};

	return texts[end];
}

/* ---- P_Keys and lanes ------------------------------------------------------------------------ */

uint16_t port_pkey(const struct dport *port, unsigned index)
{
	if (!port->pkeys)
		return index ? 0 : 0xffff;
	return index < double_pkey_cap(port) ? port->pkeys[index] : 0;
}

int pkey_find(const struct dport *port, uint16_t pkey)
{
	unsigned cap = double_pkey_cap(port);
	bool passes_on = is_switch(port->node) && port->num;

	if (!(pkey & PKEY_BASE))
		return -1;
	for (unsigned i = 0; i < cap; i++) {
		uint16_t own = port_pkey(port, i);

		if ((own & PKEY_BASE) == (pkey & PKEY_BASE) &&
		    (passes_on || (own | pkey) & PKEY_FULL))
			return (int)i;
		if (!port->pkeys)
			break;
	}
	return -1;
}

bool pkey_passes(const struct dport *port, uint16_t pkey)
{
	return pkey_find(port, pkey) >= 0;
}

/* VLs that are in operation, by OperationalVLs' code (IBA 14.2.5.6). */
static unsigned lanes_of(const struct dport *port)
{
	static const uint8_t lanes[] = { 1, 1, 2, 4, 8, 15 };

	return port->info.op_vls < sizeof(lanes) ? lanes[port->info.op_vls] : 15;
}

/*
 * `in`: where it came into the switch, 0 = from inside. Ports without SL mapping have all SLs on VL
 * 0.
 */
static bool has_lane(const struct double_fabric *d, const struct dport *out, unsigned in,
		     uint8_t sl)
{
	const uint8_t *map;
	unsigned vl;

	if (!d->conf.arb_cap || !out->sl2vl)
		return true;
	map = out->sl2vl[is_switch(out->node) ? in : 0];
	vl = sl % 2 ? map[sl / 2] & 0xf : map[sl / 2] >> 4;
	return vl != VL_MGMT && vl < lanes_of(out);
}

/* ---- One cable ------------------------------------------------------------------------------- */

static bool stop(struct double_fabric *d, const struct packet *packet, struct walk *walk,
		 enum walk_end end)
{
	uint64_t *const counts[WALK_ENDS] = {
		[WALK_NO_ENTRY] = &d->drops.no_entry,	[WALK_NOT_BY_TABLE] = &d->drops.no_entry,
		[WALK_LOOP] = &d->drops.loop,		[WALK_DEAD_LINK] = &d->drops.dead_link,
		[WALK_NOT_ACTIVE] = &d->drops.inactive, [WALK_NO_LANE] = &d->drops.lane,
		[WALK_PKEY_OUT] = &d->drops.pkey,	[WALK_PKEY_IN] = &d->drops.pkey,
		[WALK_PKEY_END] = &d->drops.pkey,	[WALK_WRONG_HOST] = NULL,
		[WALK_LOST] = &d->drops.lost,		[WALK_NO_PORT] = &d->drops.bad_route,
	};

	walk->end = end;
	if (counts[end] && !packet->look)
		++*counts[end];
	return false;
}

/* What a cable with faults does; false = it loses it. */
static bool cable_faults(struct double_fabric *d, const struct dport *out, struct walk *walk)
{
	const struct dfault *faults = out->out;

	if (double_chance(d, faults[DOUBLE_LOSE].per_mille))
		return false;
	if (double_chance(d, faults[DOUBLE_TWICE].per_mille))
		walk->twice = true;
	if (double_chance(d, faults[DOUBLE_REORDER].per_mille))
		walk->late_us += faults[DOUBLE_REORDER].value;
	if (double_chance(d, faults[DOUBLE_LATE].per_mille))
		walk->late_us += faults[DOUBLE_LATE].value;
	return true;
}

bool walk_cross(struct double_fabric *d, struct dport *out, const struct packet *packet,
		struct walk *walk)
{
	struct dport *in = out->peer;

	walk->at = out;
	if (!in || out->info.phys_state != PHYS_LINK_UP)
		return stop(d, packet, walk, WALK_DEAD_LINK);
	if (d->strict && packet->data && !packet->look && out->info.state == TOPO_ACTIVE &&
	    in->info.state == TOPO_ARMED)
		in->info.state = TOPO_ACTIVE;
	if (packet->data && (out->info.state != TOPO_ACTIVE || in->info.state != TOPO_ACTIVE))
		return stop(d, packet, walk, WALK_NOT_ACTIVE);
	if (out->odd && !packet->look && !cable_faults(d, out, walk))
		return stop(d, packet, walk, WALK_LOST);
	walk->at = in;
	return true;
}

/* ---- By LID ---------------------------------------------------------------------------------- */

static bool lid_is_mine(const struct dport *port, uint16_t lid)
{
	return port->info.lid && lid >> port->info.lmc == port->info.lid >> port->info.lmc;
}

/* Of the ports that the group leaves the choice of, the least loaded one. */
static enum walk_end group_port(struct double_fabric *d, const struct dnode *sw,
				const struct packet *packet, unsigned *num)
{
	struct double_ports exits;

	adaptive_exits(sw, packet->dlid, &exits);
	*num = double_ports_next(&exits, 0);
	if (*num > sw->ni.nports)
		return WALK_NO_ENTRY;
	for (unsigned i = *num; i < 256; i = double_ports_next(&exits, i + 1)) {
		double here = load_offered(d, &sw->ports[i]);
		double best = load_offered(d, &sw->ports[*num]);

		if (here < best || (here <= best && sw->ar->sent[i] < sw->ar->sent[*num]))
			*num = i;
	}
	sw->ar->sent[*num] += !packet->look;
	return WALK_ARRIVES;
}

void walk_exits(const struct dnode *sw, uint16_t lid, struct double_ports *exits)
{
	unsigned num = LFT_NONE;

	*exits = (struct double_ports){ 0 };
	if (adaptive_forwards(sw))
		adaptive_exits(sw, lid, exits);
	else if (!adaptive_hides_lft(sw) && !wire_private_lft_on(sw->private_lft) &&
		 lid <= sw->si.lft_top && lid < sw->lft_size)
		num = sw->lft[lid];
	if (num != LFT_NONE)
		double_ports_add(exits, num);
}

/* The port a switch sends a packet out of, or why there is none. */
static enum walk_end table_port(struct double_fabric *d, const struct dnode *sw,
				const struct packet *packet, unsigned *num)
{
	uint16_t dlid = packet->dlid;

	if (adaptive_forwards(sw))
		return group_port(d, sw, packet, num);
	if (adaptive_hides_lft(sw) || wire_private_lft_on(sw->private_lft))
		return WALK_NOT_BY_TABLE;
	if (dlid > sw->si.lft_top || dlid >= sw->lft_size)
		return WALK_NO_ENTRY;
	*num = sw->lft[dlid];
	return *num == 0 || *num == LFT_NONE || *num > sw->ni.nports ? WALK_NO_ENTRY : WALK_ARRIVES;
}

/* A port refuses a P_Key: it counts, and a switch tells of it. */
static void pkey_refused(struct double_fabric *d, struct dport *port, const struct packet *packet,
			 enum walk_end end)
{
	if (packet->look)
		return;
	if (end != WALK_PKEY_END)
		perf_add(port, end == WALK_PKEY_IN ? PERF_RCV_CONSTRAINT : PERF_XMIT_CONSTRAINT, 1);
	port_bad_pkey(d, port);
}

/* Out of `out` and into its peer, as data does. */
static bool cross_data(struct double_fabric *d, struct dport *out, unsigned in,
		       const struct packet *packet, struct walk *walk)
{
	struct dport *next = out->peer;

	walk->at = out;
	if (packet->bare)
		return walk_cross(d, out, packet, walk);
	if (is_switch(out->node) && out->info.pkey_enforce_out && !pkey_passes(out, packet->pkey)) {
		pkey_refused(d, out, packet, WALK_PKEY_OUT);
		return stop(d, packet, walk, WALK_PKEY_OUT);
	}
	if (!has_lane(d, out, in, packet->sl)) {
		if (!packet->look)
			perf_add(out, PERF_XMIT_DISCARDS, 1);
		return stop(d, packet, walk, WALK_NO_LANE);
	}
	if (!walk_cross(d, out, packet, walk))
		return false;
	if (is_switch(next->node) && next->info.pkey_enforce_in &&
	    !pkey_passes(next, packet->pkey)) {
		pkey_refused(d, next, packet, WALK_PKEY_IN);
		return stop(d, packet, walk, WALK_PKEY_IN);
	}
	return true;
}

static bool arrives(struct double_fabric *d, struct dport *end, const struct packet *packet,
		    struct walk *walk)
{
	walk->at = end;
	walk->end = WALK_ARRIVES;
	if (!packet->data || packet->bare || pkey_passes(end, packet->pkey))
		return true;
	pkey_refused(d, end, packet, WALK_PKEY_END);
	return stop(d, packet, walk, WALK_PKEY_END);
}

bool walk_lid(struct double_fabric *d, struct dport *from, const struct packet *packet,
	      struct walk *walk)
{
	struct dport *at = from;

	for (walk->hops = 0; walk->hops <= HOPS_MAX; walk->hops++) {
		struct dnode *node = at->node;
		unsigned num = at->num, in = walk->hops ? at->num : 0;
		enum walk_end end;

		walk->at = at;
		if (is_switch(node)) {
			if (lid_is_mine(&node->ports[0], packet->dlid))
				return arrives(d, &node->ports[0], packet, walk);
			end = table_port(d, node, packet, &num);
			if (end != WALK_ARRIVES)
				return stop(d, packet, walk, end);
		} else if (lid_is_mine(at, packet->dlid)) {
			return arrives(d, at, packet, walk);
		} else if (walk->hops) {
			return stop(d, packet, walk, WALK_WRONG_HOST);
		}
		at = &node->ports[num];
		if (walk->trail)
			walk->trail[walk->hops] = at;
		if (packet->data ? !cross_data(d, at, in, packet, walk)
				 : !walk_cross(d, at, packet, walk))
			return false;
		at = at->peer;
	}
	return stop(d, packet, walk, WALK_LOOP);
}
