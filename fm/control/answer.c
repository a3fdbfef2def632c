/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * answer: what the answers to commands share. Arguments are unpacked strictly: a key that a command
 * does not know is refused, with jansson's own words for it.
 */
#include <stdarg.h>
#include "fm/control/answer.h"
#include "fm/control/filter.h"
#include "fm/control/option.h"
#include "fm/control/sort.h"
#include "fm/fabric/view.h"

json_t *command_refuse(char *err, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(err, COMMAND_ERROR_SIZE, format, list);
	va_end(list);
	return NULL;
}

bool command_unpack(json_t *args, char *err, const char *format, ...)
{
	json_error_t why;
	va_list list;
	int status;

	va_start(list, format);
	status = json_vunpack_ex(args, &why, JSON_STRICT, format, list);
	va_end(list);
	if (status)
		command_refuse(err, "arguments: %s", why.text);
	return !status;
}

const struct topo *command_topo(const struct command_env *env, char *err)
{
	const struct topo *t = fabric_view(env->fabric).topo;

	if (!t)
		command_refuse(
			err, "%s",
			fabric_refusal(env->fabric)
				? fabric_refusal(env->fabric)
				: "no picture of the fabric yet: the first sweep is under way");
	return t;
}

const struct tables *command_tables(const struct command_env *env, char *err)
{
	const struct tables *tables = fabric_view(env->fabric).tables;

	if (!tables || !fabric_view(env->fabric).lids) {
		command_refuse(err, "no tables yet: the first sweep is under way");
		return NULL;
	}
	return tables;
}

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
