/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <math.h>
#include "fm/perf/counters.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

#define BYTES_A_WORD 4
#define FEC_FULL     UINT32_MAX

_Static_assert(COUNTERS_ALL <= 32, "a bit a counter");

static const unsigned link_errors[] = { PERF_SYMBOL,
					PERF_RECOVERED,
					PERF_DOWNED,
					PERF_RCV_ERRORS,
					PERF_INTEGRITY,
					PERF_OVERRUN,
					COUNTERS_FEC_FIRST + WIRE_FEC_UNCORRECTED };

const char *counters_name(unsigned counter)
{
	static const char *const fec[] = { "fec_corrected_blocks", "fec_uncorrected_blocks",
					   "fec_corrected_symbols" };

	if (counter >= COUNTERS_FEC_FIRST)
		return fec[counter - COUNTERS_FEC_FIRST];
	if (counter == PERF_XMIT_DATA || counter == PERF_RCV_DATA)
		return counter == PERF_XMIT_DATA ? "xmit_bytes" : "rcv_bytes";
	return wire_perf_name(counter);
}

enum counters_group counters_group(unsigned counter)
{
	if (counter >= COUNTERS_FEC_FIRST)
		return COUNTERS_FEC;
	return counter < PERF_ERRORS || counter == PERF_XMIT_WAIT ? COUNTERS_LINK
								  : COUNTERS_TRAFFIC;
}

static uint32_t mask_of(enum counters_group group)
{
	uint32_t mask = 0;

	for (unsigned i = 0; i < COUNTERS_ALL; i++)
		mask |= (uint32_t)(counters_group(i) == group) << i;
	return mask;
}

/* Traffic comes by 64 bits from agents that have them: those of 32 are full within seconds. */
uint32_t counters_of(uint16_t attr_id, const struct wire_perf_caps *caps)
{
	uint32_t casts = 1u << PERF_XMIT_UNICAST | 1u << PERF_RCV_UNICAST |
			 1u << PERF_XMIT_MULTICAST | 1u << PERF_RCV_MULTICAST;
	uint32_t ext = caps->casts ? UINT32_MAX : ~casts;

	if (attr_id == WIRE_PERF_COUNTERS_EXT)
		return caps->errors ? ext : ext & mask_of(COUNTERS_TRAFFIC);
	return caps->ext ? mask_of(COUNTERS_LINK) : UINT32_MAX;
}

uint64_t counters_read_us(const struct port_counters *c)
{
	uint64_t latest = 0;

	for (unsigned group = 0; group < COUNTERS_GROUPS; group++)
		latest = c->read_us[group] > latest ? c->read_us[group] : latest;
	return latest;
}

double counters_error_rate(const struct port_counters *c)
{
	double sum = 0;
	bool any = false;

	for (unsigned i = 0; i < ARRAY_SIZE(link_errors); i++) {
		any |= counters_rated(c, link_errors[i]);
		sum += counters_rated(c, link_errors[i]) ? c->rate[link_errors[i]] : 0;
	}
	return any ? sum : NAN;
}

/* ---- Readings -------------------------------------------------------------------------------- */

static void set_bit(uint32_t *bits, unsigned counter, bool on)
{
	*bits = (*bits & ~(1u << counter)) | (uint32_t)on << counter;
}

static void take(struct port_counters *c, unsigned counter, uint64_t now, uint64_t full)
{
	bool wide = full == UINT64_MAX, stands = now >= full;
	bool same = counters_have(c, counter) && (c->wide >> counter & 1) == wide;
	uint32_t span_ms = c->span_ms[counters_group(counter)];
	uint64_t value =
		counter == PERF_XMIT_DATA || counter == PERF_RCV_DATA ? now * BYTES_A_WORD : now;
	uint64_t added = value >= c->value[counter] ? value - c->value[counter] : value;
	bool rated = same && span_ms && !stands;

	c->rate[counter] = rated ? (float)((double)added * 1e3 / span_ms) : 0;
	c->value[counter] = value;
	set_bit(&c->known, counter, true);
	set_bit(&c->rated, counter, rated);
	set_bit(&c->full, counter, stands);
	set_bit(&c->wide, counter, wide);
}

/* A reading in the same millisecond as the one before has no rates. */
static void group_read(struct port_counters *c, enum counters_group group, uint64_t now_us)
{
	uint64_t last = c->read_us[group], span_ms = (now_us - last) / 1000;

	if (!last || now_us < last)
		span_ms = 0;
	c->span_ms[group] = span_ms < UINT32_MAX ? (uint32_t)span_ms : UINT32_MAX;
	c->read_us[group] = now_us;
}

void counters_take(struct port_counters *c, const struct wire_perf *now, uint32_t mask,
		   uint64_t now_us)
{
	for (unsigned group = 0; group < COUNTERS_FEC; group++)
		if (mask & mask_of(group))
			group_read(c, group, now_us);
	for (unsigned i = 0; i < PERF_COUNTERS; i++)
		if (now->full[i] && mask >> i & 1)
			take(c, i, now->value[i], now->full[i]);
}

void counters_take_fec(struct port_counters *c, const uint64_t now[WIRE_FEC_COUNTERS],
		       uint64_t now_us)
{
	uint32_t mask = mask_of(COUNTERS_FEC);

	if (!now) {
		c->known &= ~mask;
		c->rated &= ~mask;
		c->full &= ~mask;
		c->read_us[COUNTERS_FEC] = 0;
		return;
	}
	group_read(c, COUNTERS_FEC, now_us);
	for (unsigned i = 0; i < WIRE_FEC_COUNTERS; i++)
		take(c, COUNTERS_FEC_FIRST + i, now[i], FEC_FULL);
}

/* ---- Document -------------------------------------------------------------------------------- */

json_t *counters_json(const struct port_counters *c, uint64_t now_us)
{
	json_t *values = json_object(), *rates = json_object(), *full = json_array();
	uint64_t read_us = counters_read_us(c);

	for (unsigned i = 0; i < COUNTERS_ALL; i++) {
		if (counters_have(c, i))
			json_object_set_new(values, counters_name(i), json_integer(c->value[i]));
		if (counters_rated(c, i))
			json_object_set_new(rates, counters_name(i), json_real(c->rate[i]));
		if (c->full >> i & 1)
			json_array_append_new(full, json_string(counters_name(i)));
	}
	return json_pack("{sf sf so so so so}", "age_s",
			 now_us > read_us ? (now_us - read_us) / 1e6 : 0, "span_s",
			 c->span_ms[COUNTERS_LINK] / 1e3, "values", values, "rates", rates,
			 "errors_per_s", json_figure(counters_error_rate(c)), "at_their_end", full);
}
