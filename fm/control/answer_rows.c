/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "fm/control/answer.h"
#include "fm/control/filter.h"
#include "fm/control/option.h"
#include "topology/base/mem.h"
#include "topology/base/names.h"

/* sort: the rows of an answer in the order of one of their columns. */

struct row_order {
	const char *key; /* of a column (command.h); NULL = as they are */
	bool down;	 /* the largest first */
};

/* sort: the rows of an answer in the order of one of their columns. */

enum kind { NUMBER, TEXT, NOTHING };

struct item {
	json_t *row;
	const char *text;
	double number;
	size_t at; /* where it was */
	enum kind kind;
	bool down;
};

static struct item item_of(json_t *row, size_t at, const struct row_order *order)
{
	const json_t *value = table_value(row, order->key);
	struct item item = { .row = row, .at = at, .down = order->down, .kind = NUMBER };

	if (json_is_string(value)) {
		item.kind = TEXT;
		item.text = json_string_value(value);
	} else if (json_is_array(value)) {
		item.number = (double)json_array_size(value);
	} else if (json_is_boolean(value)) {
		item.number = json_is_true(value);
	} else if (json_is_number(value)) {
		item.number = json_number_value(value);
	} else {
		item.kind = NOTHING;
	}
	return item;
}

static int compare_values(const struct item *a, const struct item *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->kind == TEXT)
		return names_compare(a->text, strlen(a->text), b->text, strlen(b->text));
	return a->number < b->number ? -1 : a->number > b->number;
}

static int compare_items(const void *va, const void *vb)
{
	const struct item *a = va, *b = vb;
	bool nothing = a->kind == NOTHING || b->kind == NOTHING;
	int order = compare_values(a, b);

	if (!order)
		return a->at < b->at ? -1 : 1;
	return a->down && !nothing ? -order : order;
}

/*
 * Numbers by their value, texts naturally ("leaf-2" before "leaf-10"), false before true, lists by
 * their length; numbers before texts. Rows that are equal stay in their order, those that have
 * nothing there come last either way. rows NULL is fine.
 */
static void sort_rows(json_t *rows, const struct row_order *order)
{
	size_t count = json_array_size(rows);
	struct item *items = mem_alloc(count + 1, sizeof(*items));

	for (size_t i = 0; i < count; i++)
		items[i] = item_of(json_incref(json_array_get(rows, i)), i, order);
	qsort(items, count, sizeof(*items), compare_items);
	for (size_t i = 0; i < count; i++)
		json_array_set_new(rows, i, items[i].row);
	free(items);
}

/* answer_rows: what is common to answers that are lists: their filters and their order. */

/* The column that is asked for, out of the arguments; NULL = none. False: there is no such. */
static bool take_sort(const struct command *command, json_t *args, struct row_order *order,
		      char *err)
{
	const char *text = json_string_value(json_object_get(args, "sort"));
	const struct table_column *column;

	*order = (struct row_order){ 0 };
	if (!command_option_find(command, "sort") || !text)
		return true;
	order->down = *text == '-';
	column = command_column_find(command, text + order->down);
	if (!column)
		command_refuse(err, "unknown column %s", text + order->down);
	else
		order->key = column->key;
	json_object_del(args, "sort");
	return column != NULL;
}

/* A question whose filters and order are understood. */
struct asked {
	struct command_env env;
	json_t *args; /* without those of filters and order */
	struct filter filter;
	struct row_order order;
};

static bool asked_init(struct asked *a, const struct command_env *env,
		       const struct command *command, json_t *args, char *err)
{
	*a = (struct asked){ .env = *env, .args = json_copy(args) };
	if (!take_sort(command, a->args, &a->order, err))
		return false;
	if (command->filters && !filter_read(&a->filter, env, command->filters, a->args, err))
		return false;
	a->env.filter = a->filter.topo ? &a->filter : NULL; /* no fabric: nothing to choose by */
	return true;
}

static void asked_fini(struct asked *a)
{
	filter_fini(&a->filter);
	json_decref(a->args);
}

static void collect(void *arg, json_t *row)
{
	json_array_append_new(arg, row);
}

static json_t *all_rows(const struct asked *a, const struct command *command, char *err)
{
	json_t *rows = json_array();

	if (command->run->rows(&a->env, a->args, collect, rows, err))
		return rows;
	json_decref(rows);
	return NULL;
}

json_t *command_answer(const struct command_env *env, const struct command *command, json_t *args,
		       char *err)
{
	json_t *result = NULL;
	struct asked a;

	if (asked_init(&a, env, command, args, err))
		result = command->run->rows ? all_rows(&a, command, err)
					    : command->run->answer(&a.env, a.args, err);
	if (result && a.order.key)
		sort_rows(command_rows(command, result), &a.order);
	asked_fini(&a);
	return result;
}

/* ---- One by one ------------------------------------------------------------------------------ */

struct stream {
	FILE *out;
	const char *before; /* of the next row */
};

static void write_row(void *arg, json_t *row)
{
	struct stream *stream = arg;

	fputs(stream->before, stream->out);
	stream->before = ",";
	json_dumpf(row, stream->out, JSON_COMPACT);
	json_decref(row);
}

bool command_can_stream(const struct command *command, json_t *args)
{
	return command->run->rows && !json_object_get(args, "sort");
}

bool command_stream(const struct command_env *env, const struct command *command, json_t *args,
		    const char *head, FILE *out, char *err)
{
	struct stream stream = { out, head };
	struct asked a;
	bool good = asked_init(&a, env, command, args, err) &&
		    command->run->rows(&a.env, a.args, write_row, &stream, err);

	if (good && stream.before == head)
		fputs(head, out);
	asked_fini(&a);
	return good;
}
