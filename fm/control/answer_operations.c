/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * answer_operations: commands that change something: operations of the fabric, which calls back
 * when they are done, and settings of the daemon itself.
 */
#include <stdlib.h>
#include "fm/control/answer.h"
#include "fm/control/find.h"
#include "fm/control/value.h"
#include "fm/core/log.h"
#include "fm/maintenance/module.h"
#include "fm/nvswitch/module.h"
#include "fm/sm/module.h"

const struct command_run reroute_run = { .begin = fabric_reroute };
const struct command_run sweep_run = { .begin = fabric_sweep };

static void set_cordon(struct fabric *fabric, json_t *args, fabric_done_fn *fn, void *arg, bool on)
{
	char err[COMMAND_ERROR_SIZE];
	const char *what;

	if (command_unpack(args, err, "{s:s}", "what", &what))
		maintenance_cordon(fabric, what, on, fn, arg);
	else
		fn(arg, NULL, err);
}

static void begin_cordon(struct fabric *fabric, json_t *args, fabric_done_fn *fn, void *arg)
{
	set_cordon(fabric, args, fn, arg, true);
}
const struct command_run cordon_run = { .begin_with = begin_cordon };

static void begin_uncordon(struct fabric *fabric, json_t *args, fabric_done_fn *fn, void *arg)
{
	set_cordon(fabric, args, fn, arg, false);
}
const struct command_run uncordon_run = { .begin_with = begin_uncordon };

static void begin_release(struct fabric *fabric, json_t *args, fabric_done_fn *fn, void *arg)
{
	char err[COMMAND_ERROR_SIZE];
	const char *what;

	if (command_unpack(args, err, "{s:s}", "what", &what))
		maintenance_release(fabric, what, fn, arg);
	else
		fn(arg, NULL, err);
}
const struct command_run release_run = { .begin_with = begin_release };

static void begin_forget(struct fabric *fabric, json_t *args, fabric_done_fn *fn, void *arg)
{
	char err[COMMAND_ERROR_SIZE];
	const char *what = NULL;
	int down = 0;

	if (!command_unpack(args, err, "{s?s, s?b}", "what", &what, "down", &down))
		fn(arg, NULL, err);
	else if (!what == !down)
		fn(arg, NULL, "arguments: give either what or down");
	else
		maintenance_forget(fabric, what, fn, arg);
}
const struct command_run forget_run = { .begin_with = begin_forget };

static void begin_handover(struct fabric *fabric, json_t *args, fabric_done_fn *fn, void *arg)
{
	char err[COMMAND_ERROR_SIZE];
	const char *manager = NULL;

	if (command_unpack(args, err, "{s?s}", "manager", &manager))
		sm_hand_over(fabric, manager, fn, arg);
	else
		fn(arg, NULL, err);
}
const struct command_run handover_run = { .begin_with = begin_handover };

static void begin_nvswitch(struct fabric *fabric, json_t *args, fabric_done_fn *fn, void *arg)
{
	const char *host, *state = NULL;
	char err[COMMAND_ERROR_SIZE];

	if (command_unpack(args, err, "{s:s, s?s}", "host", &host, "state", &state)) {
		const struct command_env env = { .fabric = fabric };
		const char *known = command_find_host(&env, host);

		nvlink_set(fabric, known ? known : host, state, fn, arg);
	} else
		fn(arg, NULL, err);
}
const struct command_run nvswitch_set_run = { .begin_with = begin_nvswitch };

/* As a number, or as it was typed; 0 = neither, which no TTL is. */
static double seconds_of(const json_t *value)
{
	const char *text = json_string_value(value);
	char *end;
	double seconds = text ? strtod(text, &end) : json_number_value(value);

	return text && (!*text || *end) ? 0 : seconds;
}

static json_t *answer_health_report(const struct command_env *env, json_t *args, char *err)
{
	const char *source, *host, *state, *reason;
	json_t *ttl;

	if (!command_unpack(args, err, "{s:s, s:s, s:s, s:s, s:o}", "source", &source, "host",
			    &host, "state", &state, "reason", &reason, "ttl", &ttl))
		return NULL;
	return nvlink_hear_report(env->fabric, source, host, state, reason, seconds_of(ttl), err,
				  COMMAND_ERROR_SIZE);
}
const struct command_run health_report_run = { .answer = answer_health_report };

static json_t *answer_reload(const struct command_env *env, json_t *args, char *err)
{

	if (!command_unpack(args, err, "{}") ||
	    env->reload(env->reload_arg, err, COMMAND_ERROR_SIZE))
		return NULL;
	return json_object();
}
const struct command_run reload_run = { .answer = answer_reload };

static json_t *answer_loglevel(const struct command_env *env, json_t *args, char *err)
{
	const char *module = NULL, *level;

	if (!command_unpack(args, err, "{s:s, s?s}", "level", &level, "module", &module))
		return NULL;
	if (!value_check("LEVEL", level, err, COMMAND_ERROR_SIZE) ||
	    (module && !value_check("MODULE", module, err, COMMAND_ERROR_SIZE)))
		return NULL;
	log_set_level(module ? log_module_parse(module) : -1, log_level_parse(level));
	return json_pack("{s:s, s:s}", "module", module ? module : "all", "level", level);
}
const struct command_run loglevel_run = { .answer = answer_loglevel };
