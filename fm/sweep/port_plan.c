/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A Set(PortInfo) writes every writable field (IBA 14.2.5.6), so the plan starts from what was read
 * and changes what the subnet manager decides:
 *   CA ports and a switch's port 0  M_Key, GID prefix, LID, LMC, SM LID and SL, SubnetTimeOut
 *   ports with a link              MTU and VLs: the lower of both ends
 *   a switch's ports                head-of-queue life and stall count, apart for ports to hosts;
 *                                   P_Key enforcement, where the port's table was written for it
 * MTU and VLs of a link past Init can't change without bouncing it; while its ends agree they stay
 * as they are. A link that is Active and works is not taken down because its ends count VLs
 * differently.
 */
#include "fm/sweep/port_plan.h"
#include "fm/conf/m_keys.h"
#include "fm/inventory/port_setup.h"

static uint8_t lower(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

static void plan_key(const struct m_keys *keys, const struct inv_node *node, unsigned num,
		     struct wire_port_info *want)
{
	const struct m_key_conf *conf = keys ? m_keys_conf(keys) : NULL;

	want->mkey = m_keys_wanted(keys, inventory_key_guid(node, num));
	want->mkey_protect = want->mkey ? conf->protect : 0;
	if (want->mkey)
		want->mkey_lease = conf->lease_s;
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

static void plan_queues(const struct bringup_conf *conf, const struct inv_node *peer,
			struct wire_port_info *want)
{
	bool to_switch = inv_is_switch(peer);

	want->hoq_life = to_switch ? conf->hoq_life : conf->leaf_hoq_life;
	want->vl_stall = to_switch ? conf->vl_stall : conf->leaf_vl_stall;
}

/* Codes of 0 are reserved: such a port keeps what it has. */
static void plan_link(const struct bringup_conf *conf, const struct wire_port_lanes *far,
		      struct wire_port_info *want)
{
	uint8_t mtu = lower(want->mtu_cap, far->mtu_cap);
	uint8_t vls = lower(lower(want->vl_cap, far->vl_cap), conf->max_op_vls);

	if (mtu)
		want->neighbor_mtu = mtu;
	if (vls)
		want->op_vls = vls;
}

static bool both_active(const struct wire_port_lanes *near, const struct wire_port_lanes *far)
{
	return near->state == TOPO_ACTIVE && far->state == TOPO_ACTIVE;
}

static bool link_clashes(const struct wire_port_lanes *near, const struct wire_port_lanes *far)
{
	return far->state > TOPO_INIT &&
	       (near->neighbor_mtu != far->neighbor_mtu ||
		(near->op_vls != far->op_vls && !both_active(near, far)) ||
		near->neighbor_mtu > lower(near->mtu_cap, far->mtu_cap));
}

bool port_plan_tolerates(const struct inv_port *port)
{
	struct wire_port_lanes is, far;

	if (!port->peer || !port->known)
		return false;
	wire_port_lanes_decode(port->info, &is);
	wire_port_lanes_decode(port->peer->ports[port->peer_port].info, &far);
	return both_active(&is, &far) && is.op_vls != far.op_vls;
}

/* Its table is being looked at: what is enforced stays so until that is done. */
static bool pkeys_open(const struct port_setup *setup)
{
	return setup->pkeys && setup->pkey_state == INV_PKEYS_OPEN;
}

static enum port_plan plan_compare(const struct wire_port_info *is,
				   const struct wire_port_info *want)
{
	if (is->lid != want->lid || is->lmc != want->lmc || is->sm_lid != want->sm_lid ||
	    is->gid_prefix != want->gid_prefix)
		return PORT_PLAN_MUST;
	if (is->mkey != want->mkey || is->mkey_protect != want->mkey_protect ||
	    is->mkey_lease != want->mkey_lease || is->sm_sl != want->sm_sl ||
	    is->subnet_timeout != want->subnet_timeout || is->hoq_life != want->hoq_life ||
	    is->vl_stall != want->vl_stall || is->neighbor_mtu != want->neighbor_mtu ||
	    is->op_vls != want->op_vls || is->pkey_enforce_in != want->pkey_enforce_in ||
	    is->pkey_enforce_out != want->pkey_enforce_out ||
	    is->vl_high_limit != want->vl_high_limit)
		return PORT_PLAN_TUNE;
	return PORT_PLAN_SAME;
}

/* Where there are lanes to arbitrate between. */
static void plan_high_limit(const struct bringup_conf *conf, const struct inv_node *node,
			    unsigned num, struct wire_port_info *want)
{
	bool arbitrates = num || node->sw.flags & INV_ENHANCED_PORT0;

	if (conf->qos.on && arbitrates && want->vl_cap > 1)
		want->vl_high_limit = conf->qos.kind[inv_qos_kind(node->info.type, num)].high_limit;
}

enum port_plan port_plan(const struct bringup_conf *conf, uint16_t sm_lid,
			 const struct inv_node *node, uint8_t num, struct wire_port_info *want)
{
	const struct inv_port *port = &node->ports[num];
	const struct port_setup *setup = port_setup(node, num);
	struct wire_port_lanes near, far;
	struct wire_port_info is;

	wire_port_info_decode(port->info, &is);
	*want = is;
	want->state = want->phys_state = 0; /* no change */
	want->client_reregister = false;
	if (inv_is_switch(node) ? num == 0 : num > 0) {
		plan_key(conf->keys, node, num, want);
		plan_end_port(conf, sm_lid, node, setup, want);
	}
	if (num && inv_is_switch(node) && !pkeys_open(setup)) {
		want->pkey_enforce_in = setup->enforced && conf->pkey_enforce_in;
		want->pkey_enforce_out = setup->enforced && conf->pkey_enforce_out;
	}
	plan_high_limit(conf, node, num, want);
	if (num && port->peer) {
		wire_port_lanes_decode(port->info, &near);
		wire_port_lanes_decode(port->peer->ports[port->peer_port].info, &far);
		if (inv_is_switch(node))
			plan_queues(conf, port->peer, want);
		if (is.state <= TOPO_INIT)
			plan_link(conf, &far, want);
		else if (link_clashes(&near, &far))
			return PORT_PLAN_CLASH;
	}
	return plan_compare(&is, want);
}
