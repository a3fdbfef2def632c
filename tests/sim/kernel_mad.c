/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* kernel_mad: of the classes the kernel knows just what RMPP and the choice of an agent need. */
#include <string.h>
#include <endian.h>
#include "fm/mad/wire.h"
#include "fm/mad/wire_sa.h"
#include "tests/sim/kernel.h"
#include "tests/sim/kernel_mad.h"

uint32_t get32(const uint8_t *p)
{
	uint32_t value;

	memcpy(&value, p, 4);
	return be32toh(value);
}

void put32(uint8_t *p, uint32_t value)
{
	value = htobe32(value);
	memcpy(p, &value, 4);
}

/* A TrapRepress is taken for an answer too. */
bool mad_is_response(const uint8_t *mad)
{
	return mad[AT_METHOD] & METHOD_RESP || mad[AT_METHOD] == WIRE_TRAP_REPRESS;
}

bool class_is_vendor2(uint8_t mgmt_class)
{
	return mgmt_class >= 0x30 && mgmt_class <= 0x4f;
}

bool class_has_rmpp(uint8_t mgmt_class)
{
	return mgmt_class == WIRE_SA || mgmt_class == 0x06 /* DevMgt */ ||
	       mgmt_class == 0x10 /* BIS */ || class_is_vendor2(mgmt_class);
}

/* Where the data of a class begins (IBA 13.6.2.1, 15.2.1.1, 16.5.1). */
unsigned mad_header_of(uint8_t mgmt_class)
{
	if (mgmt_class == WIRE_SA)
		return 56;
	if (mgmt_class == 0x06 || mgmt_class == 0x10)
		return 64;
	return class_is_vendor2(mgmt_class) ? 40 : KERNEL_MAD_HEADER;
}
