/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "tests/fabric/double_answers.h"
#include <stddef.h>
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

/* ---- Counters -------------------------------------------------------------------------------- */

#define AT(field)  offsetof(ib_port_counters_t, field)
#define EXT(field) offsetof(ib_port_counters_ext_t, field)
#define HIGH	   4 /* as row.bits: the high half of the byte */
#define LOW	   3 /* as row.bits: the low half of the byte */

static const struct row {
	uint8_t at, bits, ext;
} rows[PERF_COUNTERS] = {
	[PERF_SYMBOL] = { AT(symbol_err_cnt), 16, EXT(symbol_err_cnt) },
	[PERF_RECOVERED] = { AT(link_err_recover), 8, EXT(link_err_recover) },
	[PERF_DOWNED] = { AT(link_downed), 8, EXT(link_downed) },
	[PERF_RCV_ERRORS] = { AT(rcv_err), 16, EXT(rcv_err) },
	[PERF_RCV_REMOTE] = { AT(rcv_rem_phys_err), 16, EXT(rcv_rem_phys_err) },
	[PERF_RCV_RELAY] = { AT(rcv_switch_relay_err), 16, EXT(rcv_switch_relay_err) },
	[PERF_XMIT_DISCARDS] = { AT(xmit_discards), 16, EXT(xmit_discards) },
	[PERF_XMIT_CONSTRAINT] = { AT(xmit_constraint_err), 8, EXT(xmit_constraint_err) },
	[PERF_RCV_CONSTRAINT] = { AT(rcv_constraint_err), 8, EXT(rcv_constraint_err) },
	[PERF_INTEGRITY] = { AT(link_int_buffer_overrun), HIGH, EXT(link_integrity_err) },
	[PERF_OVERRUN] = { AT(link_int_buffer_overrun), LOW, EXT(buffer_overrun) },
	[PERF_VL15_DROPPED] = { AT(vl15_dropped), 16, EXT(vl15_dropped) },
	[PERF_XMIT_DATA] = { AT(xmit_data), 32, EXT(xmit_data) },
	[PERF_RCV_DATA] = { AT(rcv_data), 32, EXT(rcv_data) },
	[PERF_XMIT_PACKETS] = { AT(xmit_pkts), 32, EXT(xmit_pkts) },
	[PERF_RCV_PACKETS] = { AT(rcv_pkts), 32, EXT(rcv_pkts) },
	[PERF_XMIT_WAIT] = { AT(xmit_wait), 32, EXT(xmit_wait) },
	[PERF_XMIT_UNICAST] = { 0, 0, EXT(unicast_xmit_pkts) },
	[PERF_RCV_UNICAST] = { 0, 0, EXT(unicast_rcv_pkts) },
	[PERF_XMIT_MULTICAST] = { 0, 0, EXT(multicast_xmit_pkts) },
	[PERF_RCV_MULTICAST] = { 0, 0, EXT(multicast_rcv_pkts) },
};

void wire_perf_encode(const struct wire_perf *in, uint8_t data[WIRE_GMP_DATA])
{
	uint8_t *attr = data + WIRE_PERF_OFFSET;

	memset(data, 0, WIRE_GMP_DATA);
	attr[AT(port_select)] = in->port;
	for (unsigned i = 0; i < PERF_COUNTERS; i++) {
		const struct row *row = &rows[i];
		uint64_t full = !row->bits ? 0 : row->bits <= HIGH ? 15 : (1ull << row->bits) - 1;
		uint64_t value = in->value[i] < full ? in->value[i] : full;

		if (!row->bits)
			continue;
		if (row->bits <= HIGH)
			attr[row->at] |= (uint8_t)(row->bits == HIGH ? value << 4 : value);
		else
			wire_put(attr + row->at, row->bits / 8, value);
	}
}

void wire_perf_ext_encode(const struct wire_perf *in, uint8_t data[WIRE_GMP_DATA])
{
	uint8_t *attr = data + WIRE_PERF_OFFSET;

	memset(data, 0, WIRE_GMP_DATA);
	attr[EXT(port_select)] = in->port;
	for (unsigned i = 0; i < PERF_COUNTERS; i++)
		wire_put(attr + rows[i].ext, 8, in->value[i]);
}
