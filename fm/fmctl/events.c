/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * events: what happened, a line each, so that `events -f` and grep go together. A fault and what
 * was made of it (rerouted, restored) are one line where both are at hand: events of one fault have
 * the number of its first in "fault".
 */
#include <string.h>
#include "fm/fmctl/fmctl.h"

static const char *text_of(const json_t *event, const char *key)
{
	const char *text = json_string_value(json_object_get(event, key));

	return text ? text : "";
}

static bool is_answer(const json_t *event)
{
	const char *kind = text_of(event, "kind");

	return !strcmp(kind, "rerouted") || !strcmp(kind, "restored");
}

/* Numbers rise, but for gaps. */
static const json_t *find_number(const json_t *events, json_int_t number)
{
	size_t low = 0, high = json_array_size(events);

	while (low < high) {
		size_t at = (low + high) / 2;
		const json_t *event = json_array_get(events, at);
		json_int_t seq = json_integer_value(json_object_get(event, "seq"));

		if (seq == number)
			return event;
		if (seq < number)
			low = at + 1;
		else
			high = at;
	}
	return NULL;
}

/* What stands in the answer's text behind the fault's name. */
static const char *answer_of(const json_t *event)
{
	const char *text = text_of(event, "text"), *what = text_of(event, "what");
	size_t len = strlen(what);

	return len && !strncmp(text, what, len) && !strncmp(text + len, ": ", 2) ? text + len + 2
										 : text;
}

/* The answer to the fault that the event is the first to tell of; NULL = none is at hand. */
static const json_t *find_answer(const json_t *events, size_t index)
{
	const json_t *event = json_array_get(events, index), *other;
	json_int_t fault = json_integer_value(json_object_get(event, "fault"));

	if (!fault || fault != json_integer_value(json_object_get(event, "seq")))
		return NULL;
	while ((other = json_array_get(events, ++index)))
		if (is_answer(other) &&
		    json_integer_value(json_object_get(other, "fault")) == fault)
			return other;
	return NULL;
}

/* They are of more than one manager: who took over has its master's events, too. */
static bool are_of_many(const json_t *events)
{
	const json_t *first = json_object_get(json_array_get(events, 0), "manager"), *event;
	size_t index;

	json_array_foreach ((json_t *)events, index, event)
		if (json_object_get(event, "manager") != first &&
		    !json_equal(json_object_get(event, "manager"), first))
			return true;
	return false;
}

static void print_event(const struct fmctl *ctl, const json_t *event, const json_t *answer,
			bool named)
{
	const char *level = text_of(event, "level");
	bool bad = ctl->colour && (!strcmp(level, "error") || !strcmp(level, "warning"));

	printf("%s  %-7s  ", text_of(event, "time"), level);
	if (named)
		printf("%s  ", json_object_get(event, "manager") ? text_of(event, "manager") : "-");
	printf("%s%s%s", bad ? "\033[31m" : "", text_of(event, "text"), bad ? "\033[0m" : "");
	if (answer)
		printf("; %s", answer_of(answer));
	putchar('\n');
}

static void show_events(const struct fmctl *ctl, const json_t *events)
{
	const bool named = are_of_many(events);
	const json_t *event;
	size_t index;

	json_array_foreach ((json_t *)events, index, event) {
		json_int_t fault = json_integer_value(json_object_get(event, "fault"));

		if (ctl->json) {
			json_dumpf(event, stdout, JSON_COMPACT);
			putchar('\n');
		} else if (!is_answer(event) || !find_number(events, fault)) {
			print_event(ctl, event, find_answer(events, index), named);
		}
	}
}

static enum fmctl_exit run_events(const struct fmctl *ctl, int argc, char **argv)
{
	json_t *args = json_object();
	int first = fmctl_read_options(ctl->command, argc, argv, args);
	bool follow = json_is_true(json_object_get(args, "follow"));

	json_object_del(args, "follow");
	if (first != argc) {
		json_decref(args);
		return FMCTL_USAGE;
	}
	return follow ? fmctl_ask_events(ctl, args, show_events)
		      : fmctl_ask_and_show(ctl, "events", args, show_events);
}
const struct fmctl_view events_view = { .run = run_events };
