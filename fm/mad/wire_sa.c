/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * SA MADs between bytes and host order: the header behind the MAD header (IBA 15.2.1: RMPP header,
 * SM_Key, AttributeOffset, ComponentMask) and the records that fmd answers with (IBA 15.2.5).
 */
#include <assert.h>
#include <string.h>
#include <iba/ib_types.h>
#include <complib/cl_byteswap.h>
#include "fm/mad/wire_format.h"

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
	unsigned first = 0, width = layout->comps[comp] & WIDTH;

	for (unsigned i = 0; i < comp; i++)
		first += layout->comps[i] & WIDTH;
	for (unsigned bit = first + width; bit-- > first; value >>= 1) {
		uint8_t at = 0x80 >> bit % 8;

		row[bit / 8] = value & 1 ? row[bit / 8] | at : row[bit / 8] & ~at;
	}
}

void wire_sa_row(const struct wire_sa_layout *layout, const uint64_t *first, unsigned count,
		 const void *rest, size_t size, uint8_t *row)
{
	unsigned bits = 0;

	memset(row, 0, layout->size);
	for (unsigned i = 0; i < count; i++) {
		wire_sa_put(layout, i, first[i], row);
		bits += layout->comps[i] & WIDTH;
	}
	memcpy(row + bits / 8, rest, size);
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
					 base_lid(arg, wire_get(want + first / 8, 2)));
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
	out->size = wire_get(data + AT(attr_offset), 2) * 8;
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
 * The SA's larger structures: ServiceRecord (IBA 15.2.5.14), MultiPathRecord (15.2.5.20).
 *
 * A MultiPathRecord asks in other words for what a PathRecord asks: it is decoded into one, and its
 * component mask into that of one, so that the same code finds the paths.
 */

#define MULTI_HEADER 24

_Static_assert(offsetof(ib_service_record_t, service_data8) == 112, "ServiceData");
_Static_assert(offsetof(ib_multipath_rec_t, gids) == MULTI_HEADER, "MultiPathRecord");

/* ---- ServiceRecord --------------------------------------------------------------------------- */

WIRE_FORMAT(service, ib_service_record_t, WIRE_SERVICE_LIST)
WIRE_CODEC(service, 176)

/* ---- MultiPathRecord ------------------------------------------------------------------------- */

uint64_t wire_multi_path_mask(uint64_t comp_mask)
{
	static const uint8_t to[] = {
		[0] = WIRE_PATH(raw),	   [5] = WIRE_PATH(reversible), [6] = WIRE_PATH(num_path),
		[7] = WIRE_PATH(pkey),	   [8] = WIRE_PATH(qos_class),	[9] = WIRE_PATH(sl),
		[10] = WIRE_PATH(mtu_sel), [11] = WIRE_PATH(mtu),	[12] = WIRE_PATH(rate_sel),
		[13] = WIRE_PATH(rate),	   [14] = WIRE_PATH(life_sel),	[15] = WIRE_PATH(life),
	};
	uint64_t mask = 0;

	for (unsigned i = 0; i < sizeof(to); i++)
		if (comp_mask & WIRE_BIT(i) && to[i])
			mask |= WIRE_BIT(to[i]);
	if (comp_mask & WIRE_BIT(16))
		mask |= WIRE_BIT(WIRE_PATH(service_id_msb));
	if (comp_mask & WIRE_BIT(21))
		mask |= WIRE_BIT(WIRE_PATH(service_id_lsb));
	return mask;
}

/* ---- Header ---------------------------------------------------------------------------------- */

#define RMPP_VERSION 1

_Static_assert(offsetof(ib_sa_mad_t, data) == WIRE_SA_HEADER, "SA header");
_Static_assert(sizeof(ib_inform_info_record_t) == 64, "InformInfoRecord");

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

/* ---- Parts of PortInfo ----------------------------------------------------------------------- */

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

WIRE_FORMAT(path_record, ib_path_rec_t, WIRE_PATH_RECORD_LIST)
WIRE_CODEC(path_record, 64)

/* It begins with 13 bytes of a PathRecord, from RawTraffic to PacketLifeTime. */
void wire_multi_path_decode(const uint8_t data[WIRE_SA_DATA], struct wire_multi_path *out)
{
	uint8_t path[sizeof(ib_path_rec_t)] = { data[13] };

	memcpy(path + 1, data + 17, 7); /* ServiceID */
	memcpy(path + offsetof(ib_path_rec_t, hop_flow_raw), data, 13);
	*out = (struct wire_multi_path){ .independent = data[14] >> 6,
					 .nsrc = data[15],
					 .ndst = data[16] };
	path_record_get(path, &out->path);
	for (unsigned i = 0; i < WIRE_MULTI_GIDS; i++)
		out->gids[i] = wire_gid_decode(data + MULTI_HEADER + i * sizeof(ib_gid_t));
}

/* ---- InformInfo, ClassPortInfo --------------------------------------------------------------- */

WIRE_FORMAT(inform_info, ib_inform_info_t, WIRE_INFORM_INFO_LIST)
WIRE_CODEC(inform_info, 36)

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
	wire_gid_encode(subscriber, row + offsetof(ib_inform_info_record_t, subscriber_gid));
	wire_put(row + offsetof(ib_inform_info_record_t, subscriber_enum), 2, number);
	inform_info_put(info, row + offsetof(ib_inform_info_record_t, inform_info));
}

void wire_inform_record_decode(const uint8_t row[64], struct wire_gid *subscriber,
			       struct wire_inform_info *info)
{
	*subscriber = wire_gid_decode(row + offsetof(ib_inform_info_record_t, subscriber_gid));
	wire_inform_info_decode(row + offsetof(ib_inform_info_record_t, inform_info), info);
}

WIRE_FORMAT(class_port_info, ib_class_port_info_t, WIRE_CLASS_PORT_INFO_LIST)
WIRE_CODEC(class_port_info, 72)

/* ---- MCMemberRecord -------------------------------------------------------------------------- */

WIRE_FORMAT(mcmember, ib_member_rec_t, WIRE_MCMEMBER_LIST)
WIRE_CODEC(mcmember, WIRE_MCMEMBER_SIZE)
