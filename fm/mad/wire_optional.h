/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* wire_optional: attributes that a vendor's devices have, or those of some generations. */
#ifndef FMD_MAD_WIRE_OPTIONAL_H
#define FMD_MAD_WIRE_OPTIONAL_H

#include "topology/snapshot/topo.h"

/* ---- Adaptive routing ------------------------------------------------------------------------ */

/*
 * What NVIDIA's switches say of adaptive routing, and how it is turned off. Layouts: ib_types.h of
 * NVIDIA's OpenSM 5.2x (GPL-2.0 or OpenIB). Reserved fields go back as they were read.
 */
enum {
	WIRE_PRIVATE_LFT_INFO = 0xFF10,
	WIRE_GENERAL_INFO = 0xFF17, /* modifier 4: the capability mask */
	WIRE_ADAPTIVE_INFO = 0xFF20,
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

#endif
