/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* event_query: which events are asked for. Pure but for the clock of event_query_since(). */
#ifndef FMD_EVENTS_EVENT_QUERY_H
#define FMD_EVENTS_EVENT_QUERY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "fm/events/event_time.h"

#define EVENT_SUBJECTS 2

struct event_query {		/* zeroed = all events */
	char since[EVENT_TIME]; /* as in "time"; "" = whenever */
	char kinds[128];	/* "fault" or several, "link-down,link-up"; "" = any */
	int level;		/* enum log_level: so grave or graver; 0 = any */
	/*
	 * What they are about: one of these names as a whole word of the text or of a detail (a
	 * node's description, its GUID); "" = anything
	 */
	char subjects[EVENT_SUBJECTS][128];
};

/*
 * A duration before now ("90s", "15m", "2h", "3d", "1w") or a time in UTC ("2026-11-23",
 * "2026-11-23T05:00", "2026-11-23 05:00:10.5Z", "05:00": the latest such). False: it is neither.
 */
bool event_query_since(struct event_query *query, const char *text);
bool event_query_has(const struct event_query *query, const json_t *event);

#endif
