/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * SA MADs between bytes and host order: the header behind the MAD header (IBA 15.2.1: RMPP header,
 * SM_Key, AttributeOffset, ComponentMask) and the records that fmd answers with (IBA 15.2.5). Most
 * records are a LID and an SMP attribute one behind the other; those encoders borrow from wire.c.
 *
 * Which bits of a record make a component: wire_sa_comp.c.
 */
#include <assert.h>
#include <string.h>
#include <iba/ib_types.h>
#include <complib/cl_byteswap.h>
#include "fm/mad/wire_inform.h"
#include "fm/mad/wire_path.h"
#include "fm/mad/wire_sa.h"
#include "fm/mad/wire_sa_rows.h"

#define RMPP_VERSION	1
#define QKEY_WELL_KNOWN 0x80010000u

_Static_assert(offsetof(ib_sa_mad_t, data) == WIRE_SA_HEADER, "SA header");
_Static_assert(sizeof(ib_node_record_t) == 112, "NodeRecord");
_Static_assert(sizeof(ib_portinfo_record_t) == 72, "PortInfoRecord");
_Static_assert(sizeof(ib_switch_info_record_t) == 24, "SwitchInfoRecord");
_Static_assert(sizeof(ib_lft_record_t) == 72, "LinearForwardingTableRecord");
_Static_assert(sizeof(ib_mft_record_t) == 72, "MulticastForwardingTableRecord");
_Static_assert(sizeof(ib_sminfo_record_t) == 32, "SMInfoRecord");
_Static_assert(sizeof(ib_guidinfo_record_t) == 72, "GUIDInfoRecord");
_Static_assert(sizeof(ib_pkey_table_record_t) == 72, "P_KeyTableRecord");
_Static_assert(sizeof(ib_link_record_t) == 8, "LinkRecord");
_Static_assert(sizeof(ib_path_rec_t) == 64, "PathRecord");
_Static_assert(sizeof(ib_inform_info_t) == 36, "InformInfo");
_Static_assert(sizeof(ib_inform_info_record_t) == 64, "InformInfoRecord");
_Static_assert(sizeof(ib_class_port_info_t) == 72, "ClassPortInfo");

uint64_t wire_sa_comp_mask(const uint8_t mad[WIRE_MAD_SIZE])
{
	ib_net64_t mask;

	memcpy(&mask, mad + offsetof(ib_sa_mad_t, comp_mask), sizeof(mask));
	return cl_ntoh64(mask);
}

/* The fields between MAD header and data are the same in requests and answers but for these. */
void wire_sa_answer(uint8_t header[WIRE_SA_HEADER], uint8_t method, uint16_t status, bool rmpp,
		    size_t row_size)
{
	ib_sa_mad_t sa;

	assert(row_size % 8 == 0);
	memcpy(&sa, header, WIRE_SA_HEADER);
	sa.method = method;
	sa.status = cl_hton16(status);
	sa.rmpp_version = rmpp ? RMPP_VERSION : 0;
	sa.rmpp_type = rmpp ? IB_RMPP_TYPE_DATA : 0;
	sa.rmpp_flags = rmpp ? IB_RMPP_FLAG_ACTIVE : 0;
	sa.rmpp_status = 0;
	sa.seg_num = 0;
	sa.paylen_newwin = 0;
	sa.sm_key = 0;
	sa.attr_offset = cl_hton16((uint16_t)(row_size / 8));
	memcpy(header, &sa, WIRE_SA_HEADER);
}

/* ---- Records of a LID and an SMP attribute --------------------------------------------------- */

void wire_node_record_encode(uint16_t lid, const struct wire_node_info *info, const char *desc,
			     uint8_t row[112])
{
	ib_node_record_t rec = { .lid = cl_hton16(lid) };
	uint8_t data[WIRE_SMP_DATA];

	wire_node_info_encode(info, data);
	memcpy(&rec.node_info, data, sizeof(rec.node_info));
	wire_node_desc_encode(desc, rec.node_desc.description);
	memcpy(row, &rec, sizeof(rec));
}

void wire_port_record_encode(uint16_t lid, uint8_t port, uint8_t options, const uint8_t info[64],
			     uint8_t row[72])
{
	ib_portinfo_record_t rec = { .lid = cl_hton16(lid), .port_num = port, .options = options };

	memcpy(&rec.port_info, info, sizeof(rec.port_info));
	memcpy(row, &rec, sizeof(rec));
}

void wire_port_record_hide_mkey(uint8_t row[72])
{
	memset(row + offsetof(ib_portinfo_record_t, port_info.m_key), 0, sizeof(ib_net64_t));
}

void wire_switch_record_encode(uint16_t lid, const struct wire_switch_info *info, uint8_t row[24])
{
	ib_switch_info_record_t rec = { .lid = cl_hton16(lid) };
	uint8_t data[WIRE_SMP_DATA];

	wire_switch_info_encode(info, data);
	memcpy(&rec.switch_info, data, sizeof(rec.switch_info));
	memcpy(row, &rec, sizeof(rec));
}

void wire_lft_record_encode(uint16_t lid, uint16_t block, const uint8_t entries[64],
			    uint8_t row[72])
{
	ib_lft_record_t rec = { .lid = cl_hton16(lid), .block_num = cl_hton16(block) };

	memcpy(rec.lft, entries, sizeof(rec.lft));
	memcpy(row, &rec, sizeof(rec));
}

void wire_guid_record_encode(uint16_t lid, uint8_t block, const guid_t guids[8], uint8_t row[72])
{
	ib_guidinfo_record_t rec = { .lid = cl_hton16(lid), .block_num = block };

	for (unsigned i = 0; i < 8; i++)
		rec.guid_info.guid[i] = cl_hton64(guids[i]);
	memcpy(row, &rec, sizeof(rec));
}

void wire_guid_record_decode(const uint8_t row[72], uint16_t *lid, uint8_t *block, guid_t guids[8])
{
	ib_guidinfo_record_t rec;

	memcpy(&rec, row, sizeof(rec));
	*lid = cl_ntoh16(rec.lid);
	*block = rec.block_num;
	for (unsigned i = 0; i < 8; i++)
		guids[i] = cl_ntoh64(rec.guid_info.guid[i]);
}

void wire_guid_info_encode(const guid_t guids[8], uint8_t data[64])
{
	ib_guid_info_t info;

	for (unsigned i = 0; i < 8; i++)
		info.guid[i] = cl_hton64(guids[i]);
	memcpy(data, &info, sizeof(info));
}

void wire_guid_info_decode(const uint8_t data[64], guid_t guids[8])
{
	ib_guid_info_t info;

	memcpy(&info, data, sizeof(info));
	for (unsigned i = 0; i < 8; i++)
		guids[i] = cl_ntoh64(info.guid[i]);
}

void wire_pkey_record_encode(uint16_t lid, uint8_t port, uint16_t block, const uint16_t pkeys[32],
			     uint8_t row[72])
{
	ib_pkey_table_record_t rec = {
		.lid = cl_hton16(lid),
		.block_num = cl_hton16(block),
		.port_num = port,
	};

	wire_pkeys_encode(pkeys, (uint8_t *)&rec.pkey_tbl);
	memcpy(row, &rec, sizeof(rec));
}

void wire_pkey_record_swap_block(uint8_t row[72])
{
	ib_pkey_table_record_t rec;

	memcpy(&rec, row, sizeof(rec));
	rec.block_num = (uint16_t)(rec.block_num << 8 | rec.block_num >> 8);
	memcpy(row, &rec, sizeof(rec));
}

void wire_pkey_record_fix_block(uint8_t row[72])
{
	ib_pkey_table_record_t rec;
	uint16_t block;

	memcpy(&rec, row, sizeof(rec));
	block = cl_ntoh16(rec.block_num);
	if (block > 0xff && !(block & 0xff))
		wire_pkey_record_swap_block(row);
}

void wire_link_record_encode(const struct wire_link_record *in, uint8_t row[8])
{
	ib_link_record_t rec = {
		.from_lid = cl_hton16(in->from_lid),
		.from_port_num = in->from_port,
		.to_port_num = in->to_port,
		.to_lid = cl_hton16(in->to_lid),
	};

	memcpy(row, &rec, sizeof(rec));
}

void wire_port_caps_decode(const uint8_t info[64], struct wire_port_caps *out)
{
	ib_port_info_t pi;

	memcpy(&pi, info, sizeof(pi));
	out->capmask = cl_ntoh32(pi.capability_mask);
	out->capmask2 = out->capmask & WIRE_CAP_HAS_CAPMASK2 ? cl_ntoh16(pi.capability_mask2) : 0;
	out->mtu_cap = pi.mtu_cap & 0xf;
	out->guid_cap = pi.guid_cap;
}

bool wire_port_info_extended(const uint8_t info[64])
{
	ib_port_info_t pi;

	memcpy(&pi, info, sizeof(pi));
	return pi.link_speed_ext >> 4 || cl_ntoh32(pi.link_rt_latency) >> 29 & 3;
}

/* ---- PathRecord ------------------------------------------------------------------------------ */

struct wire_gid wire_gid_decode(const uint8_t raw[16])
{
	ib_gid_t gid;

	memcpy(&gid, raw, sizeof(gid));
	return (struct wire_gid){
		.prefix = cl_ntoh64(gid.unicast.prefix),
		.guid = cl_ntoh64(gid.unicast.interface_id),
	};
}

static struct wire_gid gid_decode(ib_gid_t gid)
{
	return wire_gid_decode(gid.raw);
}

static ib_gid_t gid_encode(const struct wire_gid *gid)
{
	ib_gid_t out;

	out.unicast.prefix = cl_hton64(gid->prefix);
	out.unicast.interface_id = cl_hton64(gid->guid);
	return out;
}

void wire_gid_encode(const struct wire_gid *gid, uint8_t raw[16])
{
	ib_gid_t out = gid_encode(gid);

	memcpy(raw, &out, sizeof(out));
}

void wire_path_record_decode(const uint8_t row[64], struct wire_path_record *out)
{
	ib_path_rec_t rec;
	uint32_t hop_flow_raw;
	uint16_t qos_class_sl;

	memcpy(&rec, row, sizeof(rec));
	hop_flow_raw = cl_ntoh32(rec.hop_flow_raw);
	qos_class_sl = cl_ntoh16(rec.qos_class_sl);
	*out = (struct wire_path_record){
		.service_id = cl_ntoh64(rec.service_id),
		.dgid = gid_decode(rec.dgid),
		.sgid = gid_decode(rec.sgid),
		.dlid = cl_ntoh16(rec.dlid),
		.slid = cl_ntoh16(rec.slid),
		.raw = hop_flow_raw >> 31,
		.flow_label = hop_flow_raw >> 8 & 0xfffff,
		.hop_limit = (uint8_t)hop_flow_raw,
		.tclass = rec.tclass,
		.reversible = rec.num_path >> 7,
		.num_path = rec.num_path & 0x7f,
		.pkey = cl_ntoh16(rec.pkey),
		.qos_class = qos_class_sl >> 4,
		.sl = qos_class_sl & 0xf,
		.mtu_sel = rec.mtu >> 6,
		.mtu = rec.mtu & 0x3f,
		.rate_sel = rec.rate >> 6,
		.rate = rec.rate & 0x3f,
		.life_sel = rec.pkt_life >> 6,
		.life = rec.pkt_life & 0x3f,
		.preference = rec.preference,
	};
}

void wire_path_record_encode(const struct wire_path_record *in, uint8_t row[64])
{
	ib_path_rec_t rec = {
		.service_id = cl_hton64(in->service_id),
		.dgid = gid_encode(&in->dgid),
		.sgid = gid_encode(&in->sgid),
		.dlid = cl_hton16(in->dlid),
		.slid = cl_hton16(in->slid),
		.hop_flow_raw = cl_hton32((uint32_t)in->raw << 31 |
					  (in->flow_label & 0xfffff) << 8 | in->hop_limit),
		.tclass = in->tclass,
		.num_path = (uint8_t)(in->reversible << 7 | (in->num_path & 0x7f)),
		.pkey = cl_hton16(in->pkey),
		.qos_class_sl = cl_hton16((uint16_t)(in->qos_class << 4 | (in->sl & 0xf))),
		.mtu = (uint8_t)(in->mtu_sel << 6 | (in->mtu & 0x3f)),
		.rate = (uint8_t)(in->rate_sel << 6 | (in->rate & 0x3f)),
		.pkt_life = (uint8_t)(in->life_sel << 6 | (in->life & 0x3f)),
		.preference = in->preference,
	};

	memcpy(row, &rec, sizeof(rec));
}

/* ---- InformInfo, ClassPortInfo --------------------------------------------------------------- */

void wire_inform_info_decode(const uint8_t data[36], struct wire_inform_info *out)
{
	ib_inform_info_t info;
	uint32_t qpn_resp;

	memcpy(&info, data, sizeof(info));
	qpn_resp = cl_ntoh32(info.g_or_v.generic.qpn_resp_time_val);
	*out = (struct wire_inform_info){
		.gid = gid_decode(info.gid),
		.lid_begin = cl_ntoh16(info.lid_range_begin),
		.lid_end = cl_ntoh16(info.lid_range_end),
		.generic = info.is_generic & 1,
		.subscribe = info.subscribe,
		.type = cl_ntoh16(info.trap_type),
		.trap = cl_ntoh16(info.g_or_v.generic.trap_num),
		.qpn = qpn_resp >> 8,
		.resp_time = qpn_resp & 0x1f,
		.producer = (uint32_t)info.g_or_v.generic.node_type_msb << 16 |
			    cl_ntoh16(info.g_or_v.generic.node_type_lsb),
	};
}

static ib_inform_info_t inform_info_encode(const struct wire_inform_info *in)
{
	ib_inform_info_t info = {
		.gid = gid_encode(&in->gid),
		.lid_range_begin = cl_hton16(in->lid_begin),
		.lid_range_end = cl_hton16(in->lid_end),
		.is_generic = in->generic,
		.subscribe = in->subscribe,
		.trap_type = cl_hton16(in->type),
	};

	info.g_or_v.generic.trap_num = cl_hton16(in->trap);
	info.g_or_v.generic.qpn_resp_time_val = cl_hton32(in->qpn << 8 | (in->resp_time & 0x1f));
	info.g_or_v.generic.node_type_msb = (uint8_t)(in->producer >> 16);
	info.g_or_v.generic.node_type_lsb = cl_hton16((uint16_t)in->producer);
	return info;
}

void wire_inform_info_encode(const struct wire_inform_info *in, uint8_t data[36])
{
	ib_inform_info_t info = inform_info_encode(in);

	memcpy(data, &info, sizeof(info));
}

void wire_report_encode(const struct wire_notice *notice, const struct wire_gid *issuer,
			uint8_t data[WIRE_GMP_DATA])
{
	uint8_t *attribute = data + sizeof(ib_sa_mad_t) - IB_SA_DATA_SIZE - sizeof(ib_mad_t);

	memset(data, 0, WIRE_GMP_DATA);
	wire_notice_encode(notice, attribute);
	wire_gid_encode(issuer, attribute + offsetof(ib_mad_notice_attr_t, issuer_gid));
}

void wire_inform_record_encode(const struct wire_gid *subscriber, uint16_t number,
			       const struct wire_inform_info *info, uint8_t row[64])
{
	ib_inform_info_record_t rec = {
		.subscriber_gid = gid_encode(subscriber),
		.subscriber_enum = cl_hton16(number),
		.inform_info = inform_info_encode(info),
	};

	memcpy(row, &rec, sizeof(rec));
}

void wire_inform_record_decode(const uint8_t row[64], struct wire_gid *subscriber,
			       struct wire_inform_info *info)
{
	*subscriber = wire_gid_decode(row + offsetof(ib_inform_info_record_t, subscriber_gid));
	wire_inform_info_decode(row + offsetof(ib_inform_info_record_t, inform_info), info);
}

void wire_class_port_info_encode(const struct wire_class_port_info *in, uint8_t data[72])
{
	ib_class_port_info_t info = {
		.base_ver = 1,
		.class_ver = 2,
		.cap_mask = cl_hton16(in->cap_mask),
		.cap_mask2_resp_time = cl_hton32(in->cap_mask2 << 5 | (in->resp_time & 0x1f)),
		.redir_qp = cl_hton32(1),
		.redir_qkey = cl_hton32(QKEY_WELL_KNOWN),
		.trap_qkey = cl_hton32(QKEY_WELL_KNOWN),
	};

	memcpy(data, &info, sizeof(info));
}
