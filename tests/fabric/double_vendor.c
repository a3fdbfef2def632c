/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The agent of NVIDIA's devices for their general services (class 0x0a): GeneralInfo, by which
 * ibdiagnet shows device, time since the start and firmware. What the simulated one has for
 * firmware is named so that nobody takes it for a real one.
 *
 * A MAD is the common header, the vendor's key, and 224 bytes of the attribute.
 */
#include <string.h>
#include "fm/mad/wire_optional.h"
#include "tests/fabric/double_own.h"

#define VENDOR_DATA	   32 /* bytes of the MAD */
#define VENDOR_DATA_SIZE   224
#define CLASS_PORT_INFO	   0x0001
#define GENERAL_INFO	   0x0017
#define RESPONSE_TIME	   8
#define STATUS_BAD_METHOD  0x08
#define STATUS_UNSUPPORTED 0x0c

enum {
	HW_REVISION = 0,
	HW_DEVICE = 2,
	HW_UPTIME = 28,
	FW_MAJOR = 33,
	FW_PSID = 48,
	PSID_SIZE = 16
};

static void put(uint8_t *at, unsigned size, uint64_t value)
{
	while (size--) {
		at[size] = (uint8_t)value;
		value >>= 8;
	}
}

static void general_info(const struct double_fabric *d, const struct dnode *node, uint8_t *data)
{
	memset(data, 0, VENDOR_DATA_SIZE);
	put(data + HW_REVISION, 2, node->ni.revision);
	put(data + HW_DEVICE, 2, node->ni.device);
	put(data + HW_UPTIME, 4, (loop_now_us(d->loop) - node->booted_us) / 1000000);
	data[FW_MAJOR] = 1;
	strncpy((char *)data + FW_PSID, "SIMULATED", PSID_SIZE);
}

static void class_port_info(uint8_t *data)
{
	memset(data, 0, WIRE_GMP_DATA);
	data[0] = data[1] = 1; /* base and class version */
	data[7] = RESPONSE_TIME;
}

bool vendor_execute(struct double_fabric *d, struct dport *arrival, struct wire_mad *m,
		    uint8_t *mad)
{
	const struct dnode *node = arrival->node;

	if (!wire_adaptive_vendor(node->ni.vendor))
		return false;
	if (m->attr_id != GENERAL_INFO && m->attr_id != CLASS_PORT_INFO)
		m->status = STATUS_UNSUPPORTED;
	else if (m->method != WIRE_GET)
		m->status = STATUS_BAD_METHOD;
	else if (m->attr_id == GENERAL_INFO)
		general_info(d, node, mad + VENDOR_DATA);
	else
		class_port_info(wire_gmp_data(mad));
	m->method = WIRE_GET_RESP;
	return true;
}
