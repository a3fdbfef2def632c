/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * SA MADs between bytes and host order: the header behind the MAD header (IBA 15.2.1: RMPP header,
 * SM_Key, AttributeOffset, ComponentMask) and the records that fmd answers with (IBA 15.2.5). Most
 * records are a LID and an SMP attribute one behind the other; those encoders borrow from wire.c.
 */
#include <assert.h>
#include <string.h>
#include <iba/ib_types.h>
#include <complib/cl_byteswap.h>
#include "fm/mad/wire_sa.h"

/* ---- Components ------------------------------------------------------------------------------ */

/*
 * The components of SA records (tables of IBA 15.2.5): bit n of a component mask is the n-th width
 * of a record's table, and as components follow each other without gaps, widths are all there is to
 * say. Reserved fields have a number too and are never compared; nor are padding and bits past the
 * last component.
 *
 * A mask compiles to two rows of words, so that a candidate is decided by a handful of ands however
 * many components are asked for. Two kinds of component bend the plain comparison, both at compile
 * time: a LID stands for the port that has it, and a capability mask may ask for "at least these
 * bits" by comparing under itself.
 */

#define WIDTH 0x0fff /* of a component, in bits */

uint8_t wire_sa_layout_size(const struct wire_sa_layout *layout)
{
	unsigned bits = 0;

	for (unsigned i = 0; i < layout->ncomps; i++)
		bits += layout->comps[i] & WIDTH;
	return (bits + 63) / 64 * 8;
}

static uint64_t bits_get(const uint8_t *row, unsigned first, unsigned width)
{
	uint64_t value = 0;

	for (unsigned bit = first; bit < first + width; bit++)
		value = value << 1 | (row[bit / 8] >> (7 - bit % 8) & 1);
	return value;
}

static void bits_fill(uint8_t *row, unsigned first, unsigned width)
{
	for (unsigned bit = first; bit < first + width;) {
		if (bit % 8 == 0 && bit + 8 <= first + width) {
			row[bit / 8] = 0xff;
			bit += 8;
		} else {
			row[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
			bit++;
		}
	}
}

uint64_t wire_sa_get(const struct wire_sa_layout *layout, unsigned comp, const uint8_t *row)
{
	unsigned first = 0;

	for (unsigned i = 0; i < comp; i++)
		first += layout->comps[i] & WIDTH;
	return bits_get(row, first, layout->comps[comp] & WIDTH);
}

void wire_sa_put(const struct wire_sa_layout *layout, unsigned comp, uint64_t value, uint8_t *row)
{
	unsigned first = 0, width = layout->comps[comp] & WIDTH;

	for (unsigned i = 0; i < comp; i++)
		first += layout->comps[i] & WIDTH;
	for (unsigned bit = first + width; bit-- > first; value >>= 1) {
		uint8_t at = 0x80 >> bit % 8;

		row[bit / 8] = value & 1 ? row[bit / 8] | at : row[bit / 8] & ~at;
	}
}

void wire_sa_match_init(struct wire_sa_match *match, const struct wire_sa_layout *layout,
			uint64_t comp_mask, const uint8_t *request, bool enough,
			wire_sa_base_lid_fn *base_lid, void *arg)
{
	uint8_t *mask = (uint8_t *)match->mask, *want = (uint8_t *)match->want;
	unsigned first = 0;

	match->words = layout->size / 8;
	memset(mask, 0, layout->size);
	memcpy(want, request, layout->size);
	for (unsigned i = 0; i < layout->ncomps; i++) {
		uint16_t comp = layout->comps[i];
		unsigned width = comp & WIDTH;

		if (comp_mask & WIRE_BIT(i) && !(comp & WIRE_R)) {
			if (comp & WIRE_LID)
				wire_put(want + first / 8, 2,
					 base_lid(arg, bits_get(want, first, 16)));
			if (comp & WIRE_AT_LEAST && enough)
				memcpy(mask + first / 8, want + first / 8, width / 8);
			else
				bits_fill(mask, first, width);
		}
		first += width;
	}
	for (unsigned i = 0; i < match->words; i++)
		match->want[i] &= match->mask[i];
}

bool wire_sa_match(const struct wire_sa_match *match, const uint8_t *row)
{
	for (unsigned i = 0; i < match->words; i++) {
		uint64_t word;

		memcpy(&word, row + i * 8, sizeof(word));
		if ((word & match->mask[i]) != match->want[i])
			return false;
	}
	return true;
}

void wire_sa_match_any(struct wire_sa_match *match, const struct wire_sa_layout *layout,
		       uint64_t comps)
{
	uint64_t any[WIRE_SA_ROW_MAX / 8] = { 0 };
	unsigned first = 0;

	for (unsigned i = 0; i < layout->ncomps; i++) {
		if (comps & WIRE_BIT(i))
			bits_fill((uint8_t *)any, first, layout->comps[i] & WIDTH);
		first += layout->comps[i] & WIDTH;
	}
	for (unsigned i = 0; i < match->words; i++) {
		match->mask[i] &= ~any[i];
		match->want[i] &= ~any[i];
	}
}

/* ---- The client's side ----------------------------------------------------------------------- */

#define AT(field) (offsetof(ib_sa_mad_t, field) - WIRE_MAD_HEADER)
#define ROWS_AT	  (WIRE_SA_HEADER - WIRE_MAD_HEADER)

_Static_assert(sizeof(ib_mad_t) == WIRE_MAD_HEADER, "common header");

void wire_sa_table_ask(uint64_t sm_key, uint8_t data[WIRE_GMP_DATA])
{
	ib_net64_t key = cl_hton64(sm_key);

	memset(data, 0, WIRE_GMP_DATA);
	memcpy(data + AT(sm_key), &key, sizeof(key));
}

void wire_sa_origin_set(uint8_t data[WIRE_GMP_DATA], uint16_t lid, uint64_t key)
{
	ib_net32_t origin = cl_hton32(lid);
	ib_net64_t sm_key = cl_hton64(key);

	memcpy(data + AT(seg_num), &origin, sizeof(origin));
	memcpy(data + AT(sm_key), &sm_key, sizeof(sm_key));
}

uint16_t wire_sa_origin(const uint8_t mad[WIRE_MAD_SIZE])
{
	ib_net32_t origin;

	memcpy(&origin, mad + offsetof(ib_sa_mad_t, seg_num), sizeof(origin));
	return cl_ntoh32(origin) <= UINT16_MAX ? (uint16_t)cl_ntoh32(origin) : 0;
}

const char *wire_sa_table_decode(const uint8_t *data, size_t length, size_t row_size,
				 struct wire_sa_table *out)
{
	ib_net16_t words; /* of a row, 8 bytes each */
	ib_net32_t segment;

	*out = (struct wire_sa_table){ .rows = data + ROWS_AT };
	if (length < ROWS_AT)
		return "an answer that is too short";
	memcpy(&words, data + AT(attr_offset), sizeof(words));
	memcpy(&segment, data + AT(seg_num), sizeof(segment));
	out->size = cl_ntoh16(words) * 8u;
	if (!out->size)
		return NULL;
	if (out->size < row_size)
		return "records that are too short";
	out->count = (length - ROWS_AT) / out->size;
	if (!segment && (length - ROWS_AT) % out->size)
		return "an answer without its further segments (there is no RMPP here)";
	return NULL;
}

/*
 * The SA's larger structures: ServiceRecord (IBA 15.2.5.14), MultiPathRecord (15.2.5.20), and the
 * QoS tables' records (15.2.5.4, 15.2.5.9).
 *
 * A MultiPathRecord asks in other words for what a PathRecord asks: it is decoded into one, and its
 * component mask into that of one, so that the same code finds the paths.
 */

#define MULTI_HEADER 24

_Static_assert(sizeof(ib_service_record_t) == 176, "ServiceRecord");
_Static_assert(offsetof(ib_service_record_t, service_data8) == 112, "ServiceData");
_Static_assert(sizeof(ib_slvl_table_record_t) == 16, "SLtoVLMappingTableRecord");
_Static_assert(sizeof(ib_vl_arb_table_record_t) == 72, "VLArbitrationTableRecord");
_Static_assert(offsetof(ib_multipath_rec_t, gids) == MULTI_HEADER, "MultiPathRecord");

/* ---- ServiceRecord --------------------------------------------------------------------------- */

void wire_service_decode(const uint8_t row[176], struct wire_service *out)
{
	ib_service_record_t rec;

	memcpy(&rec, row, sizeof(rec));
	*out = (struct wire_service){
		.id = cl_ntoh64(rec.service_id),
		.gid = { wire_get(rec.service_gid.raw, 8), wire_get(rec.service_gid.raw + 8, 8) },
		.pkey = cl_ntoh16(rec.service_pkey),
		.lease = cl_ntoh32(rec.service_lease),
	};
	memcpy(out->key, rec.service_key, sizeof(out->key));
	memcpy(out->name, rec.service_name, sizeof(out->name));
	memcpy(out->data, rec.service_data8, sizeof(out->data));
}

void wire_service_encode(const struct wire_service *in, uint8_t row[176])
{
	ib_service_record_t rec = {
		.service_id = cl_hton64(in->id),
		.service_pkey = cl_hton16(in->pkey),
		.service_lease = cl_hton32(in->lease),
	};

	wire_gid_encode(&in->gid, rec.service_gid.raw);
	memcpy(rec.service_key, in->key, sizeof(in->key));
	memcpy(rec.service_name, in->name, sizeof(in->name));
	memcpy(row, &rec, sizeof(rec));
	memcpy(row + offsetof(ib_service_record_t, service_data8), in->data, sizeof(in->data));
}

/* ---- MultiPathRecord ------------------------------------------------------------------------- */

void wire_multi_path_decode(const uint8_t data[WIRE_SA_DATA], struct wire_multi_path *out)
{
	uint32_t hop_flow_raw = wire_get(data, 4);
	uint16_t qos_class_sl = wire_get(data + 8, 2);

	*out = (struct wire_multi_path){
		.path = {
			.service_id = (uint64_t)data[13] << 56 | wire_get(data + 17, 7),
			.raw = hop_flow_raw >> 31,
			.flow_label = hop_flow_raw >> 8 & 0xfffff,
			.hop_limit = hop_flow_raw,
			.tclass = data[4],
			.reversible = data[5] >> 7,
			.num_path = data[5] & 0x7f,
			.pkey = wire_get(data + 6, 2),
			.qos_class = qos_class_sl >> 4,
			.sl = qos_class_sl & 0xf,
			.mtu_sel = data[10] >> 6,
			.mtu = data[10] & 0x3f,
			.rate_sel = data[11] >> 6,
			.rate = data[11] & 0x3f,
			.life_sel = data[12] >> 6,
			.life = data[12] & 0x3f,
		},
		.independent = data[14] >> 6,
		.nsrc = data[15],
		.ndst = data[16],
	};
	for (unsigned i = 0; i < WIRE_MULTI_GIDS; i++) {
		const uint8_t *gid = data + MULTI_HEADER + i * sizeof(ib_gid_t);

		out->gids[i] = (struct wire_gid){ wire_get(gid, 8), wire_get(gid + 8, 8) };
	}
}

uint64_t wire_multi_path_mask(uint64_t comp_mask)
{
	static const uint8_t to[] = {
		[0] = WIRE_PATH_RAW,	  [5] = WIRE_PATH_REVERSIBLE, [6] = WIRE_PATH_NUM_PATH,
		[7] = WIRE_PATH_PKEY,	  [8] = WIRE_PATH_QOS_CLASS,  [9] = WIRE_PATH_SL,
		[10] = WIRE_PATH_MTU_SEL, [11] = WIRE_PATH_MTU,	      [12] = WIRE_PATH_RATE_SEL,
		[13] = WIRE_PATH_RATE,	  [14] = WIRE_PATH_LIFE_SEL,  [15] = WIRE_PATH_LIFE,
	};
	uint64_t mask = 0;

	for (unsigned i = 0; i < sizeof(to); i++)
		if (comp_mask & WIRE_BIT(i) && to[i])
			mask |= WIRE_BIT(to[i]);
	if (comp_mask & WIRE_BIT(16))
		mask |= WIRE_BIT(WIRE_PATH_SERVICE_ID_MSB);
	if (comp_mask & WIRE_BIT(21))
		mask |= WIRE_BIT(WIRE_PATH_SERVICE_ID_LSB);
	return mask;
}

/* ---- QoS tables ------------------------------------------------------------------------------ */

void wire_sl2vl_record_encode(uint16_t lid, uint8_t in_port, uint8_t out_port,
			      const uint8_t table[8], uint8_t row[16])
{
	ib_slvl_table_record_t rec = {
		.lid = cl_hton16(lid),
		.in_port_num = in_port,
		.out_port_num = out_port,
	};

	memcpy(&rec.slvl_tbl, table, sizeof(rec.slvl_tbl));
	memcpy(row, &rec, sizeof(rec));
}

void wire_vl_arb_record_encode(uint16_t lid, uint8_t port, uint8_t block, const uint8_t table[64],
			       uint8_t row[72])
{
	ib_vl_arb_table_record_t rec = {
		.lid = cl_hton16(lid),
		.port_num = port,
		.block_num = block,
	};

	memcpy(&rec.vl_arb_tbl, table, sizeof(rec.vl_arb_tbl));
	memcpy(row, &rec, sizeof(rec));
}

/* ---- Header ---------------------------------------------------------------------------------- */

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
	sa.attr_offset = cl_hton16(row_size / 8);
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

void wire_pkey_record_encode(uint16_t lid, uint8_t port, uint16_t block, const uint16_t pkeys[32],
			     uint8_t row[72])
{
	ib_pkey_table_record_t rec = {
		.lid = cl_hton16(lid),
		.block_num = cl_hton16(block),
		.port_num = port,
	};

	wire_words_encode(pkeys, (uint8_t *)&rec.pkey_tbl);
	memcpy(row, &rec, sizeof(rec));
}

void wire_pkey_record_swap_block(uint8_t row[72])
{
	ib_pkey_table_record_t rec;

	memcpy(&rec, row, sizeof(rec));
	rec.block_num = rec.block_num << 8 | rec.block_num >> 8;
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

/* ---- GIDs, PathRecord ------------------------------------------------------------------------ */

struct wire_gid wire_gid_decode(const uint8_t raw[16])
{
	ib_gid_t gid;

	memcpy(&gid, raw, sizeof(gid));
	return (struct wire_gid){
		.prefix = cl_ntoh64(gid.unicast.prefix),
		.guid = cl_ntoh64(gid.unicast.interface_id),
	};
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
		.dgid = wire_gid_decode(rec.dgid.raw),
		.sgid = wire_gid_decode(rec.sgid.raw),
		.dlid = cl_ntoh16(rec.dlid),
		.slid = cl_ntoh16(rec.slid),
		.raw = hop_flow_raw >> 31,
		.flow_label = hop_flow_raw >> 8 & 0xfffff,
		.hop_limit = hop_flow_raw,
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
		.num_path = in->reversible << 7 | (in->num_path & 0x7f),
		.pkey = cl_hton16(in->pkey),
		.qos_class_sl = cl_hton16(in->qos_class << 4 | (in->sl & 0xf)),
		.mtu = in->mtu_sel << 6 | (in->mtu & 0x3f),
		.rate = in->rate_sel << 6 | (in->rate & 0x3f),
		.pkt_life = in->life_sel << 6 | (in->life & 0x3f),
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
		.gid = wire_gid_decode(info.gid.raw),
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
	info.g_or_v.generic.node_type_msb = in->producer >> 16;
	info.g_or_v.generic.node_type_lsb = cl_hton16(in->producer);
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

/* ---- MCMemberRecord, multicast tables -------------------------------------------------------- */

/*
 * A block of the table is 32 words, as a block of P_Keys is, so that code serves both. In the
 * record of a block its number and its position share a word: position in the upper four bits,
 * three reserved, block in the lower nine (IBA 15.2.5.8).
 */

_Static_assert(sizeof(ib_member_rec_t) == WIRE_MCMEMBER_SIZE, "MCMemberRecord");
_Static_assert(sizeof(ib_mft_record_t) == 72, "MulticastForwardingTableRecord");

void wire_mcmember_decode(const uint8_t row[WIRE_MCMEMBER_SIZE], struct wire_mcmember *out)
{
	ib_member_rec_t rec;
	uint32_t sl_flow_hop;

	memcpy(&rec, row, sizeof(rec));
	sl_flow_hop = cl_ntoh32(rec.sl_flow_hop);
	*out = (struct wire_mcmember){
		.mgid = wire_gid_decode(rec.mgid.raw),
		.port_gid = wire_gid_decode(rec.port_gid.raw),
		.qkey = cl_ntoh32(rec.qkey),
		.mlid = cl_ntoh16(rec.mlid),
		.mtu_sel = rec.mtu >> 6,
		.mtu = rec.mtu & 0x3f,
		.tclass = rec.tclass,
		.pkey = cl_ntoh16(rec.pkey),
		.rate_sel = rec.rate >> 6,
		.rate = rec.rate & 0x3f,
		.life_sel = rec.pkt_life >> 6,
		.life = rec.pkt_life & 0x3f,
		.sl = sl_flow_hop >> 28,
		.flow_label = sl_flow_hop >> 8 & 0xfffff,
		.hop_limit = sl_flow_hop,
		.scope = rec.scope_state >> 4,
		.join_state = rec.scope_state & WIRE_JOIN_BITS,
		.proxy = row[offsetof(ib_member_rec_t, scope_state) + 1] >> 7,
	};
}

void wire_mcmember_encode(const struct wire_mcmember *in, uint8_t row[WIRE_MCMEMBER_SIZE])
{
	ib_member_rec_t rec = {
		.qkey = cl_hton32(in->qkey),
		.mlid = cl_hton16(in->mlid),
		.mtu = in->mtu_sel << 6 | (in->mtu & 0x3f),
		.tclass = in->tclass,
		.pkey = cl_hton16(in->pkey),
		.rate = in->rate_sel << 6 | (in->rate & 0x3f),
		.pkt_life = in->life_sel << 6 | (in->life & 0x3f),
		.sl_flow_hop = cl_hton32((uint32_t)in->sl << 28 | (in->flow_label & 0xfffff) << 8 |
					 in->hop_limit),
		.scope_state = in->scope << 4 | (in->join_state & WIRE_JOIN_BITS),
	};

	wire_gid_encode(&in->mgid, rec.mgid.raw);
	wire_gid_encode(&in->port_gid, rec.port_gid.raw);
	memcpy(row, &rec, sizeof(rec));
	row[offsetof(ib_member_rec_t, scope_state) + 1] = in->proxy ? 0x80 : 0;
}

void wire_mft_record_encode(uint16_t lid, uint8_t position, uint16_t block,
			    const uint16_t masks[WIRE_MFT_BLOCK], uint8_t row[72])
{
	ib_mft_record_t rec = {
		.lid = cl_hton16(lid),
		.position_block_num = cl_hton16(position << 12 | (block & 0x1ff)),
	};

	wire_words_encode(masks, (uint8_t *)rec.mft);
	memcpy(row, &rec, sizeof(rec));
}
