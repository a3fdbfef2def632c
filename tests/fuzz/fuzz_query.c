/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any lines KEY=VALUE as the query of a document, the first line as Accept-Encoding: there is a
 * reason, or the arguments are what was asked; a page is never more than the rows that there are.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "fm/http/serve.h"
#include "fm/http/query.h"

#define ROWS 7

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct command command = {
	.name = "list",
	.arguments = "[WHAT] [--down|--sick] [-n N] [--leaf LEAF] [--read]",
	.words = { "what" },
	.flag = "read",
	.flag_operates = true,
};

static void take_line(struct query *query, char *line)
{
	char *value = strchr(line, '=');

	if (value)
		*value++ = '\0';
	query_take(query, line, value);
	assert(!json_object_get(query->args, "read"));
}

static void take_page(const struct query *query)
{
	json_t *rows = json_array();

	for (int i = 0; i < ROWS; i++)
		json_array_append_new(rows, json_integer(i));
	assert(query_page(query, &rows) == ROWS);
	assert(json_array_size(rows) <= ROWS && json_array_size(rows) <= query->limit);
	if (json_array_size(rows))
		assert(json_integer_value(json_array_get(rows, 0)) == (json_int_t)query->offset);
	json_decref(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct query query = { .command = &command, .args = json_object() };
	char *text = strndup((const char *)data, size), *rest = text, *line = strsep(&rest, "\n");
	const struct encode_wish wish = { encode_accepts_gzip(line), line };
	struct encoded body = encode_body(&wish, strdup(rest ? rest : ""), rest ? strlen(rest) : 0);

	assert(body.body || !body.len);
	free(body.body);
	while ((line = strsep(&rest, "\n")))
		take_line(&query, line);
	if (!*query.error && query.paged)
		take_page(&query);
	json_decref(query.args);
	free(text);
	return 0;
}
