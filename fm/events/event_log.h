/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * event_log: what happened, for operators: a ring of the newest events, each also one line in the
 * journal.
 */
#pragma once

#include <jansson.h>
#include <time.h>
#include "fm/loop/log.h"
#include "topology/snapshot/topo.h"

struct event_log;
struct event_query;

/* An empty ring of the caller's that keeps the newest `capacity` events; never NULL. */
struct event_log *event_log_new(unsigned capacity);
void event_log_free(struct event_log *events); /* NULL is fine */

/*
 * What an event or an alert is about, as data: programs and commands go by it, never by the text.
 * A member that is 0 or NULL is left out; without any it is about the fabric. Texts are borrowed.
 */
struct event_subject {
	guid_t node, peer;		   /* a device, and the one at the other end of its link */
	uint8_t port, peer_port;	   /* their ports, 0 = the whole device */
	const char *node_name, *peer_name; /* as they are called at the time */
	const char *host;		   /* the machine: of an HCA, its own */
	uint16_t mlid, pkey;		   /* a multicast group, a partition */
	const char *name;		   /* of an alert: "subject" of its JSON, for people */
	json_t *ports; /* of an alert: where its device shows, "ports" of its JSON; borrowed */
};

/* A device, and a port with what its link leads to: by index, TOPO_NONE = nothing. Of its texts. */
struct event_subject event_subject_node(const struct topo *t, uint32_t node);
struct event_subject event_subject_port(const struct topo *t, uint32_t port);
/* Adds the members "node", "port" to "pkey" that are set in it; NULL is fine. */
void event_subject_put(const struct event_subject *subject, json_t *to);
/* Adds these members of an event; NULL is fine. */
void event_subject_copy(const json_t *event, json_t *to);

/*
 * kind: one word for programs ("fault", "reroute", "up" ..). The text has its subject first.
 * subject: read within the call; NULL = the fabric. details: an object whose members are added to
 * the event, or NULL; the reference is taken.
 */
void event_log_add(struct event_log *events, enum log_level level, const char *kind,
		   const struct event_subject *subject, json_t *details, const char *format, ...)
	__attribute__((format(printf, 6, 7)));

/*
 * Puts the events of an earlier run before those of this one: rows as of event_log_json(), oldest
 * first. Numbers of this run continue behind theirs. Rows that are no events are left out. The
 * array is borrowed.
 */
void event_log_restore(struct event_log *events, const json_t *rows);
/*
 * The same where this log may have some of the rows already, and others are another manager's: what
 * it has besides stands among them by its time. Rows keep their numbers as far as they can; the
 * next event's number does not go back.
 */
void event_log_merge(struct event_log *events, const json_t *rows);
/* "manager" of events from now on: copied, cut at 63 bytes. Without it they have none. */
void event_log_set_manager(struct event_log *events, const char *name);
uint64_t event_log_next(const struct event_log *events); /* number of the next event */
/* Borrowed until the next one is added; NULL = it is not held (any more). */
const json_t *event_log_at(const struct event_log *events, uint64_t seq);

/* Each event from now on, as it is added; one listener, which adds none. NULL = nobody. */
typedef void event_log_fn(void *arg, const json_t *event);
void event_log_listen(struct event_log *events, event_log_fn *fn, void *arg);

/*
 * The newest `count`, oldest first, as an array the caller owns:
 * {"seq","time","level","kind","text", details..}.
 */
json_t *event_log_json(const struct event_log *events, unsigned count);
/* The same of the events that match the query (event_query.h): the newest `count`, the caller's. */
json_t *event_log_find(const struct event_log *events, const struct event_query *query,
		       unsigned count);

/* How many were added of each level, {"error": ..}; the caller owns it. */
json_t *event_log_counts(const struct event_log *events);

/*
 * The words of "kind" (fmd-events(7)) in turn, by the alphabet, static; NULL = no more. A new kind
 * of event is added to that list, event_kinds.c.
 */
const char *event_kind_at(unsigned index);

/*
 * The times of events: RFC 3339 in UTC with milliseconds, all written alike, so that they compare
 * as texts.
 */
#define EVENT_TIME 40
void event_now(char when[EVENT_TIME]); /* the wall-clock UTC, as in "time" */
void event_time(char when[EVENT_TIME], const struct tm *utc, unsigned ms); /* any other */
