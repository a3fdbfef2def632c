/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * answer: what the answers to commands share. Arguments are unpacked strictly: a key that a command
 * does not know is refused, with jansson's own words for it.
 */
#include <stdarg.h>
#include "fm/control/answer.h"
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
		command_refuse(err, "%s",
			       fabric_refusal(env->fabric)
				       ? fabric_refusal(env->fabric)
				       : "no topology yet: the first sweep has not finished");
	return t;
}

const struct tables *command_tables(const struct command_env *env, char *err)
{
	const struct tables *tables = fabric_view(env->fabric).tables;

	if (!tables || !fabric_view(env->fabric).lids) {
		command_refuse(err, "no forwarding tables yet: the first sweep has not finished");
		return NULL;
	}
	return tables;
}
