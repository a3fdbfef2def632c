/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * held: devices that acknowledge a setting and do not hold it: PortInfo, P_Key, SL2VL and VL arbitration tables of ports
 * (inv_port.unheld), LifeTimeValue and MulticastFDBTop of switches (inv_node.sw_unheld). Each is an alert with its name for as long as it
 * lasts. Ports are tried once a minute by bring-up (bringup_retry()), switches here by one Set; the poll that follows tells whether they
 * hold it. (Forwarding tables and LinearFDBTop: untrue.c.)
 */
#include "fm/fabric/own.h"
#include "fm/mad/wire.h"

#define TRIAL_US 55000000
#define NAMED	 20
#define WHAT	 "not-held"

static const char *unheld_by_port(const struct inv_port *port)
{
	if (port->unheld & INV_SET_INFO)
		return "settings (PortInfo)";
	return port->unheld & INV_SET_PKEYS ? "its P_Key table"
					    : "its SL2VL or VL arbitration table";
}

static void name(struct fabric *f, const struct inv_node *node, int port, const char *what)
{
	struct inv_name subject = inventory_name(node, port);

	if (f->held.named++ < NAMED)
		alert_raise(f->alerts, WHAT, subject.text,
			    "%s: acknowledges %s and does not hold what it acknowledges; tried "
			    "once a minute",
			    subject.text, what);
}

static void name_node(struct fabric *f, const struct inv_node *node)
{
	if (node->sw_unheld)
		name(f, node, -1, "LifeTimeValue or MulticastFDBTop (SwitchInfo)");
	for (unsigned p = 0; p <= node->nports; p++)
		if (node->ports[p].unheld && (!p || node->ports[p].link_up))
			name(f, node, (int)p, unheld_by_port(&node->ports[p]));
}

static void review(struct fabric *f)
{
	const struct inventory *inv = sweep_inventory(f->sweep);

	if (!f->held.ports && !inv->nsw_differ && !f->held.named)
		return;
	f->held.named = 0;
	alerts_review(f->alerts, WHAT);
	for (const struct inv_node *n = inventory_first(inv); n; n = inventory_next(inv, n))
		if (!n->gone && !n->silent)
			name_node(f, n);
	if (f->held.named > NAMED)
		alert_raise(f->alerts, WHAT, "", "%u more do not hold what they acknowledge",
			    f->held.named - NAMED);
	alerts_reviewed(f->alerts, WHAT);
}

void fabric_held_note(struct fabric *f, const struct bringup_result *result)
{
	f->held.ports = result->unheld;
	review(f);
}

/* ---- Trials of switches -------------------------------------------------------------------------- */

/* What comes of it the next poll tells. */
static void tried(void *arg, const struct mad_answer *answer)
{
}

static void try_switch(struct fabric *f, const struct inv_node *node)
{
	struct wire_switch_info info = node->sw;
	uint8_t data[64] = { 0 };
	struct mad_path path;
	const struct mad_request request = { .method = WIRE_SET,
					     .attr_id = WIRE_SWITCH_INFO,
					     .path = &path,
					     .device = node->guid,
					     .data = data };

	info.lft_top = node->want_top;
	info.life_time = node->want_life_time;
	if (node->want_mft_top)
		info.mft_top = node->want_mft_top;
	info.port_state_change = false;
	wire_switch_info_encode(&info, data);
	if (inventory_port_path(sweep_inventory(f->sweep), node, 0, &path))
		mad_send(f->mad, &request, tried, NULL);
}

static void judge_switch(struct fabric *f, struct inv_node *node, bool trial)
{
	node->sw_unheld = node->sw_differs && node->sw_tried;
	if (node->sw_differs && !node->gone && !node->silent && (trial || !node->sw_tried))
		try_switch(f, node);
	node->sw_tried = node->sw_differs;
}

void fabric_held_polled(struct fabric *f)
{
	const struct inventory *inv = sweep_inventory(f->sweep);
	bool trial = loop_now_us(f->loop) >= f->held.trial_us;

	if (inv->nsw_differ || f->held.named)
		for (struct inv_node *n = inventory_first(inv); n; n = inventory_next(inv, n))
			judge_switch(f, n, trial);
	if (inv->nsw_differ && trial)
		f->held.trial_us = loop_now_us(f->loop) + TRIAL_US;
	review(f);
}

/* ---- Life ---------------------------------------------------------------------------------------- */

void fabric_held_fini(struct fabric *f)
{
	alerts_review(f->alerts, WHAT);
	alerts_reviewed(f->alerts, WHAT);
}
