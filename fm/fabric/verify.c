/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_verify: what a device said once is asked a second time when the fabric has been quiet for QUIET_US (sweep_verify()): the
 * neighbour behind each port, and PortInfo, PORTS_A_TICK ports at a time; and tables of ports that these acknowledged (bringup_read_back()). After a finding, which is looked at like a poll's, it goes
 * on sooner until it finds no more. So one wrong answer does not outlast a minute of truth.
 *
 * Ports with somebody behind them who can't be there (a GUID that answers elsewhere, NodeInfo that contradicts itself) are an alert
 * each for as long as that lasts; who is there is asked again and again, up to REFUSED_MAX_US apart.
 */
#include "fm/fabric/own.h"

#define QUIET_US       20000000
#define QUIET_MAX_US   25000000 /* since it was due, or last done */
#define QUIET_FOUND_US 1000000	/* after a finding */
#define TICK_US	       970000	/* beside polls, which begin on the second */
#define PORTS_A_TICK   100
#define REFUSED_US     4000000 /* at first; doubles */
#define REFUSED_MAX_US 55000000
#define NAMED	       20

/* ---- Who can't be there -------------------------------------------------------------------------- */

static void name_port(struct fabric *f, const struct inv_node *node, unsigned num)
{
	const struct inventory *inv = sweep_inventory(f->sweep);
	guid_t guid = node->ports[num].refused;
	const struct inv_node *other = inventory_find(inv, guid);
	struct inv_name name = inventory_name(node, (int)num);

	if (guid == INV_NONSENSE)
		alert_raise(f->alerts, "node-info", name.text,
			    "%s: what is behind it contradicts itself; it is left out", name.text);
	else
		alert_raise(f->alerts, "guid-twice", name.text,
			    "%s: what is behind it has the GUID of %s, which answers elsewhere; "
			    "the first met stays",
			    name.text, other ? inventory_name(other, -1).text : "another node");
}

static void name_refused(struct fabric *f)
{
	const struct inventory *inv = sweep_inventory(f->sweep);
	const struct inv_node *n = inv->nrefused ? inventory_first(inv) : NULL;
	unsigned named = 0;

	f->figures.duplicates = inv->ntwice;
	if (!inv->nrefused && !f->verify.refused)
		return;
	alerts_review(f->alerts, "guid-twice");
	alerts_review(f->alerts, "node-info");
	for (; n && named < NAMED; n = inventory_next(inv, n))
		for (unsigned p = 1; p <= n->nports && named < NAMED; p++)
			if (n->ports[p].refused) {
				name_port(f, n, p);
				named++;
			}
	if (inv->nrefused > named)
		alert_raise(f->alerts, "node-info", "",
			    "%u more ports lead to nodes that can't be there",
			    inv->nrefused - named);
	alerts_reviewed(f->alerts, "guid-twice");
	alerts_reviewed(f->alerts, "node-info");
	if (inv->nrefused > f->verify.refused) {
		f->verify.refused_wait_us = REFUSED_US;
		f->verify.refused_us = loop_now_us(f->loop) + REFUSED_US;
	}
	f->verify.refused = inv->nrefused;
}

/* ---- The clock ----------------------------------------------------------------------------------- */

static void arm(struct fabric *f)
{
	uint64_t now = loop_now_us(f->loop), at = now + TICK_US;

	if (!f->verify.due && !f->verify.refused) {
		loop_timer_stop(f->verify.timer);
		return;
	}
	if (!f->verify.due && f->verify.refused_us > at)
		at = f->verify.refused_us;
	if (!f->verify.refused && f->verify.quiet_us > at)
		at = f->verify.quiet_us;
	loop_timer_set(f->verify.timer, at - now);
}

static void verified(void *arg, const struct sweep_result *result)
{
	struct fabric *f = arg;

	for (unsigned i = 0; i < result->nchanged; i++)
		fabric_request_refresh(f, result->changed[i], "found by verification");
	if (result->nchanged) {
		f->verify.found = f->verify.due = true;
		fabric_fault_open(f, "found by verification");
	}
	fabric_look(f);
}

static bool is_quiet(const struct fabric *f)
{
	return f->state != FABRIC_STARTING && fabric_is_master(f) && !f->programming &&
	       !f->bringing_up && !fabric_updates(f) && !f->requests.sweep &&
	       !f->requests.dirty.count && !sweep_busy(f->sweep);
}

static void tick_cb(void *arg)
{
	struct fabric *f = arg;
	uint64_t now = loop_now_us(f->loop);
	bool refused = f->verify.refused && now >= f->verify.refused_us;
	bool ports = f->verify.due && now >= f->verify.quiet_us;

	if (is_quiet(f) && (refused || ports)) {
		if (ports)
			f->bringing_up =
				bringup_read_back(f->bringup, PORTS_A_TICK, fabric_brought_up, f);
		if (refused) {
			f->verify.refused_wait_us *= 2;
			if (f->verify.refused_wait_us > REFUSED_MAX_US)
				f->verify.refused_wait_us = REFUSED_MAX_US;
			f->verify.refused_us = now + f->verify.refused_wait_us;
		}
		f->verify.due =
			sweep_verify(f->sweep, ports ? PORTS_A_TICK : 0, refused, verified, f) ||
			bringup_has_unread(f->bringup) || (f->verify.due && !ports);
		f->verify.found &= f->verify.due;
		if (ports)
			f->verify.since_us = now;
	}
	arm(f);
}

/* A fabric that is never quiet may be so because of what was said once. */
void fabric_verify_later(struct fabric *f)
{
	uint64_t now = loop_now_us(f->loop);

	if (!f->verify.due)
		f->verify.since_us = now;
	f->verify.due = true;
	f->verify.quiet_us = now + (f->verify.found ? QUIET_FOUND_US : QUIET_US);
	if (f->verify.quiet_us > f->verify.since_us + QUIET_MAX_US)
		f->verify.quiet_us = f->verify.since_us + QUIET_MAX_US;
	name_refused(f);
	arm(f);
}

/* ---- Life ---------------------------------------------------------------------------------------- */

void fabric_verify_init(struct fabric *f)
{
	f->verify.timer = loop_timer_new(f->loop, tick_cb, f);
}

void fabric_verify_fini(struct fabric *f)
{
	alerts_review(f->alerts, "guid-twice");
	alerts_reviewed(f->alerts, "guid-twice");
	alerts_review(f->alerts, "node-info");
	alerts_reviewed(f->alerts, "node-info");
	loop_timer_free(f->verify.timer);
}
