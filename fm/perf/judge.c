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
#include "topology/base/mem.h"

/* ---- Error rates ----------------------------------------------------------------------------- */

/*
 * A window slides by slots: errors of a reading go into the slot of its time, and a slot is dropped
 * as a whole when it is a window old. There is one slot more than the window has, for the one that
 * has begun. Most links never have an error, and have no slots.
 *
 * A limit is a number of errors in a full window, also before the window is full: one error in the
 * first minute says nothing about two hours.
 */

#define SHORT_SLOTS 13
#define LONG_SLOTS  26

struct slots {
	uint64_t newest; /* number of the slot that is filled, counted from time 0 */
	uint32_t errors[BER_JUDGED][LONG_SLOTS];
	uint32_t sum[BER_JUDGED];
};
struct ber_ring {
	struct slots windows[BER_WINDOWS];
};

static const unsigned slot_count[BER_WINDOWS] = { SHORT_SLOTS, LONG_SLOTS };

const char *ber_kind_name(enum ber_kind kind)
{
	static const char *const names[] = { "symbol", "effective", "raw" };

	return names[kind];
}

const char *ber_window_name(enum ber_window window)
{
	return window == BER_SHORT ? "short" : "long";
}

void ber_forget(struct ber_port *port)
{
	free(port->ring);
	*port = (struct ber_port){ 0 };
}

uint32_t ber_measured(struct ber_port *port, uint64_t errors, uint64_t read_us)
{
	uint64_t before = port->measured;

	if (read_us <= port->trained_us)
		return 0;
	port->measured = errors + 1;
	if (!before || errors + 1 <= before)
		return 0;
	return errors + 1 - before < UINT32_MAX / 2 ? (uint32_t)(errors + 1 - before)
						    : UINT32_MAX / 2;
}

/* ---- Slots ----------------------------------------------------------------------------------- */

static uint64_t slot_of(const struct ber_conf *conf, unsigned window, uint64_t now_us)
{
	uint64_t length = conf->window_us[window] / (slot_count[window] - 1);

	return now_us / (length ? length : 1);
}

static void take_errors(struct ber_port *port, const struct ber_conf *conf,
			const struct ber_reading *r)
{
	bool any = r->errors[BER_SYMBOL] || r->errors[BER_EFFECTIVE], some = false;

	if (any && !port->ring) {
		port->ring = mem_new(port->ring);
		for (unsigned w = 0; w < BER_WINDOWS; w++)
			port->ring->windows[w].newest = slot_of(conf, w, r->now_us);
	}
	for (unsigned w = 0; w < BER_WINDOWS && port->ring; w++) {
		struct slots *s = &port->ring->windows[w];

		unsigned count = slot_count[w];
		uint64_t newest = slot_of(conf, w, r->now_us);
		uint64_t steps = newest > s->newest ? newest - s->newest : 0;

		for (uint64_t i = 1; i <= steps && i <= count; i++) {
			unsigned at = (s->newest + i) % count;

			for (unsigned kind = 0; kind < BER_JUDGED; kind++) {
				s->sum[kind] -= s->errors[kind][at];
				s->errors[kind][at] = 0;
			}
		}
		s->newest += steps;

		for (unsigned kind = 0; kind < BER_JUDGED; kind++) {
			s->errors[kind][s->newest % slot_count[w]] += r->errors[kind];
			s->sum[kind] += r->errors[kind];
			some |= s->sum[kind] != 0;
		}
	}
	if (some)
		return;
	free(port->ring);
	port->ring = NULL;
}

/* ---- Judgement ------------------------------------------------------------------------------- */

bool ber_take(struct ber_port *port, const struct ber_conf *conf, const struct ber_reading *reading)
{
	bool over = ber_is_over(port), first = !port->since_us;
	struct ber_reading r = *reading;
	uint8_t kind = port->kind, window = port->window;

	if (first || r.trained) {
		mem_zero(&r.errors, 1);
		r.raw = 0;
	}
	if (r.trained) {
		port->measured = 0;
		port->trained_us = r.now_us;
	}
	if (first)
		port->since_us = port->last_us = port->clean_us = r.now_us;
	take_errors(port, conf, &r);
	for (unsigned w = 0; w < BER_WINDOWS; w++) {
		double passed = (double)(r.now_us - port->last_us) / (double)conf->window_us[w];

		port->raw[w] = (float)(port->raw[w] * exp(-passed) + r.raw);
	}
	port->last_us = r.now_us;

	/* How far over its limit the worst is; at most 1: none is over. */
	double most = 0;

	for (uint8_t w = 0; w < BER_WINDOWS && port->ring; w++) {
		double allowed =
			conf->limit[w] * r.lenience * r.bits_s * (double)conf->window_us[w] / 1e6;

		for (uint8_t k = 0; k < BER_JUDGED; k++) {
			uint32_t errors = port->ring->windows[w].sum[k];

			if (!(allowed > 0) || errors < BER_ERRORS_MIN || errors / allowed <= most)
				continue;
			most = errors / allowed;
			kind = k;
			window = w;
		}
	}
	if (most > 1) {
		port->kind = kind;
		port->window = window;
		port->clean_us = 0;
	} else if (!port->clean_us) {
		port->clean_us = r.now_us;
	}

	return ber_is_over(port) != over;
}

double ber_share(const struct ber_port *port, const struct ber_conf *conf, enum ber_kind kind,
		 enum ber_window window, double bits_s)
{
	double window_s = (double)conf->window_us[window] / 1e6;
	double seen_s = (double)(port->last_us - port->since_us) / 1e6;

	if (!(bits_s > 0) || !(seen_s > 0) || !(window_s > 0))
		return 0;
	if (kind == BER_RAW)
		return port->raw[window] / (bits_s * window_s * -expm1(-seen_s / window_s));
	if (!port->ring)
		return 0;
	return port->ring->windows[window].sum[kind] / (bits_s * fmin(window_s, seen_s));
}

uint64_t ber_clean_for_us(const struct ber_port *port)
{
	return port->clean_us ? port->last_us - port->clean_us : 0;
}

/* ---- Counters -------------------------------------------------------------------------------- */

#define MINUTE_S       60.0
#define HOUR_S	       3600.0
#define BILLION	       1e9
#define SYMBOLS_A_WORD 3.2 /* 10 bits each, of RS-FEC */
#define BYTES_A_WORD   4.0
#define WORDS_A_BLOCK  165.0 /* of RS(528,514); those of RS(544,514) have more */
#define WORDS_A_PACKET 6.5
#define LOSSES_A_S     100.0 /* a link does not train as often */
#define GROWN_BETWEEN  16
#define AT_END_MOST    4 /* kinds of errors that come to their counters' ends together */

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

/* ---- Readings that can not be, or need another ----------------------------------------------- */

struct weighed { /* a reading beside the last one that was taken */
	bool fell, grew, impossible, follows;
};

/* `most`: what the medium may add in the time; 0 = that is not known. */
static void weigh(struct weighed *w, uint64_t last, const uint64_t *before, uint64_t now,
		  double most)
{
	uint64_t grown = before ? added(last, *before) : 0;

	w->fell |= now < last;
	w->impossible |= most > 0 && (double)added(last, now) > most;
	/* Between the two less was added than before them, or hardly anything. */
	w->follows &= before && now >= *before && now - *before <= grown + GROWN_BETWEEN;
}

static enum judge_reading verdict(const struct weighed *w, bool over, bool sure, bool anew)
{
	if (!w->fell && !w->grew && !w->impossible && !over)
		return JUDGE_TAKE;
	if (!w->follows)
		return JUDGE_TWICE;
	return w->impossible || !sure || (w->fell && !anew) ? JUDGE_ANEW : JUDGE_TAKE;
}

/* Whether a rate is over its limit by what this reading adds. */
static bool is_over(const struct judge_port *was, const struct judge_port *is,
		    const struct judge_limits *limits)
{
	bool over = false;

	for (unsigned kind = 0; kind < JUDGE_KINDS; kind++)
		over |= limits->limit[kind] > 0 && is->rate[kind] > limits->limit[kind] &&
			is->rate[kind] > was->rate[kind];
	return over;
}

enum judge_reading judge_weigh(const struct judge_port *port, const struct judge_limits *limits,
			       const uint64_t *before, const struct wire_perf *now,
			       double word_rate, uint64_t now_us)
{
	double passed_s = now_us > port->read_us ? (now_us - port->read_us) / 1e6 : 0;
	double words = word_rate * fmax(passed_s, 1);
	struct weighed w = { .follows = true };
	struct judge_port is = *port;
	unsigned at_end = 0;

	if (!port->read_us)
		return JUDGE_TAKE;
	for (unsigned i = 0; i < PERF_ERRORS; i++)
		weigh(&w, port->last[i], before ? &before[i] : NULL, now->value[i],
		      i == PERF_SYMBOL				? words * BYTES_A_WORD
		      : i == PERF_DOWNED || i == PERF_RECOVERED ? LOSSES_A_S * fmax(passed_s, 1)
								: words / WORDS_A_PACKET);
	weigh(&w, port->last_wait, before ? &before[PERF_XMIT_WAIT] : NULL,
	      now->value[PERF_XMIT_WAIT], 0);
	for (unsigned i = 0; i < PERF_ERRORS; i++)
		at_end += now->value[i] >= now->full[i] && !(port->full >> i & 1);
	w.impossible |= at_end >= AT_END_MOST;
	w.grew = now->value[PERF_SYMBOL] > port->last[PERF_SYMBOL];
	judge_take(&is, limits, now, word_rate, now_us);
	return verdict(&w, is_over(port, &is, limits), port->sure, port->anew);
}

enum judge_reading judge_weigh_fec(const struct judge_port *port, const struct judge_fec *fec,
				   const struct judge_limits *limits, const uint64_t *before,
				   const uint64_t now[WIRE_FEC_COUNTERS], double word_rate,
				   uint64_t now_us)
{
	double passed_s = now_us > fec->read_us ? (now_us - fec->read_us) / 1e6 : 0;
	double words = word_rate * fmax(passed_s, 1);
	struct weighed w = { .follows = true };
	struct judge_port is = *port;
	struct judge_fec then = *fec;

	if (!fec->read_us)
		return JUDGE_TAKE;
	for (unsigned i = 0; i < WIRE_FEC_COUNTERS; i++)
		weigh(&w, fec->last[i], before ? &before[i] : NULL, now[i],
		      i == WIRE_FEC_SYMBOLS ? words * SYMBOLS_A_WORD : words / WORDS_A_BLOCK);
	w.grew = now[WIRE_FEC_UNCORRECTED] > fec->last[WIRE_FEC_UNCORRECTED];
	judge_take_fec(&is, &then, now, word_rate, now_us);
	return verdict(&w, is_over(port, &is, limits), fec->sure, fec->anew);
}

void judge_anew(struct judge_port *port, struct judge_fec *fec)
{
	if (port) {
		port->read_us = 0;
		port->sure = port->anew;
		port->anew = true;
	}
	if (fec) {
		fec->read_us = 0;
		fec->sure = fec->anew;
		fec->anew = true;
	}
}

static void fade(struct judge_port *port, enum judge_kind kind, double count, double passed_s)
{
	port->rate[kind] = (float)(port->rate[kind] * exp(-passed_s / kinds[kind].time_s) + count);
}

void judge_take_fec(struct judge_port *port, struct judge_fec *fec,
		    const uint64_t now[WIRE_FEC_COUNTERS], double word_rate, uint64_t now_us)
{
	double passed_s = now_us > fec->read_us ? (now_us - fec->read_us) / 1e6 : 0, symbols;
	uint64_t more[WIRE_FEC_COUNTERS] = { 0 };
	bool fell = false;

	if (!now) {
		for (unsigned kind = JUDGE_FEC_UNCORRECTED; kind <= JUDGE_FEC_SYMBOLS; kind++)
			port->rate[kind] = 0;
		*fec = (struct judge_fec){ 0 };
		return;
	}
	for (unsigned i = 0; i < WIRE_FEC_COUNTERS; i++) {
		fell |= now[i] < fec->last[i];
		more[i] = added(fec->last[i], now[i]);
		fec->last[i] = now[i];
		fec->full = (fec->full & ~(1u << i)) | (now[i] >= UINT32_MAX) << i;
	}
	if (fec->read_us && passed_s > 0) {
		symbols = word_rate * SYMBOLS_A_WORD * passed_s;
		fade(port, JUDGE_FEC_UNCORRECTED, (double)more[WIRE_FEC_UNCORRECTED], passed_s);
		fade(port, JUDGE_FEC_CORRECTED, (double)more[WIRE_FEC_CORRECTED], passed_s);
		port->rate[JUDGE_FEC_SYMBOLS] =
			symbols > 0 ? (float)(BILLION * (double)more[WIRE_FEC_SYMBOLS] / symbols)
				    : 0;
	}
	fec->sure |= fec->read_us || (fec->anew && !fell);
	fec->anew &= !fec->read_us || fell;
	fec->read_us = now_us;
}

bool judge_take(struct judge_port *port, const struct judge_limits *limits,
		const struct wire_perf *now, double word_rate, uint64_t now_us)
{
	enum judge_state before = port->state;
	bool first = !port->read_us, fell = false;
	double most =
		0; /* how far over its limit the worst of the kinds is; 0 = nothing was counted */

	if (!first && now_us > port->read_us) {
		double passed_s = (now_us - port->read_us) / 1e6;
		uint64_t more[PERF_ERRORS],
			wait = added(port->last_wait, now->value[PERF_XMIT_WAIT]);

		for (unsigned i = 0; i < PERF_ERRORS; i++)
			more[i] = added(port->last[i], now->value[i]);
		fade(port, JUDGE_SYMBOL, (double)more[PERF_SYMBOL], passed_s);
		fade(port, JUDGE_RCV, (double)more[PERF_RCV_ERRORS], passed_s);
		fade(port, JUDGE_INTEGRITY, (double)(more[PERF_INTEGRITY] + more[PERF_OVERRUN]),
		     passed_s);
		fade(port, JUDGE_RECOVERED, (double)more[PERF_RECOVERED], passed_s);
		fade(port, JUDGE_DOWNED, (double)more[PERF_DOWNED], passed_s);
		fade(port, JUDGE_DISCARDS, (double)more[PERF_XMIT_DISCARDS], passed_s);
		port->rate[JUDGE_WAIT] =
			word_rate > 0
				? (float)fmin(100, 100.0 * (double)wait / (word_rate * passed_s))
				: 0;
	}
	port->full = 0;
	for (unsigned i = 0; i < PERF_ERRORS; i++) {
		fell |= now->value[i] < port->last[i];
		port->last[i] = now->value[i];
		port->full |= (now->value[i] >= now->full[i]) << i;
	}
	port->last_wait = now->value[PERF_XMIT_WAIT];
	port->read_us = now_us;
	port->sure |= first && port->anew && !fell;
	port->anew &= first || fell;
	if (first)
		return false;
	port->sure = true;
	for (unsigned kind = 0; kind < JUDGE_KINDS; kind++) {
		double share = limits->limit[kind] > 0 ? port->rate[kind] / limits->limit[kind] : 0;

		if (share <= most)
			continue;
		most = share;
		if (share > 1)
			port->why = kind;
	}
	port->over = most > 1 ? (uint8_t)(port->over + (port->over < UINT8_MAX)) : 0;
	port->under = most < 0.5 ? (uint8_t)(port->under + (port->under < UINT8_MAX)) : 0;
	if (port->over >= limits->confirm)
		port->state = kinds[port->why].link ? JUDGE_SICK : JUDGE_WARN;
	else if (port->over && port->state == JUDGE_WELL)
		port->state = JUDGE_WARN;
	else if (port->under >= limits->recover)
		port->state = JUDGE_WELL;
	return port->state != before;
}
