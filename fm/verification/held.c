/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/verification/held.h"
#include "fm/inventory/port_setup.h"
#include "fm/mad/wire.h"
#include "fm/sweep/bringup.h"
#include "fm/sweep/sweep.h"

#define TRIAL_US 55000000
#define NAMED	 20
#define WHAT	 "not-held"

static const char *unheld_by_port(const struct port_setup *port)
{
	if (port->unheld & INV_SET_INFO)
		return "settings (PortInfo)";
	return port->unheld & INV_SET_PKEYS ? "its P_Key table"
					    : "its SL2VL or VL arbitration table";
}

static void name(struct unheld *u, const struct inv_node *node, int port, const char *what)
{
	struct inv_name name = inventory_name(node, port);
	struct event_subject subject = inventory_subject(node, port);

	subject.name = name.text;
	if (u->named++ < NAMED)
		alert_raise(
			u->services->alerts, WHAT, &subject,
			"%s: acknowledges %s, but does not hold the values; retried once a minute",
			name.text, what);
}

static void name_node(struct unheld *u, const struct inv_node *node)
{
	if (sweep_node(node)->trials > 1)
		name(u, node, -1, "LifeTimeValue or MulticastFDBTop (SwitchInfo)");
	for (unsigned p = 0; p <= node->nports; p++)
		if (port_setup(node, p)->unheld && (!p || node->ports[p].link_up))
			name(u, node, (int)p, unheld_by_port(port_setup(node, p)));
}

static void review(struct unheld *u)
{
	const struct inventory *inv = u->services->inventory;
	struct alerts *alerts = u->services->alerts;

	if (!u->ports && !inv->nsw_differ && !u->named)
		return;
	u->named = 0;
	alerts_review(alerts, WHAT);
	for (const struct inv_node *n = inventory_first(inv); n; n = inventory_next(inv, n))
		if (!n->gone && !n->silent)
			name_node(u, n);
	if (u->named > NAMED)
		alert_raise(alerts, WHAT, NULL,
			    "%u more nodes or ports do not hold what they acknowledge",
			    u->named - NAMED);
	alerts_reviewed(alerts, WHAT);
}

void unheld_brought_up(struct unheld *u, const struct bringup_result *result)
{
	u->ports = result->unheld;
	review(u);
}

/* ---- Trials of switches ---------------------------------------------------------------------- */

/* The next light sweep shows whether the switch holds it. */
static void tried(void *arg, const struct mad_answer *answer)
{
}

static void try_switch(struct unheld *u, const struct inv_node *node)
{
	const struct inv_wanted *wanted = inv_wanted(node);
	struct wire_switch_info info = node->sw;
	uint8_t data[64] = { 0 };
	struct mad_path path;
	const struct mad_request request = { .method = WIRE_SET,
					     .attr_id = WIRE_SWITCH_INFO,
					     .path = &path,
					     .device = node->guid,
					     .data = data };

	info.lft_top = wanted->top;
	info.life_time = wanted->life_time;
	if (wanted->mft_top)
		info.mft_top = wanted->mft_top;
	info.port_state_change = false;
	wire_switch_info_encode(&info, data);
	if (inventory_port_path(u->services->inventory, node, 0, &path))
		mad_send(u->services->mad, &request, tried, NULL);
}

static void judge_switch(struct unheld *u, struct inv_node *node, bool trial)
{
	struct sweep_node *cell = sweep_node(node);

	if (cell->sw_differs && !node->gone && !node->silent && (trial || !cell->trials))
		try_switch(u, node);
	cell->trials = !cell->sw_differs ? 0 : cell->trials ? 2 : 1;
}

void unheld_polled(struct unheld *u)
{
	const struct inventory *inv = u->services->inventory;
	uint64_t now = loop_now_us(u->services->loop);
	bool trial = now >= u->trial_us;

	if (inv->nsw_differ || u->named)
		for (struct inv_node *n = inventory_first(inv); n; n = inventory_next(inv, n))
			judge_switch(u, n, trial);
	if (inv->nsw_differ && trial)
		u->trial_us = now + TRIAL_US;
	review(u);
}

void unheld_fini(struct unheld *u)
{
	alerts_review(u->services->alerts, WHAT);
	alerts_reviewed(u->services->alerts, WHAT);
}
