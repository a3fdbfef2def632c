/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* value: one row a word of usage, as commands.def writes it. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/control/value.h"
#include "fm/events/event_kinds.h"
#include "fm/events/event_query.h"
#include "fm/loop/log.h"
#include "fm/nvswitch/module.h"
#include "topology/base/names.h"
#include "topology/what/what.h"

#define TTL_MAX_S 86400

typedef bool check_fn(const char *text, char *err, size_t err_size);

static bool is_any(const char *text, char *err, size_t err_size)
{
	return true;
}

static bool is_something(const char *text, char *err, size_t err_size)
{
	if (!*text)
		snprintf(err, err_size, "a name is expected");
	return *text;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static bool is_time(const char *text, char *err, size_t err_size)
{
	struct event_query query = { 0 };

	if (event_query_since(&query, text))
		return true;
	snprintf(err, err_size,
		 "%.64s: a time (2026-11-23T05:00 or 05:00, UTC) or a duration (90s, 15m, 2h, 3d) "
		 "is expected",
		 text);
	return false;
}

static bool is_kind(const char *text, char *err, size_t err_size)
{
	struct near_names near = { 0 };
	const char *kind;

	for (unsigned i = 0; (kind = event_kind_at(i)); i++)
		if (!strcmp(kind, text))
			return true;
	for (unsigned i = 0; (kind = event_kind_at(i)); i++)
		near_names_add(&near, text, kind);
	snprintf(err, err_size, "no events are of kind '%.64s'", text);
	near_names_say(&near, err, err_size);
	if (!near.count)
		snprintf(err + strlen(err), err_size - strlen(err), "; fmd-events(7) has all");
	return false;
}

/* One, or several with a comma between. */
static bool are_kinds(const char *text, char *err, size_t err_size)
{
	char kind[sizeof(((struct event_query *)0)->kinds)];

	if (strlen(text) >= sizeof(kind)) {
		snprintf(err, err_size, "too many kinds");
		return false;
	}
	for (const char *at = text;; at++) {
		size_t len = strcspn(at, ",");

		memcpy(kind, at, len);
		kind[len] = '\0';
		if (!is_kind(kind, err, err_size))
			return false;
		at += len;
		if (!*at)
			return true;
	}
}

/* ---- The daemon ------------------------------------------------------------------------------ */

static bool is_level(const char *text, char *err, size_t err_size)
{
	if (log_level_parse(text) >= 0)
		return true;
	snprintf(err, err_size,
		 "unknown level %.64s: error, warning, notice, info or debug is expected", text);
	return false;
}

static bool is_module(const char *text, char *err, size_t err_size)
{
	const char *name;

	if (log_module_parse(text) >= 0)
		return true;
	snprintf(err, err_size, "unknown module %.64s: ", text);
	for (int i = 0; (name = log_module_name(i)); i++)
		snprintf(err + strlen(err), err_size - strlen(err), "%s%s", i ? ", " : "", name);
	snprintf(err + strlen(err), err_size - strlen(err), " are the modules");
	return false;
}

/* ---- NVLinks --------------------------------------------------------------------------------- */

/* Of an operator's word. */
static bool is_state(const char *text, char *err, size_t err_size)
{
	if (nvlink_is_state(text, false))
		return true;
	snprintf(err, err_size,
		 "unknown state %.64s: HEALTHY, DEGRADED_LINK, NO_P2P or FATAL is expected", text);
	return false;
}

static bool is_reported_state(const char *text, char *err, size_t err_size)
{
	if (nvlink_is_state(text, true))
		return true;
	snprintf(err, err_size,
		 "unknown state %.64s: HEALTHY, DEGRADED_LINK, NO_P2P, FATAL or UNKNOWN is "
		 "expected",
		 text);
	return false;
}

static bool is_host_state(const char *text, char *err, size_t err_size)
{
	const char *state = strrchr(text, '=');

	if (state && state > text)
		return is_state(state + 1, err, err_size);
	snprintf(err, err_size, "%.80s: HOST=STATE is expected", text);
	return false;
}

static bool is_ttl(const char *text, char *err, size_t err_size)
{
	char *end;
	double seconds = strtod(text, &end);

	if (isdigit((unsigned char)*text) && !*end && seconds >= 1 && seconds <= TTL_MAX_S)
		return true;
	snprintf(err, err_size, "%.64s: a TTL of 1 to %d seconds is expected", text, TTL_MAX_S);
	return false;
}

/* ---- */

static const struct {
	const char *word; /* of usage; in small letters a row's word */
	check_fn *check;
} values[] = {
	/* places, which the fabric has or has not */
	{ "WHAT", what_is_sound },
	{ "what", what_is_sound },
	{ "WHERE", what_is_sound },
	{ "LEAF", what_is_sound },
	{ "HOST", what_is_sound },
	{ "host", what_is_sound },
	{ "switch", what_is_sound },
	{ "from", what_is_sound },
	{ "to", what_is_sound },
	{ "group", what_is_sound },
	{ "partition", what_is_sound },
	/* words and times */
	{ "TIME|DURATION", is_time },
	{ "KIND", are_kinds },
	{ "LEVEL", is_level },
	{ "MODULE", is_module },
	{ "STATE", is_state },
	{ "HOST=STATE", is_host_state },
	{ "state", is_reported_state },
	{ "ttl", is_ttl },
	/* any text */
	{ "COLUMN", is_any },	     /* by the command's columns (option.h) */
	{ "manager", is_something }, /* of those that are there */
	{ "source", is_something },
	{ "reason", is_any },
	{ "text", is_any },
};

static check_fn *check_of(const char *word)
{
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		if (!strcmp(values[i].word, word))
			return values[i].check;
	return NULL;
}

bool value_is_known(const char *word)
{
	return check_of(word);
}

bool value_check(const char *word, const char *text, char *err, size_t err_size)
{
	check_fn *check = check_of(word);

	return !check || check(text, err, err_size);
}
