/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* double_held: what nodes and ports hold, to be looked at, or changed behind the SM's back. */
#pragma once

#include "fm/mad/wire.h"
#include "topology/snapshot/topo.h"

struct double_fabric;

enum topo_state double_link_state(const struct double_fabric *d, guid_t node, unsigned port);
/* How often its host was told to register anew. */
unsigned double_reregistered(const struct double_fabric *d, guid_t node, unsigned port);
unsigned double_ports_not_active(const struct double_fabric *d); /* of those whose link is up */
const struct wire_port_info *double_port_info(const struct double_fabric *d, guid_t node,
					      unsigned port);
const struct wire_switch_info *double_switch_info(const struct double_fabric *d, guid_t node);
uint8_t double_lft(const struct double_fabric *d, guid_t node, uint16_t lid); /* port, 255 = none */
/* Behind the SM's back. */
guid_t double_alias(const struct double_fabric *d, guid_t node, unsigned port, unsigned entry);
void double_set_lid(struct double_fabric *d, guid_t node, unsigned port, uint16_t lid);
void double_set_lft(struct double_fabric *d, guid_t node, uint16_t lid, uint8_t port);
bool double_mft(const struct double_fabric *d, guid_t node, uint16_t mlid, unsigned port);
void double_grow_mft(struct double_fabric *d,
		     guid_t node); /* empty, and as large as its MulticastFDBCap */
void double_flip_mft(struct double_fabric *d, guid_t node, uint16_t mlid,
		     unsigned port); /* as by itself */
const uint16_t *double_pkeys(const struct double_fabric *d, guid_t node, unsigned port,
			     unsigned *count);
/* Of a switch the output port's, for packets that come in by `in`. */
const uint8_t *double_sl2vl(const struct double_fabric *d, guid_t node, unsigned port, unsigned in);
const uint8_t *double_arb(const struct double_fabric *d, guid_t node, unsigned port,
			  unsigned block); /* 0 .. 3 */
/*
 * The same to be changed in place, behind the SM's back: PortInfo, the P_Key table, an SL2VL table,
 * a block of VL arbitration, and GUIDs, the first of which is not the table's.
 */
struct wire_port_info *double_change_port(struct double_fabric *d, guid_t node, unsigned port);
uint16_t *double_change_pkeys(struct double_fabric *d, guid_t node, unsigned port);
uint8_t *double_change_sl2vl(struct double_fabric *d, guid_t node, unsigned port, unsigned in);
uint8_t *double_change_arb(struct double_fabric *d, guid_t node, unsigned port, unsigned block);
guid_t *double_change_aliases(struct double_fabric *d, guid_t node, unsigned port);
/*
 * Hops from a port to a LID by the tables as they are, links up: >= 0, -ENOENT no entry, -ELOOP,
 * -ENOTCONN dead end.
 */
int double_trace(const struct double_fabric *d, guid_t node, unsigned port, uint16_t dlid);

/* The same for data packets: they pass links that are Active at both ends alone. */
int double_trace_data(const struct double_fabric *d, guid_t node, unsigned port, uint16_t dlid);
