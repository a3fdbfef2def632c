/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wire_service: ServiceRecord (IBA 15.2.5.14) between bytes and host order.
 */
#ifndef FMD_MAD_WIRE_SERVICE_H
#define FMD_MAD_WIRE_SERVICE_H

#include "fm/mad/wire_sa.h"

#define WIRE_LEASE_FOREVER UINT32_MAX
struct wire_service { /* IBA 15.2.5.14 */
	uint64_t id;
	struct wire_gid gid;
	uint16_t pkey;
	uint32_t lease; /* seconds */
	uint8_t key[16], name[64], data[64];
};
enum { /* component numbers */
       WIRE_SERVICE_ID,
       WIRE_SERVICE_GID,
       WIRE_SERVICE_PKEY,
       WIRE_SERVICE_LEASE = 4,
       WIRE_SERVICE_KEY,
};
/* The whole record; neither fails. */
void wire_service_decode(const uint8_t row[176], struct wire_service *out);
void wire_service_encode(const struct wire_service *in, uint8_t row[176]);

#endif
