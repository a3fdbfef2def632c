/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wire_smp: attributes of SMPs in host order; see fm/mad/wire.h. Encoders write all 64 bytes, and
 * nothing in here fails.
 */
#ifndef FMD_MAD_WIRE_SMP_H
#define FMD_MAD_WIRE_SMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "topology/snapshot/topo.h"

struct wire_node_info {
	uint8_t base_version, class_version, type, nports, local_port;
	guid_t sys_guid, node_guid, port_guid;
	uint16_t partition_cap, device;
	uint32_t revision, vendor;
};
/* NodeInfo (IBA 14.2.5.3). */
void wire_node_info_decode(const uint8_t data[64], struct wire_node_info *out);
void wire_node_info_encode(const struct wire_node_info *in, uint8_t data[64]);

/*
 * All of PortInfo, so that decode + encode gives the bytes back but for reserved bits. Codes as IBA
 * 14.2.5.6.
 */
struct wire_port_info {
	uint64_t mkey, gid_prefix;
	uint16_t lid, sm_lid;
	uint32_t capmask;
	uint16_t diag_code, mkey_lease;
	uint8_t local_port, width_enabled, width_supported, width_active;
	uint8_t speed_supported, state, phys_state, down_default;
	uint8_t mkey_protect, lmc, speed_active, speed_enabled;
	uint8_t neighbor_mtu, sm_sl, vl_cap, init_type;
	uint8_t vl_high_limit, arb_high_cap, arb_low_cap, init_type_reply, mtu_cap;
	uint8_t vl_stall, hoq_life, op_vls;
	bool pkey_enforce_in, pkey_enforce_out, filter_raw_in, filter_raw_out;
	uint16_t mkey_violations, pkey_violations, qkey_violations;
	uint8_t guid_cap;
	bool client_reregister;
	uint8_t mcast_pkey_suppression; /* 2 bits */
	uint8_t subnet_timeout, resp_time, local_phy_errors, overrun_errors;
	uint16_t max_credit_hint;
	uint32_t link_roundtrip; /* 24 bits */
	uint16_t capmask2;
	uint8_t speed_ext_active, speed_ext_supported, speed_ext_enabled;
	uint8_t speed_ext2_active, speed_ext2_supported, speed_ext2_enabled;
};
#define WIRE_CAP_IS_SM		(1u << 1)
#define WIRE_CAP_SL_MAP		(1u << 6)
#define WIRE_CAP_EXT_SPEEDS	(1u << 14)
#define WIRE_CAP_REREGISTER	(1u << 25) /* its host can be asked to register anew */
#define WIRE_CAP_HAS_CAPMASK2	(1u << 15)
#define WIRE_CAP2_PORT_INFO_EXT 0x0002u
#define WIRE_CAP2_STATE_TABLE	0x0008u
#define WIRE_CAP2_2X		0x0010u
#define WIRE_CAP2_HDR		0x0020u
#define WIRE_CAP2_NDR		0x0400u
#define WIRE_CAP2_EXT_SPEEDS2	0x0800u
#define WIRE_CAP2_XDR		0x1000u
#define WIRE_MOD_EXT_SPEEDS	(1u << 31) /* PortInfo modifier: answer the extended fields */
struct wire_port_lanes {
	uint8_t state, neighbor_mtu, mtu_cap, vl_cap, op_vls; /* codes as in PortInfo */
};
/* The fields that the two ends of a link are compared by, at a tenth of the cost of all. */
void wire_port_lanes_decode(const uint8_t data[64], struct wire_port_lanes *out);
/* PortInfo. */
void wire_port_info_decode(const uint8_t data[64], struct wire_port_info *out);
void wire_port_info_encode(const struct wire_port_info *in, uint8_t data[64]);
/* CapabilityMask2; 0 where CapabilityMask does not announce it. */
uint16_t wire_port_info_capmask2(const uint8_t data[64]);
/* Writes the M_Key into a PortInfo that was answered with 0 in its place (IBA 14.2.4.1). */
void wire_port_info_show_mkey(uint8_t data[64], uint64_t mkey);
/* Active lane speed and width over all encodings; FDR10 counts as QDR; 0 lanes = no such code. */
enum topo_speed wire_port_info_speed(const struct wire_port_info *info);
unsigned wire_port_info_lanes(const struct wire_port_info *info);

struct wire_switch_info {
	uint16_t lft_cap, rft_cap, mft_cap, lft_top, lids_per_port, enforce_cap, mft_top;
	uint8_t default_port, default_mcast_primary, default_mcast_other;
	uint8_t life_time, opt_sl2vl;
	bool port_state_change;
	uint8_t flags; /* byte 16: bit 3 enhanced port 0, as on the wire */
};
/* SwitchInfo (IBA 14.2.5.4). */
void wire_switch_info_decode(const uint8_t data[64], struct wire_switch_info *out);
void wire_switch_info_encode(const struct wire_switch_info *in, uint8_t data[64]);

struct wire_sm_info {
	guid_t guid;
	uint64_t sm_key;
	uint32_t act_count;
	uint8_t priority, state; /* state: 0 not active, 1 discovering, 2 standby, 3 master */
};
/* SMInfo (IBA 14.2.5.13). */
void wire_sm_info_decode(const uint8_t data[64], struct wire_sm_info *out);
void wire_sm_info_encode(const struct wire_sm_info *in, uint8_t data[64]);

/* NodeDescription: the decoder trims blanks and cleans it by text_clean(). */
void wire_node_desc_decode(const uint8_t data[64], char text[65]);
void wire_node_desc_encode(const char *text, uint8_t data[64]);
/* A block of 32 P_Keys (IBA 14.2.5.7). */
void wire_pkeys_decode(const uint8_t data[64], uint16_t pkeys[32]);
void wire_pkeys_encode(const uint16_t pkeys[32], uint8_t data[64]);

#endif
