/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* wire_optional: attributes that a vendor's devices have, or those of some generations. */
#pragma once

#include "fm/mad/wire.h"

/* ---- Adaptive routing ------------------------------------------------------------------------ */

/*
 * What NVIDIA's switches say of adaptive routing, and how it is turned off. Layouts: ib_types.h of
 * NVIDIA's OpenSM 5.2x (GPL-2.0 or OpenIB). Reserved fields go back as they were read.
 */
enum {
	WIRE_PRIVATE_LFT_INFO = 0xFF10,
	WIRE_GENERAL_INFO = 0xFF17, /* modifier 4: the capability mask */
	WIRE_ADAPTIVE_INFO = 0xFF20,
	WIRE_AR_GROUPS = 0xFF21, /* ARGroupTable; the packing of its modifier is not public */
	WIRE_AR_LFT = 0xFF23,	 /* ARLinearForwardingTable; the same */
};
#define WIRE_GENERAL_CAPS 4

/* True for the VendorIDs whose devices are asked for these attributes: NVIDIA's. */
bool wire_adaptive_vendor(uint32_t vendor);

/* Capabilities of GeneralInfo, by number. */
enum wire_general_cap {
	WIRE_CAP_PRIVATE_LFT = 0,
	WIRE_CAP_ADAPTIVE = 2,	   /* adaptive routing revision 1 */
	WIRE_CAP_AGGREGATION = 18, /* of a CA: it is a SHARP aggregation node */
};
/* Whether the device announces it. */
bool wire_has_cap(const uint8_t caps[64], enum wire_general_cap cap);

/* A mode of PrivateLFTInfo other than 0 is in force. */
bool wire_private_lft_on(const uint8_t info[64]);
void wire_private_lft_off(uint8_t info[64]);

/*
 * True: AdaptiveRoutingInfo has any of adaptive routing, fast recovery, routing notifications (RN,
 * pFRN) and hash-based forwarding (HBF, WHBF) on. wire_adaptive_off() clears these bits alone.
 */
bool wire_adaptive_on(const uint8_t info[64]);
void wire_adaptive_off(uint8_t info[64]);

/* All of AdaptiveRoutingInfo. */
/* clang-format off */
#define WIRE_AR_INFO_LIST(F, R, G, B)                                                              \
	R(r1, 1) F(dynamic_cap, 1) F(by_transport_able, 1) F(by_sl, 1) F(by_sl_able, 1)            \
	F(global_groups, 1) F(is4_mode, 1) F(no_fallback, 1) F(rn_directions, 8)                   \
	F(copy_cap, 4) F(subgroups, 4) R(r2, 2) F(rn_xmit, 1) F(fr, 1) F(fr_able, 1)               \
	F(frn_able, 1) F(arn_able, 1) F(on, 1) F(string_width, 4) F(tables, 4)                     \
	F(group_top, 12) F(group_cap, 12) F(sl_mask, 16) F(subgroup_cap, 8) F(rn_version, 4)       \
	F(version, 4) R(r3, 28) F(transport_off, 4) F(ageing_us, 32)                               \
	F(hbf_able, 1) F(whbf_able, 1) F(hash_symmetric, 1) F(hash_dceth, 1) F(hash_bth, 1)        \
	R(r4, 1) F(pfrn_able, 1) R(r5, 9) F(hbf_by_sl, 1) F(whbf, 1) F(by_vl, 1) F(pfrn, 1)        \
	R(r6, 12) F(whbf_granularity, 3) R(r7, 13) F(hbf_sl_mask, 16) R(r8, 288)
/* clang-format on */
WIRE_ATTRIBUTE(ar_info, WIRE_AR_INFO_LIST, 64)

/* An entry of ARLinearForwardingTable: 16 LIDs a block. */
#define WIRE_AR_LFT_BLOCK	       16
#define WIRE_AR_ENTRY_BYTES	       4
#define WIRE_AR_PORT		       1 /* which of these is the port */
#define WIRE_AR_ENTRY_LIST(F, R, G, B) F(state, 2) R(r1, 2) F(table, 4) F(port, 8) F(group, 16)
WIRE_ATTRIBUTE(ar_entry, WIRE_AR_ENTRY_LIST, WIRE_AR_ENTRY_BYTES)
enum wire_ar_state { WIRE_AR_BOUNDED, WIRE_AR_FREE, WIRE_AR_STATIC, WIRE_AR_HBF };

/* A block of ARGroupTable: two sets of ports, a bit each, port 0 is the lowest of the last byte. */
#define WIRE_AR_GROUPS_LIST(F, R, G, B) B(first, 256) B(second, 256)
WIRE_ATTRIBUTE(ar_groups, WIRE_AR_GROUPS_LIST, 64)
#define WIRE_AR_PORTS 32 /* bytes of a set */
static inline bool wire_ar_has(const uint8_t ports[WIRE_AR_PORTS], unsigned num)
{
	return ports[WIRE_AR_PORTS - 1 - num / 8] >> num % 8 & 1;
}

/*
 * MlnxExtendedPortInfo of an HCA's port has two masks of SLs from this byte on, 16 bits each: whose
 * timeouts adapt, and whose packets may come out of order.
 */
#define WIRE_SL_MASKS 52

/* ---- PortInfoExtended ------------------------------------------------------------------------ */

/*
 * PortInfoExtended (IBA 14.2.5.19): which forward error correction a port uses, and which it can
 * use at each speed.
 *
 * Big-endian words: CapabilityMask of 32 bits, FECModeActive of 16, then FECModeSupported and
 * FECModeEnabled of FDR, EDR, HDR and NDR, 16 bits each (ib_types.h of OpenSM up to HDR; NDR as
 * ibdiagnet has it). FECModeActive is a number. That bit n of the other words stands for number n
 * is in no public text, and agrees with what NVIDIA publishes of its own attribute of this kind.
 */

#define WIRE_PORT_INFO_EXT  0x0033 /* modifier: the port's number */
#define WIRE_FEC_MODES	    16	   /* numbers that have a bit */
#define WIRE_FEC_MODE_NAMED 5	   /* of these, numbers with a meaning: 0 to 4 */

enum wire_ext_speed { WIRE_EXT_FDR, WIRE_EXT_EDR, WIRE_EXT_HDR, WIRE_EXT_NDR, WIRE_EXT_SPEEDS };

struct wire_port_ext {
	bool has_fec; /* the other fields count: CapabilityMask.IsFECModeSupported */
	uint16_t active;
	uint16_t supported[WIRE_EXT_SPEEDS], enabled[WIRE_EXT_SPEEDS]; /* 1 << number */
};

/* False: the active mode is a number that no mode can have. `out` is filled in either way. */
bool wire_port_ext_decode(const uint8_t data[64], struct wire_port_ext *out);
/* Which of the words are about a link of that speed; WIRE_EXT_SPEEDS = none are. */
enum wire_ext_speed wire_port_ext_speed(enum topo_speed speed);
/* "none", "firecode", "rs-528-514", "rs-271-257", "rs-544-514"; NULL = a number without a name. */
const char *wire_fec_mode_name(unsigned mode);

/* ---- HierarchyInfo --------------------------------------------------------------------------- */

/*
 * HierarchyInfo (IBA annex A15), where a port sits in its system; and the records
 * by which devices of NVIDIA report that.
 *
 * A template says what the records of an attribute mean. Each active level is a word: the record's
 * number and a value of 24 bits. How a word divides into these is in no public source: the number
 * is read from the top byte or, where that is 16 or more, from its upper half, which
 * distinguishes both known layouts of devices, as there are 16 records at most.
 */

#define WIRE_HIERARCHY_INFO    0x001E /* modifier: [15:8] index, [7:0] port, of switches */
#define WIRE_CAP_HIERARCHY     (1u << 31)
#define WIRE_HIERARCHY_LEVELS  13
#define WIRE_HIERARCHY_RECORDS 16
#define WIRE_HIERARCHY_LABEL   40

enum { /* templates */
       WIRE_HIERARCHY_PORT = 3,
       WIRE_HIERARCHY_XDR_SWITCH = 4,
       WIRE_HIERARCHY_XDR_CA = 5,
};

struct wire_hierarchy {
	uint64_t template;
	uint16_t has; /* records, a bit each */
	uint32_t value[WIRE_HIERARCHY_RECORDS];
};
/* False: levels contradict each other, or there are more than an attribute holds. */
bool wire_hierarchy_decode(const uint8_t data[64], struct wire_hierarchy *out);

/*
 * What people find on the device: "cage 9/1" (and its split, ASIC or plane where there are
 * several) of a switch, "PCI 05:00.0" of an adapter. False: it says nothing of that.
 */
bool wire_hierarchy_label(const struct wire_hierarchy *h, bool is_switch,
			  char label[WIRE_HIERARCHY_LABEL]);
