/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* event_query: which events are asked for. Pure but for the clock of event_query_since(). */
#pragma once

#include "fm/events/event_log.h"
#include "topology/snapshot/topo.h"

#define EVENT_ENDS 64

/*
 * What events and alerts are asked about. They go by GUIDs and numbers, so a device is met by what
 * it was called before, too; `name` is for what the fabric has no more, and for events of versions
 * that wrote no subject. Zeroed = anything.
 */
struct event_about {
	struct event_end {
		guid_t node;
		uint8_t port; /* 0 = any of it */
	} ends[EVENT_ENDS];   /* a device, an end of a link, or a machine's HCAs: one of these */
	unsigned count;
	bool whole;	/* of a port: what is about the whole device, too */
	uint16_t mlid;	/* a multicast group; 0 = none */
	uint16_t pkey;	/* a partition; 0 = none */
	char host[128]; /* a machine; "" = none */
	char name[128]; /* as people call it; "" = not known */
};

/* A device; both ends of a port's link; a machine with its HCAs: by index. */
struct event_about event_about_node(const struct topo *t, uint32_t node);
struct event_about event_about_port(const struct topo *t, uint32_t port);
struct event_about event_about_host(const struct topo *t, uint32_t host);
/* Whether an event or an alert is about one of these; true for all if that is anything. */
bool event_is_about(const json_t *row, const struct event_about *about);

struct event_query {		/* zeroed = all events */
	char since[EVENT_TIME]; /* as in "time"; "" = whenever */
	char kinds[128];	/* "fault" or several, "link-down,link-up"; "" = any */
	int level;		/* enum log_level: so grave or graver; 0 = any */
	struct event_about about;
};

/*
 * A duration before now ("90s", "15m", "2h", "3d", "1w") or a time in UTC ("2026-11-23",
 * "2026-11-23T05:00", "2026-11-23 05:00:10.5Z", "05:00": the latest such). False: it is neither.
 */
bool event_query_since(struct event_query *query, const char *text);
bool event_query_has(const struct event_query *query, const json_t *event);
