/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: why links went down, and which cables they have, as their ports report it, as a room
 * (fm/fabric/module.h).
 */
#ifndef FMD_REGISTERS_MODULE_H
#define FMD_REGISTERS_MODULE_H

#include "fm/fabric/module.h"

extern const struct fabric_module registers_module;

struct link_down_reason {
	char reason[256]; /* "high BER: effective 2e-7, reported by leaf-07 p33" */
	char blame[128];  /* the end that is to blame, as "leaf-07 p33"; "" = not known */
};
/*
 * Why the link at that port went down last, of what both of its ends report. False: it did not, or
 * neither end reports a reason, and *out is empty.
 */
bool link_down_reason(const struct fabric *fabric, guid_t node, uint8_t port,
		      struct link_down_reason *out);

/*
 * The module in a port, as last read: "serial" and what else the module reports of itself, and how
 * often links went down with it. NULL: there is none, or it was never read. The caller owns it; may
 * be called in a child.
 */
json_t *link_module(const struct fabric *fabric, guid_t node, uint8_t port);
/* How hot it is, in C; NAN: that is not known. */
double link_module_celsius(const struct fabric *fabric, guid_t node, uint8_t port);

#endif
