/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * query: the query string of a document as a command's arguments, by the command's row
 * (fm/control/commands.def): its words by their keys (?from=A&to=B), its options by their names as
 * they are typed (?down, ?n=50, ?leaf=leaf-su01-rail0). Options that would make a command change
 * something are refused. All documents have offset= and limit=, of their rows.
 */
#pragma once

#include <jansson.h>
#include "fm/control/command.h"

#define QUERY_ERROR 128

struct query {
	const struct command *command;
	json_t *args; /* an object; the caller's */
	bool paged;
	size_t offset, limit;
	char error[QUERY_ERROR]; /* "" = all options fit */
};

/* Adds one decoded key with its value (NULL = there is no `=`); the first misfit sets error. */
void query_take(struct query *query, const char *key, const char *value);
/*
 * Keeps only the rows of the page in *document, which has rows (command_rows()). Returns the number
 * of all rows.
 */
size_t query_page(const struct query *query, json_t **document);
