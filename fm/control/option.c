/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* option: the options of commands, for fmd and for fmctl. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "fm/control/option.h"
#include "fm/control/value.h"

/* In the order of the bits of enum command_filter. */
static const struct command_option filters[] = {
	OPTION("leaf", "LEAF", "a leaf switch and what is connected to it"),
	OPTION("rail", "RAIL", "of a rail, counted from 0", .number = true),
	OPTION("su", "SU", "of a scalable unit, counted from 1", .number = true, .least = 1),
	OPTION("host", "HOST", "a host's HCAs and what they are connected to"),
	OPTION("down", NULL, "with a link that is down"),
	OPTION("unhealthy", NULL, "with unhealthy links, or of hosts that have such links"),
	OPTION("class", "compute|storage|management|idle|crossrail", "of HCAs of this class"),
};
static const struct command_option sort =
	OPTION("sort", "COLUMN", "sort by a column; -COLUMN: largest first");

const struct command_option *command_option_at(const struct command *command, unsigned index)
{
	const struct command_option *own = command->options;

	for (unsigned bit = 0; bit < sizeof(filters) / sizeof(filters[0]); bit++)
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

static bool is_choice(const struct command_option *option)
{
	return strchr(option->value, '|') && option->value[0] >= 'a';
}

static bool is_one_of(const char *choices, const char *text)
{
	size_t len = strlen(text), part;

	for (; *choices; choices += part + (choices[part] == '|')) {
		part = strcspn(choices, "|");
		if (part == len && !strncmp(choices, text, len))
			return true;
	}
	return false;
}

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

static json_t *read_text(const struct command_option *option, const char *text, char *err,
			 size_t err_size)
{
	json_t *value = json_string(text);
	int used = snprintf(err, err_size, "%s: ", option->name);

	if (!value)
		snprintf(err, err_size, "%s: the value is not text in UTF-8", option->name);
	else if (value_check(option->value, text, err + used, err_size - (size_t)used))
		return value;
	json_decref(value);
	return NULL;
}

int command_option_put(const struct command_option *option, const char *text, json_t *args,
		       char *err, size_t err_size)
{
	json_t *value = NULL;

	if (!option->value)
		value = json_true();
	else if (!text || !*text)
		snprintf(err, err_size, "%s: a value is expected: %s", option->name, option->value);
	else if (option->number)
		value = read_number(option, text, err, err_size);
	else if (is_choice(option) && !is_one_of(option->value, text))
		snprintf(err, err_size, "%s %s: one of %s is expected", option->name, text,
			 option->value);
	else
		value = read_text(option, text, err, err_size);
	if (!value)
		return -1;
	*err = '\0';
	json_object_set_new(args, option->key ? option->key : option->name, value);
	return 0;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Without what is added for people. */
static bool is_key(const char *key, const char *text)
{
	size_t len = strcspn(key, "+/[");

	return strlen(text) == len && !strncmp(key, text, len);
}

const struct table_column *command_column_find(const struct command *command, const char *text)
{
	const struct table_column *column = command->columns;

	for (; column && column->title; column++)
		if (!strcasecmp(column->title, text) || is_key(column->key, text))
			return column;
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
