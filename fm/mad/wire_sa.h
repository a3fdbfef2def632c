/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wire_sa: the subnet administration header (IBA 15.2) between bytes and host order, and GIDs.
 * Components of records are in wire_sa_comp.h; records in wire_sa_rows.h, wire_path.h,
 * wire_service.h, wire_inform.h and wire_mcast.h.
 */
#ifndef FMD_MAD_WIRE_SA_H
#define FMD_MAD_WIRE_SA_H

#include "fm/mad/wire.h"

#define WIRE_SA_HEADER	56  /* MAD, RMPP and SA header */
#define WIRE_SA_DATA	200 /* of a request, and of an answer's first segment */
#define WIRE_SA_ROW_MAX 176

enum wire_sa_attr {
	WIRE_SA_CLASS_PORT_INFO = 0x0001,
	WIRE_SA_INFORM_INFO = 0x0003,
	WIRE_SA_NODE = 0x0011,
	WIRE_SA_PORT_INFO = 0x0012,
	WIRE_SA_SWITCH_INFO = 0x0014,
	WIRE_SA_LFT = 0x0015,
	WIRE_SA_MFT = 0x0017,
	WIRE_SA_SM_INFO = 0x0018,
	WIRE_SA_LINK = 0x0020,
	WIRE_SA_SL2VL = 0x0013,
	WIRE_SA_GUID_INFO = 0x0030,
	WIRE_SA_SERVICE = 0x0031,
	WIRE_SA_PKEY = 0x0033,
	WIRE_SA_PATH = 0x0035,
	WIRE_SA_MCMEMBER = 0x0038,
	WIRE_SA_VL_ARB = 0x0036,
	WIRE_SA_MULTI_PATH = 0x003A,
	WIRE_SA_INFORM_INFO_RECORD = 0x00F3,
};
enum wire_sa_status { /* IBA 13.4.7 and 15.2.3 */
		      WIRE_SA_OK = 0,
		      WIRE_SA_BUSY = 0x0001,
		      WIRE_SA_UNSUPPORTED = 0x000C, /* method and attribute combination */
		      WIRE_SA_NO_RESOURCES = 0x0100,
		      WIRE_SA_DENIED = 0x0700,
		      WIRE_SA_REQ_INVALID = 0x0200,
		      WIRE_SA_NO_RECORDS = 0x0300,
		      WIRE_SA_TOO_MANY_RECORDS = 0x0400,
		      WIRE_SA_INVALID_GID = 0x0500,
		      WIRE_SA_INSUF_COMPS = 0x0600,
};

/* The component mask of an SA MAD: bit n stands for the attribute's n-th component. */
uint64_t wire_sa_comp_mask(const uint8_t mad[WIRE_MAD_SIZE]);
/*
 * Turns a received request's header into its answer's: SM_Key zero. With rmpp the kernel is asked
 * to segment what follows; row_size (a multiple of 8) becomes AttributeOffset, 0 when there are no
 * rows.
 */
void wire_sa_answer(uint8_t header[WIRE_SA_HEADER], uint8_t method, uint16_t status, bool rmpp,
		    size_t row_size);

struct wire_gid {
	uint64_t prefix;
	guid_t guid;
};
static inline bool wire_gid_equal(const struct wire_gid *a, const struct wire_gid *b)
{
	return a->prefix == b->prefix && a->guid == b->guid;
}
/* 16 bytes in the network's order: subnet prefix, then the port GUID (IBA 4.1.1). */
struct wire_gid wire_gid_decode(const uint8_t raw[16]);
void wire_gid_encode(const struct wire_gid *gid, uint8_t raw[16]);

#endif
