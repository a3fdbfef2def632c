/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * wire_perf: performance management between bytes and host order (IBA 16.1). Data are the
 * WIRE_GMP_DATA bytes behind the common header; the attribute begins WIRE_PERF_OFFSET bytes into
 * them.
 */
#pragma once

#include "fm/mad/wire.h"

#define WIRE_PERF_OFFSET 40

enum wire_perf_attr {
	WIRE_PERF_CLASS_PORT_INFO = 0x0001,
	WIRE_PORT_COUNTERS = 0x0012,
	WIRE_PERF_RCV_ERROR_DETAILS = 0x0015,
	WIRE_PERF_XMIT_DISCARD_DETAILS = 0x0016,
	WIRE_PERF_COUNTERS_EXT = 0x001D,
	WIRE_PERF_EXT_SPEEDS = 0x001F,
};

enum perf_counter { /* first those that count errors */
		    PERF_SYMBOL,
		    PERF_RECOVERED,
		    PERF_DOWNED,
		    PERF_RCV_ERRORS,
		    PERF_RCV_REMOTE,
		    PERF_RCV_RELAY,
		    PERF_XMIT_DISCARDS,
		    PERF_XMIT_CONSTRAINT,
		    PERF_RCV_CONSTRAINT,
		    PERF_INTEGRITY,
		    PERF_OVERRUN,
		    PERF_VL15_DROPPED,
		    PERF_ERRORS,		  /* how many of them */
		    PERF_XMIT_DATA = PERF_ERRORS, /* units of 4 bytes, as the next */
		    PERF_RCV_DATA,
		    PERF_XMIT_PACKETS,
		    PERF_RCV_PACKETS,
		    PERF_XMIT_WAIT, /* ticks with something to send and no credit for it */
		    /* of PortCountersExtended alone */
		    PERF_XMIT_UNICAST,
		    PERF_RCV_UNICAST,
		    PERF_XMIT_MULTICAST,
		    PERF_RCV_MULTICAST,
		    PERF_COUNTERS,
};
/* As metrics and JSON name the counter ("symbol_errors"); a literal. */
const char *wire_perf_name(enum perf_counter counter);

struct wire_perf {
	uint8_t port;
	uint64_t value[PERF_COUNTERS];
	/* where the counter stops counting; 0 = the attribute does not have it */
	uint64_t full[PERF_COUNTERS];
};

/* What a port's agent can do, of its ClassPortInfo. */
struct wire_perf_caps {
	bool ext;    /* PortCountersExtended */
	bool errors; /* PortCountersExtended has error counters of 64 bits */
	bool wait;   /* PortXmitWait in PortCounters */
	bool fec;    /* PortExtendedSpeedsCounters, with those of RS-FEC */
	bool casts;  /* PortCountersExtended has unicast and multicast packets */
};

/* The request of any of these attributes: all counters of that port (IBA 16.1.3.5). */
void wire_perf_ask(uint8_t port, uint8_t data[WIRE_GMP_DATA]);
/* Of ClassPortInfo, PortCounters and PortCountersExtended; they never fail. */
void wire_perf_caps_decode(const uint8_t data[WIRE_GMP_DATA], struct wire_perf_caps *out);
void wire_perf_decode(const uint8_t data[WIRE_GMP_DATA], struct wire_perf *out);
void wire_perf_ext_decode(const uint8_t data[WIRE_GMP_DATA], struct wire_perf *out);
/*
 * PortExtendedSpeedsCounters (16.1.4.13): what forward error correction had to do. Which of its
 * counters run depends on the link's mode; here they are one of each kind. 32 bits each on the
 * wire.
 */
enum wire_fec_counter {
	WIRE_FEC_CORRECTED,   /* blocks with errors that were repaired */
	WIRE_FEC_UNCORRECTED, /* blocks that were not */
	WIRE_FEC_SYMBOLS,     /* symbols that were wrong; RS-FEC alone */
	WIRE_FEC_COUNTERS
};
/* As metrics and JSON name the counter ("corrected_blocks"); a literal. */
const char *wire_fec_name(enum wire_fec_counter counter);
void wire_fec_decode(const uint8_t data[WIRE_GMP_DATA], uint64_t out[WIRE_FEC_COUNTERS]);

/* PortRcvErrorDetails and PortXmitDiscardDetails: counters of 16 bits from byte 4 on. */
#define WIRE_PERF_DETAILS 6
/* The name of the attribute's i-th counter, a literal; NULL past its last. */
const char *wire_perf_detail_name(uint16_t attr_id, unsigned i);
/* Six counters, whichever attribute it is; those that it does not have are reserved, and 0. */
void wire_perf_details_decode(const uint8_t data[WIRE_GMP_DATA], uint16_t out[WIRE_PERF_DETAILS]);
