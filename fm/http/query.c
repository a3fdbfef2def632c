/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * query: a command's row has its options: filters and options (fm/control/option.h), and others in
 * its usage, `[-n N] [--format FORMAT]`: there a name that is followed by a blank and a word takes
 * a value, and one followed by N a number.
 */
#include <errno.h>
#include "fm/control/option.h"
#include "fm/http/query.h"
#include "topology/base/sort.h"

#define NAME_END " ]|[="

enum kind { NO_OPTION, FLAG, NUMBER, TEXT };

static const struct { /* options whose argument has another name */
	const char *option, *arg;
} renamed[] = { { "n", "count" } };

static enum kind option_kind(const struct command *command, const char *key)
{
	size_t len = strlen(key);

	for (const char *at = command->arguments; (at = strchr(at, '-'));) {
		size_t dashes = strspn(at, "-"), name = strcspn(at + dashes, NAME_END);

		at += dashes;
		if (len && name == len && !strncmp(at, key, len) && dashes == (len > 1 ? 2 : 1)) {
			/* `after` follows the option's name in the usage. */
			const char *after = at + name;

			if (*after != ' ' && *after != '=')
				return FLAG;
			after += strspn(after, " =");
			if (strchr("|[-", *after))
				return FLAG;
			return *after == 'N' && strchr(NAME_END, after[1]) ? NUMBER : TEXT;
		}
		at += name;
	}
	return NO_OPTION;
}

static const char *arg_name(const char *option)
{
	for (size_t i = 0; i < ARRAY_SIZE(renamed); i++)
		if (!strcmp(renamed[i].option, option))
			return renamed[i].arg;
	return option;
}

static bool read_number(const char *value, long long *number)
{
	char *end;

	errno = 0;
	*number = value ? strtoll(value, &end, 10) : 0;
	return value && *value && !*end && !errno;
}

static void refuse(struct query *query, const char *format, const char *key)
{
	if (!*query->error)
		array_printf(query->error, format, key);
}

void query_take(struct query *query, const char *key, const char *value)
{
	const struct command *command = query->command;
	const struct command_option *option = command_option_find(command, key);
	bool acts = command->flag_operates && !strcmp(command->flag, key);
	bool off = value && (!strcmp(value, "0") || !strcmp(value, "false"));
	long long number;
	enum kind kind =
		acts ? NO_OPTION
		: any_of(i, 0, COMMAND_WORDS, command->words[i] && !strcmp(command->words[i], key))
			? TEXT
			: option_kind(command, key);

	if (option) {
		char err[QUERY_ERROR];

		if ((option->value || !off) &&
		    command_option_put(option, value, query->args, err, sizeof(err)))
			refuse(query, "%s", err);
	} else if (kind != NO_OPTION) {
		if (kind == FLAG) {
			if (!off)
				json_object_set_new(query->args, arg_name(key), json_true());
		} else if (kind == NUMBER) {
			if (read_number(value, &number))
				json_object_set_new(query->args, arg_name(key),
						    json_integer(number));
			else
				refuse(query, "%s= takes a number", key);
		} else if (!value ||
			   json_object_set_new(query->args, arg_name(key), json_string(value))) {
			refuse(query, "%s= takes text in UTF-8", key);
		}
	} else if (!strcmp(key, "offset") || !strcmp(key, "limit")) {
		if (!read_number(value, &number) || number < 0) {
			refuse(query, "%s= takes a number from 0 on", key);
			return;
		}
		if (!query->paged)
			query->limit = SIZE_MAX;
		query->paged = true;
		*(*key == 'o' ? &query->offset : &query->limit) = number;
	} else
		refuse(query, "no such option: %.64s", key);
}

bool query_has_rows(const struct query *query, const json_t *document)
{
	return command_rows(query->command, (json_t *)document);
}

size_t query_page(const struct query *query, json_t **document)
{
	json_t *rows = command_rows(query->command, *document), *some = json_array();
	size_t count = json_array_size(rows);

	for (size_t i = query->offset; i < count && i - query->offset < query->limit; i++)
		json_array_append(some, json_array_get(rows, i));
	if (query->command->rows) {
		json_object_set_new(*document, query->command->rows, some);
	} else {
		json_decref(*document);
		*document = some;
	}
	return count;
}
