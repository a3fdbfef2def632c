/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wire_inform: subscriptions and Reports (IBA 13.4.8.3, 15.3), and what the SA says of itself
 * (ClassPortInfo), between bytes and host order.
 */
#ifndef FMD_MAD_WIRE_INFORM_H
#define FMD_MAD_WIRE_INFORM_H

#include "fm/mad/wire_sa.h"

struct wire_inform_info { /* IBA 13.4.8.3 */
	struct wire_gid gid;
	uint16_t lid_begin, lid_end; /* 0xffff in lid_begin: all */
	bool generic;
	uint8_t subscribe;
	uint16_t type, trap; /* trap: of vendor notices the device ID */
	uint32_t qpn;
	uint8_t resp_time;
	uint32_t producer;
};
/* The attribute alone, as SubnAdmSet(InformInfo) carries it; never fail. */
void wire_inform_info_decode(const uint8_t data[36], struct wire_inform_info *out);
void wire_inform_info_encode(const struct wire_inform_info *in, uint8_t data[36]);
/*
 * A Report of the notice (IBA 15.3): all behind the common header. The issuer is the port that the
 * trap came from.
 */
void wire_report_encode(const struct wire_notice *notice, const struct wire_gid *issuer,
			uint8_t data[WIRE_GMP_DATA]);
/* A whole InformInfoRecord (IBA 15.2.5.12); number: which of the subscriber's it is. */
void wire_inform_record_encode(const struct wire_gid *subscriber, uint16_t number,
			       const struct wire_inform_info *info, uint8_t row[64]);
void wire_inform_record_decode(const uint8_t row[64], struct wire_gid *subscriber,
			       struct wire_inform_info *info);

#define WIRE_SA_CAP_SUBSCRIPTIONS    (1u << 1)
#define WIRE_SA_CAP_OPTIONAL_RECORDS (1u << 8)
#define WIRE_SA_CAP_MULTI_PATH	     (1u << 10)
#define WIRE_SA_CAP_MULTICAST	     (1u << 9)	/* groups can be joined */
#define WIRE_SA_CAP_CAPMASK_MATCH    (1u << 13) /* PortInfoRecord, attribute modifier bit 31 */
#define WIRE_SA_CAP2_MCAST_TOP	     (1u << 3)
#define WIRE_SA_CAP2_ALIAS_GUIDS     (1u << 5)
#define WIRE_SA_CAP2_FULL_PORT_INFO  (1u << 6)
#define WIRE_SA_CAP2_EXT_SPEEDS	     (1u << 7)
#define WIRE_SA_CAP2_MCAST_SERVICES  (1u << 8) /* ServiceRecords of multicast GIDs */
#define WIRE_SA_CAP2_CAPMASK2_MATCH  (1u << 10)
#define WIRE_SA_CAP2_SEND_ONLY_FULL  (1u << 12) /* JoinState bit 3 */
#define WIRE_SA_CAP2_WIDTH_2X	     (1u << 13)
#define WIRE_SA_CAP2_HDR	     (1u << 15)
#define WIRE_SA_CAP2_NDR	     (1u << 17)
struct wire_class_port_info { /* IBA 13.4.8.1, without redirection and trap destination */
	uint16_t cap_mask;
	uint32_t cap_mask2; /* 27 bits */
	uint8_t resp_time;
};
/* Writes all 72 bytes of the SA's ClassPortInfo. */
void wire_class_port_info_encode(const struct wire_class_port_info *in, uint8_t data[72]);

#endif
