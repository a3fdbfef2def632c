/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Counters of ports (IBA 16.1.3.5 PortCounters, 16.1.4.11 PortCountersExtended), by one row of a
 * table a counter: where it lies in either attribute and how many bits it has in the first, 0 = it
 * is in the second alone. Two of PortCounters' counters are half a byte wide.
 *
 * Counters of PortCounters stop at their maximum (IBA 16.1.3.5). Those of 64 bits wrap, which takes
 * longer than any fabric runs.
 */
#include <iba/ib_types.h>
#include <complib/cl_byteswap.h>
#include "fm/mad/wire_perf.h"
#include "topology/base/mem.h"

#define AT(field)  offsetof(ib_port_counters_t, field)
#define EXT(field) offsetof(ib_port_counters_ext_t, field)
#define HIGH	   4 /* as row.bits: the high half of the byte */
#define LOW	   3 /* as row.bits: the low half of the byte */

static const struct row {
	const char *name;
	uint8_t at, bits, ext;
} rows[PERF_COUNTERS] = {
	[PERF_SYMBOL] = { "symbol_errors", AT(symbol_err_cnt), 16, EXT(symbol_err_cnt) },
	[PERF_RECOVERED] = { "link_recovered", AT(link_err_recover), 8, EXT(link_err_recover) },
	[PERF_DOWNED] = { "link_downed", AT(link_downed), 8, EXT(link_downed) },
	[PERF_RCV_ERRORS] = { "rcv_errors", AT(rcv_err), 16, EXT(rcv_err) },
	[PERF_RCV_REMOTE] = { "rcv_remote_physical_errors", AT(rcv_rem_phys_err), 16,
			      EXT(rcv_rem_phys_err) },
	[PERF_RCV_RELAY] = { "rcv_switch_relay_errors", AT(rcv_switch_relay_err), 16,
			     EXT(rcv_switch_relay_err) },
	[PERF_XMIT_DISCARDS] = { "xmit_discards", AT(xmit_discards), 16, EXT(xmit_discards) },
	[PERF_XMIT_CONSTRAINT] = { "xmit_constraint_errors", AT(xmit_constraint_err), 8,
				   EXT(xmit_constraint_err) },
	[PERF_RCV_CONSTRAINT] = { "rcv_constraint_errors", AT(rcv_constraint_err), 8,
				  EXT(rcv_constraint_err) },
	[PERF_INTEGRITY] = { "link_integrity_errors", AT(link_int_buffer_overrun), HIGH,
			     EXT(link_integrity_err) },
	[PERF_OVERRUN] = { "buffer_overrun_errors", AT(link_int_buffer_overrun), LOW,
			   EXT(buffer_overrun) },
	[PERF_VL15_DROPPED] = { "vl15_dropped", AT(vl15_dropped), 16, EXT(vl15_dropped) },
	[PERF_XMIT_DATA] = { "xmit_data", AT(xmit_data), 32, EXT(xmit_data) },
	[PERF_RCV_DATA] = { "rcv_data", AT(rcv_data), 32, EXT(rcv_data) },
	[PERF_XMIT_PACKETS] = { "xmit_packets", AT(xmit_pkts), 32, EXT(xmit_pkts) },
	[PERF_RCV_PACKETS] = { "rcv_packets", AT(rcv_pkts), 32, EXT(rcv_pkts) },
	[PERF_XMIT_WAIT] = { "xmit_wait", AT(xmit_wait), 32, EXT(xmit_wait) },
	[PERF_XMIT_UNICAST] = { "xmit_unicast_packets", 0, 0, EXT(unicast_xmit_pkts) },
	[PERF_RCV_UNICAST] = { "rcv_unicast_packets", 0, 0, EXT(unicast_rcv_pkts) },
	[PERF_XMIT_MULTICAST] = { "xmit_multicast_packets", 0, 0, EXT(multicast_xmit_pkts) },
	[PERF_RCV_MULTICAST] = { "rcv_multicast_packets", 0, 0, EXT(multicast_rcv_pkts) },
};

static const char *const rcv_details[] = { "local_physical", "malformed_packet", "buffer_overrun",
					   "dlid_mapping",   "vl_mapping",	 "looping" };
static const char *const xmit_details[] = { "inactive", "neighbour_mtu", "sw_lifetime_limit",
					    "sw_hoq_lifetime_limit" };

_Static_assert(sizeof(ib_port_counters_ext_t) + WIRE_PERF_OFFSET <= WIRE_GMP_DATA, "ext");

const char *wire_perf_name(enum perf_counter counter)
{
	return rows[counter].name;
}

void wire_perf_ask(uint8_t port, uint8_t data[WIRE_GMP_DATA])
{
	memset(data, 0, WIRE_GMP_DATA);
	data[WIRE_PERF_OFFSET + AT(port_select)] = port;
	memset(data + WIRE_PERF_OFFSET + AT(counter_select), 0xff, 2);
}

void wire_perf_decode(const uint8_t data[WIRE_GMP_DATA], struct wire_perf *out)
{
	const uint8_t *attr = data + WIRE_PERF_OFFSET;

	out->port = attr[AT(port_select)];
	for (unsigned i = 0; i < PERF_COUNTERS; i++) {
		const struct row *row = &rows[i];

		out->full[i] = !row->bits ? 0 : row->bits <= HIGH ? 15 : (1ull << row->bits) - 1;
		if (row->bits <= HIGH)
			out->value[i] = !row->bits	    ? 0
					: row->bits == HIGH ? attr[row->at] >> 4
							    : attr[row->at] & 15;
		else
			out->value[i] = wire_get(attr + row->at, row->bits / 8);
	}
}

void wire_perf_ext_decode(const uint8_t data[WIRE_GMP_DATA], struct wire_perf *out)
{
	const uint8_t *attr = data + WIRE_PERF_OFFSET;

	out->port = attr[EXT(port_select)];
	for (unsigned i = 0; i < PERF_COUNTERS; i++) {
		out->value[i] = wire_get(attr + rows[i].ext, 8);
		out->full[i] = UINT64_MAX;
	}
}

void wire_perf_caps_decode(const uint8_t data[WIRE_GMP_DATA], struct wire_perf_caps *out)
{
	ib_class_port_info_t info;

	mem_copy(&info, data + WIRE_PERF_OFFSET, 1);

	bool wide = info.cap_mask & (IB_PM_EXT_WIDTH_SUPPORTED | IB_PM_EXT_WIDTH_NOIETF_SUP);

	*out = (struct wire_perf_caps){
		.ext = wide,
		.errors = wide &&
			  (ib_class_cap_mask2(&info) & cl_ntoh32(IB_PM_IS_ADDL_PORT_CTRS_EXT_SUP)),
		.wait = info.cap_mask & IB_PM_PC_XMIT_WAIT_SUP,
		.fec = info.cap_mask & IS_PM_RSFEC_COUNTERS_SUP,
		.casts = info.cap_mask & IB_PM_EXT_WIDTH_SUPPORTED,
	};
}

/* ---- Forward error correction ---------------------------------------------------------------- */

/*
 * Bytes of the attribute. Without RS-FEC each lane counts blocks; with it lanes count wrong
 * symbols, and the port blocks.
 */
enum {
	FEC_LANES = 12,
	FEC_LANE_CORRECTED = 44,
	FEC_LANE_UNCORRECTED = 92,
	FEC_PORT_CORRECTED = 140,
	FEC_PORT_UNCORRECTED = 144,
	FEC_PORT_SYMBOLS = 148
};

const char *wire_fec_name(enum wire_fec_counter counter)
{
	static const char *const names[] = { "corrected_blocks", "uncorrected_blocks",
					     "corrected_symbols" };

	return names[counter];
}

static uint64_t sum_lanes(const uint8_t *at)
{
	uint64_t sum = 0;

	for (unsigned lane = 0; lane < FEC_LANES; lane++)
		sum += wire_get(at + 4 * lane, 4);
	return sum;
}

/* A port whose own counters run has RS-FEC: then what its lanes corrected are no blocks. */
void wire_fec_decode(const uint8_t data[WIRE_GMP_DATA], uint64_t out[WIRE_FEC_COUNTERS])
{
	const uint8_t *attr = data + WIRE_PERF_OFFSET;
	uint64_t corrected = wire_get(attr + FEC_PORT_CORRECTED, 4);
	uint64_t uncorrected = wire_get(attr + FEC_PORT_UNCORRECTED, 4);
	uint64_t symbols = wire_get(attr + FEC_PORT_SYMBOLS, 4);
	bool port = corrected || uncorrected || symbols;

	out[WIRE_FEC_CORRECTED] = port ? corrected : sum_lanes(attr + FEC_LANE_CORRECTED);
	out[WIRE_FEC_UNCORRECTED] = port ? uncorrected : sum_lanes(attr + FEC_LANE_UNCORRECTED);
	out[WIRE_FEC_SYMBOLS] = symbols;
}

const char *wire_perf_detail_name(uint16_t attr_id, unsigned i)
{
	if (attr_id == WIRE_PERF_RCV_ERROR_DETAILS)
		return i < ARRAY_SIZE(rcv_details) ? rcv_details[i] : NULL;
	return i < ARRAY_SIZE(xmit_details) ? xmit_details[i] : NULL;
}

void wire_perf_details_decode(const uint8_t data[WIRE_GMP_DATA], uint16_t out[WIRE_PERF_DETAILS])
{
	for (unsigned i = 0; i < WIRE_PERF_DETAILS; i++)
		out[i] = wire_get(data + WIRE_PERF_OFFSET + 4 + 2 * i, 2);
}
