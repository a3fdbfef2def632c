/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/control/answer.h"
#include "fm/control/find.h"
#include "fm/control/value.h"
#include "fm/events/event_kinds.h"
#include "fm/loop/log.h"
#include "fm/fabric/view.h"
#include "fm/maintenance/module.h"
#include "fm/multicast/module.h"
#include "fm/nvswitch/module.h"
#include "fm/partition/module.h"
#include "fm/sm/module.h"
#include "topology/cabling/cabling.h"

/*
 * answer_names: what may be typed next, for a shell's completion: the names of a kind that begin
 * with what is typed already. HCAs come where a host's name is typed out, and ports behind `NODE:`,
 * so that a fabric of 16,384 HCAs offers its 2,048 hosts.
 */

#define NAMES_MAX 8192

struct names_asked {
	const struct command_env *env;
	const struct topo *t; /* NULL = nothing is published yet */
	const char *prefix;
	size_t len;
	json_t *list;
};

static void offer(struct names_asked *n, const char *name)
{
	if (!strncmp(name, n->prefix, n->len) && json_array_size(n->list) < NAMES_MAX)
		json_array_append_new(n->list, json_string(name));
}

static void offer_ports(struct names_asked *n, uint32_t node)
{
	const struct topo_node *at = &n->t->nodes[node];
	char name[128];

	for (unsigned num = 1; num <= at->nports; num++) {
		snprintf(name, sizeof(name), "%s:%u", at->name, num);
		if (topo_port(n->t, node, num)->peer != TOPO_NONE)
			offer(n, name);
	}
}

/* Whether the prefix is `NODE:`, and maybe more; then its ports are offered. */
static bool is_port_of(struct names_asked *n, uint32_t node)
{
	size_t len = strlen(n->t->nodes[node].name);

	if (n->len <= len || n->prefix[len] != ':' ||
	    strncmp(n->t->nodes[node].name, n->prefix, len))
		return false;
	offer_ports(n, node);
	return true;
}

static void offer_switches(struct names_asked *n, bool leaves)
{
	for (uint32_t sw = 0; n->t && sw < n->t->nswitches; sw++)
		if (!leaves || n->t->nodes[sw].level == 0)
			offer(n, n->t->nodes[sw].name);
}

static void list_leaves(struct names_asked *n)
{
	offer_switches(n, true);
}

static void list_switches(struct names_asked *n)
{
	offer_switches(n, false);
}

static void list_hosts(struct names_asked *n)
{
	for (uint32_t h = 0; n->t && h < n->t->nhosts; h++)
		offer(n, n->t->hosts[h].name);
}

static void list_parts(struct names_asked *n)
{
	size_t before = json_array_size(n->list);

	list_hosts(n);
	list_switches(n);
	for (uint32_t node = 0; n->t && node < n->t->nnodes; node++)
		if (is_port_of(n, node))
			return;
	for (uint32_t node = n->t ? n->t->nswitches : 0; n->t && node < n->t->nnodes; node++)
		if (topo_is_host(n->t, node) &&
		    (strchr(n->prefix, ' ') || json_array_size(n->list) == before))
			offer(n, n->t->nodes[node].name);
}

static void list_keys(struct names_asked *n, json_t *rows, const char *key)
{
	json_t *seen = json_object(), *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		const char *name = json_string_value(json_object_get(row, key));

		if (name && !json_object_get(seen, name)) {
			json_object_set_new(seen, name, json_true());
			offer(n, name);
		}
	}
	json_decref(seen);
	json_decref(rows);
}

static void list_kinds(struct names_asked *n)
{
	const char *kind;

	for (unsigned i = 0; (kind = event_kind_at(i)); i++)
		offer(n, kind);
}

static void list_groups(struct names_asked *n)
{
	list_keys(n, multicast_groups(n->env->fabric), "mlid");
}

static void list_partitions(struct names_asked *n)
{
	list_keys(n, partitions_document(n->env->fabric, NULL), "name");
}

static const struct {
	const char *kind;
	void (*list)(struct names_asked *n);
} lists[] = {
	{ "what", list_parts },		  { "host", list_hosts },  { "switch", list_switches },
	{ "leaf", list_leaves },	  { "event", list_kinds }, { "group", list_groups },
	{ "partition", list_partitions },
};

static json_t *answer_names(const struct command_env *env, json_t *args, char *err)
{
	struct names_asked n = { .env = env, .t = fabric_view(env->fabric).topo, .prefix = "" };
	const char *kind;

	if (!command_unpack(args, err, "{s:s s?s}", "kind", &kind, "prefix", &n.prefix))
		return NULL;
	n.len = strlen(n.prefix);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (!strcmp(lists[i].kind, kind)) {
			n.list = json_array();
			lists[i].list(&n);
			return n.list;
		}
	return command_refuse(err, "there are no names of kind %s", kind);
}
/* Groups and partitions are listed with all their members. */
const struct command_run names_run = { .answer = answer_names, .long_answer = true };

/* answer_cabling: the cables that are wrong by the regular pattern of the fabric. */

static json_t *answer_cabling(const struct command_env *env, json_t *args, char *err)
{
	const struct topo *t = command_topo(env, err);
	struct cabling *rails, *pattern;
	json_t *result;

	if (!t || !command_unpack(args, err, "{}"))
		return NULL;
	rails = cabling_rails(t);
	pattern = cabling_pattern(t);
	result = json_pack("{s:o, s:o}", "rails", cabling_json(rails), "pattern",
			   cabling_json(pattern));
	cabling_free(rails);
	cabling_free(pattern);
	return result;
}
const struct command_run cabling_run = { .answer = answer_cabling, .long_answer = true };

/*
 * answer_operations: commands that change something: operations of the fabric, which calls back
 * when they are done, and settings of the daemon itself.
 */

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
