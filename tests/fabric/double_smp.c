/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The subnet management agent of the double's nodes (IBA 14.2.5): one row of a table an attribute,
 * with its Get and its Set. The 64 bytes of the request are handed in and hold the answer
 * afterwards; a Set answers as the Get after it would.
 *
 * An agent that does not know an attribute answers with status 0x0c, one that dislikes a value with
 * 0x1c and without taking over anything. A wrong M_Key is not answered (14.2.4).
 */
#include <stdlib.h>
#include <string.h>
#include "fm/mad/wire_adaptive.h"
#include "fm/mad/wire_sa_rows.h"
#include "tests/fabric/double_own.h"
#include "topology/mem.h"

#define STATUS_BAD_METHOD  0x08
#define STATUS_UNSUPPORTED 0x0c
#define STATUS_BAD_FIELD   0x1c
#define LID_UNICAST_MAX	   0xbfff
#define PKEYS_BLOCK	   32
#define PSC_BIT		   0x04
/*
 * Bytes of NVIDIA's MlnxExtendedPortInfo: bit 0 of each is FDR10; and what kind of special port it
 * is.
 */
#define EXT_PORT_SUPPORTED 7
#define EXT_PORT_ENABLED   11
#define EXT_PORT_ACTIVE	   15
#define EXT_PORT_SPECIAL   47
#define ENHANCED_PORT0	   0x08 /* of SwitchInfo's flags; a base port 0 has one LID (18.2.4.1) */
#define STATES_BLOCK	   128	/* ports */

struct request {
	uint64_t key;
	struct double_fabric *d;
	struct dnode *node;
	struct dport *arrival;
	uint32_t mod;
	uint8_t *data; /* 64 bytes */
};

typedef uint16_t agent_fn(struct request *r); /* 0 or a status */

/* ---- NodeInfo, NodeDescription, GUIDInfo, SMInfo --------------------------------------------- */

static uint16_t node_info_get(struct request *r)
{
	struct wire_node_info info = r->node->ni;

	info.local_port = r->arrival->num;
	info.port_guid = is_switch(r->node) ? info.node_guid : r->arrival->guid;
	wire_node_info_encode(&info, r->data);
	return 0;
}

static uint16_t node_desc_get(struct request *r)
{
	wire_node_desc_encode(r->node->desc, r->data);
	return 0;
}

static uint16_t guid_info_get(struct request *r)
{
	guid_t guids[8];

	if (r->mod >= DOUBLE_ALIASES / 8)
		return STATUS_BAD_FIELD;
	memcpy(guids, r->arrival->aliases + 8 * r->mod, sizeof(guids));
	if (!r->mod)
		guids[0] = r->arrival->guid;
	wire_guid_info_encode(guids, r->data);
	return 0;
}

static uint16_t guid_info_set(struct request *r)
{
	if (r->mod >= DOUBLE_ALIASES / 8)
		return STATUS_BAD_FIELD;
	wire_guid_info_decode(r->data, r->arrival->aliases + 8 * r->mod);
	return guid_info_get(r);
}

static uint16_t sm_info_get(struct request *r)
{
	if (!r->arrival->has_sm)
		return STATUS_UNSUPPORTED;
	wire_sm_info_encode(&r->arrival->sm, r->data);
	return 0;
}

/* ---- PortInfo -------------------------------------------------------------------------------- */

/* A CA answers for the port that was asked unless another is named. */
static struct dport *port_named(struct request *r)
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
static uint16_t port_info_get(struct request *r)
{
	struct dport *port = port_named(r);
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
	return 0;
}

static bool is_external(const struct dport *port)
{
	return is_switch(port->node) && port->num;
}

static bool port_values_fit(const struct dport *port, const struct wire_port_info *want)
{
	const struct wire_port_info *have = &port->info;

	if (!is_external(port) && (want->lid == 0 || want->lid > LID_UNICAST_MAX))
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

static uint16_t port_info_set(struct request *r)
{
	struct dport *port = port_named(r);
	struct wire_port_info want;
	uint8_t status;

	wire_port_info_decode(r->data, &want);
	if (!port || !port_values_fit(port, &want))
		return STATUS_BAD_FIELD;
	status = port_set_state(r->d, port, want.state);
	if (status)
		return status;
	if (!is_external(port))
		port_take_endport(port, &want);
	port_take_link(port, &want);
	port_take_phys(r->d, port, want.phys_state);
	return port_info_get(r);
}

/* ---- SwitchInfo, SwitchPortStateTable -------------------------------------------------------- */

static uint16_t switch_info_get(struct request *r)
{
	wire_switch_info_encode(&r->node->si, r->data);
	return 0;
}

static uint16_t switch_info_set(struct request *r)
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

static uint16_t port_states_get(struct request *r)
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

/* ---- Tables ---------------------------------------------------------------------------------- */

static uint16_t lft_get(struct request *r)
{
	uint32_t first = r->mod * WIRE_LFT_BLOCK;

	if (r->mod > 0xffff || first >= r->node->si.lft_cap)
		return STATUS_BAD_FIELD;
	memset(r->data, LFT_NONE, WIRE_SMP_DATA);
	if (first < r->node->lft_size)
		memcpy(r->data, r->node->lft + first, WIRE_LFT_BLOCK);
	return 0;
}

/* Blocks come one after the other: there is room for some more each time. */
static void lft_fit(struct dnode *node, uint32_t size)
{
	if (size <= node->lft_size)
		return;
	size += size / 2 / WIRE_LFT_BLOCK * WIRE_LFT_BLOCK;
	node->lft = mem_resize(node->lft, size, 1);
	memset(node->lft + node->lft_size, LFT_NONE, size - node->lft_size);
	node->lft_size = size;
}

/* The first plain write ends adaptive routing, and till then the rest of the table was not kept. */
static void end_adaptive(struct dnode *node)
{
	if (!(node->adaptive[3] & 1))
		return;
	node->adaptive[3] &= (uint8_t)~1;
	if (node->lft_size)
		memset(node->lft, LFT_NONE, node->lft_size);
}

static uint16_t lft_set(struct request *r)
{
	uint32_t first = r->mod * WIRE_LFT_BLOCK;

	if (r->mod > 0xffff || first >= r->node->si.lft_cap)
		return STATUS_BAD_FIELD;
	end_adaptive(r->node);
	lft_fit(r->node, first + WIRE_LFT_BLOCK);
	memcpy(r->node->lft + first, r->data, WIRE_LFT_BLOCK);
	return 0;
}

void double_set_lft(struct double_fabric *d, guid_t guid, uint16_t lid, uint8_t port)
{
	struct dnode *node = double_node(d, guid);

	lft_fit(node, (lid / WIRE_LFT_BLOCK + 1u) * WIRE_LFT_BLOCK);
	node->lft[lid] = port;
	ways_changed(d);
}

/* ---- NVIDIA's GeneralInfo, PrivateLFTInfo, AdaptiveRoutingInfo ------------------------------- */

static uint16_t general_get(struct request *r)
{
	if (!r->node->has_caps)
		return STATUS_UNSUPPORTED;
	if (r->mod != WIRE_GENERAL_CAPS)
		return STATUS_BAD_FIELD;
	memcpy(r->data, r->node->caps, WIRE_SMP_DATA);
	return 0;
}

/* FDR10 is said here alone; and that a port is an aggregation node's. */
static uint16_t ext_port_get(struct request *r)
{
	const struct dport *port = port_named(r);

	if (!wire_adaptive_vendor(r->node->ni.vendor))
		return STATUS_UNSUPPORTED;
	if (!port)
		return STATUS_BAD_FIELD;
	memset(r->data, 0, WIRE_SMP_DATA);
	r->data[EXT_PORT_SUPPORTED] = r->data[EXT_PORT_ENABLED] = port->speed >= TOPO_FDR10;
	r->data[EXT_PORT_ACTIVE] = port->trained == TOPO_FDR10;
	if (r->node->design->sharp)
		r->data[EXT_PORT_SPECIAL] = 0x80 | 1;
	return 0;
}

static uint16_t private_get(struct request *r)
{
	if (!wire_has_private_lft(r->node->caps))
		return STATUS_UNSUPPORTED;
	memcpy(r->data, r->node->private_lft, WIRE_SMP_DATA);
	return 0;
}

static uint16_t private_set(struct request *r)
{
	if (!wire_has_private_lft(r->node->caps))
		return STATUS_UNSUPPORTED;
	memcpy(r->node->private_lft, r->data, WIRE_SMP_DATA);
	return 0;
}

static uint16_t adaptive_get(struct request *r)
{
	if (!wire_has_adaptive(r->node->caps))
		return STATUS_UNSUPPORTED;
	memcpy(r->data, r->node->adaptive, WIRE_SMP_DATA);
	return 0;
}

static uint16_t adaptive_set(struct request *r)
{
	if (!wire_has_adaptive(r->node->caps))
		return STATUS_UNSUPPORTED;
	memcpy(r->node->adaptive, r->data, WIRE_SMP_DATA);
	return 0;
}

void double_set_adaptive(struct double_fabric *d, guid_t guid, bool able, bool on)
{
	struct dnode *node = double_node(d, guid);

	memset(node->caps, 0, sizeof(node->caps));
	node->has_caps = able;
	node->caps[3] = able ? 1 << 0 | 1 << 2 : 0;
	node->private_lft[3] = on;
	node->adaptive[3] = on ? 1 << 0 | 1 << 4 : 0; /* and fast recovery */
	node->adaptive[22] = on ? 1 << 7 : 0;	      /* and hash-based forwarding */
	node->adaptive[5] = 0x5a;		      /* what is none of a manager's business */
}

void double_set_sharp(struct double_fabric *d, guid_t guid, bool is)
{
	struct dnode *node = double_node(d, guid);

	node->has_caps = true;
	memset(node->caps, 0, sizeof(node->caps));
	node->caps[1] = is ? 1 << 2 : 0;
	node->caps[2] = 1 << 1; /* something else that a CA can */
}

const uint8_t *double_adaptive(const struct double_fabric *d, guid_t guid)
{
	return double_node((struct double_fabric *)d, guid)->adaptive;
}

/* Modifier: block of 32 MLIDs [8:0], column of 16 ports [31:28]. */
static uint16_t *mft_block(struct request *r)
{
	struct dnode *node = r->node;
	unsigned row = (r->mod & 0x1ff) * MFT_BLOCK, column = r->mod >> 28;

	if (row + MFT_BLOCK > node->si.mft_cap || column >= node->columns)
		return NULL;
	if (!node->mft)
		node->mft = mem_alloc((size_t)node->si.mft_cap * node->columns, sizeof(uint16_t));
	return &node->mft[row * node->columns + column];
}

static uint16_t mft_get(struct request *r)
{
	const uint16_t *entry = mft_block(r);
	uint16_t masks[MFT_BLOCK];

	if (!entry)
		return STATUS_BAD_FIELD;
	for (unsigned i = 0; i < MFT_BLOCK; i++)
		masks[i] = entry[i * r->node->columns];
	wire_pkeys_encode(masks, r->data); /* 32 words, as a block of P_Keys */
	return 0;
}

static uint16_t mft_set(struct request *r)
{
	uint16_t *entry = mft_block(r);
	uint16_t masks[MFT_BLOCK];

	if (!entry)
		return STATUS_BAD_FIELD;
	wire_pkeys_decode(r->data, masks);
	for (unsigned i = 0; i < MFT_BLOCK; i++)
		entry[i * r->node->columns] = masks[i];
	return 0;
}

unsigned double_pkey_cap(const struct dport *port)
{
	return is_external(port) ? port->node->si.enforce_cap : port->node->ni.partition_cap;
}

/* Modifier: block [15:0], port [31:16]. */
static uint16_t *pkey_block(struct request *r)
{
	unsigned num = r->mod >> 16, block = r->mod & 0xffff;
	unsigned cap;
	struct dport *port = r->arrival;

	if (is_switch(r->node)) {
		if (num > r->node->ni.nports)
			return NULL;
		port = &r->node->ports[num];
	}
	cap = double_pkey_cap(port);
	if (block * PKEYS_BLOCK >= cap)
		return NULL;
	if (!port->pkeys) {
		port->pkeys = mem_alloc((cap + PKEYS_BLOCK - 1) / PKEYS_BLOCK,
					PKEYS_BLOCK * sizeof(uint16_t));
		port->pkeys[0] = 0xffff;
	}
	return port->pkeys + block * PKEYS_BLOCK;
}

static uint16_t pkeys_get(struct request *r)
{
	const uint16_t *pkeys = pkey_block(r);

	if (!pkeys)
		return STATUS_BAD_FIELD;
	wire_pkeys_encode(pkeys, r->data);
	return 0;
}

static uint16_t pkeys_set(struct request *r)
{
	uint16_t *pkeys = pkey_block(r);

	if (!pkeys)
		return STATUS_BAD_FIELD;
	wire_pkeys_decode(r->data, pkeys);
	return 0;
}

/* ---- SL2VL, VL arbitration ------------------------------------------------------------------- */

/*
 * Modifier: output port [7:0], input port [15:8]; bits 17 and 16: all of either, where the switch
 * says it knows them.
 */
static bool sl2vl_ports(struct request *r, unsigned *in, unsigned *out)
{
	unsigned nports = r->node->ni.nports;

	*in = *out = 0;
	if (!is_switch(r->node))
		return true;
	*in = r->mod >> 8 & 0xff;
	*out = r->mod & 0xff;
	return *in <= nports && *out <= nports && (r->node->si.opt_sl2vl || !(r->mod >> 16));
}

static uint16_t sl2vl_get(struct request *r)
{
	unsigned in, out;

	if (!sl2vl_ports(r, &in, &out) || r->mod >> 16)
		return STATUS_BAD_FIELD;
	memset(r->data, 0, WIRE_SMP_DATA);
	memcpy(r->data, (is_switch(r->node) ? &r->node->ports[out] : r->arrival)->sl2vl[in], 8);
	return 0;
}

static uint16_t sl2vl_set(struct request *r)
{
	bool all_in = r->mod & 0x20000, all_out = r->mod & 0x10000;
	unsigned in, out, last = r->node->ni.nports;

	if (!sl2vl_ports(r, &in, &out))
		return STATUS_BAD_FIELD;
	if (!is_switch(r->node)) {
		memcpy(r->arrival->sl2vl[0], r->data, 8);
		return 0;
	}
	for (unsigned o = all_out ? 0 : out; o <= (all_out ? last : out); o++)
		for (unsigned i = all_in ? 0 : in; i <= (all_in ? last : in); i++)
			memcpy(r->node->ports[o].sl2vl[i], r->data, 8);
	return 0;
}

/*
 * Modifier: block [31:16], 1 .. 4; port of a switch [15:0]. The entries that are there, 0 = no such
 * block.
 */
static unsigned arb_find(struct request *r, uint8_t **block)
{
	unsigned num = r->mod & 0xffff, which = (r->mod >> 16) - 1, cap = r->d->conf.arb_cap;
	struct dport *port = r->arrival;

	if (which > 3 || (is_switch(r->node) && num > r->node->ni.nports) || cap <= which % 2 * 32)
		return 0;
	if (is_switch(r->node))
		port = &r->node->ports[num];
	*block = port->arb[which];
	cap -= which % 2 * 32;
	return cap < 32 ? cap : 32;
}

static uint16_t arb_get(struct request *r)
{
	uint8_t *block;
	unsigned entries = arb_find(r, &block);

	if (!entries)
		return STATUS_BAD_FIELD;
	memset(r->data, 0xff, WIRE_SMP_DATA); /* what is not there, or reserved, may be anything */
	for (unsigned i = 0; i < 2 * entries; i++)
		r->data[i] = block[i] | (i % 2 ? 0 : 0xf0);
	return 0;
}

static uint16_t arb_set(struct request *r)
{
	uint8_t *block;
	unsigned entries = arb_find(r, &block);

	if (!entries)
		return STATUS_BAD_FIELD;
	memcpy(block, r->data, 2 * entries);
	return arb_get(r);
}

/* ---- Execution ------------------------------------------------------------------------------- */

static const struct agent_row {
	uint16_t attr_id;
	bool switches_only;
	agent_fn *get, *set;
} agent_table[] = {
	{ WIRE_NODE_INFO, false, node_info_get, NULL },
	{ WIRE_NODE_DESC, false, node_desc_get, NULL },
	{ WIRE_GUID_INFO, false, guid_info_get, guid_info_set },
	{ WIRE_SM_INFO, false, sm_info_get, NULL },
	{ WIRE_PORT_INFO, false, port_info_get, port_info_set },
	{ WIRE_PKEY_TABLE, false, pkeys_get, pkeys_set },
	{ WIRE_SL2VL, false, sl2vl_get, sl2vl_set },
	{ WIRE_VL_ARB, false, arb_get, arb_set },
	{ WIRE_SWITCH_INFO, true, switch_info_get, switch_info_set },
	{ WIRE_PORT_STATE_TABLE, true, port_states_get, NULL },
	{ WIRE_LFT, true, lft_get, lft_set },
	{ WIRE_MFT, true, mft_get, mft_set },
	{ WIRE_MLNX_EXT_PORT_INFO, false, ext_port_get, NULL },
	{ WIRE_GENERAL_INFO, false, general_get, NULL },
	{ WIRE_PRIVATE_LFT_INFO, true, private_get, private_set },
	{ WIRE_ADAPTIVE_INFO, true, adaptive_get, adaptive_set },
};

static const struct agent_row *agent_find(const struct dnode *node, uint16_t attr_id)
{
	for (size_t i = 0; i < sizeof(agent_table) / sizeof(agent_table[0]); i++)
		if (agent_table[i].attr_id == attr_id &&
		    (!agent_table[i].switches_only || is_switch(node)))
			return &agent_table[i];
	return NULL;
}

static bool is_mute(const struct request *r, const struct wire_mad *m)
{
	return r->d->mute.method == m->method &&
	       (!r->d->mute.node || r->d->mute.node == r->node->guid) &&
	       (!r->d->mute.attr_id || r->d->mute.attr_id == m->attr_id);
}

/* The answer of a Set that is as after it, but for what no Set changes. */
static uint16_t port_info_feign(struct request *r)
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

static uint16_t switch_info_feign(struct request *r)
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
static uint16_t set_run(struct request *r, const struct agent_row *row)
{
	if (row->attr_id == r->node->feigns) {
		if (row->set == port_info_set)
			return port_info_feign(r);
		return row->set == switch_info_set ? switch_info_feign(r) : 0;
	}
	if (r->node->pretends && (row->set == lft_set || row->set == mft_set))
		return 0;
	return row->set(r);
}

static uint16_t agent_run(struct request *r, const struct wire_mad *m)
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
	struct request r = {
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
