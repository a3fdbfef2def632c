/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <ctype.h>
#include <string.h>
#include "fm/control/show.h"

#define EVENTS_READ  10000
#define EVENTS_SHOWN 20

/* A letter of a name: "leaf-1" is no part of "leaf-10" or "my-leaf-1", but of "leaf-1 p4". */
static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.';
}

static bool speaks_of(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = text; len && at && (at = strstr(at, name)); at++) {
		char behind = at[len];

		if (behind == '.' && !in_name(at[len + 1]))
			behind = ' '; /* the end of a sentence */
		if ((at == text || !in_name(at[-1])) && !in_name(behind))
			return true;
	}
	return false;
}

static bool speaks_of_any(const json_t *row, const char *const names[], unsigned count)
{
	const char *text = json_string_value(json_object_get(row, "text"));

	for (unsigned i = 0; text && i < count; i++)
		if (speaks_of(text, names[i]))
			return true;
	return false;
}

static json_t *columns(const json_t *row, const char *const keys[], unsigned count)
{
	json_t *copy = json_object();

	for (unsigned i = 0; i < count; i++)
		if (json_object_get(row, keys[i]))
			json_object_set(copy, keys[i], json_object_get(row, keys[i]));
	return copy;
}

/* The newest of those rows that speak of it, oldest first. Takes the rows. */
static json_t *take_rows(json_t *rows, const char *const names[], unsigned count,
			 const char *const keys[], unsigned nkeys)
{
	json_t *list = json_array();

	for (size_t i = json_array_size(rows); i-- > 0 && json_array_size(list) < EVENTS_SHOWN;)
		if (speaks_of_any(json_array_get(rows, i), names, count))
			json_array_insert_new(list, 0,
					      columns(json_array_get(rows, i), keys, nkeys));
	json_decref(rows);
	return list;
}

void show_since(struct show *s, const char *key, const char *kind, const char *const names[],
		unsigned count)
{
	json_t *events = fabric_events(s->env->fabric, EVENTS_READ);

	for (size_t i = json_array_size(events); i-- > 0;) {
		const json_t *event = json_array_get(events, i);
		const char *is = json_string_value(json_object_get(event, "kind"));

		if (!is || strcmp(is, kind) || !speaks_of_any(event, names, count))
			continue;
		json_object_set(s->doc, key, json_object_get(event, "time"));
		break;
	}
	json_decref(events);
}

void show_news(struct show *s, const char *const names[], unsigned count)
{
	static const char *const alert[] = { "since", "what", "text" };
	static const char *const event[] = { "time", "level", "kind", "text" };

	json_object_set_new(s->doc, "alerts",
			    take_rows(fabric_alerts(s->env->fabric), names, count, alert, 3));
	json_object_set_new(
		s->doc, "events",
		take_rows(fabric_events(s->env->fabric, EVENTS_READ), names, count, event, 4));
}
