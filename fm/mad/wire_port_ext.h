/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wire_port_ext: PortInfoExtended (IBA 14.2.5.19): which forward error correction a port uses, and
 * which it can use at each speed.
 *
 * Big-endian words: CapabilityMask of 32 bits, FECModeActive of 16, then FECModeSupported and
 * FECModeEnabled of FDR, EDR, HDR and NDR, 16 bits each (ib_types.h of OpenSM up to HDR; NDR as
 * ibdiagnet has it). FECModeActive is a number. That bit n of the other words stands for number n
 * is in no public text, and agrees with what NVIDIA publishes of its own attribute of this kind.
 */
#ifndef FMD_MAD_WIRE_PORT_EXT_H
#define FMD_MAD_WIRE_PORT_EXT_H

#include <stdbool.h>
#include <stdint.h>
#include "topology/snapshot/topo.h"

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
/* Bits of CapabilityMask other than has_fec, and what is behind NDR's words, are 0. */
void wire_port_ext_encode(const struct wire_port_ext *in, uint8_t data[64]);
/* Which of the words are about a link of that speed; WIRE_EXT_SPEEDS = none are. */
enum wire_ext_speed wire_port_ext_speed(enum topo_speed speed);
/* "none", "firecode", "rs-528-514", "rs-271-257", "rs-544-514"; NULL = a number without a name. */
const char *wire_fec_mode_name(unsigned mode);

#endif
