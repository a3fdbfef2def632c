/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* query: by the command's words, its flag, and its filters and options (fm/control/option.h). */
#include <errno.h>
#include "fm/control/option.h"
#include "fm/http/query.h"
#include "topology/base/sort.h"

static void refuse(struct query *query, const char *format, const char *key)
{
	if (!*query->error)
		array_printf(query->error, format, key);
}

static void take_page(struct query *query, const char *key, const char *value)
{
	char *end;

	errno = 0;

	long long number = value ? strtoll(value, &end, 10) : 0;

	if (!value || !*value || *end || errno || number < 0) {
		refuse(query, "%s= takes a number from 0 on", key);
		return;
	}
	if (!query->paged)
		query->limit = SIZE_MAX;
	query->paged = true;
	*(*key == 'o' ? &query->offset : &query->limit) = number;
}

void query_take(struct query *query, const char *key, const char *value)
{
	const struct command *command = query->command;
	const struct command_option *option = command_option_find(command, key);
	bool flag = command->flag && !command->flag_operates && !strcmp(command->flag, key);
	bool off = value && (!strcmp(value, "0") || !strcmp(value, "false"));
	char err[QUERY_ERROR];

	if (option) {
		if ((option->value || !off) &&
		    command_option_put(option, value, query->args, err, sizeof(err)))
			refuse(query, "%s", err);
	} else if (any_of(i, 0, COMMAND_WORDS,
			  command->words[i] && !strcmp(command->words[i], key))) {
		if (!value || json_object_set_new(query->args, key, json_string(value)))
			refuse(query, "%s= takes text in UTF-8", key);
	} else if (flag) {
		if (!off)
			json_object_set_new(query->args, key, json_true());
	} else if (!strcmp(key, "offset") || !strcmp(key, "limit"))
		take_page(query, key, value);
	else
		refuse(query, "no such option: %.64s", key);
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
