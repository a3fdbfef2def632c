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
#include "fm/mad/wire_format.h"
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

WIRE_FORMAT(node_info, ib_node_info_t, WIRE_NODE_INFO_LIST)
WIRE_CODEC(node_info, 64)

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

WIRE_FORMAT(port_info, ib_port_info_t, WIRE_PORT_INFO_LIST)
WIRE_CODEC(port_info, 64)

void wire_port_lanes_decode(const uint8_t data[64], struct wire_port_lanes *out)
{
	const port_info_at *pi = (const port_info_at *)data;

	*out = (struct wire_port_lanes){ .state = pi->state_info1 & 0xf,
					 .neighbor_mtu = pi->mtu_smsl >> 4,
					 .mtu_cap = pi->mtu_cap & 0xf,
					 .vl_cap = pi->vl_cap >> 4,
					 .op_vls = pi->vl_enforce >> 4 };
}

uint16_t wire_port_info_capmask2(const uint8_t data[64])
{
	uint32_t caps = wire_get(data + offsetof(ib_port_info_t, capability_mask), 4);

	return caps & WIRE_CAP_HAS_CAPMASK2
		       ? wire_get(data + offsetof(ib_port_info_t, capability_mask2), 2)
		       : 0;
}

void wire_port_info_set_capmask(uint8_t data[64], uint32_t capmask)
{
	wire_put(data + offsetof(ib_port_info_t, capability_mask), 4, capmask);
}

void wire_port_info_show_mkey(uint8_t data[64], uint64_t mkey)
{
	wire_put(data + offsetof(ib_port_info_t, m_key), 8, mkey);
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
	static const uint8_t lanes[] = { [1] = 1, [2] = 4, [4] = 8, [8] = 12, [16] = 2 };

	return info->width_active < ARRAY_SIZE(lanes) ? lanes[info->width_active] : 0;
}

/* ---- SwitchInfo ------------------------------------------------------------------------------ */

WIRE_FORMAT(switch_info, ib_switch_info_t, WIRE_SWITCH_INFO_LIST)
WIRE_CODEC(switch_info, 64)

/* ---- SMInfo, P_Keys -------------------------------------------------------------------------- */

WIRE_FORMAT(sm_info, ib_sm_info_t, WIRE_SM_INFO_LIST)
WIRE_CODEC(sm_info, 64)

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
 * Notices (IBA 13.4.8.2) and the details of traps (14.2.5.1): what the details of each trap number
 * have, and at which byte, counted from 1; 0 = they do not have it. The encoder starts from the raw
 * details and lays these fields over them, so that decode and encode give the bytes back.
 */
static const struct details {
	uint16_t first, last; /* trap numbers */
	uint8_t lid, port, gid, guid, capmask;
	/* bit 0 = what follows counts; of 2 bytes bit 0 = NodeDescription, bit 3 = SM priority */
	uint8_t changes, what;
} details[] = {
	{ 64, 67, .gid = 7, .guid = 15 },
	{ 128, 128, .lid = 1 }, /* of the switch */
	{ 129, 131, .lid = 3, .port = 5 },
	{ 144, 144, .lid = 3, .capmask = 7, .changes = 6, .what = 11 },
	{ 145, 145, .lid = 3, .guid = 7 },  /* system image GUID */
	{ 256, 258, .lid = 3 },		    /* of who had the wrong key */
	{ 259, 259, .lid = 3, .port = 51 }, /* the same, and the switch's port */
};
#define OTHER_CHANGES	 1
#define DESC_CHANGED	 1
#define PRIORITY_CHANGED 8

WIRE_FORMAT(notice, uint8_t[WIRE_SMP_DATA], WIRE_NOTICE_LIST)

static const struct details *details_of(const struct wire_notice *notice)
{
	static const struct details none;

	ARRAY_EACH (it, details, ARRAY_SIZE(details))
		if (notice->generic && notice->trap >= it->first && notice->trap <= it->last)
			return it;
	return &none;
}

void wire_notice_decode(const uint8_t data[64], struct wire_notice *out)
{
	const uint8_t *at = data + WIRE_SMP_DATA - sizeof(out->details) - 1;
	uint16_t what = 0;

	notice_get(data, out);

	const struct details *has = details_of(out);

	out->lid = has->lid ? wire_get(at + has->lid, 2) : 0;
	out->port = has->port ? at[has->port] : 0;
	out->guid = has->guid ? wire_get(at + has->guid, 8) : 0;
	out->capmask = has->capmask ? wire_get(at + has->capmask, 4) : 0;
	if (has->gid)
		memcpy(out->gid, at + has->gid, sizeof(out->gid));
	if (has->changes && at[has->changes] & OTHER_CHANGES)
		what = wire_get(at + has->what, 2);
	out->desc_changed = what & DESC_CHANGED;
	out->priority_changed = what & PRIORITY_CHANGED;
}

void wire_notice_encode(const struct wire_notice *in, uint8_t data[64])
{
	uint8_t *at = data + WIRE_SMP_DATA - sizeof(in->details) - 1;
	const struct details *has = details_of(in);

	memset(data, 0, WIRE_SMP_DATA);
	notice_put(in, data);
	if (has->lid)
		wire_put(at + has->lid, 2, in->lid);
	if (has->port)
		at[has->port] = in->port;
	if (has->guid)
		wire_put(at + has->guid, 8, in->guid);
	if (has->gid)
		memcpy(at + has->gid, in->gid, sizeof(in->gid));
	if (has->capmask)
		wire_put(at + has->capmask, 4, in->capmask);
	if (has->changes && (in->desc_changed || in->priority_changed)) {
		at[has->changes] |= OTHER_CHANGES;
		at[has->what + 1] |= (in->desc_changed ? DESC_CHANGED : 0) |
				     (in->priority_changed ? PRIORITY_CHANGED : 0);
	}
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
