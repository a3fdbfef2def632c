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
 * Both ends are looked at again after each answer, so a link goes on by itself and
 * waits for no other. A port may be in the queue twice; port_setup.job lets only one request of it
 * be on its way. A port that is given up rests, longer each time (bringup_retry()).
 */
#include "fm/inventory/port_setup.h"
#include "fm/sweep/bringup_priv.h"
#include "fm/sweep/sweep.h"
#include "topology/base/mem.h"

/* ---- What is kept of a port ------------------------------------------------------------------ */

const struct setback *setback_of(const struct port_setup *setup)
{
	static const struct setback none;

	return setup->setback ? setup->setback : &none;
}

struct setback *setback_to_write(struct port_setup *setup)
{
	if (!setup->setback)
		setup->setback = mem_new(setup->setback);
	return setup->setback;
}

void setup_retry_at(struct port_setup *setup, uint64_t us)
{
	if (us || setup->setback)
		setback_to_write(setup)->retry_at_us = us;
}

/*
 * Nothing is written to a port of which nothing is known: a child may share its memory, and each
 * page's first write is dear then.
 */
void setup_forget_pkeys(struct port_setup *setup)
{
	if (!setup->pkeys && setup->pkey_state == INV_PKEYS_OPEN &&
	    !((setup->unread | setup->doubted | setup->unheld) & INV_SET_PKEYS))
		return;
	if (setup->pkeys) {
		free(setup->pkeys->have);
		free(setup->pkeys->keys);
		free(setup->pkeys);
	}
	setup->pkeys = NULL;
	setup->pkey_state = INV_PKEYS_OPEN;
	setup->unread &= ~INV_SET_PKEYS;
	setup->doubted &= ~INV_SET_PKEYS;
	setup->unheld &= ~INV_SET_PKEYS;
}

static void setup_removed(void *cell)
{
	struct port_setup *setup = cell;

	setup_forget_pkeys(setup);
	free(setup->setback);
}

void bringup_open_columns(struct inventory *inv)
{
	inventory_open_column(inv, INV_SETUP, sizeof(struct port_setup), setup_removed);
	inventory_open_column(inv, INV_LANES, LANES_BYTES, NULL);
}

void setup_was_read(struct port_setup *setup, enum inv_set what, bool same)
{
	bool again = setup->doubted & setup->at_once & what;

	setup->unread &= ~what;
	setup->at_once &= ~what;
	if (same) {
		setup->doubted &= ~what;
		setup->unheld &= ~what;
		return;
	}
	if (again)
		setup->unheld |= what;
	setup->doubted |= what;
}

/* ---- What PortInfo should be ----------------------------------------------------------------- */

/*
 * A Set(PortInfo) writes every writable field (IBA 14.2.5.6), so the plan starts from what was read
 * and changes what the subnet manager decides:
 *   CA ports and a switch's port 0  M_Key, GID prefix, LID, LMC, SM LID and SL, SubnetTimeOut
 *   ports with a link              MTU and VLs: the lower of both ends
 *   a switch's ports                head-of-queue life and stall count, apart for ports to hosts;
 *                                   P_Key enforcement, where the port's table was written for it
 * MTU and VLs of a link past Init can't change without bouncing it; while its ends agree they stay
 * as they are, and where another changed them they are given back. A link that is Active and works
 * is not taken down because its ends count VLs differently.
 */

static uint8_t lower(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

static void plan_end_port(const struct bringup_conf *conf, uint16_t sm_lid,
			  const struct inv_node *node, const struct port_setup *setup,
			  struct wire_port_info *want)
{
	want->gid_prefix = conf->gid_prefix;
	want->sm_lid = sm_lid;
	want->sm_sl = conf->sm_sl;
	want->subnet_timeout = conf->subnet_timeout;
	if (!setup->want_lid)
		return;
	want->lid = setup->want_lid;
	if (!inv_is_switch(node) || node->sw.flags & INV_ENHANCED_PORT0)
		want->lmc = setup->want_lmc;
	/* It has no link that would give it one, and hosts talk to it. */
	if (inv_is_switch(node) && node->sw.flags & INV_ENHANCED_PORT0 && want->mtu_cap)
		want->neighbor_mtu = want->mtu_cap;
}

/* True: an Active link whose ends have different OperationalVLs, which is left as it is. */
static bool port_plan_tolerates(const struct inv_port *port)
{
	struct wire_port_lanes is, far;

	if (!port->peer || !port->known)
		return false;
	wire_port_lanes_decode(port->info, &is);
	wire_port_lanes_decode(port->peer->ports[port->peer_port].info, &far);
	return is.state == TOPO_ACTIVE && far.state == TOPO_ACTIVE && is.op_vls != far.op_vls;
}

enum port_plan port_plan(const struct inventory *inv, const struct bringup_conf *conf,
			 uint16_t sm_lid, const struct inv_node *node, uint8_t num,
			 struct wire_port_info *want)
{
	const struct inv_port *port = &node->ports[num];
	const struct port_setup *setup = port_setup(node, num);
	struct wire_port_lanes far;
	struct wire_port_info is;

	wire_port_info_decode(port->info, &is);
	*want = is;
	if (inv_is_switch(node) ? num == 0 : num > 0) {
		port_key_want(inv, node, num, want);
		plan_end_port(conf, sm_lid, node, setup, want);
	}
	/* Its table is being looked at: what is enforced stays so until that is done. */
	if (num && inv_is_switch(node) && !(setup->pkeys && setup->pkey_state == INV_PKEYS_OPEN)) {
		want->pkey_enforce_in = setup->enforced && conf->pkey_enforce_in;
		want->pkey_enforce_out = setup->enforced && conf->pkey_enforce_out;
	}
	/* Where there are lanes to arbitrate between. */
	if (conf->qos.on && (num || node->sw.flags & INV_ENHANCED_PORT0) && want->vl_cap > 1)
		want->vl_high_limit = conf->qos.kind[inv_qos_kind(node->info.type, num)].high_limit;
	if (num && port->peer) {
		wire_port_lanes_decode(port->peer->ports[port->peer_port].info, &far);
		if (inv_is_switch(node)) {
			bool to_switch = inv_is_switch(port->peer);

			want->hoq_life = to_switch ? conf->hoq_life : conf->leaf_hoq_life;
			want->vl_stall = to_switch ? conf->vl_stall : conf->leaf_vl_stall;
		}
		if (is.state <= TOPO_INIT) {
			/* Codes of 0 are reserved: such a port keeps what it has. */
			uint8_t mtu = lower(want->mtu_cap, far.mtu_cap);
			uint8_t vls = lower(lower(want->vl_cap, far.vl_cap), conf->max_op_vls);

			if (mtu)
				want->neighbor_mtu = mtu;
			if (vls)
				want->op_vls = vls;
		} else if (setup && setback_of(setup)->mtu) {
			/* Its running link had others before somebody changed them. */
			want->neighbor_mtu = setback_of(setup)->mtu;
			want->op_vls = setback_of(setup)->vls;
		} else if (far.state > TOPO_INIT && !setback_of(setup_of_peer(port))->mtu &&
			   (is.neighbor_mtu != far.neighbor_mtu ||
			    (is.op_vls != far.op_vls &&
			     !(is.state == TOPO_ACTIVE && far.state == TOPO_ACTIVE)) ||
			    is.neighbor_mtu > lower(is.mtu_cap, far.mtu_cap)))
			return PORT_PLAN_CLASH;
	}
	return (enum port_plan)inventory_settings_differ(NULL, node, num, &is, want);
}

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
	    inv_node_is(node, INV_NO_SETS) || setup->errors == GIVEN_UP ||
	    setup->obstacle == INV_OBSTACLE_KEY)
		return false;
	return num == 0 ? inv_is_switch(node)
			: port->link_up && peer && peer->known && !port->peer->silent &&
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

/*
 * A host reregisters when its port is (or becomes) usable, not while it is being set up. A manager
 * that has moved to another port of its own knows what all have registered.
 */
static bool wants_reregister(const struct bringup *b, const struct inv_node *node, unsigned num,
			     enum port_plan plan, const struct step *step)
{
	const struct inv_port *port = &node->ports[num];
	bool usable = step->state == TOPO_ACTIVE || (!step->state && port->state == TOPO_ACTIVE);
	bool moved = !step->state && port->sm_lid && port->sm_lid == b->sm_lid_was &&
		     port->lid == step->want.lid;

	return usable && bringup_can_reregister(node, port) &&
	       (port_setup(node, num)->reregister || (plan == PORT_PLAN_MUST && !moved));
}

/*
 * False while the table is being written: until then no link goes Active, where there are
 * partitions.
 */
static bool pkeys_ready(const struct bringup *b, const struct inv_node *node, unsigned num)
{
	const struct port_setup *setup = port_setup(node, num);

	return !b->pkeys || (inv_is_switch(node) && !setup->pkeys) ||
	       (setup->pkeys && setup->pkey_state != INV_PKEYS_OPEN);
}

static bool link_is(const struct inv_node *node, unsigned num, enum inv_mark mark)
{
	const struct inv_port *port = &node->ports[num];

	return inv_port_is(node, num, mark) ||
	       (port->peer && inv_port_is(port->peer, port->peer_port, mark));
}

bool bringup_is_shut(const struct inv_node *node, unsigned num)
{
	return link_is(node, num, INV_SHUT);
}

static struct step port_step(const struct bringup *b, const struct inv_node *node, uint8_t num)
{
	const struct inv_port *port = &node->ports[num], *peer = bringup_peer(port);
	const struct port_setup *setup = port_setup(node, num);
	struct step step = { .set = false };

	if (!bringup_port_workable(node, num) || setup->job)
		return step;
	if (setup->reread) {
		step.get = true;
		return step;
	}

	enum port_plan plan = port_plan(b->inv, &b->conf, b->sm_lid, node, num, &step.want);

	if (num && bringup_is_shut(node, num)) {
		step.set = inv_is_switch(node) && port->state > TOPO_INIT;
		step.state = step.set ? TOPO_DOWN : 0;
	} else if (num && port->state == TOPO_INIT && !link_is(node, num, INV_WAITS)) {
		step.set = true;
		step.state = TOPO_ARMED;
	} else if (plan == PORT_PLAN_CLASH && !setup->settled) {
		/*
		 * Once, as a device may insist; one end is enough: the switch's, or that of the
		 * higher address.
		 */
		step.set = inv_is_switch(node) && (!inv_is_switch(port->peer) || port > peer);
		step.state = TOPO_DOWN;
	} else if (plan == PORT_PLAN_MUST || (plan == PORT_PLAN_TUNE && !setup->settled)) {
		step.set = true;
	} else if (num && port->state == TOPO_ARMED && peer->state >= TOPO_ARMED &&
		   pkeys_ready(b, node, num) && pkeys_ready(b, port->peer, port->peer_port)) {
		step.set = true;
		step.state = TOPO_ACTIVE;
	} else if (setup->reregister && wants_reregister(b, node, num, plan, &step)) {
		step.set = true;
	}
	step.want.state = step.state;
	step.want.phys_state = 0; /* no change */
	step.want.client_reregister = step.set && wants_reregister(b, node, num, plan, &step);
	return step;
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static void note_key(struct port_setup *setup, bool foreign)
{
	if (foreign == (setup->obstacle == INV_OBSTACLE_KEY))
		return;
	if (foreign) {
		setup->given_up = setup->lost = 0;
		setup_retry_at(setup, 0);
	}
	setup->obstacle = foreign ? INV_OBSTACLE_KEY : INV_OBSTACLE_NONE;
}

/* Each Set without the key of a port counts as a violation there, and does nothing. */
void bringup_note_keys(struct bringup *b, struct inv_node *node)
{
	bool sw = inv_is_switch(node), foreign = port_key_is_foreign(b->inv, node, 0);

	/* A switch has one key, so its ports go by its port 0; one that is new has no mark. */
	if (sw && !foreign && port_setup(node, 0)->obstacle != INV_OBSTACLE_KEY)
		return;
	for (unsigned p = sw ? 0 : 1; p <= node->nports; p++)
		note_key(port_setup(node, p), sw ? foreign : port_key_is_foreign(b->inv, node, p));
}

/* ---- Sending --------------------------------------------------------------------------------- */

bool bringup_make_port(struct bringup *b, const struct batch_job *job,
		       struct batch_request *request)
{
	struct inv_node *node = job->object;
	uint8_t num = job->arg;
	struct step step = port_step(b, node, num);

	if ((!step.set && !step.get) || !inventory_port_path(b->inv, node, num, &request->via.path))
		return false;
	request->mad.method = step.set ? WIRE_SET : WIRE_GET;
	request->mad.attr_id = WIRE_PORT_INFO;
	request->mad.attr_mod = inventory_port_modifier(node, num);
	if (step.set)
		wire_port_info_encode(&step.want, request->data);
	port_setup(node, num)->job = step.get ? JOB_GET : (uint8_t)(1 + step.state);
	/* Until it is answered a sweep may read what was before, or what is behind it. */
	port_setup(node, num)->settled &= !step.set;
	return true;
}

void bringup_cured(struct bringup *b, struct port_setup *setup)
{
	b->result.cured += setup->given_up > 0;
	setup->given_up = setup->lost = 0;
	setup_retry_at(setup, 0);
}

void bringup_ask(struct bringup *b, struct inv_node *node, uint8_t num, unsigned kind, bool urgent)
{
	batch_add(b->batch, &(struct batch_job){
				    .object = node, .arg = num, .kind = kind, .urgent = urgent });
}

/* Queues a port if something is due there; the end that completes a link goes ahead of others. */
void bringup_step(struct bringup *b, struct inv_node *node, uint8_t num)
{
	struct step step = port_step(b, node, num);

	if (step.set || step.get)
		bringup_ask(b, node, num, JOB_PORT, step.state == TOPO_ACTIVE);
	else if (bringup_port_workable(node, num) && !port_setup(node, num)->job) {
		struct port_setup *setup = port_setup(node, num);

		if (!setup->settled && num && port_plan_tolerates(&node->ports[num]) &&
		    inventory_is_first_end(node, num) &&
		    log_allow(&b->bounce_log, loop_now_us(b->loop), BRINGUP_LOG_BURST))
			log_line(LOG_SWEEP, LOG_WARNING,
				 "%s: Active with different OperationalVLs at its ends; left "
				 "unchanged",
				 inventory_name(node, num).text);
		setup->settled = true;
		if (!(setup->unread & INV_SET_INFO)) {
			b->result.cured += (setup->unheld & INV_SET_INFO) != 0;
			setup_was_read(setup, INV_SET_INFO, true);
		}
		bringup_cured(b, setup);
	}
}

void bringup_step_link(struct bringup *b, struct inv_node *node, uint8_t num)
{
	struct inv_port *port = &node->ports[num];

	bringup_step(b, node, num);
	if (port->peer)
		bringup_step(b, port->peer, port->peer_port);
}
