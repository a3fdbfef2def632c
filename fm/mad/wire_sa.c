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
	return wire_bits_get(row, first, layout->comps[comp] & WIDTH);
}

void wire_sa_put(const struct wire_sa_layout *layout, unsigned comp, uint64_t value, uint8_t *row)
{
	unsigned first = 0;

	for (unsigned i = 0; i < comp; i++)
		first += layout->comps[i] & WIDTH;
	wire_bits_put(row, first, layout->comps[comp] & WIDTH, value);
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
					 base_lid(arg, wire_bits_get(want, first, 16)));
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
	memset(data, 0, WIRE_GMP_DATA);
	wire_put(data + AT(sm_key), 8, sm_key);
}

void wire_sa_origin_set(uint8_t data[WIRE_GMP_DATA], uint16_t lid, uint64_t key)
{
	wire_put(data + AT(seg_num), 4, lid);
	wire_put(data + AT(sm_key), 8, key);
}

uint16_t wire_sa_origin(const uint8_t mad[WIRE_MAD_SIZE])
{
	uint32_t origin = wire_get(mad + offsetof(ib_sa_mad_t, seg_num), 4);

	return origin <= UINT16_MAX ? origin : 0;
}

const char *wire_sa_table_decode(const uint8_t *data, size_t length, size_t row_size,
				 struct wire_sa_table *out)
{
	*out = (struct wire_sa_table){ .rows = data + ROWS_AT };
	if (length < ROWS_AT)
		return "an answer that is too short";
	out->size = wire_get(data + AT(attr_offset), 2) * 8; /* it is in words of a row */
	if (!out->size)
		return NULL;
	if (out->size < row_size)
		return "records that are too short";
	out->count = (length - ROWS_AT) / out->size;
	if (!wire_get(data + AT(seg_num), 4) && (length - ROWS_AT) % out->size)
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
_Static_assert(offsetof(ib_multipath_rec_t, gids) == MULTI_HEADER, "MultiPathRecord");

/* ---- ServiceRecord --------------------------------------------------------------------------- */

void wire_service_decode(const uint8_t row[176], struct wire_service *out)
{
	ib_service_record_t rec;

	memcpy(&rec, row, sizeof(rec));
	*out = (struct wire_service){
		.id = cl_ntoh64(rec.service_id),
		.gid = wire_gid_decode(rec.service_gid.raw),
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
	for (unsigned i = 0; i < WIRE_MULTI_GIDS; i++)
		out->gids[i] = wire_gid_decode(data + MULTI_HEADER + i * sizeof(ib_gid_t));
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

/* ---- Header ---------------------------------------------------------------------------------- */

#define RMPP_VERSION	1
#define QKEY_WELL_KNOWN 0x80010000u

_Static_assert(offsetof(ib_sa_mad_t, data) == WIRE_SA_HEADER, "SA header");
_Static_assert(sizeof(ib_node_record_t) == 112, "NodeRecord");
_Static_assert(sizeof(ib_portinfo_record_t) == 72, "PortInfoRecord");
_Static_assert(sizeof(ib_switch_info_record_t) == 24, "SwitchInfoRecord");
_Static_assert(sizeof(ib_path_rec_t) == 64, "PathRecord");
_Static_assert(sizeof(ib_inform_info_t) == 36, "InformInfo");
_Static_assert(sizeof(ib_inform_info_record_t) == 64, "InformInfoRecord");
_Static_assert(sizeof(ib_class_port_info_t) == 72, "ClassPortInfo");

uint64_t wire_sa_comp_mask(const uint8_t mad[WIRE_MAD_SIZE])
{
	return wire_get(mad + offsetof(ib_sa_mad_t, comp_mask), 8);
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
	uint8_t data[WIRE_SMP_DATA];

	memset(row, 0, sizeof(ib_node_record_t));
	wire_put(row, 2, lid);
	wire_node_info_encode(info, data);
	memcpy(row + 4, data, sizeof(ib_node_info_t));
	wire_node_desc_encode(desc, row + offsetof(ib_node_record_t, node_desc));
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
	uint8_t data[WIRE_SMP_DATA];

	wire_put(row, 4, (uint32_t)lid << 16);
	wire_switch_info_encode(info, data);
	memcpy(row + 4, data, sizeof(ib_switch_info_t));
}

/* Most have the LID, another 16 bits, 32 that are reserved, and what is of the SMP attribute. */
static void record_put(uint8_t *row, uint16_t lid, uint16_t which, const void *attribute,
		       size_t size)
{
	wire_put(row, 2, lid);
	wire_put(row + 2, 2, which);
	wire_put(row + 4, 4, 0);
	memcpy(row + 8, attribute, size);
}

void wire_sl2vl_record_encode(uint16_t lid, uint8_t in_port, uint8_t out_port,
			      const uint8_t table[8], uint8_t row[16])
{
	record_put(row, lid, in_port << 8 | out_port, table, 8);
}

void wire_vl_arb_record_encode(uint16_t lid, uint8_t port, uint8_t block, const uint8_t table[64],
			       uint8_t row[72])
{
	record_put(row, lid, port << 8 | block, table, 64);
}

void wire_lft_record_encode(uint16_t lid, uint16_t block, const uint8_t entries[64],
			    uint8_t row[72])
{
	record_put(row, lid, block, entries, 64);
}

void wire_guid_record_encode(uint16_t lid, uint8_t block, const guid_t guids[8], uint8_t row[72])
{
	uint8_t info[64];

	wire_guid_info_encode(guids, info);
	record_put(row, lid, block << 8, info, 64);
}

void wire_guid_record_decode(const uint8_t row[72], uint16_t *lid, uint8_t *block, guid_t guids[8])
{
	*lid = wire_get(row, 2);
	*block = row[2];
	for (size_t i = 0; i < 8; i++)
		guids[i] = wire_get(row + 8 + 8 * i, 8);
}

void wire_guid_info_encode(const guid_t guids[8], uint8_t data[64])
{
	for (size_t i = 0; i < 8; i++)
		wire_put(data + 8 * i, 8, guids[i]);
}

void wire_pkey_record_encode(uint16_t lid, uint8_t port, uint16_t block, const uint16_t pkeys[32],
			     uint8_t row[72])
{
	uint8_t table[64];

	wire_words_encode(pkeys, table);
	record_put(row, lid, block, table, 64);
	row[4] = port;
}

void wire_pkey_record_swap_block(uint8_t row[72])
{
	uint8_t high = row[2];

	row[2] = row[3];
	row[3] = high;
}

void wire_pkey_record_fix_block(uint8_t row[72])
{
	if (row[2] && !row[3])
		wire_pkey_record_swap_block(row);
}

void wire_link_record_encode(const struct wire_link_record *in, uint8_t row[8])
{
	wire_put(row, 2, in->from_lid);
	row[2] = in->from_port;
	row[3] = in->to_port;
	wire_put(row + 4, 4, (uint32_t)in->to_lid << 16);
}

void wire_port_caps_decode(const uint8_t info[64], struct wire_port_caps *out)
{
	out->capmask = wire_get(info + offsetof(ib_port_info_t, capability_mask), 4);
	out->capmask2 = wire_port_info_capmask2(info);
	out->mtu_cap = info[offsetof(ib_port_info_t, mtu_cap)] & 0xf;
	out->guid_cap = info[offsetof(ib_port_info_t, guid_cap)];
}

bool wire_port_info_extended(const uint8_t info[64])
{
	return info[offsetof(ib_port_info_t, link_speed_ext)] >> 4 ||
	       info[offsetof(ib_port_info_t, link_rt_latency)] >> 5 & 3;
}

/* ---- GIDs, PathRecord ------------------------------------------------------------------------ */

struct wire_gid wire_gid_decode(const uint8_t raw[16])
{
	return (struct wire_gid){ wire_get(raw, 8), wire_get(raw + 8, 8) };
}

void wire_gid_encode(const struct wire_gid *gid, uint8_t raw[16])
{
	wire_put(raw, 8, gid->prefix);
	wire_put(raw + 8, 8, gid->guid);
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

	wire_gid_encode(&in->dgid, rec.dgid.raw);
	wire_gid_encode(&in->sgid, rec.sgid.raw);
	memcpy(row, &rec, sizeof(rec));
}

/* ---- InformInfo, ClassPortInfo --------------------------------------------------------------- */

#define INFORM(member, bits) WIRE_FIELD(wire_inform_info, member, bits)
static const struct wire_field inform_fields[] = {
	INFORM(gid.prefix, 64), INFORM(gid.guid, 64), INFORM(lid_begin, 16),
	INFORM(lid_end, 16),	{ .bits = 16 + 7 },   INFORM(generic, 1),
	INFORM(subscribe, 8),	INFORM(type, 16),     INFORM(trap, 16),
	INFORM(qpn, 24),	{ .bits = 3 },	      INFORM(resp_time, 5),
	{ .bits = 8 },		INFORM(producer, 24), { 0 },
};

void wire_inform_info_decode(const uint8_t data[36], struct wire_inform_info *out)
{
	wire_fields_decode(inform_fields, data, out);
}

void wire_inform_info_encode(const struct wire_inform_info *in, uint8_t data[36])
{
	memset(data, 0, sizeof(ib_inform_info_t));
	wire_fields_encode(inform_fields, in, data);
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
	memset(row, 0, sizeof(ib_inform_info_record_t));
	wire_gid_encode(subscriber, row);
	wire_put(row + offsetof(ib_inform_info_record_t, subscriber_enum), 2, number);
	wire_fields_encode(inform_fields, info,
			   row + offsetof(ib_inform_info_record_t, inform_info));
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

#define MC(member, bits) WIRE_FIELD(wire_mcmember, member, bits)
static const struct wire_field mcmember_fields[] = {
	MC(mgid.prefix, 64),   MC(mgid.guid, 64), MC(port_gid.prefix, 64),
	MC(port_gid.guid, 64), MC(qkey, 32),	  MC(mlid, 16),
	MC(mtu_sel, 2),	       MC(mtu, 6),	  MC(tclass, 8),
	MC(pkey, 16),	       MC(rate_sel, 2),	  MC(rate, 6),
	MC(life_sel, 2),       MC(life, 6),	  MC(sl, 4),
	MC(flow_label, 20),    MC(hop_limit, 8),  MC(scope, 4),
	MC(join_state, 4),     MC(proxy, 1),	  { 0 },
};

void wire_mcmember_decode(const uint8_t row[WIRE_MCMEMBER_SIZE], struct wire_mcmember *out)
{
	wire_fields_decode(mcmember_fields, row, out);
}

void wire_mcmember_encode(const struct wire_mcmember *in, uint8_t row[WIRE_MCMEMBER_SIZE])
{
	memset(row, 0, WIRE_MCMEMBER_SIZE);
	wire_fields_encode(mcmember_fields, in, row);
}

void wire_mft_record_encode(uint16_t lid, uint8_t position, uint16_t block,
			    const uint16_t masks[WIRE_MFT_BLOCK], uint8_t row[72])
{
	uint8_t table[64];

	wire_words_encode(masks, table);
	record_put(row, lid, position << 12 | (block & 0x1ff), table, 64);
}
