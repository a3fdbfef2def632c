/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * SMPs between bytes and host order. The layouts are those of IBA 13.4.2 (common header), 14.2.1
 * (SMP formats) and 14.2.5 (attributes), taken from the structures of <iba/ib_types.h>; what is
 * newer than these is named by offset here:
 *
 *   PortInfo byte 56      extended speeds 2 (XDR): the top byte of ib_port_info_t's link_rt_latency
 *   PortInfo bytes 62, 63 extended speeds (FDR to NDR)
 *
 * Attributes are copied into a local structure before use: the 64 bytes have no alignment of their
 * own.
 *
 * Encoders of attributes write all 64 bytes; wire_mad_encode() writes header fields only, so that
 * laid over a received request it turns that into its answer and leaves data and return path as
 * they came.
 */
#include <errno.h>
#include <string.h>
#include <iba/ib_types.h>
#include <complib/cl_byteswap.h>
#include "fm/mad/wire.h"
#include "fm/mad/wire_sa.h"
#include "topology/base/text.h"

#define DIRECTION_BIT 0x8000
#define STATUS_MASK   0x7fff

_Static_assert(sizeof(ib_smp_t) == WIRE_MAD_SIZE, "SMP");
_Static_assert(sizeof(ib_mad_t) + WIRE_GMP_DATA == WIRE_MAD_SIZE, "MAD header");
_Static_assert(offsetof(ib_smp_t, data) == 64, "SMP data");
_Static_assert(sizeof(ib_port_info_t) == WIRE_SMP_DATA, "PortInfo");
_Static_assert(sizeof(ib_node_info_t) == 40, "NodeInfo");
_Static_assert(offsetof(ib_sa_mad_t, sm_key) == 36, "SA header");

/* ---- MAD header ------------------------------------------------------------------------------ */

static void dr_encode(const struct wire_mad *mad, ib_smp_t *smp)
{
	if (mad->returning)
		smp->status |= IB_SMP_DIRECTION;
	smp->hop_ptr = mad->hop_ptr;
	smp->hop_count = mad->hop_count;
	smp->dr_slid = cl_hton16(mad->dr_slid);
	smp->dr_dlid = cl_hton16(mad->dr_dlid);
	memcpy(smp->initial_path, mad->path, sizeof(smp->initial_path));
}

void wire_mad_encode(const struct wire_mad *mad, uint8_t buf[WIRE_MAD_SIZE])
{
	ib_smp_t smp;

	memcpy(&smp, buf, sizeof(smp));
	smp.base_ver = 1;
	smp.mgmt_class = mad->mgmt_class;
	smp.class_ver = mad->class_version;
	smp.method = mad->method;
	smp.status = cl_hton16(mad->status & STATUS_MASK);
	smp.trans_id = cl_hton64(mad->tid);
	smp.attr_id = cl_hton16(mad->attr_id);
	smp.attr_mod = cl_hton32(mad->attr_mod);
	if (wire_is_smi(mad->mgmt_class))
		smp.m_key = cl_hton64(mad->key);
	if (mad->mgmt_class == WIRE_SMI_DR)
		dr_encode(mad, &smp);
	memcpy(buf, &smp, sizeof(smp));
	if (mad->mgmt_class == WIRE_SA) {
		ib_net64_t key = cl_hton64(mad->key);

		memcpy(buf + offsetof(ib_sa_mad_t, sm_key), &key, sizeof(key));
	}
}

static void dr_decode(const ib_smp_t *smp, struct wire_mad *mad)
{
	mad->returning = smp->status & IB_SMP_DIRECTION;
	mad->hop_ptr = smp->hop_ptr;
	mad->hop_count = smp->hop_count;
	mad->dr_slid = cl_ntoh16(smp->dr_slid);
	mad->dr_dlid = cl_ntoh16(smp->dr_dlid);
	memcpy(mad->path, smp->initial_path, sizeof(mad->path));
}

int wire_mad_decode_header(const uint8_t *buf, size_t len, struct wire_mad *mad)
{
	ib_mad_t header;

	if (len < WIRE_MAD_HEADER)
		return -EBADMSG;
	memcpy(&header, buf, sizeof(header));
	if (header.base_ver != 1)
		return -EBADMSG;
	*mad = (struct wire_mad){
		.mgmt_class = header.mgmt_class,
		.class_version = header.class_ver,
		.method = header.method,
		.status = cl_ntoh16(header.status) & STATUS_MASK,
		.tid = cl_ntoh64(header.trans_id),
		.attr_id = cl_ntoh16(header.attr_id),
		.attr_mod = cl_ntoh32(header.attr_mod),
	};
	return 0;
}

bool wire_mad_is_short_rmpp(const uint8_t *buf, size_t len)
{
	const ib_rmpp_mad_t *mad = (const ib_rmpp_mad_t *)buf;

	return len >= WIRE_SA_HEADER && len < WIRE_MAD_SIZE &&
	       mad->common_hdr.mgmt_class == WIRE_SA && mad->rmpp_flags & IB_RMPP_FLAG_ACTIVE;
}

int wire_mad_decode(const uint8_t *buf, size_t len, struct wire_mad *mad)
{
	ib_smp_t smp;

	if (len < WIRE_MAD_SIZE || wire_mad_decode_header(buf, len, mad))
		return -EBADMSG;
	memcpy(&smp, buf, sizeof(smp));
	if (wire_is_smi(mad->mgmt_class))
		mad->key = cl_ntoh64(smp.m_key);
	if (mad->mgmt_class == WIRE_SMI_DR) {
		/* The hop pointer stands one past the count at the route's end (IBA 14.2.2.2). */
		if (smp.hop_count > WIRE_MAX_HOPS || smp.hop_ptr > WIRE_MAX_HOPS + 1)
			return -EBADMSG;
		dr_decode(&smp, mad);
	}
	if (mad->mgmt_class == WIRE_SA) {
		ib_net64_t key;

		memcpy(&key, buf + offsetof(ib_sa_mad_t, sm_key), sizeof(key));
		mad->key = cl_ntoh64(key);
	}
	return 0;
}

uint8_t *wire_smp_data(uint8_t buf[WIRE_MAD_SIZE])
{
	return buf + offsetof(ib_smp_t, data);
}

uint8_t *wire_gmp_data(uint8_t buf[WIRE_MAD_SIZE])
{
	return buf + sizeof(ib_mad_t);
}

/* ---- NodeInfo, NodeDescription --------------------------------------------------------------- */

void wire_node_info_decode(const uint8_t data[64], struct wire_node_info *out)
{
	ib_node_info_t ni;

	memcpy(&ni, data, sizeof(ni));
	*out = (struct wire_node_info){
		.base_version = ni.base_version,
		.class_version = ni.class_version,
		.type = ni.node_type,
		.nports = ni.num_ports,
		.sys_guid = cl_ntoh64(ni.sys_guid),
		.node_guid = cl_ntoh64(ni.node_guid),
		.port_guid = cl_ntoh64(ni.port_guid),
		.partition_cap = cl_ntoh16(ni.partition_cap),
		.device = cl_ntoh16(ni.device_id),
		.revision = cl_ntoh32(ni.revision),
		.local_port = (uint8_t)(cl_ntoh32(ni.port_num_vendor_id) >> 24),
		.vendor = cl_ntoh32(ni.port_num_vendor_id) & 0xffffff,
	};
}

void wire_node_info_encode(const struct wire_node_info *in, uint8_t data[64])
{
	ib_node_info_t ni = {
		.base_version = in->base_version,
		.class_version = in->class_version,
		.node_type = in->type,
		.num_ports = in->nports,
		.sys_guid = cl_hton64(in->sys_guid),
		.node_guid = cl_hton64(in->node_guid),
		.port_guid = cl_hton64(in->port_guid),
		.partition_cap = cl_hton16(in->partition_cap),
		.device_id = cl_hton16(in->device),
		.revision = cl_hton32(in->revision),
		.port_num_vendor_id =
			cl_hton32((uint32_t)in->local_port << 24 | (in->vendor & 0xffffff)),
	};

	memset(data, 0, 64);
	memcpy(data, &ni, sizeof(ni));
}

void wire_node_desc_decode(const uint8_t data[64], char text[65])
{
	size_t first = 0, len = strnlen((const char *)data, 64);

	while (len && (data[len - 1] <= ' '))
		len--;
	while (first < len && data[first] <= ' ')
		first++;
	text_clean((const char *)data + first, len - first, text);
}

void wire_node_desc_encode(const char *text, uint8_t data[64])
{
	memset(data, 0, 64);
	memcpy(data, text, strnlen(text, 64));
}

/* ---- PortInfo -------------------------------------------------------------------------------- */

static void port_link_decode(const ib_port_info_t *pi, struct wire_port_info *out)
{
	out->local_port = pi->local_port_num;
	out->width_enabled = pi->link_width_enabled;
	out->width_supported = pi->link_width_supported;
	out->width_active = pi->link_width_active;
	out->speed_supported = pi->state_info1 >> 4;
	out->state = pi->state_info1 & 0xf;
	out->phys_state = pi->state_info2 >> 4;
	out->down_default = pi->state_info2 & 0xf;
	out->mkey_protect = pi->mkey_lmc >> 6;
	out->lmc = pi->mkey_lmc & 7;
	out->speed_active = pi->link_speed >> 4;
	out->speed_enabled = pi->link_speed & 0xf;
	out->link_roundtrip = cl_ntoh32(pi->link_rt_latency) & 0xffffff;
	out->speed_ext2_active = (cl_ntoh32(pi->link_rt_latency) >> 29) & 3;
	out->speed_ext2_supported = (cl_ntoh32(pi->link_rt_latency) >> 27) & 3;
	out->speed_ext2_enabled = (cl_ntoh32(pi->link_rt_latency) >> 24) & 7;
	out->speed_ext_active = pi->link_speed_ext >> 4;
	out->speed_ext_supported = pi->link_speed_ext & 0xf;
	out->speed_ext_enabled = pi->link_speed_ext_enabled & 0x1f;
}

static void port_qos_decode(const ib_port_info_t *pi, struct wire_port_info *out)
{
	out->neighbor_mtu = pi->mtu_smsl >> 4;
	out->sm_sl = pi->mtu_smsl & 0xf;
	out->vl_cap = pi->vl_cap >> 4;
	out->init_type = pi->vl_cap & 0xf;
	out->vl_high_limit = pi->vl_high_limit;
	out->arb_high_cap = pi->vl_arb_high_cap;
	out->arb_low_cap = pi->vl_arb_low_cap;
	out->init_type_reply = pi->mtu_cap >> 4;
	out->mtu_cap = pi->mtu_cap & 0xf;
	out->vl_stall = pi->vl_stall_life >> 5;
	out->hoq_life = pi->vl_stall_life & 0x1f;
	out->op_vls = pi->vl_enforce >> 4;
	out->pkey_enforce_in = pi->vl_enforce & 8;
	out->pkey_enforce_out = pi->vl_enforce & 4;
	out->filter_raw_in = pi->vl_enforce & 2;
	out->filter_raw_out = pi->vl_enforce & 1;
}

void wire_port_info_decode(const uint8_t data[64], struct wire_port_info *out)
{
	ib_port_info_t pi;

	memcpy(&pi, data, sizeof(pi));
	*out = (struct wire_port_info){
		.mkey = cl_ntoh64(pi.m_key),
		.gid_prefix = cl_ntoh64(pi.subnet_prefix),
		.lid = cl_ntoh16(pi.base_lid),
		.sm_lid = cl_ntoh16(pi.master_sm_base_lid),
		.capmask = cl_ntoh32(pi.capability_mask),
		.diag_code = cl_ntoh16(pi.diag_code),
		.mkey_lease = cl_ntoh16(pi.m_key_lease_period),
		.mkey_violations = cl_ntoh16(pi.m_key_violations),
		.pkey_violations = cl_ntoh16(pi.p_key_violations),
		.qkey_violations = cl_ntoh16(pi.q_key_violations),
		.guid_cap = pi.guid_cap,
		.client_reregister = pi.subnet_timeout & 0x80,
		.mcast_pkey_suppression = (pi.subnet_timeout >> 5) & 3,
		.subnet_timeout = pi.subnet_timeout & 0x1f,
		.resp_time = pi.resp_time_value & 0x1f,
		.local_phy_errors = pi.error_threshold >> 4,
		.overrun_errors = pi.error_threshold & 0xf,
		.max_credit_hint = cl_ntoh16(pi.max_credit_hint),
		.capmask2 = cl_ntoh16(pi.capability_mask2),
	};
	port_link_decode(&pi, out);
	port_qos_decode(&pi, out);
}

void wire_port_lanes_decode(const uint8_t data[64], struct wire_port_lanes *out)
{
	ib_port_info_t pi;

	memcpy(&pi, data, sizeof(pi));
	*out = (struct wire_port_lanes){ .state = pi.state_info1 & 0xf,
					 .neighbor_mtu = pi.mtu_smsl >> 4,
					 .mtu_cap = pi.mtu_cap & 0xf,
					 .vl_cap = pi.vl_cap >> 4,
					 .op_vls = pi.vl_enforce >> 4 };
}

static uint8_t nibbles(unsigned high, unsigned low)
{
	return (uint8_t)((high & 0xf) << 4 | (low & 0xf));
}

static void port_link_encode(const struct wire_port_info *in, ib_port_info_t *pi)
{
	pi->local_port_num = in->local_port;
	pi->link_width_enabled = in->width_enabled;
	pi->link_width_supported = in->width_supported;
	pi->link_width_active = in->width_active;
	pi->state_info1 = nibbles(in->speed_supported, in->state);
	pi->state_info2 = nibbles(in->phys_state, in->down_default);
	pi->mkey_lmc = (uint8_t)((in->mkey_protect & 3) << 6 | (in->lmc & 7));
	pi->link_speed = nibbles(in->speed_active, in->speed_enabled);
	pi->link_rt_latency = cl_hton32((uint32_t)(in->speed_ext2_active & 3) << 29 |
					(uint32_t)(in->speed_ext2_supported & 3) << 27 |
					(uint32_t)(in->speed_ext2_enabled & 7) << 24 |
					(in->link_roundtrip & 0xffffff));
	pi->link_speed_ext = nibbles(in->speed_ext_active, in->speed_ext_supported);
	pi->link_speed_ext_enabled = in->speed_ext_enabled & 0x1f;
}

static void port_qos_encode(const struct wire_port_info *in, ib_port_info_t *pi)
{
	pi->mtu_smsl = nibbles(in->neighbor_mtu, in->sm_sl);
	pi->vl_cap = nibbles(in->vl_cap, in->init_type);
	pi->vl_high_limit = in->vl_high_limit;
	pi->vl_arb_high_cap = in->arb_high_cap;
	pi->vl_arb_low_cap = in->arb_low_cap;
	pi->mtu_cap = nibbles(in->init_type_reply, in->mtu_cap);
	pi->vl_stall_life = (uint8_t)((in->vl_stall & 7) << 5 | (in->hoq_life & 0x1f));
	pi->vl_enforce = nibbles(in->op_vls, in->pkey_enforce_in << 3 | in->pkey_enforce_out << 2 |
						     in->filter_raw_in << 1 | in->filter_raw_out);
}

void wire_port_info_encode(const struct wire_port_info *in, uint8_t data[64])
{
	ib_port_info_t pi = {
		.m_key = cl_hton64(in->mkey),
		.subnet_prefix = cl_hton64(in->gid_prefix),
		.base_lid = cl_hton16(in->lid),
		.master_sm_base_lid = cl_hton16(in->sm_lid),
		.capability_mask = cl_hton32(in->capmask),
		.diag_code = cl_hton16(in->diag_code),
		.m_key_lease_period = cl_hton16(in->mkey_lease),
		.m_key_violations = cl_hton16(in->mkey_violations),
		.p_key_violations = cl_hton16(in->pkey_violations),
		.q_key_violations = cl_hton16(in->qkey_violations),
		.guid_cap = in->guid_cap,
		.subnet_timeout = (uint8_t)((in->client_reregister ? 0x80 : 0) |
					    (in->mcast_pkey_suppression & 3) << 5 |
					    (in->subnet_timeout & 0x1f)),
		.resp_time_value = in->resp_time & 0x1f,
		.error_threshold = nibbles(in->local_phy_errors, in->overrun_errors),
		.max_credit_hint = cl_hton16(in->max_credit_hint),
		.capability_mask2 = cl_hton16(in->capmask2),
	};

	port_link_encode(in, &pi);
	port_qos_encode(in, &pi);
	memcpy(data, &pi, sizeof(pi));
}

uint16_t wire_port_info_capmask2(const uint8_t data[64])
{
	ib_net32_t caps;
	ib_net16_t caps2;

	memcpy(&caps, data + offsetof(ib_port_info_t, capability_mask), sizeof(caps));
	memcpy(&caps2, data + offsetof(ib_port_info_t, capability_mask2), sizeof(caps2));
	return cl_ntoh32(caps) & WIRE_CAP_HAS_CAPMASK2 ? cl_ntoh16(caps2) : 0;
}

void wire_port_info_show_mkey(uint8_t data[64], uint64_t mkey)
{
	const ib_net64_t key = cl_hton64(mkey);

	memcpy(data + offsetof(ib_port_info_t, m_key), &key, sizeof(key));
}

enum topo_speed wire_port_info_speed(const struct wire_port_info *info)
{
	static const enum topo_speed base[] = { [1] = TOPO_SDR, [2] = TOPO_DDR, [4] = TOPO_QDR };
	static const enum topo_speed ext[] = {
		[1] = TOPO_FDR, [2] = TOPO_EDR, [4] = TOPO_HDR, [8] = TOPO_NDR
	};

	if (info->speed_ext2_active == 1)
		return TOPO_XDR;
	if (info->speed_ext_active && info->speed_ext_active < sizeof(ext) / sizeof(ext[0]))
		return ext[info->speed_ext_active];
	if (info->speed_active < sizeof(base) / sizeof(base[0]))
		return base[info->speed_active];
	return TOPO_SPEED_NONE;
}

unsigned wire_port_info_lanes(const struct wire_port_info *info)
{
	switch (info->width_active) {
	case 1:
		return 1;
	case 2:
		return 4;
	case 4:
		return 8;
	case 8:
		return 12;
	case 16:
		return 2;
	default:
		return 0;
	}
}

/* ---- SwitchInfo ------------------------------------------------------------------------------ */

void wire_switch_info_decode(const uint8_t data[64], struct wire_switch_info *out)
{
	ib_switch_info_t si;

	memcpy(&si, data, sizeof(si));
	*out = (struct wire_switch_info){
		.lft_cap = cl_ntoh16(si.lin_cap),
		.rft_cap = cl_ntoh16(si.rand_cap),
		.mft_cap = cl_ntoh16(si.mcast_cap),
		.lft_top = cl_ntoh16(si.lin_top),
		.default_port = si.def_port,
		.default_mcast_primary = si.def_mcast_pri_port,
		.default_mcast_other = si.def_mcast_not_port,
		.life_time = si.life_state >> 3,
		.port_state_change = si.life_state & IB_SWITCH_PSC,
		.opt_sl2vl = si.life_state & 3,
		.lids_per_port = cl_ntoh16(si.lids_per_port),
		.enforce_cap = cl_ntoh16(si.enforce_cap),
		.flags = si.flags,
		.mft_top = cl_ntoh16(si.mcast_top),
	};
}

void wire_switch_info_encode(const struct wire_switch_info *in, uint8_t data[64])
{
	ib_switch_info_t si = {
		.lin_cap = cl_hton16(in->lft_cap),
		.rand_cap = cl_hton16(in->rft_cap),
		.mcast_cap = cl_hton16(in->mft_cap),
		.lin_top = cl_hton16(in->lft_top),
		.def_port = in->default_port,
		.def_mcast_pri_port = in->default_mcast_primary,
		.def_mcast_not_port = in->default_mcast_other,
		.life_state = (uint8_t)((in->life_time & 0x1f) << 3 |
					(in->port_state_change ? IB_SWITCH_PSC : 0) |
					(in->opt_sl2vl & 3)),
		.lids_per_port = cl_hton16(in->lids_per_port),
		.enforce_cap = cl_hton16(in->enforce_cap),
		.flags = in->flags,
		.mcast_top = cl_hton16(in->mft_top),
	};

	memset(data, 0, 64);
	memcpy(data, &si, sizeof(si));
}

/* ---- SMInfo, P_Keys -------------------------------------------------------------------------- */

void wire_sm_info_decode(const uint8_t data[64], struct wire_sm_info *out)
{
	ib_sm_info_t si;

	memcpy(&si, data, sizeof(si));
	*out = (struct wire_sm_info){
		.guid = cl_ntoh64(si.guid),
		.sm_key = cl_ntoh64(si.sm_key),
		.act_count = cl_ntoh32(si.act_count),
		.priority = si.pri_state >> 4,
		.state = si.pri_state & 0xf,
	};
}

void wire_sm_info_encode(const struct wire_sm_info *in, uint8_t data[64])
{
	ib_sm_info_t si = {
		.guid = cl_hton64(in->guid),
		.sm_key = cl_hton64(in->sm_key),
		.act_count = cl_hton32(in->act_count),
		.pri_state = nibbles(in->priority, in->state),
	};

	memset(data, 0, 64);
	memcpy(data, &si, sizeof(si));
}

void wire_pkeys_decode(const uint8_t data[64], uint16_t pkeys[32])
{
	for (int i = 0; i < 32; i++)
		pkeys[i] = (uint16_t)(data[2 * i] << 8 | data[2 * i + 1]);
}

void wire_pkeys_encode(const uint16_t pkeys[32], uint8_t data[64])
{
	for (int i = 0; i < 32; i++) {
		data[2 * i] = (uint8_t)(pkeys[i] >> 8);
		data[2 * i + 1] = (uint8_t)pkeys[i];
	}
}
