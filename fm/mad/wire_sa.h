/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wire_sa: subnet administration (IBA 15.2) between bytes and host order: the header, components of
 * records, the records, and GIDs.
 */
#pragma once

#include "fm/mad/wire.h"

#define WIRE_SA_HEADER	56  /* MAD, RMPP and SA header */
#define WIRE_SA_DATA	200 /* of a request, and of an answer's first segment */
#define WIRE_SA_ROW_MAX 176

enum wire_sa_attr {
	WIRE_SA_CLASS_PORT_INFO = 0x0001,
	WIRE_SA_INFORM_INFO = 0x0003,
	WIRE_SA_NODE = 0x0011,
	WIRE_SA_PORT_INFO = 0x0012,
	WIRE_SA_SWITCH_INFO = 0x0014,
	WIRE_SA_LFT = 0x0015,
	WIRE_SA_MFT = 0x0017,
	WIRE_SA_SM_INFO = 0x0018,
	WIRE_SA_LINK = 0x0020,
	WIRE_SA_SL2VL = 0x0013,
	WIRE_SA_GUID_INFO = 0x0030,
	WIRE_SA_SERVICE = 0x0031,
	WIRE_SA_PKEY = 0x0033,
	WIRE_SA_PATH = 0x0035,
	WIRE_SA_MCMEMBER = 0x0038,
	WIRE_SA_VL_ARB = 0x0036,
	WIRE_SA_MULTI_PATH = 0x003A,
	WIRE_SA_INFORM_INFO_RECORD = 0x00F3,
};
enum wire_sa_status { /* IBA 13.4.7 and 15.2.3 */
		      WIRE_SA_OK = 0,
		      WIRE_SA_BUSY = 0x0001,
		      WIRE_SA_UNSUPPORTED = 0x000C, /* method and attribute combination */
		      WIRE_SA_NO_RESOURCES = 0x0100,
		      WIRE_SA_DENIED = 0x0700,
		      WIRE_SA_REQ_INVALID = 0x0200,
		      WIRE_SA_NO_RECORDS = 0x0300,
		      WIRE_SA_TOO_MANY_RECORDS = 0x0400,
		      WIRE_SA_INVALID_GID = 0x0500,
		      WIRE_SA_INSUF_COMPS = 0x0600,
};

/* The component mask of an SA MAD: bit n stands for the attribute's n-th component. */
uint64_t wire_sa_comp_mask(const uint8_t mad[WIRE_MAD_SIZE]);
/* For which LID another manager forwards a request: Data1 of the RMPP header. 0 = for none. */
uint16_t wire_sa_origin(const uint8_t mad[WIRE_MAD_SIZE]);
/* That, and the SM_Key that it goes with, in what lies behind the common header. */
void wire_sa_origin_set(uint8_t data[WIRE_GMP_DATA], uint16_t lid, uint64_t key);
/*
 * Turns a received request's header into its answer's: SM_Key zero. With rmpp the kernel is asked
 * to segment what follows; row_size (a multiple of 8) becomes AttributeOffset, 0 when there are no
 * rows.
 */
void wire_sa_answer(uint8_t header[WIRE_SA_HEADER], uint8_t method, uint16_t status, bool rmpp,
		    size_t row_size);

struct wire_gid {
	uint64_t prefix;
	guid_t guid;
};

static inline bool wire_gid_equal(const struct wire_gid *a, const struct wire_gid *b)
{
	return a->prefix == b->prefix && a->guid == b->guid;
}
/* 16 bytes in the network's order: subnet prefix, then the port GUID (IBA 4.1.1). */
struct wire_gid wire_gid_decode(const uint8_t raw[16]);
void wire_gid_encode(const struct wire_gid *gid, uint8_t raw[16]);

/* ---- Components of records ------------------------------------------------------------------- */

/*
 * A record is a row of bytes. Its layout says where each component lies, numbered as the component
 * mask numbers them. A request's mask and components compile to a wire_sa_match, which then decides
 * for any row whether the request asks for it.
 */

/* Of a component's width, in a table of them. */
#define WIRE_R	      0x8000 /* reserved: has a number, is never compared */
#define WIRE_LID      0x4000 /* of a port: any of its LIDs asks for it */
#define WIRE_AT_LEAST 0x2000 /* a capability mask: may be asked for "at least these bits" */

struct wire_sa_layout {
	uint8_t size; /* of a row in bytes, padding to a multiple of 8 included */
	uint8_t ncomps;
	const uint16_t *comps; /* widths in bits and WIRE_R .., bit 0 of the component mask first */
};
/* Bytes of a row: the components together, padded to a multiple of 8. */
uint8_t wire_sa_layout_size(const struct wire_sa_layout *layout);
/* A component of at most 64 bits; 0 when the mask does not name it is the caller's business. */
uint64_t wire_sa_get(const struct wire_sa_layout *layout, unsigned comp, const uint8_t *row);
/* The other way round; bits of the value above the component's width are left out. */
void wire_sa_put(const struct wire_sa_layout *layout, unsigned comp, uint64_t value, uint8_t *row);
/* A whole row: its first components, then the bytes of those behind them, and zeroes. */
void wire_sa_row(const struct wire_sa_layout *layout, const uint64_t *first, unsigned count,
		 const void *rest, size_t size, uint8_t *row);

/*
 * Any LID of a port asks for the port: base LID of the port that has `lid`, `lid` itself if none
 * has.
 */
typedef uint16_t wire_sa_base_lid_fn(void *arg, uint16_t lid);

struct wire_sa_match {
	unsigned words;
	uint64_t mask[WIRE_SA_ROW_MAX / 8], want[WIRE_SA_ROW_MAX / 8];
};
/* `enough`: of capability masks the bits asked for suffice (attribute modifier bit 31). */
void wire_sa_match_init(struct wire_sa_match *match, const struct wire_sa_layout *layout,
			uint64_t comp_mask, const uint8_t *request, bool enough,
			wire_sa_base_lid_fn *base_lid, void *arg);
/* Whether the row has all the components that the request names. */
bool wire_sa_match(const struct wire_sa_match *match, const uint8_t *row);
/* From now on any value of these components will do. */
void wire_sa_match_any(struct wire_sa_match *match, const struct wire_sa_layout *layout,
		       uint64_t comps);

#define WIRE_SA_LID    0 /* component number, of all records of ports and nodes */
#define WIRE_BIT(comp) (1ull << (comp))

/* ---- Parts of PortInfo, GUIDInfoRecord ------------------------------------------------------- */

enum { WIRE_GUID_BLOCK = 1, WIRE_GUID_FIRST = 4 /* of eight */ }; /* component numbers */

/*
 * What a PathRecord wants to know of a PortInfo, cheaper than all of it: a publish reads every
 * port.
 */
struct wire_port_caps {
	uint32_t capmask;
	uint16_t capmask2; /* 0 when capmask does not announce it */
	uint8_t mtu_cap, guid_cap;
};
/* Never fails. */
void wire_port_caps_decode(const uint8_t info[64], struct wire_port_caps *out);
/* True: the link runs at an extended speed (FDR and faster). */
bool wire_port_info_extended(const uint8_t info[64]);

/* ---- PathRecord, MultiPathRecord ------------------------------------------------------------- */

enum wire_selector { WIRE_GREATER = 0, WIRE_LESS = 1, WIRE_EXACT = 2, WIRE_BEST = 3 };
/* PathRecord (IBA 15.2.5.16). Selectors: enum wire_selector. */
/* clang-format off */
#define WIRE_PATH_RECORD_LIST(F, R, G, B)                                                          \
	F(service_id_msb, 32) F(service_id_lsb, 32) G(dgid, 128) G(sgid, 128) F(dlid, 16) F(slid, 16) \
	F(raw, 1) R(r1, 3) F(flow_label, 20) F(hop_limit, 8) F(tclass, 8)                          \
	F(reversible, 1) F(num_path, 7) F(pkey, 16) F(qos_class, 12) F(sl, 4)                      \
	F(mtu_sel, 2) F(mtu, 6) F(rate_sel, 2) F(rate, 6) F(life_sel, 2) F(life, 6)                \
	F(preference, 8) R(r2, 48)
/* clang-format on */
WIRE_ATTRIBUTE(path_record, WIRE_PATH_RECORD_LIST, 64)
#define WIRE_PATH(field) WIRE_COMP(path_record, field)

#define WIRE_MULTI_GIDS 11 /* that fit one MAD */
struct wire_multi_path {   /* IBA 15.2.5.20; path: what is asked of each, its ends apart */
	struct wire_path_record path;
	bool independent;
	uint8_t nsrc, ndst; /* as asked for, whatever fits */
	struct wire_gid gids[WIRE_MULTI_GIDS];
};
enum { WIRE_MULTI_SGID_COUNT = 19, WIRE_MULTI_DGID_COUNT }; /* component numbers */
/* Never fails: nsrc and ndst are what the request says, and may be more than WIRE_MULTI_GIDS. */
void wire_multi_path_decode(const uint8_t data[WIRE_SA_DATA], struct wire_multi_path *out);
/* The mask of a PathRecord that asks for the same. */
uint64_t wire_multi_path_mask(uint64_t comp_mask);

/* ---- Subscriptions, Reports, ClassPortInfo --------------------------------------------------- */

/*
 * InformInfo (IBA 13.4.8.3), as SubnAdmSet(InformInfo) carries it. lid_begin 0xffff: all; trap: of
 * vendor notices the device ID.
 */
/* clang-format off */
#define WIRE_INFORM_INFO_LIST(F, R, G, B)                                                          \
	G(gid, 128) F(lid_begin, 16) F(lid_end, 16) R(r1, 23) F(generic, 1) F(subscribe, 8)        \
	F(type, 16) F(trap, 16) F(qpn, 24) R(r2, 3) F(resp_time, 5) R(r3, 8) F(producer, 24)
/* clang-format on */
WIRE_ATTRIBUTE(inform_info, WIRE_INFORM_INFO_LIST, 36)
/*
 * A Report of the notice (IBA 15.3): all behind the common header. The issuer is the port that the
 * trap came from.
 */
void wire_report_encode(const struct wire_notice *notice, const struct wire_gid *issuer,
			uint8_t data[WIRE_GMP_DATA]);
/* A whole InformInfoRecord (IBA 15.2.5.12); number: which of the subscriber's it is. */
void wire_inform_record_encode(const struct wire_gid *subscriber, uint16_t number,
			       const struct wire_inform_info *info, uint8_t row[64]);
void wire_inform_record_decode(const uint8_t row[64], struct wire_gid *subscriber,
			       struct wire_inform_info *info);

#define WIRE_SA_CAP_SUBSCRIPTIONS    (1u << 1)
#define WIRE_SA_CAP_OPTIONAL_RECORDS (1u << 8)
#define WIRE_SA_CAP_MULTI_PATH	     (1u << 10)
#define WIRE_SA_CAP_MULTICAST	     (1u << 9)	/* groups can be joined */
#define WIRE_SA_CAP_CAPMASK_MATCH    (1u << 13) /* PortInfoRecord, attribute modifier bit 31 */
#define WIRE_SA_CAP2_MCAST_TOP	     (1u << 3)
#define WIRE_SA_CAP2_ALIAS_GUIDS     (1u << 5)
#define WIRE_SA_CAP2_FULL_PORT_INFO  (1u << 6)
#define WIRE_SA_CAP2_EXT_SPEEDS	     (1u << 7)
#define WIRE_SA_CAP2_MCAST_SERVICES  (1u << 8) /* ServiceRecords of multicast GIDs */
#define WIRE_SA_CAP2_CAPMASK2_MATCH  (1u << 10)
#define WIRE_SA_CAP2_SEND_ONLY_FULL  (1u << 12) /* JoinState bit 3 */
#define WIRE_SA_CAP2_WIDTH_2X	     (1u << 13)
#define WIRE_SA_CAP2_HDR	     (1u << 15)
#define WIRE_SA_CAP2_NDR	     (1u << 17)
/* ClassPortInfo (IBA 13.4.8.1), of the SA. */
/* clang-format off */
#define WIRE_CLASS_PORT_INFO_LIST(F, R, G, B)                                                      \
	F(base_version, 8) F(class_version, 8) F(cap_mask, 16) F(cap_mask2, 27) F(resp_time, 5)    \
	R(redirect, 192) F(redirect_qp, 32) F(redirect_qkey, 32) R(trap, 224) F(trap_qkey, 32)
/* clang-format on */
WIRE_ATTRIBUTE(class_port_info, WIRE_CLASS_PORT_INFO_LIST, 72)

/* ---- ServiceRecord --------------------------------------------------------------------------- */

#define WIRE_LEASE_FOREVER UINT32_MAX
/* ServiceRecord (IBA 15.2.5.14). lease: seconds. */
/* clang-format off */
#define WIRE_SERVICE_LIST(F, R, G, B)                                                              \
	F(id, 64) G(gid, 128) F(pkey, 16) R(r1, 16) F(lease, 32)                                   \
	B(key, 128) B(name, 512) B(data, 512)
/* clang-format on */
WIRE_ATTRIBUTE(service, WIRE_SERVICE_LIST, 176)
#define WIRE_SERVICE(field) WIRE_COMP(service, field)

/* ---- MCMemberRecord, multicast tables -------------------------------------------------------- */

enum wire_join { /* bits of a JoinState */
		 WIRE_JOIN_FULL = 1,
		 WIRE_JOIN_NON = 2,
		 WIRE_JOIN_SEND_ONLY = 4,
		 WIRE_JOIN_SEND_ONLY_FULL = 8,
};
#define WIRE_JOIN_BITS	   0xf
#define WIRE_SCOPE_LOCAL   0x2 /* link-local */
#define WIRE_MCMEMBER_SIZE 56

/* MCMemberRecord (IBA 15.2.5.17). Selectors: enum wire_selector. */
/* clang-format off */
#define WIRE_MCMEMBER_LIST(F, R, G, B)                                                             \
	G(mgid, 128) G(port_gid, 128) F(qkey, 32) F(mlid, 16) F(mtu_sel, 2) F(mtu, 6)              \
	F(tclass, 8) F(pkey, 16) F(rate_sel, 2) F(rate, 6) F(life_sel, 2) F(life, 6)               \
	F(sl, 4) F(flow_label, 20) F(hop_limit, 8) F(scope, 4) F(join_state, 4)                    \
	F(proxy, 1) R(r1, 55)
/* clang-format on */
WIRE_ATTRIBUTE(mcmember, WIRE_MCMEMBER_LIST, WIRE_MCMEMBER_SIZE)
#define WIRE_MC(field) WIRE_COMP(mcmember, field)

/* One MulticastForwardingTable block (IBA 14.2.5.12): port masks of 32 MLIDs. */
#define WIRE_MFT_BLOCK			   32
#define WIRE_MFT_MODIFIER(position, block) ((uint32_t)(position) << 28 | (block))

/* ---- The client's side ----------------------------------------------------------------------- */

/*
 * SubnAdmGetTable (IBA 15.2), all behind the common header: a request for all records. sm_key 0 =
 * not a trusted one.
 */
void wire_sa_table_ask(uint64_t sm_key, uint8_t data[WIRE_GMP_DATA]);

struct wire_sa_table {
	const uint8_t *rows; /* within the answer */
	size_t size, count;  /* of a row in bytes; of rows */
};
/*
 * What a GetTableResp holds, of `length` bytes behind the common header, with rows of row_size
 * bytes at least. NULL; or a literal that says why it is none, or not whole: a message that RMPP
 * has not put together (no segment is numbered in it) is the first segment alone, unless its rows
 * fill it to its end.
 */
const char *wire_sa_table_decode(const uint8_t *data, size_t length, size_t row_size,
				 struct wire_sa_table *out);
