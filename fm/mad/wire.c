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
#include <iba/ib_types.h>
#include <complib/cl_byteswap.h>
#include "fm/mad/wire.h"
#include "fm/mad/wire_sa.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

#define DIRECTION_BIT 0x8000
#define STATUS_MASK   0x7fff

_Static_assert(sizeof(ib_smp_t) == WIRE_MAD_SIZE, "SMP");
_Static_assert(sizeof(ib_mad_t) + WIRE_GMP_DATA == WIRE_MAD_SIZE, "MAD header");
_Static_assert(offsetof(ib_smp_t, data) == 64, "SMP data");
_Static_assert(sizeof(ib_port_info_t) == WIRE_SMP_DATA, "PortInfo");
_Static_assert(sizeof(ib_node_info_t) == 40, "NodeInfo");
_Static_assert(offsetof(ib_sa_mad_t, sm_key) == 36, "SA header");

/* As they stand in a buffer, at any address: the library's are not packed. */
typedef ib_smp_t smp_at __attribute__((aligned(1)));
typedef ib_mad_t mad_at __attribute__((aligned(1)));
typedef ib_port_info_t port_info_at __attribute__((aligned(1)));

/* ---- MAD header ------------------------------------------------------------------------------ */

void wire_mad_encode(const struct wire_mad *mad, uint8_t buf[WIRE_MAD_SIZE])
{
	smp_at *smp = (smp_at *)buf;

	smp->base_ver = 1;
	smp->mgmt_class = mad->mgmt_class;
	smp->class_ver = mad->class_version;
	smp->method = mad->method;
	smp->status = cl_hton16(mad->status & STATUS_MASK);
	smp->trans_id = cl_hton64(mad->tid);
	smp->attr_id = cl_hton16(mad->attr_id);
	smp->attr_mod = cl_hton32(mad->attr_mod);
	if (wire_is_smi(mad->mgmt_class))
		smp->m_key = cl_hton64(mad->key);
	if (mad->mgmt_class == WIRE_SMI_DR) {
		if (mad->returning)
			smp->status |= IB_SMP_DIRECTION;
		smp->hop_ptr = mad->hop_ptr;
		smp->hop_count = mad->hop_count;
		smp->dr_slid = cl_hton16(mad->dr_slid);
		smp->dr_dlid = cl_hton16(mad->dr_dlid);
		memcpy(smp->initial_path, mad->path, sizeof(smp->initial_path));
	}
	if (mad->mgmt_class == WIRE_SA) {
		ib_net64_t key = cl_hton64(mad->key);

		memcpy(buf + offsetof(ib_sa_mad_t, sm_key), &key, sizeof(key));
	}
}

int wire_mad_decode_header(const uint8_t *buf, size_t len, struct wire_mad *mad)
{
	const mad_at *header = (const mad_at *)buf;

	if (len < WIRE_MAD_HEADER)
		return -EBADMSG;
	if (header->base_ver != 1)
		return -EBADMSG;
	*mad = (struct wire_mad){
		.mgmt_class = header->mgmt_class,
		.class_version = header->class_ver,
		.method = header->method,
		.status = cl_ntoh16(header->status) & STATUS_MASK,
		.tid = cl_ntoh64(header->trans_id),
		.attr_id = cl_ntoh16(header->attr_id),
		.attr_mod = cl_ntoh32(header->attr_mod),
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
	const smp_at *smp = (const smp_at *)buf;

	if (len < WIRE_MAD_SIZE || wire_mad_decode_header(buf, len, mad))
		return -EBADMSG;
	if (wire_is_smi(mad->mgmt_class))
		mad->key = cl_ntoh64(smp->m_key);
	if (mad->mgmt_class == WIRE_SMI_DR) {
		/* The hop pointer stands one past the count at the route's end (IBA 14.2.2.2). */
		if (smp->hop_count > WIRE_MAX_HOPS || smp->hop_ptr > WIRE_MAX_HOPS + 1)
			return -EBADMSG;
		mad->returning = smp->status & IB_SMP_DIRECTION;
		mad->hop_ptr = smp->hop_ptr;
		mad->hop_count = smp->hop_count;
		mad->dr_slid = cl_ntoh16(smp->dr_slid);
		mad->dr_dlid = cl_ntoh16(smp->dr_dlid);
		memcpy(mad->path, smp->initial_path, sizeof(mad->path));
	}
	if (mad->mgmt_class == WIRE_SA)
		mad->key = cl_ntoh64(((const ib_sa_mad_t *)buf)->sm_key);
	return 0;
}

uint8_t *wire_smp_data(uint8_t buf[WIRE_MAD_SIZE])
{
	return buf + offsetof(ib_smp_t, data);
}

const uint8_t *wire_smp_return_path(const uint8_t buf[WIRE_MAD_SIZE])
{
	return buf + offsetof(ib_smp_t, return_path);
}

uint8_t *wire_gmp_data(uint8_t buf[WIRE_MAD_SIZE])
{
	return buf + sizeof(ib_mad_t);
}

/* ---- NodeInfo, NodeDescription --------------------------------------------------------------- */

void wire_node_info_decode(const uint8_t data[64], struct wire_node_info *out)
{
	ib_node_info_t ni;

	mem_copy(&ni, data, 1);
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
		.local_port = cl_ntoh32(ni.port_num_vendor_id) >> 24,
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

static void port_link_decode(const port_info_at *pi, struct wire_port_info *out)
{
	uint32_t latency = cl_ntoh32(pi->link_rt_latency);

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
	out->link_roundtrip = latency & 0xffffff;
	out->speed_ext2_active = latency >> 29 & 3;
	out->speed_ext2_supported = latency >> 27 & 3;
	out->speed_ext2_enabled = latency >> 24 & 7;
	out->speed_ext_active = pi->link_speed_ext >> 4;
	out->speed_ext_supported = pi->link_speed_ext & 0xf;
	out->speed_ext_enabled = pi->link_speed_ext_enabled & 0x1f;
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
	const port_info_at *pi = (const port_info_at *)data;

	*out = (struct wire_port_info){
		.mkey = cl_ntoh64(pi->m_key),
		.gid_prefix = cl_ntoh64(pi->subnet_prefix),
		.lid = cl_ntoh16(pi->base_lid),
		.sm_lid = cl_ntoh16(pi->master_sm_base_lid),
		.capmask = cl_ntoh32(pi->capability_mask),
		.diag_code = cl_ntoh16(pi->diag_code),
		.mkey_lease = cl_ntoh16(pi->m_key_lease_period),
		.mkey_violations = cl_ntoh16(pi->m_key_violations),
		.pkey_violations = cl_ntoh16(pi->p_key_violations),
		.qkey_violations = cl_ntoh16(pi->q_key_violations),
		.guid_cap = pi->guid_cap,
		.client_reregister = pi->subnet_timeout & 0x80,
		.mcast_pkey_suppression = (pi->subnet_timeout >> 5) & 3,
		.subnet_timeout = pi->subnet_timeout & 0x1f,
		.resp_time = pi->resp_time_value & 0x1f,
		.local_phy_errors = pi->error_threshold >> 4,
		.overrun_errors = pi->error_threshold & 0xf,
		.max_credit_hint = cl_ntoh16(pi->max_credit_hint),
		.capmask2 = cl_ntoh16(pi->capability_mask2),
	};
	port_link_decode(pi, out);
}

void wire_port_lanes_decode(const uint8_t data[64], struct wire_port_lanes *out)
{
	const port_info_at *pi = (const port_info_at *)data;

	*out = (struct wire_port_lanes){ .state = pi->state_info1 & 0xf,
					 .neighbor_mtu = pi->mtu_smsl >> 4,
					 .mtu_cap = pi->mtu_cap & 0xf,
					 .vl_cap = pi->vl_cap >> 4,
					 .op_vls = pi->vl_enforce >> 4 };
}

static uint8_t nibbles(unsigned high, unsigned low)
{
	return (high & 0xf) << 4 | (low & 0xf);
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
		.subnet_timeout = (in->client_reregister ? 0x80 : 0) |
				  (in->mcast_pkey_suppression & 3) << 5 |
				  (in->subnet_timeout & 0x1f),
		.resp_time_value = in->resp_time & 0x1f,
		.error_threshold = nibbles(in->local_phy_errors, in->overrun_errors),
		.max_credit_hint = cl_hton16(in->max_credit_hint),
		.capability_mask2 = cl_hton16(in->capmask2),
	};

	pi.local_port_num = in->local_port;
	pi.link_width_enabled = in->width_enabled;
	pi.link_width_supported = in->width_supported;
	pi.link_width_active = in->width_active;
	pi.state_info1 = nibbles(in->speed_supported, in->state);
	pi.state_info2 = nibbles(in->phys_state, in->down_default);
	pi.mkey_lmc = (in->mkey_protect & 3) << 6 | (in->lmc & 7);
	pi.link_speed = nibbles(in->speed_active, in->speed_enabled);
	pi.link_rt_latency = cl_hton32((uint32_t)(in->speed_ext2_active & 3) << 29 |
				       (uint32_t)(in->speed_ext2_supported & 3) << 27 |
				       (uint32_t)(in->speed_ext2_enabled & 7) << 24 |
				       (in->link_roundtrip & 0xffffff));
	pi.link_speed_ext = nibbles(in->speed_ext_active, in->speed_ext_supported);
	pi.link_speed_ext_enabled = in->speed_ext_enabled & 0x1f;
	pi.mtu_smsl = nibbles(in->neighbor_mtu, in->sm_sl);
	pi.vl_cap = nibbles(in->vl_cap, in->init_type);
	pi.vl_high_limit = in->vl_high_limit;
	pi.vl_arb_high_cap = in->arb_high_cap;
	pi.vl_arb_low_cap = in->arb_low_cap;
	pi.mtu_cap = nibbles(in->init_type_reply, in->mtu_cap);
	pi.vl_stall_life = (in->vl_stall & 7) << 5 | (in->hoq_life & 0x1f);
	pi.vl_enforce = nibbles(in->op_vls, in->pkey_enforce_in << 3 | in->pkey_enforce_out << 2 |
						    in->filter_raw_in << 1 | in->filter_raw_out);

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

void wire_port_info_set_capmask(uint8_t data[64], uint32_t capmask)
{
	const ib_net32_t caps = cl_hton32(capmask);

	memcpy(data + offsetof(ib_port_info_t, capability_mask), &caps, sizeof(caps));
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
	if (info->speed_ext_active && info->speed_ext_active < ARRAY_SIZE(ext))
		return ext[info->speed_ext_active];
	if (info->speed_active < ARRAY_SIZE(base))
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

	mem_copy(&si, data, 1);
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
		.life_state = (in->life_time & 0x1f) << 3 |
			      (in->port_state_change ? IB_SWITCH_PSC : 0) | (in->opt_sl2vl & 3),
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

	mem_copy(&si, data, 1);
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

void wire_words_decode(const uint8_t data[64], uint16_t words[32])
{
	for (int i = 0; i < 32; i++)
		words[i] = data[2 * i] << 8 | data[2 * i + 1];
}

void wire_words_encode(const uint16_t words[32], uint8_t data[64])
{
	for (int i = 0; i < 32; i++) {
		data[2 * i] = words[i] >> 8;
		data[2 * i + 1] = words[i];
	}
}

/* ---- Notices --------------------------------------------------------------------------------- */

/*
 * Notices (IBA 13.4.8.2) and the trap details of 14.2.5.1, which are laid out by trap number:
 *   64-67    a GID at byte 6
 *   128      the switch's LID at byte 0
 *   129-131  LID at 2, port at 4
 *   144      LID at 2, CapabilityMask at 6, bit 0 of byte 5 = other local changes; of bytes 10-11
 *            bit 0 = NodeDescription changed, bit 3 = SM priority changed
 *   145      LID at 2, system image GUID at 6
 *   256-258  LID of who had the wrong key at 2
 *   259      the same, and the switch's port at 50
 * The encoder starts from the raw details and lays these fields over them, so that decode and
 * encode give the bytes back.
 */

#define ISSUER_GID_SIZE 16

enum details {
	DETAILS_OTHER,
	DETAILS_GID,
	DETAILS_LINK,
	DETAILS_PORT,
	DETAILS_LOCAL,
	DETAILS_GUID,
	DETAILS_KEY,
	DETAILS_SWITCH_KEY
};

_Static_assert(sizeof(ib_mad_notice_attr_t) == WIRE_SMP_DATA + ISSUER_GID_SIZE, "Notice");

static enum details details_kind(bool generic, uint16_t trap)
{
	if (!generic)
		return DETAILS_OTHER;
	if (trap >= 64 && trap <= 67)
		return DETAILS_GID;
	if (trap >= 129 && trap <= 131)
		return DETAILS_PORT;
	if (trap >= 256 && trap <= 258)
		return DETAILS_KEY;
	switch (trap) {
	case 128:
		return DETAILS_LINK;
	case 144:
		return DETAILS_LOCAL;
	case 145:
		return DETAILS_GUID;
	case 259:
		return DETAILS_SWITCH_KEY;
	default:
		return DETAILS_OTHER;
	}
}

static bool local_change(const ib_mad_notice_attr_t *ntc, uint16_t flag)
{
	return (ntc->data_details.ntc_144.local_changes & TRAP_144_MASK_OTHER_LOCAL_CHANGES) &&
	       (ntc->data_details.ntc_144.change_flgs & flag);
}

void wire_notice_decode(const uint8_t data[64], struct wire_notice *out)
{
	ib_mad_notice_attr_t ntc = { 0 };

	memcpy(&ntc, data, WIRE_SMP_DATA);
	*out = (struct wire_notice){
		.generic = ntc.generic_type & 0x80,
		.type = ntc.generic_type & 0x7f,
		.producer = (uint32_t)ntc.g_or_v.generic.prod_type_msb << 16 |
			    cl_ntoh16(ntc.g_or_v.generic.prod_type_lsb),
		.trap = cl_ntoh16(ntc.g_or_v.generic.trap_num),
		.issuer_lid = cl_ntoh16(ntc.issuer_lid),
		.toggle = cl_ntoh16(ntc.toggle_count) & 0x8000,
		.count = cl_ntoh16(ntc.toggle_count) & 0x7fff,
	};
	memcpy(out->details, ntc.data_details.raw_data.details, sizeof(out->details));
	switch (details_kind(out->generic, out->trap)) {
	case DETAILS_GID:
		memcpy(out->gid, ntc.data_details.ntc_64_67.gid.raw, sizeof(out->gid));
		out->guid = cl_ntoh64(ntc.data_details.ntc_64_67.gid.unicast.interface_id);
		break;
	case DETAILS_LINK:
		out->lid = cl_ntoh16(ntc.data_details.ntc_128.sw_lid);
		break;
	case DETAILS_PORT:
		out->lid = cl_ntoh16(ntc.data_details.ntc_129_131.lid);
		out->port = ntc.data_details.ntc_129_131.port_num;
		break;
	case DETAILS_LOCAL:
		out->lid = cl_ntoh16(ntc.data_details.ntc_144.lid);
		out->capmask = cl_ntoh32(ntc.data_details.ntc_144.new_cap_mask);
		out->desc_changed = local_change(&ntc, TRAP_144_MASK_NODE_DESCRIPTION_CHANGE);
		out->priority_changed = local_change(&ntc, TRAP_144_MASK_SM_PRIORITY_CHANGE);
		break;
	case DETAILS_GUID:
		out->lid = cl_ntoh16(ntc.data_details.ntc_145.lid);
		out->guid = cl_ntoh64(ntc.data_details.ntc_145.new_sys_guid);
		break;
	case DETAILS_SWITCH_KEY:
		out->port = ntc.data_details.ntc_259.port_no;
		out->lid = cl_ntoh16(ntc.data_details.ntc_259.lid1);
		break;
	case DETAILS_KEY:
		out->lid = cl_ntoh16(ntc.data_details.ntc_257_258.lid1);
		break;
	case DETAILS_OTHER:
		break;
	}
}

void wire_notice_encode(const struct wire_notice *in, uint8_t data[64])
{
	ib_mad_notice_attr_t ntc = {
		.generic_type = (in->generic ? 0x80 : 0) | (in->type & 0x7f),
		.issuer_lid = cl_hton16(in->issuer_lid),
		.toggle_count = cl_hton16((in->toggle ? 0x8000 : 0) | (in->count & 0x7fff)),
	};

	ntc.g_or_v.generic.prod_type_msb = in->producer >> 16;
	ntc.g_or_v.generic.prod_type_lsb = cl_hton16(in->producer);
	ntc.g_or_v.generic.trap_num = cl_hton16(in->trap);
	memcpy(ntc.data_details.raw_data.details, in->details, sizeof(in->details));
	switch (details_kind(in->generic, in->trap)) {
	case DETAILS_GID:
		memcpy(ntc.data_details.ntc_64_67.gid.raw, in->gid, sizeof(in->gid));
		break;
	case DETAILS_LINK:
		ntc.data_details.ntc_128.sw_lid = cl_hton16(in->lid);
		break;
	case DETAILS_PORT:
		ntc.data_details.ntc_129_131.lid = cl_hton16(in->lid);
		ntc.data_details.ntc_129_131.port_num = in->port;
		break;
	case DETAILS_LOCAL:
		ntc.data_details.ntc_144.lid = cl_hton16(in->lid);
		ntc.data_details.ntc_144.new_cap_mask = cl_hton32(in->capmask);
		if (in->desc_changed || in->priority_changed)
			ntc.data_details.ntc_144.local_changes |= TRAP_144_MASK_OTHER_LOCAL_CHANGES;
		if (in->desc_changed)
			ntc.data_details.ntc_144.change_flgs |=
				TRAP_144_MASK_NODE_DESCRIPTION_CHANGE;
		if (in->priority_changed)
			ntc.data_details.ntc_144.change_flgs |= TRAP_144_MASK_SM_PRIORITY_CHANGE;
		break;
	case DETAILS_GUID:
		ntc.data_details.ntc_145.lid = cl_hton16(in->lid);
		ntc.data_details.ntc_145.new_sys_guid = cl_hton64(in->guid);
		break;
	case DETAILS_SWITCH_KEY:
		ntc.data_details.ntc_259.port_no = in->port;
		ntc.data_details.ntc_259.lid1 = cl_hton16(in->lid);
		break;
	case DETAILS_KEY:
		ntc.data_details.ntc_257_258.lid1 = cl_hton16(in->lid);
		break;
	case DETAILS_OTHER:
		break;
	}
	memcpy(data, &ntc, WIRE_SMP_DATA);
}

/* ---- Impossible fields ----------------------------------------------------------------------- */

#define ONES	      UINT64_MAX
#define LFT_CAP_MOST  0xc000 /* unicast LIDs, and 0 */
#define STATE_MOST    4	     /* Active */
#define PHYS_MOST     7	     /* Phy Test */
#define WIDTH_MOST    0x10   /* 2x; the others are 1x, 4x, 8x, 12x */
#define SM_STATE_MOST 3

enum { /* bytes of PortInfo (IBA 14.2.5.6) */
       PORT_WIDTH = 31,
       PORT_STATE,
       PORT_PHYS,
       PORT_SPEED = 35,
       PORT_SPEED_EXT = 62,
};

static bool is_one_bit(unsigned value)
{
	return (value & (value - 1)) == 0; /* or none */
}

const char *wire_node_info_flaw(const struct wire_node_info *info)
{
	bool is_switch = info->type == TOPO_SWITCH;

	if (info->type < TOPO_CA || info->type > TOPO_ROUTER)
		return "NodeType";
	if (!info->node_guid || info->node_guid == ONES)
		return "NodeGUID";
	if ((!info->port_guid && !is_switch) || info->port_guid == ONES)
		return "PortGUID";
	if (!info->nports || info->nports == UINT8_MAX)
		return "NumPorts";
	if (info->local_port > info->nports || (!info->local_port && !is_switch))
		return "LocalPortNum";
	return NULL;
}

const char *wire_flaw(uint16_t attr_id, uint32_t attr_mod, bool set, const uint8_t data[64])
{
	static const uint8_t zero[64];
	uint8_t port = attr_mod & UINT8_MAX, state = data[PORT_STATE] & 0xf;
	struct wire_switch_info sw;
	struct wire_node_info node;
	struct wire_sm_info sm;

	switch (attr_id) {
	case WIRE_NODE_INFO:
		wire_node_info_decode(data, &node);
		return wire_node_info_flaw(&node);
	case WIRE_PORT_INFO:
		if (state > STATE_MOST || (!state && port && !set))
			return "PortState";
		if (data[PORT_PHYS] >> 4 > PHYS_MOST)
			return "PortPhysicalState";
		if (!port || state < TOPO_INIT)
			break;
		if (data[PORT_WIDTH] > WIDTH_MOST || !is_one_bit(data[PORT_WIDTH]))
			return "LinkWidthActive";
		if (!is_one_bit(data[PORT_SPEED] >> 4))
			return "LinkSpeedActive";
		return is_one_bit(data[PORT_SPEED_EXT] >> 4) ? NULL : "LinkSpeedExtActive";
	case WIRE_SWITCH_INFO:
		wire_switch_info_decode(data, &sw);
		if (sw.lft_cap > LFT_CAP_MOST)
			return "LinearFDBCap";
		break;
	case WIRE_SM_INFO:
		wire_sm_info_decode(data, &sm);
		return sm.state > SM_STATE_MOST ? "SMState" : NULL;
	default:
		return NULL;
	}
	return set || memcmp(data, zero, sizeof(zero)) ? NULL : "all fields are 0";
}
