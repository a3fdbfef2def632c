/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wire_mcast: multicast between bytes and host order: MCMemberRecord (IBA 15.2.5.17), and the
 * blocks of multicast forwarding tables.
 */
#ifndef FMD_MAD_WIRE_MCAST_H
#define FMD_MAD_WIRE_MCAST_H

#include "fm/mad/wire_sa.h"

enum wire_join { /* bits of a JoinState */
		 WIRE_JOIN_FULL = 1,
		 WIRE_JOIN_NON = 2,
		 WIRE_JOIN_SEND_ONLY = 4,
		 WIRE_JOIN_SEND_ONLY_FULL = 8,
};
#define WIRE_JOIN_BITS	   0xf
#define WIRE_SCOPE_LOCAL   0x2 /* link-local */
#define WIRE_MCMEMBER_SIZE 56

struct wire_mcmember {
	struct wire_gid mgid, port_gid;
	uint32_t qkey, flow_label;
	uint16_t mlid, pkey;
	uint8_t mtu_sel, mtu, rate_sel, rate, life_sel, life; /* selectors: enum wire_selector */
	uint8_t tclass, sl, hop_limit, scope, join_state;
	bool proxy;
};
enum { /* component numbers */
       WIRE_MC_MGID,
       WIRE_MC_PORT_GID,
       WIRE_MC_QKEY,
       WIRE_MC_MLID,
       WIRE_MC_MTU_SEL,
       WIRE_MC_MTU,
       WIRE_MC_TCLASS,
       WIRE_MC_PKEY,
       WIRE_MC_RATE_SEL,
       WIRE_MC_RATE,
       WIRE_MC_LIFE_SEL,
       WIRE_MC_LIFE,
       WIRE_MC_SL,
       WIRE_MC_FLOW,
       WIRE_MC_HOP,
       WIRE_MC_SCOPE,
       WIRE_MC_JOIN_STATE,
       WIRE_MC_PROXY,
};
/* The whole record; join_state and scope of IBA 15.2.5.17 share a byte on the wire. Never fail. */
void wire_mcmember_decode(const uint8_t row[WIRE_MCMEMBER_SIZE], struct wire_mcmember *out);
void wire_mcmember_encode(const struct wire_mcmember *in, uint8_t row[WIRE_MCMEMBER_SIZE]);

/* One MulticastForwardingTable block (IBA 14.2.5.12): port masks of 32 MLIDs. */
#define WIRE_MFT_BLOCK			   32
#define WIRE_MFT_MODIFIER(position, block) ((uint32_t)(position) << 28 | (block))
/* The attribute; and a whole MulticastForwardingTableRecord of the switch with that LID. */
void wire_mft_decode(const uint8_t data[WIRE_SMP_DATA], uint16_t masks[WIRE_MFT_BLOCK]);
void wire_mft_encode(const uint16_t masks[WIRE_MFT_BLOCK], uint8_t data[WIRE_SMP_DATA]);
void wire_mft_record_encode(uint16_t lid, uint8_t position, uint16_t block,
			    const uint16_t masks[WIRE_MFT_BLOCK], uint8_t row[72]);

#endif
