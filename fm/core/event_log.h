/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * event_log: what happened, for operators: a ring of the newest events, each also one line in the
 * journal.
 */
#ifndef FMD_CORE_EVENT_LOG_H
#define FMD_CORE_EVENT_LOG_H

#include <jansson.h>
#include "fm/core/log.h"

struct event_log;

struct event_log *event_log_new(unsigned capacity);
void event_log_free(struct event_log *events); /* NULL is fine */

/*
 * kind: one word for programs ("fault", "reroute", "up" ..). The text has its subject first.
 * details: an object whose members are added to the event, or NULL; the reference is taken.
 */
void event_log_add(struct event_log *events, enum log_level level, const char *kind,
		   json_t *details, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Each event from now on, as it is added; one listener, which adds none. NULL = nobody. */
typedef void event_log_fn(void *arg, const json_t *event);
void event_log_listen(struct event_log *events, event_log_fn *fn, void *arg);

/*
 * The newest `count`, oldest first, as an array the caller owns:
 * {"seq","time","level","kind","text", details..}.
 */
json_t *event_log_json(const struct event_log *events, unsigned count);

/* How many were added of each level, {"error": ..}; the caller owns it. */
json_t *event_log_counts(const struct event_log *events);

#define EVENT_TIME 40
void event_now(char when[EVENT_TIME]); /* the wall-clock UTC, as in "time" */

#endif
