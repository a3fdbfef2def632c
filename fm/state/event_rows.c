/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/state/event_rows.h"
#include <inttypes.h>
#include "topology/base/mem.h"

struct event_rows {
	struct state *state;
	struct event_log *events;
	json_t *read; /* rows, until they are in the log */
};

static bool take_event(void *owner, const char *line)
{
	const struct event_rows *rows = owner;
	const char *text = strchr(line, ' ');
	json_t *event = text ? json_loads(text, 0, NULL) : NULL;

	return json_is_object(event) && !json_array_append_new(rows->read, event);
}

static void write_event(const struct event_rows *rows, uint64_t seq, FILE *out)
{
	const json_t *event = event_log_at(rows->events, seq);

	if (!event)
		return;
	fprintf(out, "%" PRIu64 " ", seq);
	json_dumpf(event, out, JSON_COMPACT);
	fputc('\n', out);
}

static void write_events(const void *owner, FILE *out)
{
	const struct event_rows *rows = owner;
	uint64_t next = event_log_next(rows->events);

	for (uint64_t seq = next > EVENTS_KEPT ? next - EVENTS_KEPT : 0; seq < next; seq++)
		write_event(rows, seq, out);
}

static const struct state_kind events_kind = {
	.name = "events", .form = "an event", .line = take_event, .write = write_events
};

void event_rows_added(struct event_rows *rows)
{
	uint64_t seq = event_log_next(rows->events) - 1;
	char *line = NULL, gone[24];
	size_t length;
	FILE *out = open_memstream(&line, &length);

	write_event(rows, seq, out);
	fclose(out);
	if (length)
		line[length - 1] = '\0';
	if (length)
		state_put(rows->state, &events_kind, rows, line);
	free(line);
	array_printf(gone, "%" PRIu64, seq - EVENTS_KEPT);
	if (seq >= EVENTS_KEPT)
		state_remove(rows->state, &events_kind, rows, gone);
}

static void read_rows(struct event_rows *rows,
		      void (*take)(struct event_log *events, const json_t *list))
{
	rows->read = json_array();
	state_read(rows->state, &events_kind, rows);
	take(rows->events, rows->read);
	json_decref(rows->read);
	state_changed(rows->state, &events_kind, rows);
}

void event_rows_merge(struct event_rows *rows)
{
	read_rows(rows, event_log_merge);
}

struct event_rows *event_rows_new(struct state *state, struct event_log *events)
{
	struct event_rows *rows = mem_new(rows);

	rows->state = state;
	rows->events = events;
	read_rows(rows, event_log_restore);
	return rows;
}
