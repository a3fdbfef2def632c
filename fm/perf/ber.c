/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A window slides by slots: errors of a reading go into the slot of its time, and a slot is dropped
 * as a whole when it is a window old. There is one slot more than the window has, for the one that
 * has begun. Most links never have an error, and have no slots.
 *
 * A limit is a number of errors in a full window, also before the window is full: one error in the
 * first minute says nothing about two hours.
 */
#include "fm/perf/ber.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "topology/base/mem.h"

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

/* ---- Slots ----------------------------------------------------------------------------------- */

static void drop_slot(struct slots *s, unsigned at)
{
	for (unsigned kind = 0; kind < BER_JUDGED; kind++) {
		s->sum[kind] -= s->errors[kind][at];
		s->errors[kind][at] = 0;
	}
}

static void advance(struct slots *s, unsigned count, uint64_t newest)
{
	uint64_t steps = newest > s->newest ? newest - s->newest : 0;

	for (uint64_t i = 1; i <= steps && i <= count; i++)
		drop_slot(s, (unsigned)((s->newest + i) % count));
	s->newest += steps;
}

static uint64_t slot_of(const struct ber_conf *conf, unsigned window, uint64_t now_us)
{
	uint64_t length = conf->window_us[window] / (slot_count[window] - 1);

	return now_us / (length ? length : 1);
}

static void add(struct slots *s, unsigned count, const uint32_t *errors)
{
	for (unsigned kind = 0; kind < BER_JUDGED; kind++) {
		s->errors[kind][s->newest % count] += errors[kind];
		s->sum[kind] += errors[kind];
	}
}

static bool is_empty(const struct ber_ring *ring)
{
	for (unsigned w = 0; w < BER_WINDOWS; w++)
		for (unsigned kind = 0; kind < BER_JUDGED; kind++)
			if (ring->windows[w].sum[kind])
				return false;
	return true;
}

static void take_errors(struct ber_port *port, const struct ber_conf *conf,
			const struct ber_reading *r)
{
	bool any = r->errors[BER_SYMBOL] || r->errors[BER_EFFECTIVE];

	if (any && !port->ring) {
		port->ring = mem_alloc(1, sizeof(*port->ring));
		for (unsigned w = 0; w < BER_WINDOWS; w++)
			port->ring->windows[w].newest = slot_of(conf, w, r->now_us);
	}
	for (unsigned w = 0; w < BER_WINDOWS && port->ring; w++) {
		advance(&port->ring->windows[w], slot_count[w], slot_of(conf, w, r->now_us));
		add(&port->ring->windows[w], slot_count[w], r->errors);
	}
	if (!port->ring || !is_empty(port->ring))
		return;
	free(port->ring);
	port->ring = NULL;
}

static void fade_raw(struct ber_port *port, const struct ber_conf *conf,
		     const struct ber_reading *r)
{
	for (unsigned w = 0; w < BER_WINDOWS; w++) {
		double passed = (double)(r->now_us - port->last_us) / (double)conf->window_us[w];

		port->raw[w] = (float)(port->raw[w] * exp(-passed) + r->raw);
	}
}

/* ---- Judgement ------------------------------------------------------------------------------- */

/* How far over its limit the worst is; at most 1: none is over. */
static double worst(const struct ber_port *port, const struct ber_conf *conf,
		    const struct ber_reading *r, uint8_t *kind, uint8_t *window)
{
	double most = 0;

	for (uint8_t w = 0; w < BER_WINDOWS && port->ring; w++) {
		double allowed =
			conf->limit[w] * r->lenience * r->bits_s * (double)conf->window_us[w] / 1e6;

		for (uint8_t k = 0; k < BER_JUDGED; k++) {
			uint32_t errors = port->ring->windows[w].sum[k];

			if (!(allowed > 0) || errors < BER_ERRORS_MIN || errors / allowed <= most)
				continue;
			most = errors / allowed;
			*kind = k;
			*window = w;
		}
	}
	return most;
}

bool ber_take(struct ber_port *port, const struct ber_conf *conf, const struct ber_reading *reading)
{
	bool over = ber_is_over(port), first = !port->since_us;
	struct ber_reading r = *reading;
	uint8_t kind = port->kind, window = port->window;

	if (first || r.trained) {
		memset(r.errors, 0, sizeof(r.errors));
		r.raw = 0;
	}
	if (first)
		port->since_us = port->last_us = port->clean_us = r.now_us;
	take_errors(port, conf, &r);
	fade_raw(port, conf, &r);
	port->last_us = r.now_us;
	if (worst(port, conf, &r, &kind, &window) > 1) {
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
