/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/events/event_query.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include "fm/events/event_time.h"
#include "fm/loop/log.h"

/* event_time: the times of events as texts. */

void event_time(char when[EVENT_TIME], const struct tm *utc, unsigned ms)
{
	size_t used = strftime(when, EVENT_TIME, "%Y-%m-%dT%H:%M:%S", utc);

	snprintf(when + used, EVENT_TIME - used, ".%03uZ", ms % 1000);
}

void event_now(char when[EVENT_TIME])
{
	struct timespec now;
	struct tm utc;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	event_time(when, &utc, (unsigned)(now.tv_nsec / 1000000));
}

/*
 * event_query: which events are asked for. Their times compare as texts (event_time.h).
 */

#define DAY_S	     86400
#define DURATION_MAX (1000 * 366.0 * DAY_S)

/* ---- Since ----------------------------------------------------------------------------------- */

static double unit_seconds(char unit)
{
	static const struct {
		char unit;
		double seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', DAY_S }, { 'w', 7 * DAY_S } };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (units[i].unit == unit)
			return units[i].seconds;
	return 0;
}

/* "90s"; false = it is none. */
static bool read_duration(const char *text, double *seconds)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	*seconds = strtod(text, &end) * unit_seconds(*end);
	return unit_seconds(*end) > 0 && !end[1] && *seconds <= DURATION_MAX;
}

/* What follows a time of day, "05:00", ":10", ".5", "Z"; all but the first may be missing. */
static const char *read_clock(const char *text, struct tm *utc, unsigned *ms)
{
	const char *at = strptime(text, "%H:%M", utc);
	char *end;

	utc->tm_sec = 0;
	*ms = 0;
	if (at && *at == ':')
		at = strptime(at, ":%S", utc);
	if (at && *at == '.' && isdigit((unsigned char)at[1])) {
		*ms = (unsigned)(strtod(at, &end) * 1000);
		at = end;
	}
	return at && *at == 'Z' ? at + 1 : at;
}

/* With its date, or the latest such time of day. */
static bool read_time(const char *text, time_t now, struct tm *utc, unsigned *ms)
{
	const char *at = text;
	bool dated = strchr(text, '-') != NULL;
	time_t when;

	gmtime_r(&now, utc);
	utc->tm_hour = utc->tm_min = utc->tm_sec = 0;
	*ms = 0;
	if (dated)
		at = strptime(text, "%Y-%m-%d", utc);
	if (at && dated && (*at == 'T' || *at == ' '))
		at = read_clock(at + 1, utc, ms);
	else if (at && !dated)
		at = read_clock(at, utc, ms);
	if (!at || *at)
		return false;
	when = timegm(utc);
	if (!dated && when > now)
		when -= DAY_S;
	return gmtime_r(&when, utc) != NULL;
}

bool event_query_since(struct event_query *query, const char *text)
{
	struct timespec now;
	struct tm utc;
	double seconds;
	unsigned ms;

	clock_gettime(CLOCK_REALTIME, &now);
	if (read_duration(text, &seconds)) {
		double then = (double)now.tv_sec + (double)now.tv_nsec / 1e9 - seconds;
		time_t when = (time_t)then;

		ms = (unsigned)((then - (double)when) * 1000) % 1000;
		if (then < 0 || !gmtime_r(&when, &utc))
			return false;
	} else if (!read_time(text, now.tv_sec, &utc, &ms)) {
		return false;
	}
	event_time(query->since, &utc, ms);
	return true;
}

/* ---- Matching -------------------------------------------------------------------------------- */

static bool is_listed(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, word, len) && (!at[len] || at[len] == ','))
			return true;
	}
	return false;
}

/* Goes on within a name: "leaf-1" is no word of "leaf-10" or "leaf-1-2". */
static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("-_.", c)) || (unsigned char)c >= 0x80;
}

/* A mark at the end of a sentence belongs to no name. */
static bool ends_name(const char *at)
{
	return !is_of_name(*at) || (strchr(".-", *at) && !is_of_name(at[1]));
}

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = text; (at = strcasestr(at, word)); at++)
		if ((at == text || !is_of_name(at[-1])) && ends_name(at + len))
			return true;
	return false;
}

static bool is_about(const json_t *event, const char *subject)
{
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)event, key, value)
		if (json_is_string(value) && has_word(json_string_value(value), subject))
			return true;
	return false;
}

static bool is_about_any(const struct event_query *query, const json_t *event)
{
	if (!*query->subjects[0])
		return true;
	for (unsigned i = 0; i < EVENT_SUBJECTS && *query->subjects[i]; i++)
		if (is_about(event, query->subjects[i]))
			return true;
	return false;
}

static const char *text_of(const json_t *event, const char *key)
{
	const char *text = json_string_value(json_object_get(event, key));

	return text ? text : "";
}

bool event_query_has(const struct event_query *query, const json_t *event)
{
	int level = query->level ? log_level_parse(text_of(event, "level")) : 0;

	return (!query->level || (level >= 0 && level <= query->level)) &&
	       strcmp(text_of(event, "time"), query->since) >= 0 &&
	       (!*query->kinds || is_listed(query->kinds, text_of(event, "kind"))) &&
	       is_about_any(query, event);
}
