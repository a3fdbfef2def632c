/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* wire_notice: notices, in traps and Reports, between bytes and host order; see fm/mad/wire.h. */
#ifndef FMD_MAD_WIRE_NOTICE_H
#define FMD_MAD_WIRE_NOTICE_H

#include <stdbool.h>
#include <stdint.h>
#include "topology/snapshot/topo.h"

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

#endif
