/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wire: management datagrams between bytes and host-order structures. Big-endian lives behind this
 * header (wire.c for SMPs and notices, wire_optional.c for attributes that few devices have,
 * wire_perf.c for counters, wire_sa.c for SA records) and nowhere else.
 * Layouts: IBA 13.4, 14.2, 15.2, with the structures of <iba/ib_types.h>; extended speeds after the
 * PortInfo of IBA 1.5 (bytes 56, 60, 62, 63). Decoders take exactly the attribute's 64 bytes and
 * never fail; what they can't express reads as 0 / NONE.
 */
#ifndef FMD_MAD_WIRE_H
#define FMD_MAD_WIRE_H

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

/* ---- Attributes of SMPs ---------------------------------------------------------------------- */

/* Encoders write all 64 bytes, and nothing in here fails. */

struct wire_node_info {
	uint8_t base_version;
	uint8_t class_version;
	uint8_t type;
	uint8_t nports;
	uint8_t local_port;
	guid_t sys_guid;
	guid_t node_guid;
	guid_t port_guid;
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
	uint8_t local_port;
	uint8_t width_enabled;
	uint8_t width_supported;
	uint8_t width_active;
	uint8_t speed_supported;
	uint8_t state;
	uint8_t phys_state;
	uint8_t down_default;
	uint8_t mkey_protect;
	uint8_t lmc;
	uint8_t speed_active;
	uint8_t speed_enabled;
	uint8_t neighbor_mtu;
	uint8_t sm_sl;
	uint8_t vl_cap;
	uint8_t init_type;
	uint8_t vl_high_limit;
	uint8_t arb_high_cap;
	uint8_t arb_low_cap;
	uint8_t init_type_reply;
	uint8_t mtu_cap;
	uint8_t vl_stall;
	uint8_t hoq_life;
	uint8_t op_vls;
	bool pkey_enforce_in;
	bool pkey_enforce_out;
	bool filter_raw_in;
	bool filter_raw_out;
	uint16_t mkey_violations;
	uint16_t pkey_violations;
	uint16_t qkey_violations;
	uint8_t guid_cap;
	bool client_reregister;
	uint8_t mcast_pkey_suppression; /* 2 bits */
	uint8_t subnet_timeout;
	uint8_t resp_time;
	uint8_t local_phy_errors;
	uint8_t overrun_errors;
	uint16_t max_credit_hint;
	uint32_t link_roundtrip; /* 24 bits */
	uint16_t capmask2;
	uint8_t speed_ext_active;
	uint8_t speed_ext_supported;
	uint8_t speed_ext_enabled;
	uint8_t speed_ext2_active;
	uint8_t speed_ext2_supported;
	uint8_t speed_ext2_enabled;
};
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
/* PortInfo. */
void wire_port_info_decode(const uint8_t data[64], struct wire_port_info *out);
void wire_port_info_encode(const struct wire_port_info *in, uint8_t data[64]);
/* CapabilityMask2; 0 where CapabilityMask does not announce it. */
uint16_t wire_port_info_capmask2(const uint8_t data[64]);
void wire_port_info_set_capmask(uint8_t data[64], uint32_t capmask);
/* Writes the M_Key into a PortInfo that was answered with 0 in its place (IBA 14.2.4.1). */
void wire_port_info_show_mkey(uint8_t data[64], uint64_t mkey);
/* Active lane speed and width over all encodings; FDR10 counts as QDR; 0 lanes = no such code. */
enum topo_speed wire_port_info_speed(const struct wire_port_info *info);
unsigned wire_port_info_lanes(const struct wire_port_info *info);

struct wire_switch_info {
	uint16_t lft_cap;
	uint16_t rft_cap;
	uint16_t mft_cap;
	uint16_t lft_top;
	uint16_t lids_per_port;
	uint16_t enforce_cap;
	uint16_t mft_top;
	uint8_t default_port;
	uint8_t default_mcast_primary;
	uint8_t default_mcast_other;
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
/* A block of 32 P_Keys (IBA 14.2.5.7), or of port masks of an MFT (IBA 14.2.5.13). */
void wire_words_decode(const uint8_t data[64], uint16_t words[32]);
void wire_words_encode(const uint16_t words[32], uint8_t data[64]);

/* ---- Notices, in traps and Reports ----------------------------------------------------------- */

struct wire_notice { /* IBA 13.4.8.2 and the trap details of 14.2.5.1 */
	bool generic;
	uint8_t type;
	uint32_t producer; /* 1 CA, 2 switch, 3 router, 4 class manager */
	uint16_t trap, issuer_lid;
	bool toggle;
	uint16_t count;
	uint8_t details[54];
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

#endif
