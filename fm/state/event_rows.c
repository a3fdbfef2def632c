/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/state/event_rows.h"
#include <inttypes.h>
#include "fm/os/helper.h"
#include "topology/base/mem.h"

struct event_rows {
	struct state *state;
	struct event_log *events;
	json_t *read; /* rows, until they are in the log */
	struct alerts *alerts;
	struct hook *hook;
	bool configured, held;
	bool known;    /* how far the program came, in this run or an earlier one */
	bool running;  /* for the event `next`, or that waits to be tried again */
	uint64_t next; /* the first event that the program has not taken */
};

/* ---- The operators' program ------------------------------------------------------------------ */

static bool take_next(void *owner, const char *line)
{
	struct event_rows *rows = owner;

	rows->known = sscanf(line, "next %" SCNu64, &rows->next) == 1;
	return rows->known;
}

static const struct state_kind next_kind = { .name = "event_hook",
					     .form = "`next NUMBER`",
					     .line = take_next };

#define JSON_MAX 24000 /* of a hook's variables; a longer event goes without its details */

static char *event_text(const json_t *event)
{
	static const char *const keys[] = { "seq", "time", "level", "kind", "text" };
	char *text = json_dumps(event, JSON_COMPACT);

	if (strlen(text) > JSON_MAX) {
		json_t *brief = json_object();

		for (unsigned i = 0; i < ARRAY_SIZE(keys); i++)
			json_object_set(brief, keys[i], json_object_get(event, keys[i]));
		event_subject_copy(event, brief);
		free(text);
		text = json_dumps(brief, JSON_COMPACT);
		json_decref(brief);
	}
	return text;
}

static void run_next(struct event_rows *rows)
{
	const uint64_t end = event_log_next(rows->events);
	char number[24];

	if (!rows->configured || rows->held || rows->running)
		return;
	if (rows->next > end || end - rows->next > EVENTS_KEPT)
		rows->next = end > EVENTS_KEPT ? end - EVENTS_KEPT : 0;
	while (rows->next < end && !event_log_at(rows->events, rows->next))
		rows->next++;
	if (rows->next == end)
		return;

	char *text = event_text(event_log_at(rows->events, rows->next));

	rows->running = true;
	array_printf(number, "%" PRIu64, rows->next);
	hook_run(rows->hook,
		 &(struct hook_call){ .host = number,
				      .more = &(struct hook_variable){ "FMD_EVENT", text },
				      .count = 1 });
	free(text);
}

static void hook_done(void *arg, const char *number, const char *error)
{
	struct event_rows *rows = arg;
	char line[32];

	if (error) { /* it is run again by itself */
		alert_raise(rows->alerts, "event-hook", NULL,
			    "event_hook failed for event %s, later ones wait: %s", number, error);
		return;
	}
	alert_end(rows->alerts, "event-hook", NULL);
	rows->running = false;
	rows->known = true;
	rows->next = strtoull(number, NULL, 10) + 1;
	array_printf(line, "next %" PRIu64, rows->next);
	state_put(rows->state, &next_kind, rows, line);
	run_next(rows);
}

void event_rows_configure(struct event_rows *rows, const char *program, unsigned timeout_ms)
{
	if (!rows->known)
		rows->next = event_log_next(rows->events);
	rows->configured = *program;
	rows->running &= rows->configured;
	hook_configure(rows->hook, program, timeout_ms, false);
	run_next(rows);
}

void event_rows_hold(struct event_rows *rows, bool held)
{
	rows->held = held;
	hook_hold(rows->hook, held);
	run_next(rows);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static bool take_event(void *owner, const char *line)
{
	const struct event_rows *rows = owner;
	const char *text = strchr(line, ' ');
	json_t *event = text ? json_loads(text, 0, NULL) : NULL;

	return json_is_object(event) && !json_array_append_new(rows->read, event);
}

/* The caller's; NULL = the log does not have it. */
static char *event_line(const struct event_rows *rows, uint64_t seq)
{
	char *text = json_dumps(event_log_at(rows->events, seq), JSON_COMPACT);
	char *line = text ? mem_printf("%" PRIu64 " %s", seq, text) : NULL;

	free(text);
	return line;
}

/* A place is a number of an event. */
static uint64_t write_events(const void *owner, uint64_t from, FILE *out)
{
	const struct event_rows *rows = owner;
	uint64_t next = event_log_next(rows->events), end;

	if (next > EVENTS_KEPT && from < next - EVENTS_KEPT)
		from = next - EVENTS_KEPT;
	end = from + STATE_LINES < next ? from + STATE_LINES : next;
	for (; from < end; from++) {
		char *line = event_line(rows, from);

		if (line)
			fprintf(out, "%s\n", line);
		free(line);
	}
	return end < next ? end : 0;
}

static const struct state_kind events_kind = {
	.name = "events", .form = "an event", .line = take_event, .write = write_events
};

void event_rows_added(struct event_rows *rows)
{
	uint64_t seq = event_log_next(rows->events) - 1;
	char *line = event_line(rows, seq), gone[24];

	if (line)
		state_put(rows->state, &events_kind, rows, line);
	free(line);
	array_printf(gone, "%" PRIu64, seq - EVENTS_KEPT);
	if (seq >= EVENTS_KEPT)
		state_remove(rows->state, &events_kind, rows, gone);
	run_next(rows);
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
	state_read(rows->state, &next_kind, rows);
}

struct event_rows *event_rows_new(struct loop *loop, struct state *state, struct event_log *events,
				  struct alerts *alerts)
{
	struct event_rows *rows = mem_new(rows);

	*rows = (struct event_rows){
		.state = state, .events = events, .alerts = alerts, .held = true
	};
	rows->hook = hook_new(loop, HELPER_EVENT_HOOK, hook_done, rows);
	hook_hold(rows->hook, true);
	read_rows(rows, event_log_restore);
	rows->next = event_log_next(events);
	state_read(state, &next_kind, rows);
	return rows;
}

void event_rows_free(struct event_rows *rows)
{
	if (rows)
		hook_free(rows->hook);
	free(rows);
}
