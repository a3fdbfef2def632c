/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * ber: how large a share of a link's bits was wrong, over a window of minutes, in which a burst
 * shows, and one of hours, in which a slow decay does. Pure: time is an argument.
 *
 * Errors come as what was added to counters between two readings. How many bits there were follows
 * from speed and width: a link sends symbols whether there are packets or not.
 */
#ifndef FMD_PERF_BER_H
#define FMD_PERF_BER_H

#include <stdbool.h>
#include <stdint.h>

enum ber_kind {
	BER_SYMBOL,	      /* symbol errors: what is wrong behind all correction */
	BER_EFFECTIVE,	      /* blocks that FEC could not mend, each as one error */
	BER_JUDGED,	      /* those have limits.. */
	BER_RAW = BER_JUDGED, /* ..and symbols that FEC mended are reported alone */
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
};

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

#endif
