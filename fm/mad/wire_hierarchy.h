/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wire_hierarchy: HierarchyInfo (IBA annex A15), where a port sits in its system; and the records
 * by which devices of NVIDIA report that.
 *
 * A template says what the records of an attribute mean. Each active level is a word: the record's
 * number and a value of 24 bits. How a word divides into these is in no public source: the number
 * is read from the top byte or, where that is 16 or more, from its upper half, which
 * distinguishes both known layouts of devices, as there are 16 records at most.
 */
#ifndef FMD_MAD_WIRE_HIERARCHY_H
#define FMD_MAD_WIRE_HIERARCHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
void wire_hierarchy_encode(const struct wire_hierarchy *in, uint8_t data[64]);

/*
 * What people find on the device: "cage 9/1" (and its split, ASIC or plane where there are
 * several) of a switch, "PCI 05:00.0" of an adapter. False: it says nothing of that.
 */
bool wire_hierarchy_label(const struct wire_hierarchy *h, bool is_switch,
			  char label[WIRE_HIERARCHY_LABEL]);

#endif
