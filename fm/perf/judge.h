/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * judge: from a port's counters, read now and then, to what is to be thought of its link. Pure:
 * time is an argument.
 *
 * Counters are looked at and never cleared, so other tools keep theirs; what counts is what was
 * added between two readings. A counter that went down was cleared by somebody else, or its device
 * rebooted: it counts from 0. One that stands at its end says nothing any more, and that is told.
 */
#ifndef FMD_PERF_JUDGE_H
#define FMD_PERF_JUDGE_H

#include "fm/mad/wire_perf.h"

enum judge_kind {			 /* what is judged, each by a threshold of its own */
		  JUDGE_SYMBOL,		 /* a minute */
		  JUDGE_RCV,		 /* a minute */
		  JUDGE_INTEGRITY,	 /* integrity and overrun, a minute */
		  JUDGE_RECOVERED,	 /* an hour */
		  JUDGE_DOWNED,		 /* an hour */
		  JUDGE_FEC_UNCORRECTED, /* blocks a minute that FEC could not mend */
		  JUDGE_FEC_CORRECTED,	 /* .. that it mended */
		  JUDGE_FEC_SYMBOLS,	 /* wrong symbols in a billion, since the last reading */
		  JUDGE_DISCARDS,	 /* a minute; says congestion, the link may be well */
		  JUDGE_WAIT,		 /* percent of the time; likewise */
		  JUDGE_KINDS,
};
/* Literals, never NULL: "symbol errors a minute" for people, "symbol_errors" as a key. */
const char *judge_name(enum judge_kind kind);
const char *judge_key(enum judge_kind kind);
/* True: it speaks of the link; false: of the traffic. */
bool judge_is_link(enum judge_kind kind);

struct judge_limits {
	double limit[JUDGE_KINDS]; /* 0 = is not judged */
	unsigned confirm;	   /* readings in a row over a limit until the link is sick */
	unsigned recover;	   /* readings in a row under half of all limits until it is well */
};

enum judge_state { JUDGE_WELL, JUDGE_WARN, JUDGE_SICK };
/* A literal, never NULL: "well", "warn" or "sick". */
const char *judge_state_name(enum judge_state state);

struct judge_port {	  /* zeroed = never read */
	uint64_t read_us; /* 0 = never */
	uint64_t last_wait;
	uint32_t last[PERF_ERRORS]; /* low halves: errors between two readings are fewer */
	float rate[JUDGE_KINDS];    /* over a minute or an hour, fading */
	uint16_t full;		    /* error counters that stand at their end, by bit */
	uint8_t over, under;	    /* readings in a row */
	uint8_t state;		    /* enum judge_state */
	uint8_t why;		    /* enum judge_kind: the worst when last over */
};

struct judge_fec {	  /* of a port that counts it; zeroed = never read */
	uint64_t read_us; /* 0 = never */
	uint64_t last[WIRE_FEC_COUNTERS];
	uint8_t full; /* counters that stand at their end, by bit */
};
/*
 * Takes the rates of a reading, ahead of judge_take() of the same. now NULL: it is not counted any
 * more.
 */
void judge_take_fec(struct judge_port *port, struct judge_fec *fec,
		    const uint64_t now[WIRE_FEC_COUNTERS], double word_rate, uint64_t now_us);

/*
 * Takes a reading. `word_rate`: 4-byte words a second that the link can carry, for the wait's
 * share; 0 = not known. True when the state changed by it.
 */
bool judge_take(struct judge_port *port, const struct judge_limits *limits,
		const struct wire_perf *now, double word_rate, uint64_t now_us);

#endif
