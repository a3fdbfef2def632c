/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * judge: a rate is what was added since the last reading, carried in a sum that fades with the
 * kind's own time (a minute, an hour): one burst of errors is seen for that long, and a link that
 * loses its training twice an hour is seen although most readings find nothing.
 *
 * Over a limit once is a warning; over it `confirm` times in a row is sick; under half of all
 * limits `recover` times in a row is well again. Between half and whole nothing changes: a link at
 * the edge does not flicker.
 */
#include <math.h>
#include "fm/perf/judge.h"

#define MINUTE_S       60.0
#define HOUR_S	       3600.0
#define BILLION	       1e9
#define SYMBOLS_A_WORD 3.2 /* 10 bits each, of RS-FEC */

static const struct {
	const char *key, *name;
	double time_s; /* of the fading sum; 0 = the share of the time since the last reading */
	bool link;
} kinds[JUDGE_KINDS] = {
	[JUDGE_SYMBOL] = { "symbol_errors", "symbol errors a minute", MINUTE_S, true },
	[JUDGE_RCV] = { "rcv_errors", "receive errors a minute", MINUTE_S, true },
	[JUDGE_INTEGRITY] = { "integrity_errors", "link integrity errors a minute", MINUTE_S,
			      true },
	[JUDGE_RECOVERED] = { "link_recoveries", "link recoveries an hour", HOUR_S, true },
	[JUDGE_DOWNED] = { "link_losses", "link losses an hour", HOUR_S, true },
	[JUDGE_FEC_UNCORRECTED] = { "fec_uncorrected", "uncorrected FEC blocks a minute", MINUTE_S,
				    true },
	[JUDGE_FEC_CORRECTED] = { "fec_corrected", "corrected FEC blocks a minute", MINUTE_S,
				  true },
	/* PAM4 links live with these, all of them mended: no reason to take transit away. */
	[JUDGE_FEC_SYMBOLS] = { "fec_symbols", "wrong symbols per billion before FEC", 0, false },
	[JUDGE_DISCARDS] = { "discards", "discards a minute", MINUTE_S, false },
	[JUDGE_WAIT] = { "wait_percent", "percent of the time waiting to send", 0, false },
};

const char *judge_name(enum judge_kind kind)
{
	return kinds[kind].name;
}

const char *judge_key(enum judge_kind kind)
{
	return kinds[kind].key;
}

bool judge_is_link(enum judge_kind kind)
{
	return kinds[kind].link;
}

const char *judge_state_name(enum judge_state state)
{
	static const char *const names[] = { "well", "warn", "sick" };

	return names[state];
}

/* What was added to a counter, which somebody may have cleared meanwhile. */
static uint64_t added(uint64_t last, uint64_t now)
{
	return now >= last ? now - last : now;
}

static void fade(struct judge_port *port, enum judge_kind kind, double count, double passed_s)
{
	double keep = exp(-passed_s / kinds[kind].time_s);

	port->rate[kind] = (float)(port->rate[kind] * keep + count);
}

static void take_rates(struct judge_port *port, const struct wire_perf *now, double word_rate,
		       double passed_s)
{
	uint64_t more[PERF_ERRORS], wait = added(port->last_wait, now->value[PERF_XMIT_WAIT]);

	for (unsigned i = 0; i < PERF_ERRORS; i++)
		more[i] = added(port->last[i], (uint32_t)now->value[i]);
	fade(port, JUDGE_SYMBOL, (double)more[PERF_SYMBOL], passed_s);
	fade(port, JUDGE_RCV, (double)more[PERF_RCV_ERRORS], passed_s);
	fade(port, JUDGE_INTEGRITY, (double)(more[PERF_INTEGRITY] + more[PERF_OVERRUN]), passed_s);
	fade(port, JUDGE_RECOVERED, (double)more[PERF_RECOVERED], passed_s);
	fade(port, JUDGE_DOWNED, (double)more[PERF_DOWNED], passed_s);
	fade(port, JUDGE_DISCARDS, (double)more[PERF_XMIT_DISCARDS], passed_s);
	port->rate[JUDGE_WAIT] =
		word_rate > 0 ? (float)fmin(100, 100.0 * (double)wait / (word_rate * passed_s)) : 0;
}

void judge_take_fec(struct judge_port *port, struct judge_fec *fec,
		    const uint64_t now[WIRE_FEC_COUNTERS], double word_rate, uint64_t now_us)
{
	double passed_s = now_us > fec->read_us ? (now_us - fec->read_us) / 1e6 : 0, symbols;
	uint64_t more[WIRE_FEC_COUNTERS] = { 0 };

	if (!now) {
		for (unsigned kind = JUDGE_FEC_UNCORRECTED; kind <= JUDGE_FEC_SYMBOLS; kind++)
			port->rate[kind] = 0;
		*fec = (struct judge_fec){ 0 };
		return;
	}
	for (unsigned i = 0; i < WIRE_FEC_COUNTERS; i++) {
		more[i] = added(fec->last[i], now[i]);
		fec->last[i] = now[i];
		fec->full = (uint8_t)((fec->full & ~(1u << i)) | (now[i] >= UINT32_MAX) << i);
	}
	if (fec->read_us && passed_s > 0) {
		symbols = word_rate * SYMBOLS_A_WORD * passed_s;
		fade(port, JUDGE_FEC_UNCORRECTED, (double)more[WIRE_FEC_UNCORRECTED], passed_s);
		fade(port, JUDGE_FEC_CORRECTED, (double)more[WIRE_FEC_CORRECTED], passed_s);
		port->rate[JUDGE_FEC_SYMBOLS] =
			symbols > 0 ? (float)(BILLION * (double)more[WIRE_FEC_SYMBOLS] / symbols)
				    : 0;
	}
	fec->read_us = now_us;
}

static void keep_reading(struct judge_port *port, const struct wire_perf *now, uint64_t now_us)
{
	port->full = 0;
	for (unsigned i = 0; i < PERF_ERRORS; i++) {
		port->last[i] = (uint32_t)now->value[i];
		port->full |= (uint16_t)((now->value[i] >= now->full[i]) << i);
	}
	port->last_wait = now->value[PERF_XMIT_WAIT];
	port->read_us = now_us;
}

/*
 * How far over its limit the worst of the kinds is that may make a link sick; 0 = nothing was
 * counted.
 */
static double worst(const struct judge_port *port, const struct judge_limits *limits,
		    enum judge_kind *why)
{
	double most = 0;

	for (unsigned kind = 0; kind < JUDGE_KINDS; kind++) {
		double share = limits->limit[kind] > 0 ? port->rate[kind] / limits->limit[kind] : 0;

		if (share <= most)
			continue;
		most = share;
		*why = (enum judge_kind)kind;
	}
	return most;
}

static enum judge_state judge_state(const struct judge_port *port,
				    const struct judge_limits *limits)
{
	if (port->over >= limits->confirm)
		return judge_is_link((enum judge_kind)port->why) ? JUDGE_SICK : JUDGE_WARN;
	if (port->over && port->state == JUDGE_WELL)
		return JUDGE_WARN;
	if (port->under >= limits->recover)
		return JUDGE_WELL;
	return (enum judge_state)port->state;
}

bool judge_take(struct judge_port *port, const struct judge_limits *limits,
		const struct wire_perf *now, double word_rate, uint64_t now_us)
{
	enum judge_state before = (enum judge_state)port->state;
	enum judge_kind why = (enum judge_kind)port->why;
	bool first = !port->read_us;
	double share;

	if (!first && now_us > port->read_us)
		take_rates(port, now, word_rate, (now_us - port->read_us) / 1e6);
	keep_reading(port, now, now_us);
	if (first)
		return false;
	share = worst(port, limits, &why);
	if (share > 1)
		port->why = (uint8_t)why;
	port->over = share > 1 ? (uint8_t)(port->over + (port->over < UINT8_MAX)) : 0;
	port->under = share < 0.5 ? (uint8_t)(port->under + (port->under < UINT8_MAX)) : 0;
	port->state = (uint8_t)judge_state(port, limits);
	return port->state != before;
}
