/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wire_sa_rows: records that are a LID and an SMP attribute one behind the other, or a table's
 * block. Encoders write the whole row, reserved fields and padding as zero.
 */
#ifndef FMD_MAD_WIRE_SA_ROWS_H
#define FMD_MAD_WIRE_SA_ROWS_H

#include "fm/mad/wire_sa.h"

void wire_node_record_encode(uint16_t lid, const struct wire_node_info *info, const char *desc,
			     uint8_t row[112]);
void wire_port_record_encode(uint16_t lid, uint8_t port, uint8_t options, const uint8_t info[64],
			     uint8_t row[72]);
void wire_port_record_hide_mkey(uint8_t row[72]);
void wire_switch_record_encode(uint16_t lid, const struct wire_switch_info *info, uint8_t row[24]);
void wire_lft_record_encode(uint16_t lid, uint16_t block, const uint8_t entries[64],
			    uint8_t row[72]);
enum { WIRE_GUID_BLOCK = 1, WIRE_GUID_FIRST = 4 /* of eight */ }; /* component numbers */
void wire_guid_record_encode(uint16_t lid, uint8_t block, const guid_t guids[8], uint8_t row[72]);
void wire_guid_record_decode(const uint8_t row[72], uint16_t *lid, uint8_t *block, guid_t guids[8]);
void wire_guid_info_encode(const guid_t guids[8], uint8_t data[64]); /* the attribute by SMP */
void wire_guid_info_decode(const uint8_t data[64], guid_t guids[8]);
void wire_pkey_record_encode(uint16_t lid, uint8_t port, uint16_t block, const uint16_t pkeys[32],
			     uint8_t row[72]);
/*
 * As some clients know it from OpenSM: the block number, for once, in the order of their bytes and
 * not of the network's.
 */
void wire_pkey_record_dress(uint8_t row[72]);
/*
 * A request's block number back in the network's order, if it can't have been meant so: no port has
 * 256 blocks.
 */
void wire_pkey_record_undress(uint8_t row[72]);

void wire_sl2vl_record_encode(uint16_t lid, uint8_t in_port, uint8_t out_port,
			      const uint8_t table[8], uint8_t row[16]);
void wire_vl_arb_record_encode(uint16_t lid, uint8_t port, uint8_t block, const uint8_t table[64],
			       uint8_t row[72]);

struct wire_link_record {
	uint16_t from_lid, to_lid;
	uint8_t from_port, to_port;
};
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
void wire_port_caps_decode(const uint8_t info[64], struct wire_port_caps *out);
bool wire_port_info_extended(const uint8_t info[64]); /* runs at an extended speed */

#endif
