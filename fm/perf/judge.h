/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * judge: from a port's counters, read now and then, to what is to be thought of its link. Pure:
 * time is an argument.
 *
 * Counters are looked at and never cleared, so other tools keep theirs; what counts is what was
 * added between two readings. A counter that went down was cleared by somebody else, or its device
 * rebooted: it counts from 0. One that stands at its end measures nothing any more, and is reported
 * as full.
 *
 * An agent may answer falsely. What its link can not carry in the time is no reading, and what
 * would be over a limit is taken when a second reading at once goes on from it: the reader calls
 * judge_weigh() first.
 */
#pragma once

#include "fm/mad/wire_perf.h"

enum judge_kind {			 /* what is judged, each by a threshold of its own */
		  JUDGE_SYMBOL,		 /* a minute */
		  JUDGE_RCV,		 /* a minute */
		  JUDGE_INTEGRITY,	 /* integrity and overrun, a minute */
		  JUDGE_RECOVERED,	 /* an hour */
		  JUDGE_DOWNED,		 /* an hour */
		  JUDGE_FEC_UNCORRECTED, /* blocks a minute that FEC could not mend */
		  JUDGE_FEC_CORRECTED,	 /* blocks a minute that FEC mended */
		  JUDGE_FEC_SYMBOLS,	 /* wrong symbols in a billion, since the last reading */
		  JUDGE_DISCARDS,	 /* a minute; says congestion, the link may be well */
		  JUDGE_WAIT,		 /* percent of the time; likewise */
		  JUDGE_KINDS,
};
/* Literals, never NULL: "symbol errors a minute" for people, "symbol_errors" as a key. */
const char *judge_name(enum judge_kind kind);
const char *judge_key(enum judge_kind kind);

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
	uint64_t last[PERF_ERRORS];
	float rate[JUDGE_KINDS]; /* over a minute or an hour, fading */
	uint16_t full;		 /* error counters that stand at their end, by bit */
	uint8_t over, under;	 /* readings in a row */
	uint8_t state;		 /* enum judge_state */
	uint8_t why;		 /* enum judge_kind: the worst when last over */
	bool sure;		 /* a second reading has confirmed what was read */
	bool anew; /* counted from 0 by its last reading, or lower each time since: it is cleared */
};

struct judge_fec {	  /* of a port that counts it; zeroed = never read */
	uint64_t read_us; /* 0 = never */
	uint64_t last[WIRE_FEC_COUNTERS];
	uint8_t full;	 /* counters that stand at their end, by bit */
	bool sure, anew; /* as of a port */
};

enum judge_reading {
	JUDGE_TAKE,  /* judge_take() */
	JUDGE_ANEW,  /* judge_anew(), then judge_take(): what was read before does not count */
	JUDGE_TWICE, /* read once more at once, and weigh that with this one as `before` */
};
/*
 * What to do with a reading of counters, ahead of judge_take(). before: all counters of the reading
 * that was to be read once more; NULL = none. One reading makes no verdict, not even a warning.
 * Where counters are lower than before, or only the very first reading, which may have been false,
 * was, what there is is a total of the past; unless they are lower each time, as somebody clears
 * them.
 */
enum judge_reading judge_weigh(const struct judge_port *port, const struct judge_limits *limits,
			       const uint64_t *before, const struct wire_perf *now,
			       double word_rate, uint64_t now_us);
/* Likewise of error correction, ahead of judge_take_fec(). */
enum judge_reading judge_weigh_fec(const struct judge_port *port, const struct judge_fec *fec,
				   const struct judge_limits *limits, const uint64_t *before,
				   const uint64_t now[WIRE_FEC_COUNTERS], double word_rate,
				   uint64_t now_us);
void judge_anew(struct judge_port *port, struct judge_fec *fec); /* either may be NULL */
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

/* ---- Ber ------------------------------------------------------------------------------------- */

/*
 * How large a share of a link's bits was wrong, over a window of minutes, in which a burst
 * shows, and one of hours, in which a slow decay does. Pure: time is an argument.
 *
 * Errors come as what was added to counters between two readings. How many bits there were follows
 * from speed and width: a link sends symbols whether there are packets or not.
 */

enum ber_kind {
	BER_SYMBOL,	      /* symbol errors: what is wrong behind all correction */
	BER_EFFECTIVE,	      /* as the port measures it, else a block FEC could not mend as one */
	BER_JUDGED,	      /* kinds below this one have limits */
	BER_RAW = BER_JUDGED, /* symbols that FEC mended: reported, without a limit */
	BER_KINDS
};
enum ber_window { BER_SHORT, BER_LONG, BER_WINDOWS };

/* Literals, never NULL: "symbol", "effective", "raw"; "short", "long". */
const char *ber_kind_name(enum ber_kind kind);
const char *ber_window_name(enum ber_window window);

struct ber_conf {
	uint64_t window_us[BER_WINDOWS];
	double limit[BER_WINDOWS]; /* 0 = that window is not judged */
};

#define BER_ERRORS_MIN 3 /* in a window: fewer are chance */

struct ber_ring;
struct ber_port {		/* zeroed = never read; ber_forget() frees what it has */
	uint64_t since_us;	/* of the first reading */
	uint64_t last_us;	/* of the latest */
	uint64_t clean_us;	/* since when no window is over its limit; 0 = one is */
	struct ber_ring *ring;	/* NULL = no error in either window */
	float raw[BER_WINDOWS]; /* sums that fade with the window */
	uint8_t kind, window;	/* the worst, when last over */
	uint64_t measured;	/* effective errors, as the port counts them; 0 = is not known */
	uint64_t trained_us;	/* when its link lost its training last */
};

/*
 * What was added to the errors that a port counts itself, as read at that time; 0 for the first
 * reading, and for one from before its link was trained.
 */
uint32_t ber_measured(struct ber_port *port, uint64_t errors, uint64_t read_us);
/* As if it was never read; frees what it has. */
void ber_forget(struct ber_port *port);

/* A reading of a port. */
struct ber_reading {
	uint32_t errors[BER_JUDGED]; /* added since the one before */
	double raw;		     /* likewise */
	bool trained;		     /* the link lost its training meanwhile: none of them counts */
	double bits_s;		     /* that it carries; 0 = not known, and it is not judged */
	double lenience;	     /* limits are so many times as high on this link */
	uint64_t now_us;
};
/* True when it has become over a limit, or under all of them. */
bool ber_take(struct ber_port *port, const struct ber_conf *conf,
	      const struct ber_reading *reading);

static inline bool ber_is_over(const struct ber_port *port)
{
	return port->since_us && !port->clean_us;
}

/* Over what was seen of the window so far; 0 = no error. */
double ber_share(const struct ber_port *port, const struct ber_conf *conf, enum ber_kind kind,
		 enum ber_window window, double bits_s);
/* For how long the port was read and no window was over its limit. */
uint64_t ber_clean_for_us(const struct ber_port *port);
