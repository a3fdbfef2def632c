/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * ports: reads again what fmd wrote to ports: PortInfo, P_Key, SL2VL, VL arbitration and GUID
 * tables.
 *
 * Passes go round and round beside each other: over what was acknowledged and not read since, over
 * PortInfo of end ports, which has LIDs and SM LIDs, and over all attributes of all ports. Of a
 * switch's SL2VL tables, one for each port that packets come in by, one is read a pass. Where
 * something differs both ends of the link are swept, for paths end at another device where cables
 * were changed; what differs is reported (inv_listener), and written by the update behind that.
 */
#pragma once

#include "fm/fabric/module.h"

struct port_audit;

struct port_audit *port_audit_new(struct fabric *fabric); /* the caller's, never NULL */
void port_audit_free(struct port_audit *a);		  /* NULL is fine */
/* Asks so many end ports for their PortInfo, and any port for so many attributes. */
void port_audit_ask(struct port_audit *a, unsigned ends, unsigned others);
