/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * event_time: the times of events: RFC 3339 in UTC with milliseconds, all written alike, so that
 * they compare as texts.
 */
#ifndef FMD_EVENTS_EVENT_TIME_H
#define FMD_EVENTS_EVENT_TIME_H

#include <time.h>

#define EVENT_TIME 40
void event_now(char when[EVENT_TIME]); /* the wall-clock UTC, as in "time" */
void event_time(char when[EVENT_TIME], const struct tm *utc, unsigned ms); /* any other */

#endif
