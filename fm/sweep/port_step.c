/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * PortInfo, port by port. A job is "next step of this port": when its turn comes,
 * bringup_make_port() compares the record with the plan and sends the one step that is due, if any:
 *
 *   Init                          Set all + Armed
 *   past Init, something differs  Set all, no state change
 *   Armed, the other end too      Set all + Active
 *   ends disagree on MTU or VLs   Set Down (both retrain; logged), from one end
 *   the link is shut              past Init: Set Down, from the switch's end; else nothing
 *   a Set was refused             Get, and another step: the other end may have taken it along
 *
 * Both ends are looked at again after each answer (port_answer.c), so a link goes on by itself and
 * waits for no other. A port may be in the queue twice; port_setup.job lets only one request of it
 * be on its way.
 */
#include "fm/sweep/bringup_priv.h"
#include "fm/sweep/port_plan.h"

struct step { /* what is due at a port */
	bool set, get;
	uint8_t state; /* 0 = no change */
	struct wire_port_info want;
};

/* ---- Which step is due ----------------------------------------------------------------------- */

struct inv_port *bringup_peer(const struct inv_port *port)
{
	return port->peer ? &port->peer->ports[port->peer_port] : NULL;
}

struct port_setup *setup_of_peer(const struct inv_port *port)
{
	return port->peer ? port_setup(port->peer, port->peer_port) : NULL;
}

bool bringup_port_workable(const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num], *peer = bringup_peer(port);
	const struct port_setup *setup = port_setup(node, num);

	if (node->removed || node->gone || node->silent || !port->known ||
	    inv_node_is(node, INV_NO_SETS) || setup->errors == GIVEN_UP || setup->foreign_key)
		return false;
	if (num == 0)
		return inv_is_switch(node);
	return port->link_up && peer && peer->known && !port->peer->silent &&
	       port->state >= TOPO_INIT;
}

/* One that was given up before is asked once. */
bool bringup_on_trial(const struct port_setup *setup)
{
	return setup->given_up && setup->errors != GIVEN_UP;
}

bool bringup_can_reregister(const struct inv_node *node, const struct inv_port *port)
{
	return !inv_is_switch(node) && port->capmask & WIRE_CAP_REREGISTER;
}

/* A host reregisters when its port is (or becomes) usable, not while it is being set up. */
static bool wants_reregister(const struct inv_node *node, unsigned num, enum port_plan plan,
			     uint8_t state)
{
	const struct inv_port *port = &node->ports[num];
	bool usable = state == TOPO_ACTIVE || (!state && port->state == TOPO_ACTIVE);

	return usable && bringup_can_reregister(node, port) &&
	       (port_setup(node, num)->reregister || plan == PORT_PLAN_MUST);
}

/* One end is enough: the switch's, or that of the higher address. */
static bool bounces_from(const struct inv_node *node, const struct inv_port *port)
{
	bool other = inv_is_switch(port->peer);

	return inv_is_switch(node) && (!other || port > bringup_peer(port));
}

/*
 * False while the table is being written: until then no link goes Active, where there are
 * partitions.
 */
static bool pkeys_ready(const struct bringup *b, const struct inv_node *node, unsigned num)
{
	const struct port_setup *setup = port_setup(node, num);

	if (!b->pkeys || (inv_is_switch(node) && !setup->pkeys))
		return true;
	return setup->pkeys && setup->pkey_state != INV_PKEYS_OPEN;
}

bool bringup_is_shut(const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];

	return inv_port_is(node, num, INV_SHUT) ||
	       (port->peer && inv_port_is(port->peer, port->peer_port, INV_SHUT));
}

static void step_by_plan(const struct bringup *b, const struct inv_node *node, uint8_t num,
			 struct step *step)
{
	const struct inv_port *port = &node->ports[num], *peer = bringup_peer(port);
	const struct port_setup *setup = port_setup(node, num);
	enum port_plan plan = port_plan(&b->conf, b->sm_lid, node, num, &step->want);

	if (num && bringup_is_shut(node, num))
		step->set = inv_is_switch(node) && port->state > TOPO_INIT,
		step->state = step->set ? TOPO_DOWN : 0;
	else if (num && port->state == TOPO_INIT)
		step->set = true, step->state = TOPO_ARMED;
	else if (plan == PORT_PLAN_CLASH && !setup->settled) /* once: a device may insist */
		step->set = bounces_from(node, port), step->state = TOPO_DOWN;
	else if (plan == PORT_PLAN_MUST || (plan == PORT_PLAN_TUNE && !setup->settled))
		step->set = true;
	else if (num && port->state == TOPO_ARMED && peer->state >= TOPO_ARMED &&
		 pkeys_ready(b, node, num) && pkeys_ready(b, port->peer, port->peer_port))
		step->set = true, step->state = TOPO_ACTIVE;
	else if (setup->reregister && wants_reregister(node, num, plan, 0))
		step->set = true;
	step->want.state = step->state;
	step->want.client_reregister = wants_reregister(node, num, plan, step->state);
}

static struct step port_step(const struct bringup *b, const struct inv_node *node, uint8_t num)
{
	struct step step = { .set = false };

	if (!bringup_port_workable(node, num) || port_setup(node, num)->job)
		return step;
	if (port_setup(node, num)->reread)
		step.get = true;
	else
		step_by_plan(b, node, num, &step);
	return step;
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static void note_key(struct port_setup *setup, bool foreign)
{
	if (foreign && !setup->foreign_key) {
		setup->given_up = setup->lost = 0;
		setup_retry_at(setup, 0);
	}
	setup->foreign_key = foreign;
}

/* Each Set without the key of a port counts as a violation there, and does nothing. */
void bringup_note_keys(struct bringup *b, struct inv_node *node)
{
	bool sw = inv_is_switch(node), foreign = inventory_key_is_foreign(b->inv, node, 0);

	for (unsigned p = sw ? 0 : 1; p <= node->nports; p++)
		note_key(port_setup(node, p),
			 sw ? foreign : inventory_key_is_foreign(b->inv, node, p));
}

/* ---- Sending --------------------------------------------------------------------------------- */

bool bringup_make_port(struct bringup *b, const struct batch_job *job,
		       struct batch_request *request)
{
	struct inv_node *node = job->object;
	uint8_t num = (uint8_t)job->arg;
	struct step step = port_step(b, node, num);

	if (!step.set && !step.get)
		return false;
	if (!inventory_port_path(b->inv, node, num, &request->via.path))
		return false;
	request->mad.method = step.set ? WIRE_SET : WIRE_GET;
	request->mad.attr_id = WIRE_PORT_INFO;
	request->mad.attr_mod = inventory_port_modifier(node, num);
	if (step.set)
		wire_port_info_encode(&step.want, request->data);
	port_setup(node, num)->job = step.get ? JOB_GET : (uint8_t)(1 + step.state);
	return true;
}

void bringup_cured(struct bringup *b, struct port_setup *setup)
{
	b->result.cured += setup->given_up > 0;
	setup->given_up = setup->lost = 0;
	setup_retry_at(setup, 0);
}

/* By itself, or with the last Set. */
static void port_holds(struct bringup *b, struct port_setup *setup)
{
	if (setup->unread & INV_SET_INFO)
		return;
	b->result.cured += (setup->unheld & INV_SET_INFO) != 0;
	setup_was_read(setup, INV_SET_INFO, true);
}

static void port_settled(struct bringup *b, struct inv_node *node, uint8_t num)
{
	const struct inv_port *port = &node->ports[num];
	struct port_setup *setup = port_setup(node, num);

	if (!setup->settled && num && port_plan_tolerates(port) &&
	    inventory_is_first_end(node, num) &&
	    log_allow(&b->bounce_log, loop_now_us(b->loop), BRINGUP_LOG_BURST))
		log_line(LOG_SWEEP, LOG_WARNING,
			 "%s: Active with different OperationalVLs at its ends; left unchanged",
			 inventory_name(node, num).text);
	setup->settled = true;
	port_holds(b, setup);
	bringup_cured(b, setup);
}

/* Queues a port if something is due there; the end that completes a link goes ahead of others. */
void bringup_step(struct bringup *b, struct inv_node *node, uint8_t num)
{
	struct step step = port_step(b, node, num);
	struct batch_job job = {
		.object = node, .arg = num, .kind = JOB_PORT, .urgent = step.state == TOPO_ACTIVE
	};

	if (step.set || step.get)
		batch_add(b->batch, &job);
	else if (bringup_port_workable(node, num) && !port_setup(node, num)->job)
		port_settled(b, node, num);
}

void bringup_step_link(struct bringup *b, struct inv_node *node, uint8_t num)
{
	struct inv_port *port = &node->ports[num];

	bringup_step(b, node, num);
	if (port->peer)
		bringup_step(b, port->peer, port->peer_port);
}

void bringup_reread(struct bringup *b, struct inv_node *node, uint8_t num)
{
	port_setup(node, num)->reread = true;
	bringup_step(b, node, num);
}
