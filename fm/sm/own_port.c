/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The own port's state machine as a table: state x event -> next state and act.
 *
 * A manager whose port is not in the fabric is nobody's master: what it would find is its own HCA.
 * One whose link was down, however briefly, may be plugged in elsewhere: the paths it knows may
 * lead to other switches, so it begins anew, by Gets, from DISCOVERING. The link counts as bounced
 * when the logical state fell: it is only ever raised by a manager, to Active, and falls with the
 * link (IBA 7.2.7). A neighbour that only ceases to answer is no reason to leave: a switch whose
 * agent hangs forwards still.
 */
#include "fm/sm/own_port.h"
#include "topology/topo.h"

struct step {
	enum own_port_state next;
	enum own_port_action act;
};

#define STEP(state, do)                                                                            \
	{                                                                                          \
		OWN_PORT_##state, OWN_PORT_##do                                                    \
	}

/* Events that are not listed change nothing. */
static const struct step table[OWN_PORT_STATES][OWN_PORT_EVENTS] = {
	[OWN_PORT_NO_DEVICE] = {
		[OWN_PORT_OPENED] = STEP(NO_LINK, READ),
		[OWN_PORT_REFUSED] = STEP(BUSY, WAIT),
	},
	[OWN_PORT_BUSY] = {
		[OWN_PORT_OPENED] = STEP(NO_LINK, READ),
		[OWN_PORT_LOST] = STEP(NO_DEVICE, WAIT),
	},
	[OWN_PORT_NO_LINK] = {
		[OWN_PORT_LOST] = STEP(NO_DEVICE, WAIT),
		[OWN_PORT_REFUSED] = STEP(BUSY, WAIT),
		[OWN_PORT_UP] = STEP(SILENT, SWEEP),
		[OWN_PORT_BOUNCED] = STEP(SILENT, SWEEP),
		[OWN_PORT_CHANGED] = STEP(SILENT, SWEEP),
	},
	[OWN_PORT_SILENT] = {
		[OWN_PORT_LOST] = STEP(NO_DEVICE, LEAVE),
		[OWN_PORT_REFUSED] = STEP(BUSY, LEAVE),
		[OWN_PORT_DOWN] = STEP(NO_LINK, LEAVE),
		[OWN_PORT_UP] = STEP(SILENT, PROBE),
		[OWN_PORT_BOUNCED] = STEP(SILENT, BEGIN_AGAIN),
		[OWN_PORT_CHANGED] = STEP(SILENT, PROBE),
		[OWN_PORT_MET] = STEP(IN_FABRIC, WAIT),
		[OWN_PORT_HEARD] = STEP(SILENT, SWEEP),
		[OWN_PORT_OTHER] = STEP(SILENT, SWEEP),
		[OWN_PORT_STRANGE] = STEP(SILENT, PROBE),
	},
	[OWN_PORT_IN_FABRIC] = {
		[OWN_PORT_LOST] = STEP(NO_DEVICE, LEAVE),
		[OWN_PORT_REFUSED] = STEP(BUSY, LEAVE),
		[OWN_PORT_DOWN] = STEP(NO_LINK, LEAVE),
		[OWN_PORT_BOUNCED] = STEP(SILENT, BEGIN_AGAIN),
		[OWN_PORT_CHANGED] = STEP(IN_FABRIC, PROBE),
		[OWN_PORT_OTHER] = STEP(SILENT, BEGIN_AGAIN),
		[OWN_PORT_STRANGE] = STEP(IN_FABRIC, PROBE),
	},
};

const char *own_port_state_name(enum own_port_state state)
{
	static const char *const names[OWN_PORT_STATES] = { "no-device", "port-busy", "no-link",
							    "neighbour-silent", "in-fabric" };

	return (unsigned)state < OWN_PORT_STATES ? names[state] : "unknown";
}

enum own_port_event own_port_read(struct own_port *p, const struct wire_port_info *info)
{
	const struct wire_port_info before = p->info;

	if (p->is_switch)
		return OWN_PORT_UP;
	p->info = *info;
	if (info->state < TOPO_INIT)
		return OWN_PORT_DOWN;
	if (info->state < before.state)
		return OWN_PORT_BOUNCED;
	if (before.state == TOPO_ACTIVE &&
	    (before.lid != info->lid || before.sm_lid != info->sm_lid))
		return OWN_PORT_CHANGED;
	return OWN_PORT_UP;
}

/* Asked again at once, once; another one each time is nobody. */
static enum own_port_event strange(struct own_port *p, const struct wire_node_info *info)
{
	bool known = p->seen != 0;

	if (p->seen == info->node_guid && p->seen_port == info->local_port)
		return OWN_PORT_OTHER;
	p->seen = info->node_guid;
	p->seen_port = info->local_port;
	return known ? OWN_PORT_NO_NEWS : OWN_PORT_STRANGE;
}

enum own_port_event own_port_heard(struct own_port *p, const struct wire_node_info *info)
{
	p->silent = !info;
	if (!info)
		return OWN_PORT_UNHEARD;
	if (p->neighbour &&
	    (p->neighbour != info->node_guid || p->neighbour_port != info->local_port))
		return strange(p, info);
	p->seen = 0;
	return OWN_PORT_HEARD;
}

enum own_port_event own_port_swept(struct own_port *p, guid_t neighbour, uint8_t port, bool fresh)
{
	if (p->is_switch)
		return OWN_PORT_MET;
	if (!neighbour) {
		p->silent = true;
		return OWN_PORT_UNHEARD;
	}
	if (!fresh && p->neighbour && (p->neighbour != neighbour || p->neighbour_port != port))
		return OWN_PORT_OTHER;
	p->silent = false;
	p->neighbour = neighbour;
	p->neighbour_port = port;
	return OWN_PORT_MET;
}

enum own_port_action own_port_take(struct own_port *p, enum own_port_event event)
{
	const struct step *step = &table[p->state][event];

	if (step->act == OWN_PORT_STAY)
		return OWN_PORT_STAY;
	if (step->act == OWN_PORT_PROBE && event != OWN_PORT_STRANGE &&
	    p->state == OWN_PORT_SILENT && !p->silent)
		return OWN_PORT_STAY; /* the sweep that is under way asks it */
	if (step->act == OWN_PORT_LEAVE || step->act == OWN_PORT_BEGIN_AGAIN) {
		p->neighbour = p->seen = 0;
		p->silent = false;
	}
	if (step->next <= OWN_PORT_BUSY)
		p->info = (struct wire_port_info){ 0 };
	p->state = step->next;
	return step->act;
}
