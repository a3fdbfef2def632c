/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* option: the options of commands, for fmd and for fmctl. */
#include <ctype.h>
#include <strings.h>
#include "fm/control/option.h"
#include "fm/events/event_log.h"
#include "fm/events/event_query.h"
#include "fm/loop/log.h"
#include "fm/nvswitch/module.h"
#include "topology/base/mem.h"
#include "topology/base/names.h"
#include "topology/base/sort.h"
#include "topology/base/text.h"
#include "topology/what/what.h"

/* ---- One row a word of usage, as commands.def writes it -------------------------------------- */

#define TTL_MAX_S 86400

typedef bool check_fn(const char *text, char *err, size_t err_size);

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

	return event_query_since(&query, text) ||
	       text_wrong(err, err_size,
			  "%.64s: a time (2026-11-23T05:00 or 05:00, UTC) or a duration (90s, 15m, "
			  "2h, 3d) is expected",
			  text);
}

static bool is_kind(const char *text, char *err, size_t err_size)
{
	struct near_names near = { 0 };
	const char *kind;

	for (unsigned i = 0; (kind = event_kind_at(i)); i++) {
		if (!strcmp(kind, text))
			return true;
		near_names_add(&near, text, kind);
	}
	snprintf(err, err_size, "no events are of kind '%.64s'", text);
	near_names_say(&near, err, err_size);
	if (!near.count)
		text_add(err, err_size, "; fmd-events(7) has all");
	return false;
}

/* One, or several with a comma between. */
static bool are_kinds(const char *text, char *err, size_t err_size)
{
	char kind[sizeof(((struct event_query *)0)->kinds)];

	if (strlen(text) >= sizeof(kind))
		return text_wrong(err, err_size, "too many kinds");
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
	return log_level_parse(text) >= 0 ||
	       text_wrong(err, err_size,
			  "unknown level %.64s: error, warning, notice, info or debug is expected",
			  text);
}

static bool is_module(const char *text, char *err, size_t err_size)
{
	const char *name;

	if (log_module_parse(text) >= 0)
		return true;
	snprintf(err, err_size, "unknown module %.64s: ", text);
	for (int i = 0; (name = log_module_name(i)); i++)
		text_add(err, err_size, "%s%s", i ? ", " : "", name);
	text_add(err, err_size, " are the modules");
	return false;
}

/* ---- NVLinks --------------------------------------------------------------------------------- */

/* Of an operator's word. */
static bool is_state(const char *text, char *err, size_t err_size)
{
	return nvlink_is_state(text, false) ||
	       text_wrong(
		       err, err_size,
		       "unknown state %.64s: HEALTHY, DEGRADED_LINK, NO_P2P or FATAL is expected",
		       text);
}

static bool is_reported_state(const char *text, char *err, size_t err_size)
{
	return nvlink_is_state(text, true) ||
	       text_wrong(
		       err, err_size,
		       "unknown state %.64s: HEALTHY, DEGRADED_LINK, NO_P2P, FATAL or UNKNOWN is "
		       "expected",
		       text);
}

static bool is_host_state(const char *text, char *err, size_t err_size)
{
	const char *state = strrchr(text, '=');

	if (state && state > text)
		return is_state(state + 1, err, err_size);
	return text_wrong(err, err_size, "%.80s: HOST=STATE is expected", text);
}

static bool is_ttl(const char *text, char *err, size_t err_size)
{
	char *end;
	double seconds = strtod(text, &end);

	return (isdigit((unsigned char)*text) && !*end && seconds >= 1 && seconds <= TTL_MAX_S) ||
	       text_wrong(err, err_size, "%.64s: a TTL of 1 to %d seconds is expected", text,
			  TTL_MAX_S);
}

/* ---- */

static const struct {
	const char *word; /* of usage; in small letters a row's word */
	check_fn *check;  /* NULL = any text */
} values[] = {
	/* places, which the fabric has or has not */
	{ "WHAT", what_is_sound },
	{ "what", what_is_sound },
	{ "port", what_is_sound },
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
	{ "COLUMN", NULL },	     /* by the command's columns (option.h) */
	{ "manager", is_something }, /* of those that are there */
	{ "source", is_something },
	{ "FILE", NULL },
	{ "reason", NULL },
	{ "text", NULL },
};

bool value_is_known(const char *word)
{
	return any_of(i, 0, ARRAY_SIZE(values), !strcmp(values[i].word, word));
}

bool value_check(const char *word, const char *text, char *err, size_t err_size)
{
	ARRAY_EACH (value, values, ARRAY_SIZE(values))
		if (value->check && !strcmp(value->word, word))
			return value->check(text, err, err_size);
	return true;
}

/* ---- Option ---------------------------------------------------------------------------------- */

/* In the order of the bits of enum command_filter. */
static const struct command_option filters[] = {
	OPTION("leaf", "LEAF", "a leaf switch and what is connected to it"),
	OPTION("rail", "RAIL", "of a rail, counted from 0", .number = true),
	OPTION("su", "SU", "of a scalable unit, counted from 1", .number = true, .least = 1),
	OPTION("host", "HOST", "a host's HCAs and what they are connected to"),
	OPTION("down", NULL, "with a link that is down"),
	OPTION("unhealthy", NULL, "with unhealthy links, or of hosts that have such links"),
	OPTION("class", "compute|storage|management", "of HCAs of this class"),
};
static const struct command_option sort =
	OPTION("sort", "COLUMN", "sort by a column; -COLUMN: largest first");

const struct command_option *command_option_at(const struct command *command, unsigned index)
{
	const struct command_option *own = command->options;

	for (unsigned bit = 0; bit < ARRAY_SIZE(filters); bit++)
		if (command->filters & 1u << bit && !index--)
			return &filters[bit];
	for (; own && own->name; own++)
		if (!index--)
			return own;
	return command->columns && !command->in_order && !index ? &sort : NULL;
}

const struct command_option *command_option_find(const struct command *command, const char *name)
{
	const struct command_option *option;

	for (unsigned i = 0; (option = command_option_at(command, i)); i++)
		if (!strcmp(option->name, name))
			return option;
	return NULL;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static json_t *read_number(const struct command_option *option, const char *text, char *err,
			   size_t err_size)
{
	size_t digits = strspn(text, "0123456789");
	long number = strtol(text, NULL, 10);

	if (digits && digits < 10 && !text[digits] && number >= option->least &&
	    (!option->most || number <= option->most))
		return json_integer(number);
	if (option->most)
		snprintf(err, err_size, "%s %.64s: a whole number from %d to %d is expected",
			 option->name, text, option->least, option->most);
	else
		snprintf(err, err_size, "%s %.64s: a whole number of %d or more is expected",
			 option->name, text, option->least);
	return NULL;
}

int command_option_put(const struct command_option *option, const char *text, json_t *args,
		       char *err, size_t err_size)
{
	json_t *value = NULL;
	int used;

	if (!option->value)
		value = json_true();
	else if (!text || !*text)
		snprintf(err, err_size, "%s: a value is expected: %s", option->name, option->value);
	else if (option->number)
		value = read_number(option, text, err, err_size);
	else if (strchr(option->value, '|') && option->value[0] >= 'a' &&
		 !text_has_word(option->value, '|', text))
		snprintf(err, err_size, "%s %s: one of %s is expected", option->name, text,
			 option->value);
	else if (!(value = json_string(text)))
		snprintf(err, err_size, "%s: the value is not text in UTF-8", option->name);
	else if ((used = snprintf(err, err_size, "%s: ", option->name)) >= 0 &&
		 !value_check(option->value, text, err + used, err_size - used)) {
		json_decref(value);
		value = NULL;
	}
	if (!value)
		return -1;
	*err = '\0';
	json_object_set_new(args, option->key ? option->key : option->name, value);
	return 0;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

const struct table_column *command_column_find(const struct command *command, const char *text)
{
	const struct table_column *column = command->columns;

	for (; column && column->title; column++) {
		size_t len = strcspn(column->key, "+/["); /* without what is added for people */

		if (!strcasecmp(column->title, text) ||
		    (strlen(text) == len && !strncmp(column->key, text, len)))
			return column;
	}
	return NULL;
}

json_t *command_rows(const struct command *command, json_t *result)
{
	json_t *rows = command->rows ? json_object_get(result, command->rows) : result;

	return json_is_array(rows) ? rows : NULL;
}

const json_t *table_value(const json_t *row, const char *key)
{
	while (row) {
		size_t len = strcspn(key, ".+/[");

		row = json_object_getn(row, key, len);
		if (key[len] != '.')
			break;
		key += len + 1;
	}
	return row;
}
