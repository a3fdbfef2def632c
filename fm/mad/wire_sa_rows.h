/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wire_sa_rows: records that are a LID and an SMP attribute one behind the other, or a table's
 * block (IBA 15.2.5). Encoders write the whole row, reserved fields and padding as zero; nothing in
 * here fails. A LID is the base LID of the port or switch that the row is about.
 */
#ifndef FMD_MAD_WIRE_SA_ROWS_H
#define FMD_MAD_WIRE_SA_ROWS_H

#include "fm/mad/wire_sa.h"

/* desc: the node description, of which up to 64 bytes go into the row. */
void wire_node_record_encode(uint16_t lid, const struct wire_node_info *info, const char *desc,
			     uint8_t row[112]);
/* info: PortInfo as the port answered it, with the M_Key that it shows. */
void wire_port_record_encode(uint16_t lid, uint8_t port, uint8_t options, const uint8_t info[64],
			     uint8_t row[72]);
/* Sets the M_Key of such a row to 0: only a trusted client sees it (IBA 15.2.5.3). */
void wire_port_record_hide_mkey(uint8_t row[72]);
/* SwitchInfoRecord; and one block of 64 entries of the switch's forwarding table. */
void wire_switch_record_encode(uint16_t lid, const struct wire_switch_info *info, uint8_t row[24]);
void wire_lft_record_encode(uint16_t lid, uint16_t block, const uint8_t entries[64],
			    uint8_t row[72]);
enum { WIRE_GUID_BLOCK = 1, WIRE_GUID_FIRST = 4 /* of eight */ }; /* component numbers */
/* A block of eight GUIDs of a port: as an SA record, and as the SMP attribute. */
void wire_guid_record_encode(uint16_t lid, uint8_t block, const guid_t guids[8], uint8_t row[72]);
void wire_guid_record_decode(const uint8_t row[72], uint16_t *lid, uint8_t *block, guid_t guids[8]);
void wire_guid_info_encode(const guid_t guids[8], uint8_t data[64]);
void wire_guid_info_decode(const uint8_t data[64], guid_t guids[8]);
/* A block of 32 P_Keys of a port. */
void wire_pkey_record_encode(uint16_t lid, uint8_t port, uint16_t block, const uint16_t pkeys[32],
			     uint8_t row[72]);
/*
 * Swaps the bytes of the block number. OpenSM sends it little-endian, against the standard, and
 * clients such as saquery read it so.
 */
void wire_pkey_record_swap_block(uint8_t row[72]);
/* Swaps them back in a request that has 256 or more in the network's order: no port has so many. */
void wire_pkey_record_fix_block(uint8_t row[72]);

/* The tables as the SMP attributes have them (IBA 14.2.5.8, 14.2.5.9). */
void wire_sl2vl_record_encode(uint16_t lid, uint8_t in_port, uint8_t out_port,
			      const uint8_t table[8], uint8_t row[16]);
void wire_vl_arb_record_encode(uint16_t lid, uint8_t port, uint8_t block, const uint8_t table[64],
			       uint8_t row[72]);

struct wire_link_record {
	uint16_t from_lid, to_lid;
	uint8_t from_port, to_port;
};
/* The row of one direction of a link. */
void wire_link_record_encode(const struct wire_link_record *in, uint8_t row[8]);

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

#endif
