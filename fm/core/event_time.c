/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* event_time: the times of events as texts. */
#include <stdio.h>
#include "fm/core/event_time.h"

void event_time(char when[EVENT_TIME], const struct tm *utc, unsigned ms)
{
	size_t used = strftime(when, EVENT_TIME, "%Y-%m-%dT%H:%M:%S", utc);

	snprintf(when + used, EVENT_TIME - used, ".%03uZ", ms % 1000);
}

void event_now(char when[EVENT_TIME])
{
	struct timespec now;
	struct tm utc;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	event_time(when, &utc, (unsigned)(now.tv_nsec / 1000000));
}
