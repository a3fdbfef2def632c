/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * counters: what was last read of a port's counters, and how fast they grew between the last two
 * readings. Pure: time is an argument, of the loop's clock.
 *
 * Counters are in one list: those of PortCounters and PortCountersExtended (enum perf_counter, IBA
 * 16.1.3.5 and 16.1.4.11), behind them those of error correction (16.1.4.13). Values are as the
 * device has them: fmd clears nothing, other tools may. Which counters there are depends on the
 * device; a counter of 8, 16 or 32 bits stands still at its end, and then has no rate.
 */
#pragma once

#include <jansson.h>
#include "fm/mad/wire_perf.h"

#define COUNTERS_FEC_FIRST PERF_COUNTERS /* + enum wire_fec_counter */
#define COUNTERS_ALL	   (PERF_COUNTERS + WIRE_FEC_COUNTERS)

enum counters_group {			/* counters of a group are read together */
		      COUNTERS_LINK,	/* errors, and the time that packets wait */
		      COUNTERS_TRAFFIC, /* data and packets */
		      COUNTERS_FEC,
		      COUNTERS_GROUPS,
};

struct port_counters {			   /* of one port; zeroed = never read */
	uint64_t value[COUNTERS_ALL];	   /* PERF_XMIT_DATA and PERF_RCV_DATA in bytes */
	float rate[COUNTERS_ALL];	   /* a second; of counters in `rated` */
	uint64_t read_us[COUNTERS_GROUPS]; /* the latest reading; 0 = never */
	uint32_t span_ms[COUNTERS_GROUPS]; /* between that and the one before; 0 = there is none */
	uint32_t known;			   /* counters that the device has, 1 << counter */
	uint32_t rated;			   /* that have a rate */
	uint32_t full;			   /* that stand at their end */
	uint32_t wide;			   /* of 64 bits */
};

/* A literal, never NULL, such as "xmit_bytes", "symbol_errors", "fec_corrected_blocks". */
const char *counters_name(unsigned counter);
enum counters_group counters_group(unsigned counter);

static inline bool counters_have(const struct port_counters *c, unsigned counter)
{
	return c->known >> counter & 1;
}

static inline bool counters_rated(const struct port_counters *c, unsigned counter)
{
	return c->rated >> counter & 1;
}

/* When any of them was read last; 0 = never. */
uint64_t counters_read_us(const struct port_counters *c);

/*
 * Errors of the link a second: symbol and receive errors, link integrity, overruns, recoveries,
 * losses, blocks beyond correction. NAN: none of these has a rate. Discards, remote and relay
 * errors are not in it: they come from elsewhere.
 */
double counters_error_rate(const struct port_counters *c);

/*
 * {"age_s", "span_s", "values": {NAME: ..}, "rates": {NAME: a second}, "errors_per_s",
 * "at_their_end": [NAME]}; the caller owns it. Counters that the device lacks are left out, and so
 * are rates that are not known.
 */
json_t *counters_json(const struct port_counters *c, uint64_t now_us);

/*
 * Takes those counters of a reading whose bit is in `mask` and that its attribute has. A counter
 * that went down was cleared or its device restarted: it counts from 0. One that is of another
 * width than before, as it comes from another attribute, has no rate yet.
 */
void counters_take(struct port_counters *c, const struct wire_perf *now, uint32_t mask,
		   uint64_t now_us);
/* now NULL: the device does not count it any more. */
void counters_take_fec(struct port_counters *c, const uint64_t now[WIRE_FEC_COUNTERS],
		       uint64_t now_us);

/* What to take of an attribute, for an agent that can do that: 1 << counter. */
uint32_t counters_of(uint16_t attr_id, const struct wire_perf_caps *caps);

/* ---- Which forward error correction a port reports (fm/perf/fec_modes.h) --------------------- */

enum fec_state { FEC_UNASKED, FEC_ASKED, FEC_KNOWN, FEC_UNKNOWN };

struct fec_mode {			 /* of a port; zeroed = was never asked */
	guid_t peer;			 /* the far end of the link when the mode was read */
	uint8_t peer_port, speed, lanes; /* of that link */
	uint8_t state;			 /* enum fec_state; the rest counts where it is FEC_KNOWN */
	uint8_t lost;			 /* requests without an answer */
	uint8_t active;			 /* FECModeActive: a number below WIRE_FEC_MODES */
	uint16_t supported, enabled; /* at the speed of the link, 1 << number; 0 = none reported */
};

/* Its name, or "mode-7" where it has none. */
struct fec_name {
	char text[16];
};
/* Of a number from FECModeActive, whatever it is. */
struct fec_name fec_mode_name(unsigned mode);
