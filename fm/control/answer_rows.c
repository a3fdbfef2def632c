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
		command_refuse(err, "no column %s", text + order->down);
	else
		order->key = column->key;
	json_object_del(args, "sort");
	return column != NULL;
}

json_t *command_answer(const struct command_env *env, const struct command *command, json_t *args,
		       char *err)
{
	struct command_env with = *env;
	json_t *own = json_copy(args), *result = NULL;
	struct row_order order;
	struct filter filter;

	if (take_sort(command, own, &order, err)) {
		if (command->filters && filter_read(&filter, env, command->filters, own, err))
			with.filter = &filter;
		if (!command->filters || with.filter)
			result = command->run->answer(&with, own, err);
		if (command->filters)
			filter_fini(&filter);
	}
	if (result && order.key)
		sort_rows(command_rows(command, result), &order);
	json_decref(own);
	return result;
}
