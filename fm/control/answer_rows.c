/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* answer_rows: what is common to answers that are lists: their filters and their order. */
#include "fm/control/answer.h"
#include "fm/control/filter.h"
#include "fm/control/option.h"
#include "fm/control/sort.h"

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
