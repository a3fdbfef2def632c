/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* wire_mad: the headers of MADs, and what they are called by; see fm/mad/wire.h. */
#ifndef FMD_MAD_WIRE_MAD_H
#define FMD_MAD_WIRE_MAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_MAD_SIZE  256
#define WIRE_SMP_DATA  64
#define WIRE_GMP_DATA  232 /* of a MAD of another class: all behind the common header */
#define WIRE_MAX_HOPS  63
#define WIRE_LFT_BLOCK 64 /* entries of one LinearForwardingTable block */

enum wire_class { WIRE_SMI_LID = 0x01, WIRE_SA = 0x03, WIRE_PERF = 0x04, WIRE_SMI_DR = 0x81 };
enum wire_method {
	WIRE_GET = 0x01,
	WIRE_SET = 0x02,
	WIRE_SEND = 0x03,
	WIRE_TRAP = 0x05,
	WIRE_REPORT = 0x06,
	WIRE_TRAP_REPRESS = 0x07,
	WIRE_GET_TABLE = 0x12,
	WIRE_GET_MULTI = 0x14,
	WIRE_DELETE = 0x15,
	WIRE_RESPONSE = 0x80, /* the bit that all answers have */
	WIRE_GET_RESP = 0x81,
	WIRE_REPORT_RESP = 0x86,
	WIRE_GET_TABLE_RESP = 0x92,
	WIRE_GET_MULTI_RESP = 0x94,
	WIRE_DELETE_RESP = 0x95,
};
/* SMP attributes */
enum wire_attr {
	WIRE_NOTICE = 0x0002,
	WIRE_NODE_DESC = 0x0010,
	WIRE_NODE_INFO = 0x0011,
	WIRE_SWITCH_INFO = 0x0012,
	WIRE_GUID_INFO = 0x0014,
	WIRE_PORT_INFO = 0x0015,
	WIRE_PKEY_TABLE = 0x0016,
	WIRE_SL2VL = 0x0017,
	WIRE_VL_ARB = 0x0018,
	WIRE_LFT = 0x0019,
	WIRE_MFT = 0x001B,
	WIRE_SM_INFO = 0x0020,
	WIRE_PORT_STATE_TABLE = 0x0034,
	WIRE_MLNX_EXT_PORT_INFO = 0xFF90,
};

/* The common header, and the SMP part where the class is an SMI one (IBA 13.4.2, 14.2.1). */
struct wire_mad {
	uint8_t mgmt_class, class_version, method;
	uint16_t status; /* low 15 bits; direction bit of DR SMPs apart */
	uint64_t tid;
	uint16_t attr_id;
	uint32_t attr_mod;
	uint64_t key; /* M_Key (SMPs) or SM_Key (SA) */
	/* directed route */
	bool returning;
	uint8_t hop_ptr, hop_count;
	uint16_t dr_slid, dr_dlid;
	uint8_t path[WIRE_MAX_HOPS + 1]; /* path[1 .. hop_count] = output ports */
};
/* Writes the header fields alone; all other bytes of buf stay. */
void wire_mad_encode(const struct wire_mad *mad, uint8_t buf[WIRE_MAD_SIZE]);
/* 0; -EBADMSG: shorter than a MAD, not base version 1, or a hop count beyond the path. */
int wire_mad_decode(const uint8_t *buf, size_t len, struct wire_mad *mad)
	__attribute__((warn_unused_result));
/*
 * A message of the SA's class that RMPP put together ends where its data does (IBA 13.6.2.1,
 * PayloadLength): less than a MAD, where that is one record. All others have WIRE_MAD_SIZE bytes,
 * or are malformed.
 */
bool wire_mad_is_short_rmpp(const uint8_t *buf, size_t len);
/*
 * The common header alone (IBA 13.4.2), of the first WIRE_MAD_HEADER bytes: what the kernel gives
 * back of a request. 0, -EBADMSG.
 */
#define WIRE_MAD_HEADER 24
int wire_mad_decode_header(const uint8_t *buf, size_t len, struct wire_mad *mad)
	__attribute__((warn_unused_result));
/*
 * Points into buf: at the 64 bytes of an SMP's attribute, LID-routed or directed; or at the
 * WIRE_GMP_DATA bytes behind the common header.
 */
uint8_t *wire_smp_data(uint8_t buf[WIRE_MAD_SIZE]);
uint8_t *wire_gmp_data(uint8_t buf[WIRE_MAD_SIZE]);
static inline bool wire_is_smi(uint8_t mgmt_class)
{
	return mgmt_class == WIRE_SMI_LID || mgmt_class == WIRE_SMI_DR;
}

#endif
