/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a device answered once is asked a second time when the fabric was quiet for QUIET_US: the
 * neighbour behind each port, and PortInfo, PORTS_A_TICK ports at a time. Nodes that answer
 * otherwise are swept again, and verification goes on sooner until it finds no more. So one wrong
 * answer does not outlast a minute of right ones.
 *
 * A node whose SwitchInfo or PortInfo has impossible fields is an alert for as long as that lasts;
 * it is swept again with each light sweep (sweep_node.partial).
 *
 * A node that can't be there (a GUID that answers elsewhere, NodeInfo that contradicts itself) is
 * an alert for as long as that lasts, with the ports that it is behind; it is asked again
 * repeatedly, up to REFUSED_MAX_US apart.
 */
#include <inttypes.h>
#include "fm/conf/lists.h"
#include "fm/inventory/port_setup.h"
#include "fm/sweep/bringup.h"
#include "fm/sweep/sweep.h"
#include "fm/verification/module.h"
#include "topology/base/mem.h"

struct verification {
	struct fabric *fabric;
	struct fabric_services services;
	struct loop_timer *timer;
	bool due;		     /* something was answered once, or may have been */
	bool found;		     /* a second answer differed from the first */
	uint64_t since_us, quiet_us; /* since when it is due; not before then */
	struct {		     /* ports that a node answers behind which can't be there */
		unsigned count;	     /* as last logged */
		uint64_t due_us;     /* when they are asked again */
		uint64_t wait_us;    /* between asking last and due_us */
	} refused;
	unsigned twice;	 /* GUIDs that a second device has, as last named */
	unsigned flawed; /* nodes that answer what is impossible, as last named */
	/* devices that do not hold what they acknowledged */
	unsigned unheld;   /* ports */
	unsigned named;	   /* ports and switches, by the latest alerts */
	uint64_t trial_us; /* switches are not tried again before then */
};

/* ---- Held ------------------------------------------------------------------------------------ */

/*
 * Devices that acknowledge a setting and do not hold it: PortInfo, P_Key, SL2VL and VL
 * arbitration tables of ports (port_setup.unheld), LifeTimeValue and MulticastFDBTop of switches
 * (sweep_node.trials). Each is an alert with its name for as long as it lasts. Ports are tried
 * once a minute by bring-up (bringup_retry()), switches here by one Set; the light sweep that
 * follows shows whether they hold it. Forwarding tables and LinearFDBTop are fm/links_out's.
 */

#define TRIAL_US 55000000
#define WHAT	 "not-held"

static const char *unheld_by_port(const struct port_setup *port)
{
	if (port->unheld & INV_SET_INFO)
		return "settings (PortInfo)";
	return port->unheld & INV_SET_PKEYS ? "its P_Key table"
					    : "its SL2VL or VL arbitration table";
}

static void name(struct verification *v, const struct inv_node *node, int port, const char *what)
{
	struct inv_name name = inventory_name(node, port);
	struct event_subject subject = inventory_subject(node, port);

	subject.name = name.text;
	if (v->named++ < ALERTS_NAMED)
		alert_raise(
			v->services.alerts, WHAT, &subject,
			"%s: acknowledges %s, but does not hold the values; retried once a minute",
			name.text, what);
}

static void review(struct verification *v)
{
	const struct inventory *inv = v->services.inventory;
	struct alerts *alerts = v->services.alerts;

	if (!v->unheld && !inv->nsw_differ && !v->named)
		return;
	v->named = 0;
	alerts_review(alerts, WHAT);
	INVENTORY_EACH (inv, n)
		if (!n->gone && !n->silent && !inv_node_is(n, INV_WRONG_TABLES | INV_NO_SETS)) {
			if (sweep_node(n)->trials > 1)
				name(v, n, -1, "LifeTimeValue or MulticastFDBTop (SwitchInfo)");
			for (unsigned p = 0; p <= n->nports; p++)
				if (port_setup(n, p)->unheld && (!p || n->ports[p].link_up))
					name(v, n, p, unheld_by_port(port_setup(n, p)));
		}
	alert_more(alerts, WHAT, v->named, "nodes or ports do not hold what they acknowledge");
	alerts_reviewed(alerts, WHAT);
}

/* ---- Trials of switches ---------------------------------------------------------------------- */

/* The next light sweep shows whether the switch holds it. */
static void tried(void *arg, const struct mad_answer *answer)
{
}

static void try_switch(struct verification *v, const struct inv_node *node)
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
	if (inventory_port_path(v->services.inventory, node, 0, &path))
		mad_send(v->services.mad, &request, tried, NULL);
}

/* ---- Module ---------------------------------------------------------------------------------- */

#define QUIET_US       20000000
#define QUIET_MAX_US   25000000 /* since it was due, or last done */
#define QUIET_FOUND_US 1000000	/* after a finding */
#define TICK_US	       970000	/* beside light sweeps, which begin on the second */
#define PORTS_A_TICK   100
#define REFUSED_US     4000000 /* at first; doubles */
#define REFUSED_MAX_US 55000000
#define FLAWED	       "impossible-answer"

static const char *const kinds[] = { "guid-twice", "node-info", FLAWED };
#define KINDS ARRAY_SIZE(kinds)

/* ---- Who cannot be there --------------------------------------------------------------------- */

static void raise_flaws(struct verification *v)
{
	const struct inventory *inv = v->services.inventory;
	const struct inv_node *n = inv->nflawed ? inventory_first(inv) : NULL;
	struct alerts *alerts = v->services.alerts;

	v->flawed = 0;
	for (; n; n = inventory_next(inv, n)) {
		struct inv_name name = inventory_name(n, sweep_node(n)->flaw_port);
		struct event_subject subject = inventory_subject(n, sweep_node(n)->flaw_port);

		if (!sweep_node(n)->flaw || n->gone || v->flawed++ >= ALERTS_NAMED)
			continue;
		subject.name = name.text;
		alert_raise(alerts, FLAWED, &subject,
			    "%s: answers an impossible %s (%s) again and again; that is ignored, "
			    "and what was known before is kept",
			    name.text, sweep_node(n)->flaw_port < 0 ? "SwitchInfo" : "PortInfo",
			    sweep_node(n)->flaw);
	}
	alert_more(alerts, FLAWED, v->flawed, "nodes answer what is impossible");
}

/* One alert: of the device that answers with a GUID that another has, or of all that contradict. */
static void raise_refused(const struct verification *v, guid_t guid)
{
	const struct inventory *inv = v->services.inventory;
	const struct inv_node *known = inventory_find(inv, guid);
	struct event_subject subject = inventory_link_subject(inv, guid, 0);
	struct inv_name name;

	INVENTORY_EACH (inv, n)
		for (unsigned p = 1; p <= n->nports; p++)
			if (inv_contest(inv, n, p)->refused == guid)
				inventory_add_port(&subject.ports, n, p);
	if (guid == INV_NONSENSE) {
		alert_raise(v->services.alerts, "node-info",
			    &(struct event_subject){ .ports = subject.ports },
			    "who is behind %s gives contradictory answers and is ignored",
			    inventory_ports_name(subject.ports).text);
	} else {
		if (known)
			name = inventory_name(known, -1);
		else
			array_printf(name.text, "0x%016" PRIx64, guid);
		subject.name = name.text;
		alert_raise(v->services.alerts, "guid-twice", &subject,
			    "%s: another device has its GUID, behind %s; the node found first is "
			    "kept",
			    name.text, inventory_ports_name(subject.ports).text);
	}
	json_decref(subject.ports);
}

static void review_refused(struct verification *v)
{
	const struct inventory *inv = v->services.inventory;
	const unsigned count = inv->nrefused;

	if (!count && !v->refused.count && !inv->nflawed && !v->flawed)
		return;

	struct alerts *alerts = v->services.alerts;
	struct guid_list refused = { 0 };

	for (unsigned i = 0; i < KINDS; i++)
		alerts_review(alerts, kinds[i]);
	v->twice = 0;
	for (struct inv_node *n = count ? inventory_first(inv) : NULL; n;
	     n = inventory_next(inv, n))
		for (unsigned p = 1; p <= n->nports; p++)
			if (inv_contest(inv, n, p)->refused)
				guid_list_add(&refused, inv_contest(inv, n, p)->refused);
	for (unsigned i = 0; i < refused.count; i++) {
		v->twice += refused.guids[i] != INV_NONSENSE;
		if (i < ALERTS_NAMED)
			raise_refused(v, refused.guids[i]);
	}
	alert_more(alerts, "guid-twice", refused.count, "GUIDs are of two devices");
	free(refused.guids);
	raise_flaws(v);
	for (unsigned i = 0; i < KINDS; i++)
		alerts_reviewed(alerts, kinds[i]);

	if (count > v->refused.count) {
		v->refused.wait_us = REFUSED_US;
		v->refused.due_us = loop_now_us(v->services.loop) + REFUSED_US;
	}
	v->refused.count = count;
}

/* ---- The clock ------------------------------------------------------------------------------- */

static void arm(struct verification *v)
{
	uint64_t now = loop_now_us(v->services.loop), at = now + TICK_US;

	if (!v->due && !v->refused.count) {
		loop_timer_stop(v->timer);
		return;
	}
	if (!v->due && v->refused.due_us > at)
		at = v->refused.due_us;
	if (!v->refused.count && v->quiet_us > at)
		at = v->quiet_us;
	loop_timer_set(v->timer, at - now);
}

static void verified(void *arg, unsigned changed)
{
	struct verification *v = arg;

	if (changed)
		v->found = v->due = true;
}

static void verify(struct verification *v, bool ports, bool refused, uint64_t now)
{
	bool left = fabric_request_verification(v->fabric, ports ? PORTS_A_TICK : 0, refused,
						verified, v);

	if (refused) {
		v->refused.wait_us *= 2;
		if (v->refused.wait_us > REFUSED_MAX_US)
			v->refused.wait_us = REFUSED_MAX_US;
		v->refused.due_us = now + v->refused.wait_us;
	}
	v->due = left || (v->due && !ports);
	v->found &= v->due;
	if (ports)
		v->since_us = now;
}

static void tick_cb(void *arg)
{
	struct verification *v = arg;
	uint64_t now = loop_now_us(v->services.loop);
	bool refused = v->refused.count && now >= v->refused.due_us;
	bool ports = v->due && now >= v->quiet_us;

	if ((refused || ports) && fabric_is_quiet(v->fabric))
		verify(v, ports, refused, now);
	arm(v);
}

/*
 * Something was answered. A fabric that is never quiet may be so because of what was answered once.
 */
static void verify_later(struct verification *v)
{
	uint64_t now = loop_now_us(v->services.loop);

	if (!v->due)
		v->since_us = now;
	v->due = true;
	v->quiet_us = now + (v->found ? QUIET_FOUND_US : QUIET_US);
	if (v->quiet_us > v->since_us + QUIET_MAX_US)
		v->quiet_us = v->since_us + QUIET_MAX_US;
	review_refused(v);
	arm(v);
}

/* ---- Hooks ----------------------------------------------------------------------------------- */

static const char *swept(void *room, const struct fabric_swept *swept)
{
	struct verification *v = room;

	if (swept->result)
		verify_later(v);
	else if (swept->step == FABRIC_SWEEP_ENDED && fabric_is_master(v->fabric) &&
		 !fabric_updating(v->fabric) && !fabric_programming(v->fabric)) {
		/*
		 * A light sweep of a master has ended, and nothing is being programmed: switches
		 * that differ are set again, or named.
		 */
		const struct inventory *inv = v->services.inventory;
		uint64_t now = loop_now_us(v->services.loop);
		bool trial = now >= v->trial_us;

		if (inv->nsw_differ || v->named)
			INVENTORY_EACH (inv, n) {
				struct sweep_node *cell = sweep_node(n);

				if (cell->sw_differs && !n->gone && !n->silent &&
				    (trial || !cell->trials))
					try_switch(v, n);
				cell->trials = !cell->sw_differs ? 0 : cell->trials ? 2 : 1;
			}
		if (inv->nsw_differ && trial)
			v->trial_us = now + TRIAL_US;
		review(v);
	}
	return NULL;
}

static void settled(void *room, enum fabric_settle_step step)
{
	if (step == FABRIC_SETTLED)
		verify_later(room);
}

static void programmed(void *room, const struct fabric_programmed *programmed)
{
	struct verification *v = room;

	if (programmed->ports) {
		/* Bring-up has ended: ports that do not hold their settings are named. */
		const struct bringup_result *result = programmed->ports;

		v->unheld = result->unheld;
		review(v);
	}
}

static void status(const void *room, json_t *doc)
{
	const struct verification *v = room;

	json_object_set_new(doc, "duplicate_guids", json_integer(v->twice));
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void *init(struct fabric *fabric)
{
	struct verification *v = ROOM_NEW(v, fabric);

	v->timer = loop_timer_new(v->services.loop, tick_cb, v);
	return v;
}

static void fini(void *room)
{
	struct verification *v = room;

	for (unsigned i = 0; i < KINDS; i++)
		alerts_end(v->services.alerts, kinds[i]);
	alerts_end(v->services.alerts, WHAT);
	loop_timer_free(v->timer);
	free(v);
}

const struct fabric_module verification_module = { .name = "verification",
						   .init = init,
						   .fini = fini,
						   .swept = swept,
						   .settled = settled,
						   .status = status,
						   .programmed = programmed };
