/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * MCMemberRecord and multicast forwarding tables between bytes and host order (see wire_mcast.h).
 *
 * A block of the table is 32 words, as a block of P_Keys is, so that code serves both. In the
 * record of a block its number and its position share a word: position in the upper four bits,
 * three reserved, block in the lower nine (IBA 15.2.5.8).
 */
#include <string.h>
#include <iba/ib_types.h>
#include <complib/cl_byteswap.h>
#include "fm/mad/wire_mcast.h"

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
		.hop_limit = (uint8_t)sl_flow_hop,
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
		.mtu = (uint8_t)(in->mtu_sel << 6 | (in->mtu & 0x3f)),
		.tclass = in->tclass,
		.pkey = cl_hton16(in->pkey),
		.rate = (uint8_t)(in->rate_sel << 6 | (in->rate & 0x3f)),
		.pkt_life = (uint8_t)(in->life_sel << 6 | (in->life & 0x3f)),
		.sl_flow_hop = cl_hton32((uint32_t)in->sl << 28 | (in->flow_label & 0xfffff) << 8 |
					 in->hop_limit),
		.scope_state = (uint8_t)(in->scope << 4 | (in->join_state & WIRE_JOIN_BITS)),
	};

	wire_gid_encode(&in->mgid, rec.mgid.raw);
	wire_gid_encode(&in->port_gid, rec.port_gid.raw);
	memcpy(row, &rec, sizeof(rec));
	row[offsetof(ib_member_rec_t, scope_state) + 1] = in->proxy ? 0x80 : 0;
}

void wire_mft_decode(const uint8_t data[WIRE_SMP_DATA], uint16_t masks[WIRE_MFT_BLOCK])
{
	wire_pkeys_decode(data, masks);
}

void wire_mft_encode(const uint16_t masks[WIRE_MFT_BLOCK], uint8_t data[WIRE_SMP_DATA])
{
	wire_pkeys_encode(masks, data);
}

void wire_mft_record_encode(uint16_t lid, uint8_t position, uint16_t block,
			    const uint16_t masks[WIRE_MFT_BLOCK], uint8_t row[72])
{
	ib_mft_record_t rec = {
		.lid = cl_hton16(lid),
		.position_block_num = cl_hton16((uint16_t)(position << 12 | (block & 0x1ff))),
	};

	wire_mft_encode(masks, (uint8_t *)rec.mft);
	memcpy(row, &rec, sizeof(rec));
}
