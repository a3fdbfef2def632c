/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a device said once is asked a second time when the fabric has been quiet for QUIET_US: the
 * neighbour behind each port, and PortInfo, PORTS_A_TICK ports at a time; and tables of ports that
 * these acknowledged (held.h). Nodes that answer otherwise are swept again, and verification goes
 * on sooner until it finds no more. So one wrong answer does not outlast a minute of right ones.
 *
 * A node whose SwitchInfo or PortInfo has impossible fields is an alert for as long as that lasts;
 * it is swept again with each light sweep (sweep_node.partial).
 *
 * A port with a node behind it that can't be there (a GUID that answers elsewhere, NodeInfo that
 * contradicts itself) is an alert for as long as that lasts; that node is asked again repeatedly,
 * up to REFUSED_MAX_US apart.
 */
#include "fm/verification/module.h"
#include <stdlib.h>
#include "fm/fabric/progress.h"
#include "fm/fabric/request.h"
#include "fm/sweep/sweep.h"
#include "fm/verification/held.h"
#include "topology/base/mem.h"

#define QUIET_US       20000000
#define QUIET_MAX_US   25000000 /* since it was due, or last done */
#define QUIET_FOUND_US 1000000	/* after a finding */
#define TICK_US	       970000	/* beside light sweeps, which begin on the second */
#define PORTS_A_TICK   100
#define REFUSED_US     4000000 /* at first; doubles */
#define REFUSED_MAX_US 55000000
#define NAMED	       20
#define FLAWED	       "impossible-answer"

static const char *const kinds[] = { "guid-twice", "node-info", FLAWED };
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

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
	unsigned flawed; /* nodes that answer what is impossible, as last named */
	struct unheld unheld;
};

/* ---- Who cannot be there --------------------------------------------------------------------- */

static void name_port(struct verification *v, const struct inv_node *node, unsigned num)
{
	guid_t guid = inv_contest(v->services.inventory, node, num)->refused;
	const struct inv_node *other = inventory_find(v->services.inventory, guid);
	struct inv_name name = inventory_name(node, (int)num);
	struct event_subject subject = inventory_subject(node, (int)num);

	subject.name = name.text;
	if (guid == INV_NONSENSE)
		alert_raise(v->services.alerts, "node-info", &subject,
			    "%s: its neighbour gives contradictory answers and is ignored",
			    name.text);
	else
		alert_raise(v->services.alerts, "guid-twice", &subject,
			    "%s: its neighbour has the GUID of %s, which answers elsewhere; the "
			    "node found first is kept",
			    name.text, other ? inventory_name(other, -1).text : "another node");
}

static void raise_flaws(struct verification *v)
{
	const struct inventory *inv = v->services.inventory;
	const struct inv_node *n = inv->nflawed ? inventory_first(inv) : NULL;
	struct alerts *alerts = v->services.alerts;

	v->flawed = 0;
	for (; n; n = inventory_next(inv, n)) {
		struct inv_name name = inventory_name(n, sweep_node(n)->flaw_port);
		struct event_subject subject = inventory_subject(n, sweep_node(n)->flaw_port);

		if (!sweep_node(n)->flaw || n->gone || v->flawed++ >= NAMED)
			continue;
		subject.name = name.text;
		alert_raise(alerts, FLAWED, &subject,
			    "%s: answers an impossible %s (%s) again and again; that is ignored, "
			    "and what was known before is kept",
			    name.text, sweep_node(n)->flaw_port < 0 ? "SwitchInfo" : "PortInfo",
			    sweep_node(n)->flaw);
	}
	if (v->flawed > NAMED)
		alert_raise(alerts, FLAWED, NULL, "%u more nodes answer what is impossible",
			    v->flawed - NAMED);
}

static void raise_alerts(struct verification *v)
{
	const struct inventory *inv = v->services.inventory;
	const struct inv_node *n = inv->nrefused ? inventory_first(inv) : NULL;
	struct alerts *alerts = v->services.alerts;
	unsigned named = 0;

	for (unsigned i = 0; i < KINDS; i++)
		alerts_review(alerts, kinds[i]);
	for (; n && named < NAMED; n = inventory_next(inv, n))
		for (unsigned p = 1; p <= n->nports && named < NAMED; p++)
			if (inv_contest(inv, n, p)->refused) {
				name_port(v, n, p);
				named++;
			}
	if (inv->nrefused > named)
		alert_raise(alerts, "node-info", NULL, "%u more ports have such neighbours",
			    inv->nrefused - named);
	raise_flaws(v);
	for (unsigned i = 0; i < KINDS; i++)
		alerts_reviewed(alerts, kinds[i]);
}

static void review_refused(struct verification *v)
{
	unsigned count = v->services.inventory->nrefused;

	if (!count && !v->refused.count && !v->services.inventory->nflawed && !v->flawed)
		return;
	raise_alerts(v);
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

static void put_off_refused(struct verification *v, uint64_t now)
{
	v->refused.wait_us *= 2;
	if (v->refused.wait_us > REFUSED_MAX_US)
		v->refused.wait_us = REFUSED_MAX_US;
	v->refused.due_us = now + v->refused.wait_us;
}

static void verify(struct verification *v, bool ports, bool refused, uint64_t now)
{
	bool left = fabric_request_verification(v->fabric, ports ? PORTS_A_TICK : 0, refused,
						verified, v);

	if (refused)
		put_off_refused(v, now);
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
		 !fabric_updating(v->fabric) && !fabric_programming(v->fabric))
		unheld_polled(&v->unheld);
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

	if (programmed->ports)
		unheld_brought_up(&v->unheld, programmed->ports);
}

static void status(const void *room, json_t *doc)
{
	const struct verification *v = room;

	json_object_set_new(doc, "duplicate_guids", json_integer(v->services.inventory->ntwice));
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void *init(struct fabric *fabric)
{
	struct verification *v = mem_alloc(1, sizeof(*v));

	v->fabric = fabric;
	v->services = fabric_services(fabric);
	v->timer = loop_timer_new(v->services.loop, tick_cb, v);
	v->unheld.services = &v->services;
	return v;
}

static void fini(void *room)
{
	struct verification *v = room;

	for (unsigned i = 0; i < KINDS; i++) {
		alerts_review(v->services.alerts, kinds[i]);
		alerts_reviewed(v->services.alerts, kinds[i]);
	}
	unheld_fini(&v->unheld);
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
