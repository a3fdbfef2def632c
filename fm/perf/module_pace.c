/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Whether passes over all counters keep to their interval: that two in a row did not is a trouble,
 * until two in a row did.
 */
#include "fm/perf/module_own.h"

#define IN_A_ROW 2

static uint64_t interval_us(const struct link_health *h)
{
	return h->services.conf->perf.interval_ms * 1000ull;
}

/* A reading on demand is no measure of it. */
void link_health_note_pace(struct link_health *h, const struct perf_pass *pass)
{
	bool late = pass->took_us > interval_us(h);
	char text[160];

	if (pass->hurried || !interval_us(h))
		return;
	h->late = late ? h->late + (h->late < IN_A_ROW) : 0;
	h->in_time = late ? 0 : h->in_time + (h->in_time < IN_A_ROW);
	if (h->in_time == IN_A_ROW)
		trouble_set(h->services.alerts, "perf_interval", NULL);
	if (h->late < IN_A_ROW)
		return;
	snprintf(text, sizeof(text),
		 "reading the counters of all ports takes longer than perf_interval (%g s): they "
		 "are read as fast as answers come",
		 interval_us(h) / 1e6);
	trouble_set(h->services.alerts, "perf_interval", text);
}

void link_health_pace_reset(struct link_health *h)
{
	h->late = h->in_time = 0;
	trouble_set(h->services.alerts, "perf_interval", NULL);
}

bool link_health_exceeds(const struct link_health *h)
{
	struct perf_pass last = perf_last_pass(h->perf);
	uint64_t running = perf_running_us(h->perf);

	return interval_us(h) &&
	       (running > interval_us(h) || (!last.hurried && last.took_us > interval_us(h)));
}

uint64_t link_health_span_us(const struct link_health *h)
{
	uint64_t span = interval_us(h), took = perf_last_pass(h->perf).took_us;
	uint64_t running = perf_running_us(h->perf);

	if (!span)
		return 0;
	span = took > span ? took : span;
	return running > span ? running : span;
}
