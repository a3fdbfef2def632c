/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The subnet management agent of the double's nodes (IBA 14.2.5): one row of a table an attribute,
 * with its Get and its Set. Those of tables are in double_smp_tables.c, NVIDIA's in
 * double_smp_nvidia.c. The 64 bytes of the request are handed in and hold the answer afterwards; a
 * Set answers as the Get after it would.
 *
 * An agent that does not know an attribute answers with status 0x0c, one that dislikes a value with
 * 0x1c and without taking over anything. A wrong M_Key is not answered (14.2.4).
 */
#include <string.h>
#include "fm/mad/wire_optional.h"
#include "fm/mad/wire_sa.h"
#include "tests/fabric/double_smp.h"
#include "tests/fabric/double_answers.h"

#define LID_UNICAST_MAX 0xbfff
#define ENHANCED_PORT0	0x08 /* of SwitchInfo's flags; a base port 0 has one LID (18.2.4.1) */
#define STATES_BLOCK	128  /* ports */
#define AR_GROUP_COPY	0xffbd

/* ---- NodeInfo, NodeDescription, GUIDInfo, SMInfo --------------------------------------------- */

static uint16_t node_info_get(struct smp_request *r)
{
	struct wire_node_info info = r->node->ni;

	info.local_port = r->arrival->num;
	info.port_guid = is_switch(r->node) ? info.node_guid : r->arrival->guid;
	wire_node_info_encode(&info, r->data);
	return 0;
}

static uint16_t node_desc_get(struct smp_request *r)
{
	wire_node_desc_encode(r->node->desc, r->data);
	return 0;
}

static uint16_t guid_info_get(struct smp_request *r)
{
	if (r->mod >= DOUBLE_ALIASES / 8)
		return STATUS_BAD_FIELD;
	for (unsigned i = 0; i < 8; i++)
		wire_put(r->data + 8 * i, 8, r->arrival->aliases[8 * r->mod + i]);
	if (!r->mod)
		wire_put(r->data, 8, r->arrival->guid);
	return 0;
}

static uint16_t guid_info_set(struct smp_request *r)
{
	if (r->mod >= DOUBLE_ALIASES / 8)
		return STATUS_BAD_FIELD;
	for (unsigned i = 0; i < 8; i++)
		r->arrival->aliases[8 * r->mod + i] = wire_get(r->data + 8 * i, 8);
	return guid_info_get(r);
}

static uint16_t sm_info_get(struct smp_request *r)
{
	if (!r->arrival->has_sm)
		return STATUS_UNSUPPORTED;
	wire_sm_info_encode(&r->arrival->sm, r->data);
	return 0;
}

/* ---- PortInfo -------------------------------------------------------------------------------- */

/* A CA answers for the port that was asked unless another is named. */
struct dport *smp_port(struct smp_request *r)
{
	unsigned num = r->mod & 0xff;

	if (!is_switch(r->node) && num == 0)
		return r->arrival;
	return num <= r->node->ni.nports ? &r->node->ports[num] : NULL;
}

/*
 * Devices up to HDR show what they have whoever asks (Linux' mlx4 and mlx5 ask their own without a
 * modifier); from NDR on a manager has to say that it knows these speeds.
 */
static uint16_t port_info_get(struct smp_request *r)
{
	struct dport *port = smp_port(r);
	struct wire_port_info info;
	const struct dport *own;

	if (!port)
		return STATUS_BAD_FIELD;
	own = is_switch(r->node) ? &r->node->ports[0] : port;
	info = port->info;
	info.local_port = r->arrival->num;
	info.client_reregister = false;
	if (own->info.mkey_protect && own->info.mkey != r->key)
		info.mkey = 0; /* is for those that know it (14.2.4.1) */
	if (!(own->info.capmask & WIRE_CAP_EXT_SPEEDS) ||
	    (!(r->mod & WIRE_MOD_EXT_SPEEDS) && own->info.capmask2 & WIRE_CAP2_NDR)) {
		info.speed_ext_active = info.speed_ext_supported = info.speed_ext_enabled = 0;
		info.speed_ext2_active = info.speed_ext2_supported = info.speed_ext2_enabled = 0;
	}
	wire_port_info_encode(&info, r->data);
	if (port->ones)
		memset(r->data, 0xff, 64);
	return 0;
}

bool smp_is_external(const struct dport *port)
{
	return is_switch(port->node) && port->num;
}

static bool port_values_fit(const struct dport *port, const struct wire_port_info *want)
{
	const struct wire_port_info *have = &port->info;

	if (!smp_is_external(port) && (want->lid == 0 || want->lid > LID_UNICAST_MAX))
		return false;
	if (is_switch(port->node) && !port->num && want->lmc &&
	    !(port->node->si.flags & ENHANCED_PORT0))
		return false;
	return want->op_vls <= have->vl_cap && want->neighbor_mtu >= 1 &&
	       want->neighbor_mtu <= have->mtu_cap &&
	       (want->width_enabled == 0xff || !(want->width_enabled & ~have->width_supported));
}

static void port_take_endport(struct dport *port, const struct wire_port_info *want)
{
	struct wire_port_info *have = &port->info;

	have->mkey = want->mkey;
	have->gid_prefix = want->gid_prefix;
	have->lid = want->lid;
	have->lmc = want->lmc;
	have->sm_lid = want->sm_lid;
	have->sm_sl = want->sm_sl;
	have->mkey_lease = want->mkey_lease;
	have->mkey_protect = want->mkey_protect;
	have->subnet_timeout = want->subnet_timeout;
	have->client_reregister = want->client_reregister;
	port->reregistered += want->client_reregister;
}

/* 0 leaves an enabled mask as it is, all ones mean all that is supported. */
static uint8_t enabled(uint8_t want, uint8_t all, uint8_t have, uint8_t supported)
{
	if (!want)
		return have;
	return want == all ? supported : want;
}

static void port_go_down_to(struct dport *port)
{
	if (port->most_mtu && port->info.neighbor_mtu > port->most_mtu)
		port->info.neighbor_mtu = port->most_mtu;
	if (port->most_vls && port->info.op_vls > port->most_vls)
		port->info.op_vls = port->most_vls;
}

void double_set_most(struct double_fabric *d, guid_t node, unsigned num, uint8_t mtu, uint8_t vls)
{
	struct dport *port = double_port(d, node, num);

	port->most_mtu = mtu;
	port->most_vls = vls;
	port_go_down_to(port);
}

static void port_take_link(struct dport *port, const struct wire_port_info *want)
{
	struct wire_port_info *have = &port->info;

	have->width_enabled =
		enabled(want->width_enabled, 0xff, have->width_enabled, have->width_supported);
	have->speed_enabled =
		enabled(want->speed_enabled, 0xf, have->speed_enabled, have->speed_supported);
	have->speed_ext_enabled = enabled(want->speed_ext_enabled, 0x1f, have->speed_ext_enabled,
					  have->speed_ext_supported);
	if (want->down_default)
		have->down_default = want->down_default;
	if (want->op_vls)
		have->op_vls = want->op_vls;
	have->neighbor_mtu = want->neighbor_mtu;
	port_go_down_to(port);
	have->vl_high_limit = want->vl_high_limit;
	have->vl_stall = want->vl_stall;
	have->hoq_life = want->hoq_life;
	have->pkey_enforce_in = want->pkey_enforce_in;
	have->pkey_enforce_out = want->pkey_enforce_out;
	have->filter_raw_in = want->filter_raw_in;
	have->filter_raw_out = want->filter_raw_out;
	have->local_phy_errors = want->local_phy_errors;
	have->overrun_errors = want->overrun_errors;
}

static void port_take_phys(struct double_fabric *d, struct dport *port, uint8_t phys)
{
	if (phys == PHYS_DISABLED)
		port->disabled = true;
	if (phys == PHYS_POLLING)
		port->disabled = false;
	link_update(d, port);
}

static uint16_t port_info_set(struct smp_request *r)
{
	struct dport *port = smp_port(r);
	struct wire_port_info want;
	uint8_t status;

	wire_port_info_decode(r->data, &want);
	if (!port || !port_values_fit(port, &want))
		return STATUS_BAD_FIELD;
	if (r->d->strict && port->info.state == TOPO_ACTIVE && want.state != TOPO_DOWN &&
	    port->peer &&
	    ((want.op_vls && want.op_vls != port->info.op_vls) ||
	     want.neighbor_mtu != port->info.neighbor_mtu))
		return STATUS_BAD_FIELD;
	status = port_set_state(r->d, port, want.state);
	if (status)
		return status;
	if (!smp_is_external(port))
		port_take_endport(port, &want);
	port_take_link(port, &want);
	if (r->d->strict) {
		port->info.mkey_violations = want.mkey_violations;
		port->info.pkey_violations = want.pkey_violations;
		port->info.qkey_violations = want.qkey_violations;
	}
	port_take_phys(r->d, port, want.phys_state);
	return port_info_get(r);
}

/* ---- PortInfoExtended ------------------------------------------------------------------------ */

#define FEC_NONE     0
#define FEC_RS	     2 /* RS (528, 514), of EDR */
#define FEC_RS_LONG  4 /* RS (544, 514), from HDR on */
#define FEC_NONSENSE 0x4711

/* What a link of that speed uses where nobody says otherwise. */
static uint16_t usual_fec(uint8_t speed)
{
	if (speed >= TOPO_HDR)
		return FEC_RS_LONG;
	return speed == TOPO_EDR ? FEC_RS : FEC_NONE;
}

static uint16_t active_fec(const struct dport *port)
{
	if (port->fec_mode == DOUBLE_FEC_USUAL)
		return usual_fec(port->trained);
	return port->fec_mode == DOUBLE_FEC_WRONG ? FEC_NONSENSE : port->fec_mode;
}

/* Known to devices that claim it: those of HDR and above. */
static uint16_t port_ext_get(struct smp_request *r)
{
	const struct dport *port = smp_port(r);
	struct wire_port_ext info = { 0 };
	const struct dport *own;

	if (!port)
		return STATUS_BAD_FIELD;
	own = is_switch(r->node) ? &r->node->ports[0] : port;
	if (!(own->info.capmask2 & WIRE_CAP2_PORT_INFO_EXT) || port->fec_mode == DOUBLE_FEC_REFUSED)
		return STATUS_UNSUPPORTED;
	info.has_fec = port->fec_mode != DOUBLE_FEC_NONE;
	if (port->info.phys_state == PHYS_LINK_UP && info.has_fec)
		info.active = active_fec(port);
	for (unsigned i = 0; i < WIRE_EXT_SPEEDS; i++) {
		unsigned usual = usual_fec((uint8_t)(i == WIRE_EXT_EDR	? TOPO_EDR
						     : i > WIRE_EXT_EDR ? TOPO_HDR
									: TOPO_FDR));

		info.supported[i] = (uint16_t)(1u << FEC_NONE | 1u << usual);
		info.enabled[i] = (uint16_t)(1u << usual);
	}
	wire_port_ext_encode(&info, r->data);
	return 0;
}

void double_set_fec_mode(struct double_fabric *d, guid_t guid, unsigned num, unsigned fec)
{
	double_node(d, guid)->ports[num].fec_mode = (uint8_t)fec;
}

/* ---- SwitchInfo, SwitchPortStateTable -------------------------------------------------------- */

static uint16_t switch_info_get(struct smp_request *r)
{
	wire_switch_info_encode(&r->node->si, r->data);
	return 0;
}

static uint16_t switch_info_set(struct smp_request *r)
{
	struct wire_switch_info *have = &r->node->si;
	struct wire_switch_info want;

	wire_switch_info_decode(r->data, &want);
	if (want.lft_top >= have->lft_cap)
		return STATUS_BAD_FIELD;
	have->lft_top = want.lft_top;
	have->default_port = want.default_port;
	have->default_mcast_primary = want.default_mcast_primary;
	have->default_mcast_other = want.default_mcast_other;
	have->life_time = want.life_time;
	have->opt_sl2vl = want.opt_sl2vl;
	have->mft_top = want.mft_top;
	if (want.port_state_change)
		have->port_state_change = false; /* writing 1 clears */
	return switch_info_get(r);
}

static uint16_t port_states_get(struct smp_request *r)
{
	unsigned first = (r->mod & 1) * STATES_BLOCK;

	if (!r->node->state_table)
		return STATUS_UNSUPPORTED;
	memset(r->data, 0, WIRE_SMP_DATA);
	for (unsigned n = first; n < first + STATES_BLOCK && n <= r->node->ni.nports; n++) {
		uint8_t state = r->node->ports[n].info.state;

		r->data[(n - first) / 2] |= (uint8_t)(n % 2 ? state : state << 4);
	}
	return 0;
}

/* ---- Execution ------------------------------------------------------------------------------- */

/* Of an attribute that is only set. */
static uint16_t smp_refused_get(struct smp_request *r)
{
	return STATUS_BAD_METHOD;
}

static const struct agent_row {
	uint16_t attr_id;
	bool switches_only;
	smp_fn *get, *set;
} agent_table[] = {
	{ WIRE_NODE_INFO, false, node_info_get, NULL },
	{ WIRE_NODE_DESC, false, node_desc_get, NULL },
	{ WIRE_GUID_INFO, false, guid_info_get, guid_info_set },
	{ WIRE_SM_INFO, false, sm_info_get, NULL },
	{ WIRE_PORT_INFO, false, port_info_get, port_info_set },
	{ WIRE_PKEY_TABLE, false, smp_pkeys_get, smp_pkeys_set },
	{ WIRE_SL2VL, false, smp_sl2vl_get, smp_sl2vl_set },
	{ WIRE_VL_ARB, false, smp_arb_get, smp_arb_set },
	{ WIRE_SWITCH_INFO, true, switch_info_get, switch_info_set },
	{ WIRE_PORT_INFO_EXT, false, port_ext_get, NULL },
	{ WIRE_PORT_STATE_TABLE, true, port_states_get, NULL },
	{ WIRE_LFT, true, smp_lft_get, smp_lft_set },
	{ WIRE_MFT, true, smp_mft_get, smp_mft_set },
	{ WIRE_MLNX_EXT_PORT_INFO, false, smp_ext_port_get, smp_ext_port_set },
	{ WIRE_GENERAL_INFO, false, smp_general_get, NULL },
	{ WIRE_HIERARCHY_INFO, false, smp_hierarchy_get, NULL },
	{ WIRE_PRIVATE_LFT_INFO, true, smp_private_get, smp_private_set },
	{ WIRE_ADAPTIVE_INFO, true, smp_adaptive_get, smp_adaptive_set },
	{ WIRE_AR_LFT, true, smp_ar_lft_get, smp_ar_lft_set },
	{ WIRE_AR_GROUPS, true, smp_ar_groups_get, smp_ar_groups_set },
	{ AR_GROUP_COPY, true, smp_refused_get, smp_ar_copy_set },
};

static const struct agent_row *agent_find(const struct dnode *node, uint16_t attr_id)
{
	for (size_t i = 0; i < sizeof(agent_table) / sizeof(agent_table[0]); i++)
		if (agent_table[i].attr_id == attr_id &&
		    (!agent_table[i].switches_only || is_switch(node)))
			return &agent_table[i];
	return NULL;
}

static bool is_mute(const struct smp_request *r, const struct wire_mad *m)
{
	for (unsigned i = 0; i < r->d->nmutes; i++) {
		const struct dmute *rule = &r->d->mutes[i];

		if ((!rule->method || rule->method == m->method) &&
		    (!rule->node || rule->node == r->node->guid) &&
		    (!rule->attr_id || rule->attr_id == m->attr_id))
			return true;
	}
	return false;
}

/* The answer of a Set that is as after it, but for what no Set changes. */
static uint16_t port_info_feign(struct smp_request *r)
{
	struct wire_port_info want, have;
	uint16_t status;

	wire_port_info_decode(r->data, &want);
	status = port_info_get(r);
	wire_port_info_decode(r->data, &have);
	want.state = have.state;
	want.phys_state = have.phys_state;
	want.local_port = have.local_port;
	want.client_reregister = false;
	wire_port_info_encode(&want, r->data);
	return status;
}

static uint16_t switch_info_feign(struct smp_request *r)
{
	struct wire_switch_info want;

	wire_switch_info_decode(r->data, &want);
	if (want.port_state_change)
		r->node->si.port_state_change = false;
	want.port_state_change = false;
	wire_switch_info_encode(&want, r->data);
	return 0;
}

/* A device that pretends answers as if it had taken over what it was told. */
static uint16_t set_run(struct smp_request *r, const struct agent_row *row)
{
	if (row->attr_id == r->node->feigns) {
		if (row->set == port_info_set)
			return port_info_feign(r);
		return row->set == switch_info_set ? switch_info_feign(r) : 0;
	}
	if (r->node->pretends && (row->set == smp_lft_set || row->set == smp_mft_set))
		return 0;
	return row->set(r);
}

static uint16_t agent_run(struct smp_request *r, const struct wire_mad *m)
{
	const struct agent_row *row = agent_find(r->node, m->attr_id);
	uint16_t status;

	if (!row)
		return STATUS_UNSUPPORTED;
	if (m->method == WIRE_GET)
		return row->get(r);
	if (!row->set)
		return STATUS_BAD_METHOD;
	status = set_run(r, row);
	ways_changed(r->d);
	if (!status && r->d->on_set)
		r->d->on_set(r->d->on_set_arg, r->node->guid, m->attr_id, m->attr_mod);
	return status;
}

bool smp_execute(struct double_fabric *d, struct dport *arrival, struct wire_mad *m, uint8_t *mad)
{
	struct smp_request r = {
		.key = m->key,
		.d = d,
		.node = arrival->node,
		.arrival = arrival,
		.mod = m->attr_mod,
		.data = wire_smp_data(mad),
	};

	if (is_mute(&r, m)) {
		d->drops.silent++;
		return false;
	}
	if (!mkey_check(d, arrival, m)) {
		d->drops.mkey++;
		return false;
	}
	if (r.node->no_sets && m->method != WIRE_GET) {
		d->drops.sets++;
		return false;
	}
	if (r.node->refuses && m->method != WIRE_GET) {
		m->status = STATUS_BAD_FIELD;
		m->method = WIRE_GET_RESP;
		return true;
	}
	if (m->attr_id == WIRE_SM_INFO && arrival->sm_silent)
		return false;
	m->status = agent_run(&r, m);
	m->method = WIRE_GET_RESP;
	return true;
}
