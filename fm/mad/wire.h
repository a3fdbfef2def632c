/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wire: management datagrams between bytes and host-order structures. Big-endian lives behind this
 * header (wire.c for SMPs and notices, wire_optional.c for attributes that few devices have,
 * wire_perf.c for counters, wire_sa.c for SA records) and nowhere else.
 * Layouts: IBA 13.4, 14.2, 15.2, with the structures of <iba/ib_types.h>; extended speeds after the
 * PortInfo of IBA 1.5 (bytes 56, 60, 62, 63). Decoders take exactly the attribute's 64 bytes and
 * never fail; what they can't express reads as 0 / NONE.
 */
#pragma once

#include "topology/snapshot/topo.h"

/* ---- Headers of MADs ------------------------------------------------------------------------- */

#define WIRE_MAD_SIZE  256
#define WIRE_SMP_DATA  64
#define WIRE_GMP_DATA  232 /* of a MAD of another class: all behind the common header */
#define WIRE_MAX_HOPS  63
#define WIRE_LFT_BLOCK 64 /* entries of one LinearForwardingTable block */

enum wire_class { WIRE_SMI_LID = 0x01, WIRE_SA = 0x03, WIRE_PERF = 0x04, WIRE_SMI_DR = 0x81 };
enum wire_method {
	WIRE_GET = 0x01,
	WIRE_SET = 0x02,
	WIRE_SEND = 0x03,
	WIRE_TRAP = 0x05,
	WIRE_REPORT = 0x06,
	WIRE_TRAP_REPRESS = 0x07,
	WIRE_GET_TABLE = 0x12,
	WIRE_GET_MULTI = 0x14,
	WIRE_DELETE = 0x15,
	WIRE_RESPONSE = 0x80, /* the bit that all answers have */
	WIRE_GET_RESP = 0x81,
	WIRE_REPORT_RESP = 0x86,
	WIRE_GET_TABLE_RESP = 0x92,
	WIRE_GET_MULTI_RESP = 0x94,
	WIRE_DELETE_RESP = 0x95,
};
/* SMP attributes */
enum wire_attr {
	WIRE_NOTICE = 0x0002,
	WIRE_NODE_DESC = 0x0010,
	WIRE_NODE_INFO = 0x0011,
	WIRE_SWITCH_INFO = 0x0012,
	WIRE_GUID_INFO = 0x0014,
	WIRE_PORT_INFO = 0x0015,
	WIRE_PKEY_TABLE = 0x0016,
	WIRE_SL2VL = 0x0017,
	WIRE_VL_ARB = 0x0018,
	WIRE_LFT = 0x0019,
	WIRE_MFT = 0x001B,
	WIRE_SM_INFO = 0x0020,
	WIRE_PORT_STATE_TABLE = 0x0034,
	WIRE_MLNX_EXT_PORT_INFO = 0xFF90,
};

/* The common header, and the SMP part where the class is an SMI one (IBA 13.4.2, 14.2.1). */
struct wire_mad {
	uint8_t mgmt_class;
	uint8_t class_version;
	uint8_t method;
	uint16_t status; /* low 15 bits; direction bit of DR SMPs apart */
	uint64_t tid;
	uint16_t attr_id;
	uint32_t attr_mod;
	uint64_t key; /* M_Key (SMPs) or SM_Key (SA) */
	/* directed route */
	bool returning;
	uint8_t hop_ptr, hop_count;
	uint16_t dr_slid, dr_dlid;
	uint8_t path[WIRE_MAX_HOPS + 1]; /* path[1 .. hop_count] = output ports */
};
/* Writes the header fields alone; all other bytes of buf stay. */
void wire_mad_encode(const struct wire_mad *mad, uint8_t buf[WIRE_MAD_SIZE]);
/* 0; -EBADMSG: shorter than a MAD, not base version 1, or a hop count beyond the path. */
int wire_mad_decode(const uint8_t *buf, size_t len, struct wire_mad *mad)
	__attribute__((warn_unused_result));
/*
 * A message of the SA's class that RMPP put together ends where its data does (IBA 13.6.2.1,
 * PayloadLength): less than a MAD, where that is one record. All others have WIRE_MAD_SIZE bytes,
 * or are malformed.
 */
bool wire_mad_is_short_rmpp(const uint8_t *buf, size_t len);
/*
 * The common header alone (IBA 13.4.2), of the first WIRE_MAD_HEADER bytes: what the kernel gives
 * back of a request. 0, -EBADMSG.
 */
#define WIRE_MAD_HEADER 24
int wire_mad_decode_header(const uint8_t *buf, size_t len, struct wire_mad *mad)
	__attribute__((warn_unused_result));
/*
 * Points into buf: at the 64 bytes of an SMP's attribute, LID-routed or directed; at the ports by
 * which a directed one came to each node, [1 .. hop_count]; or at the WIRE_GMP_DATA bytes behind
 * the common header.
 */
const uint8_t *wire_smp_return_path(const uint8_t buf[WIRE_MAD_SIZE]);
uint8_t *wire_smp_data(uint8_t buf[WIRE_MAD_SIZE]);
uint8_t *wire_gmp_data(uint8_t buf[WIRE_MAD_SIZE]);

/* A big-endian number of that many bytes, 8 at most. */
static inline uint64_t wire_get(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | *at++;
	return value;
}
static inline void wire_put(uint8_t *at, unsigned bytes, uint64_t value)
{
	while (bytes--) {
		at[bytes] = value;
		value >>= 8;
	}
}
static inline bool wire_is_smi(uint8_t mgmt_class)
{
	return mgmt_class == WIRE_SMI_LID || mgmt_class == WIRE_SMI_DR;
}

/* ---- Attributes as lists of their fields ----------------------------------------------------- */

/*
 * A list has all fields of an attribute in the order and with the widths in bits that the IBA has:
 * F is a number, R reserved, G a GID, B bytes. It makes the struct, wire_NAME_decode() and
 * wire_NAME_encode() of so many bytes (wire_format.h), so that a field is named once. An encoder
 * writes all of the bytes; neither fails. WIRE_COMP() is the number of a field, as the component
 * mask of a record has it.
 *
 *   #define WIRE_THING(F, R, G, B) F(lid, 16) R(r1, 4) F(sl, 4) G(gid, 128) B(key, 128)
 *   WIRE_ATTRIBUTE(thing, WIRE_THING, 64)
 */
#define WIRE_NUMBER(bits)                                                                          \
	__typeof__(__builtin_choose_expr(                                                          \
		(bits) == 1, (bool)0,                                                              \
		__builtin_choose_expr(                                                             \
			(bits) <= 8, (uint8_t)0,                                                   \
			__builtin_choose_expr(                                                     \
				(bits) <= 16, (uint16_t)0,                                         \
				__builtin_choose_expr((bits) <= 32, (uint32_t)0, (uint64_t)0)))))
#define WIRE_FIELD_F(name, bits) WIRE_NUMBER(bits) name;
#define WIRE_FIELD_R(name, bits)
#define WIRE_FIELD_G(name, bits) struct wire_gid name;
#define WIRE_FIELD_B(name, bits) uint8_t name[(bits) / 8];
#define WIRE_COUNTED(name, bits) char name;
#define WIRE_COMP(name, field)	 offsetof(struct wire_##name##_comps, field)
#define WIRE_FIELDS(LIST)	 LIST(WIRE_FIELD_F, WIRE_FIELD_R, WIRE_FIELD_G, WIRE_FIELD_B)
#define WIRE_ATTRIBUTE(name, LIST, bytes)                                                          \
	struct wire_##name {                                                                       \
		WIRE_FIELDS(LIST)                                                                  \
	};                                                                                         \
	struct wire_##name##_comps {                                                               \
		LIST(WIRE_COUNTED, WIRE_COUNTED, WIRE_COUNTED, WIRE_COUNTED)                       \
	};                                                                                         \
	void wire_##name##_decode(const uint8_t data[bytes], struct wire_##name *out);             \
	void wire_##name##_encode(const struct wire_##name *in, uint8_t data[bytes]);

/* ---- Attributes of SMPs ---------------------------------------------------------------------- */

/* Encoders write all 64 bytes, and nothing in here fails. */

/* NodeInfo (IBA 14.2.5.3). */
/* clang-format off */
#define WIRE_NODE_INFO_LIST(F, R, G, B)                                                            \
	F(base_version, 8) F(class_version, 8) F(type, 8) F(nports, 8)                             \
	F(sys_guid, 64) F(node_guid, 64) F(port_guid, 64)                                          \
	F(partition_cap, 16) F(device, 16) F(revision, 32) F(local_port, 8) F(vendor, 24)
/* clang-format on */
WIRE_ATTRIBUTE(node_info, WIRE_NODE_INFO_LIST, 64)

/*
 * All of PortInfo, so that decode + encode gives the bytes back but for reserved bits. Codes as IBA
 * 14.2.5.6.
 */
/* clang-format off */
#define WIRE_PORT_INFO_LIST(F, R, G, B)                                                            \
	F(mkey, 64) F(gid_prefix, 64) F(lid, 16) F(sm_lid, 16) F(capmask, 32)                      \
	F(diag_code, 16) F(mkey_lease, 16) F(local_port, 8)                                        \
	F(width_enabled, 8) F(width_supported, 8) F(width_active, 8)                               \
	F(speed_supported, 4) F(state, 4) F(phys_state, 4) F(down_default, 4)                      \
	F(mkey_protect, 2) R(r1, 3) F(lmc, 3) F(speed_active, 4) F(speed_enabled, 4)               \
	F(neighbor_mtu, 4) F(sm_sl, 4) F(vl_cap, 4) F(init_type, 4)                                \
	F(vl_high_limit, 8) F(arb_high_cap, 8) F(arb_low_cap, 8)                                   \
	F(init_type_reply, 4) F(mtu_cap, 4) F(vl_stall, 3) F(hoq_life, 5) F(op_vls, 4)             \
	F(pkey_enforce_in, 1) F(pkey_enforce_out, 1) F(filter_raw_in, 1) F(filter_raw_out, 1)      \
	F(mkey_violations, 16) F(pkey_violations, 16) F(qkey_violations, 16) F(guid_cap, 8)        \
	F(client_reregister, 1) F(mcast_pkey_suppression, 2) F(subnet_timeout, 5)                  \
	R(r2, 3) F(resp_time, 5) F(local_phy_errors, 4) F(overrun_errors, 4)                       \
	F(max_credit_hint, 16) R(r3, 1) F(speed_ext2_active, 2) F(speed_ext2_supported, 2)         \
	F(speed_ext2_enabled, 3) F(link_roundtrip, 24) F(capmask2, 16)                             \
	F(speed_ext_active, 4) F(speed_ext_supported, 4) R(r4, 3) F(speed_ext_enabled, 5)
/* clang-format on */
WIRE_ATTRIBUTE(port_info, WIRE_PORT_INFO_LIST, 64)
#define WIRE_CAP_IS_SM		(1u << 1)
#define WIRE_CAP_SL_MAP		(1u << 6)
#define WIRE_CAP_EXT_SPEEDS	(1u << 14)
#define WIRE_CAP_REREGISTER	(1u << 25) /* its host can be asked to register again */
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
	/* codes as in PortInfo */
	uint8_t state;
	uint8_t neighbor_mtu;
	uint8_t mtu_cap;
	uint8_t vl_cap;
	uint8_t op_vls;
};
/* The fields that the two ends of a link are compared by, at a tenth of the cost of all. */
void wire_port_lanes_decode(const uint8_t data[64], struct wire_port_lanes *out);
/* CapabilityMask2; 0 where CapabilityMask does not announce it. */
uint16_t wire_port_info_capmask2(const uint8_t data[64]);
void wire_port_info_set_capmask(uint8_t data[64], uint32_t capmask);
/* Writes the M_Key into a PortInfo that was answered with 0 in its place (IBA 14.2.4.1). */
void wire_port_info_show_mkey(uint8_t data[64], uint64_t mkey);
/* Active lane speed and width over all encodings; FDR10 counts as QDR; 0 lanes = no such code. */
enum topo_speed wire_port_info_speed(const struct wire_port_info *info);
unsigned wire_port_info_lanes(const struct wire_port_info *info);

/* SwitchInfo (IBA 14.2.5.4). flags: bit 3 enhanced port 0. */
/* clang-format off */
#define WIRE_SWITCH_INFO_LIST(F, R, G, B)                                                          \
	F(lft_cap, 16) F(rft_cap, 16) F(mft_cap, 16) F(lft_top, 16)                                \
	F(default_port, 8) F(default_mcast_primary, 8) F(default_mcast_other, 8)                   \
	F(life_time, 5) F(port_state_change, 1) F(opt_sl2vl, 2)                                    \
	F(lids_per_port, 16) F(enforce_cap, 16) F(flags, 8) R(r1, 8) F(mft_top, 16)
/* clang-format on */
WIRE_ATTRIBUTE(switch_info, WIRE_SWITCH_INFO_LIST, 64)

/* SMInfo (IBA 14.2.5.13). state: 0 not active, 1 discovering, 2 standby, 3 master. */
/* clang-format off */
#define WIRE_SM_INFO_LIST(F, R, G, B)                                                              \
	F(guid, 64) F(sm_key, 64) F(act_count, 32) F(priority, 4) F(state, 4)
/* clang-format on */
WIRE_ATTRIBUTE(sm_info, WIRE_SM_INFO_LIST, 64)

/* NodeDescription: the decoder trims blanks and cleans it by text_clean(). */
void wire_node_desc_decode(const uint8_t data[64], char text[65]);
void wire_node_desc_encode(const char *text, uint8_t data[64]);
/* A block of 32 P_Keys (IBA 14.2.5.7), or of port masks of an MFT (IBA 14.2.5.13). */
void wire_words_decode(const uint8_t data[64], uint16_t words[32]);
void wire_words_encode(const uint16_t words[32], uint8_t data[64]);

/* ---- Notices, in traps and Reports ----------------------------------------------------------- */

/* clang-format off */
#define WIRE_NOTICE_LIST(F, R, G, B)                                                               \
	F(generic, 1) F(type, 7) F(producer, 24) F(trap, 16) F(issuer_lid, 16)                     \
	F(toggle, 1) F(count, 15) B(details, 432)
/* clang-format on */
struct wire_notice { /* IBA 13.4.8.2 and the trap details of 14.2.5.1 */
	WIRE_FIELDS(WIRE_NOTICE_LIST)
	uint16_t lid;	 /* 128-131, 144, 145, 256-259: the (first) LID in the details */
	uint8_t port;	 /* 129-131, 259 */
	guid_t guid;	 /* 64-67: of the GID; 145: system image GUID */
	uint8_t gid[16]; /* 64-67 */
	bool desc_changed, priority_changed; /* 144 */
	uint32_t capmask;		     /* 144, of a CA */
};
/* Of a trap number that is not in this list details alone are filled in; never fails. */
void wire_notice_decode(const uint8_t data[64], struct wire_notice *out);
/* The details, with the fields that the trap number uses laid over them. */
void wire_notice_encode(const struct wire_notice *in, uint8_t data[64]);

/* ---- What no device can answer by the IBA ---------------------------------------------------- */

/*
 * Where devices in use differ from its text the
 * check leaves them alone: states, widths and speeds of port 0, widths and speeds of links that are
 * down, codes of 0 for "none", LinkSpeedActive's bit of FDR10, more multicast entries than MLIDs.
 */

/*
 * A literal that names the impossible field of an answer with status 0, NULL = there is none.
 * `set`: it answers a Set, which may repeat the codes for "no change". It knows NodeInfo, PortInfo,
 * SwitchInfo and SMInfo; of others nothing is impossible.
 */
const char *wire_flaw(uint16_t attr_id, uint32_t attr_mod, bool set, const uint8_t data[64]);
/* The same of a NodeInfo that was decoded: a literal, or NULL. */
const char *wire_node_info_flaw(const struct wire_node_info *info);
