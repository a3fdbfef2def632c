/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * event_log: a ring of JSON objects. Sequence numbers never repeat, so a follower asks for more by
 * the last it saw and notices when it was too slow. Times are wall-clock UTC with milliseconds (RFC
 * 3339): people compare them with other logs.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "fm/core/event_log.h"
#include "topology/mem.h"
#include "topology/text.h"

#define LEVELS (LOG_DEBUG - LOG_ERR + 1)

struct event_log {
	unsigned capacity;
	uint64_t next; /* sequence number of the next event */
	uint64_t added[LEVELS];
	json_t **ring;
	event_log_fn *fn;
	void *arg;
};

struct event_log *event_log_new(unsigned capacity)
{
	struct event_log *events = mem_alloc(1, sizeof(*events));

	events->capacity = capacity;
	events->ring = mem_alloc(capacity, sizeof(*events->ring));
	return events;
}

void event_log_free(struct event_log *events)
{
	if (!events)
		return;
	for (unsigned i = 0; i < events->capacity; i++)
		json_decref(events->ring[i]);
	free(events->ring);
	free(events);
}

static const char *level_name(enum log_level level)
{
	static const char *const names[] = { "error", "warning", "notice", "info", "debug" };

	return names[level - LOG_ERR];
}

void event_now(char when[EVENT_TIME])
{
	struct timespec now;
	struct tm utc;
	size_t used;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	used = strftime(when, EVENT_TIME, "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(when + used, EVENT_TIME - used, ".%03ldZ", now.tv_nsec / 1000000);
}

void event_log_add(struct event_log *events, enum log_level level, const char *kind,
		   json_t *details, const char *format, ...)
{
	char text[512], when[EVENT_TIME];
	json_t **place = &events->ring[events->next % events->capacity];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	text_clean(text, sizeof(text), text); /* a long one may be cut within a character */
	log_line(LOG_CORE, level, "%s", text);
	event_now(when);
	events->added[level - LOG_ERR]++;
	json_decref(*place);
	*place = json_pack("{sI ss ss ss so}", "seq", (json_int_t)events->next++, "time", when,
			   "level", level_name(level), "kind", kind, "text", json_string(text));
	if (details) {
		json_object_update(*place, details);
		json_decref(details);
	}
	if (events->fn)
		events->fn(events->arg, *place);
}

void event_log_listen(struct event_log *events, event_log_fn *fn, void *arg)
{
	events->fn = fn;
	events->arg = arg;
}

json_t *event_log_counts(const struct event_log *events)
{
	json_t *doc = json_object();

	for (int level = LOG_ERR; level <= LOG_DEBUG; level++)
		json_object_set_new(doc, level_name((enum log_level)level),
				    json_integer((json_int_t)events->added[level - LOG_ERR]));
	return doc;
}

json_t *event_log_json(const struct event_log *events, unsigned count)
{
	uint64_t held = events->next < events->capacity ? events->next : events->capacity;
	json_t *out = json_array();

	if (count < held)
		held = count;
	for (uint64_t seq = events->next - held; seq < events->next; seq++)
		json_array_append(out, events->ring[seq % events->capacity]);
	return out;
}
