/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wire: management datagrams between bytes and host-order structures. Big-endian lives behind this
 * header (wire.c for SMPs, wire_notice.c for notices, wire_sa.c for SA records) and nowhere else.
 * Layouts: IBA 13.4, 14.2, 15.2, with the structures of <iba/ib_types.h>; extended speeds after the
 * PortInfo of IBA 1.5 (bytes 56, 60, 62, 63). Decoders take exactly the attribute's 64 bytes and
 * never fail; what they can't express reads as 0 / NONE.
 */
#ifndef FMD_MAD_WIRE_H
#define FMD_MAD_WIRE_H

#include "fm/mad/wire_mad.h"
#include "fm/mad/wire_notice.h"
#include "fm/mad/wire_smp.h"

#endif
