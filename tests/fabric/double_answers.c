/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "tests/fabric/double_answers.h"
#include <string.h>
#include <iba/ib_types.h>
#include <complib/cl_byteswap.h>

void wire_hierarchy_encode(const struct wire_hierarchy *in, uint8_t data[64])
{
	unsigned levels = 0;

	memset(data, 0, 64);
	wire_put(data + 0, 8, in->template);
	for (uint32_t record = 0; record < WIRE_HIERARCHY_RECORDS; record++)
		if (in->has >> record & 1 && levels < WIRE_HIERARCHY_LEVELS)
			wire_put(data + 12 + 4 * levels++, 4,
				 record << 24 | (in->value[record] & 0xffffff));
	data[10] = (uint8_t)(levels << 4);
}

void wire_port_ext_encode(const struct wire_port_ext *in, uint8_t data[64])
{
	memset(data, 0, 64);
	data[3] = in->has_fec ? 1 : 0;
	wire_put(data + 4, 2, in->active);
	for (unsigned i = 0; i < WIRE_EXT_SPEEDS; i++) {
		wire_put(data + 6 + 4 * i, 2, in->supported[i]);
		wire_put(data + 6 + 4 * i + 2, 2, in->enabled[i]);
	}
}

void wire_perf_caps_encode(const struct wire_perf_caps *in, uint8_t data[WIRE_GMP_DATA])
{
	ib_class_port_info_t info = { .base_ver = 1, .class_ver = 1 };

	info.cap_mask = (in->casts ? IB_PM_EXT_WIDTH_SUPPORTED : 0) |
			(in->ext ? IB_PM_EXT_WIDTH_NOIETF_SUP : 0) |
			(in->wait ? IB_PM_PC_XMIT_WAIT_SUP : 0) |
			(in->fec ? IS_PM_RSFEC_COUNTERS_SUP : 0);
	ib_class_set_cap_mask2(&info, in->errors ? cl_ntoh32(IB_PM_IS_ADDL_PORT_CTRS_EXT_SUP) : 0);
	memset(data, 0, WIRE_GMP_DATA);
	memcpy(data + WIRE_PERF_OFFSET, &info, sizeof(info));
}

void wire_fec_encode(const uint64_t in[WIRE_FEC_COUNTERS], uint8_t data[WIRE_GMP_DATA])
{
	uint8_t *attr = data + WIRE_PERF_OFFSET;

	memset(data, 0, WIRE_GMP_DATA);
	wire_put(attr + 44, 4, in[WIRE_FEC_SYMBOLS]);
	wire_put(attr + 140, 4, in[WIRE_FEC_CORRECTED]);
	wire_put(attr + 144, 4, in[WIRE_FEC_UNCORRECTED]);
	wire_put(attr + 148, 4, in[WIRE_FEC_SYMBOLS]);
}

void wire_perf_details_encode(const uint16_t in[WIRE_PERF_DETAILS], uint8_t data[WIRE_GMP_DATA])
{
	memset(data, 0, WIRE_GMP_DATA);
	for (unsigned i = 0; i < WIRE_PERF_DETAILS; i++)
		wire_put(data + WIRE_PERF_OFFSET + 4 + 2 * i, 2, in[i]);
}
