/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* answer_look: pictures of the fabric: status, topology, rows of what is there, what happened. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "fm/adaptive/module.h"
#include "fm/control/answer.h"
#include "fm/hosts/module.h"
#include "fm/multicast/module.h"
#include "fm/nvswitch/module.h"
#include "fm/partition/module.h"
#include "fm/perf/module.h"
#include "fm/restart/module.h"
#include "topology/dump.h"
#include "topology/netfile.h"

#define EVENTS_DEFAULT 20
#define EVENTS_MAX     10000

static json_t *answer_status(const struct command_env *env, json_t *args, char *err)
{

	return command_unpack(args, err, "{}") ? fabric_status(env->fabric) : NULL;
}
const struct command_run status_run = { .answer = answer_status };

typedef int dump_fn(const struct topo *t, FILE *out);

/* What a writer writes, as {"text": ..}. */
static json_t *text_of(dump_fn *dump, const struct topo *t, char *err)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int status = out ? dump(t, out) : -errno;
	json_t *result;

	if (out)
		fclose(out);
	result = status ? command_refuse(err, "writing: %s", strerror(-status))
			: json_pack("{s:s%}", "text", text, len);
	free(text);
	return result;
}

static const struct {
	const char *name;
	dump_fn *dump; /* NULL = the JSON document */
} formats[] = {
	{ "text", dump_text }, { "json", NULL },    { "ibnetdiscover", netfile_write },
	{ "dot", dump_dot },   { "svg", dump_svg }, { "slurm", dump_slurm },
	{ "lst", dump_lst },
};

static json_t *answer_topology(const struct command_env *env, json_t *args, char *err)
{
	const struct topo *t = command_topo(env, err);
	const char *format = "text";

	if (!t || !command_unpack(args, err, "{s?s}", "format", &format))
		return NULL;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(formats[i].name, format))
			return formats[i].dump ? text_of(formats[i].dump, t, err) : dump_json(t);
	return command_refuse(
		err, "no format %s: text, json, ibnetdiscover, dot, svg, slurm or lst", format);
}
const struct command_run topology_run = { .answer = answer_topology, .long_answer = true };

static json_t *answer_nodes(const struct command_env *env, json_t *args, char *err)
{
	const struct topo *t = command_topo(env, err);

	return t && command_unpack(args, err, "{}") ? dump_json_nodes(t, false) : NULL;
}
const struct command_run nodes_run = { .answer = answer_nodes, .long_answer = true };

static json_t *answer_switches(const struct command_env *env, json_t *args, char *err)
{
	const struct topo *t = command_topo(env, err);

	return t && command_unpack(args, err, "{}") ? adaptive_switches(env->fabric) : NULL;
}
const struct command_run switches_run = { .answer = answer_switches, .long_answer = true };

static json_t *answer_links(const struct command_env *env, json_t *args, char *err)
{
	const struct topo *t = command_topo(env, err);
	int down = 0, sick = 0;

	if (!t || !command_unpack(args, err, "{s?b, s?b}", "down", &down, "sick", &sick))
		return NULL;
	if (sick)
		return fabric_unhealthy(env->fabric);
	return down ? links_down(env->fabric) : dump_json_links(t, false);
}
const struct command_run links_run = { .answer = answer_links, .long_answer = true };

static json_t *answer_health(const struct command_env *env, json_t *args, char *err)
{
	int now = 0;

	return command_unpack(args, err, "{s?b}", "read", &now) ? link_health(env->fabric) : NULL;
}
const struct command_run health_run = { .answer = answer_health,
					.long_answer = true,
					.act = link_health_read };

static json_t *answer_hosts(const struct command_env *env, json_t *args, char *err)
{
	const struct topo *t = command_topo(env, err);

	return t && command_unpack(args, err, "{}") ? hosts_document(env->fabric) : NULL;
}
const struct command_run hosts_run = { .answer = answer_hosts, .long_answer = true };

static json_t *answer_nvswitch(const struct command_env *env, json_t *args, char *err)
{

	return command_unpack(args, err, "{}") ? nvlink_hosts(env->fabric) : NULL;
}
const struct command_run nvswitch_run = { .answer = answer_nvswitch, .long_answer = true };

static json_t *answer_events(const struct command_env *env, json_t *args, char *err)
{
	int count = EVENTS_DEFAULT;

	if (!command_unpack(args, err, "{s?i}", "count", &count))
		return NULL;
	if (count < 0 || count > EVENTS_MAX)
		return command_refuse(err, "count is outside 0..%d", EVENTS_MAX);
	return fabric_events(env->fabric, (unsigned)count);
}
const struct command_run events_run = { .answer = answer_events };
const struct command_run follow_run = { .answer = answer_events, .follows = true };

/* ---- Multicast ---- */

static bool is_named(const json_t *group, const char *name)
{
	return !strcasecmp(json_string_value(json_object_get(group, "mgid")), name) ||
	       !strcasecmp(json_string_value(json_object_get(group, "mlid")), name);
}

/* All groups, or those that an MGID or a MLID names. */
static json_t *answer_groups(const struct command_env *env, json_t *args, char *err)
{
	const char *name = NULL;
	json_t *groups;

	if (!command_unpack(args, err, "{s?s}", "group", &name))
		return NULL;
	groups = multicast_groups(env->fabric);
	for (size_t i = json_array_size(groups); name && i-- > 0;)
		if (!is_named(json_array_get(groups, i), name))
			json_array_remove(groups, i);
	if (!name || json_array_size(groups))
		return groups;
	json_decref(groups);
	return command_refuse(err, "no multicast group %s", name);
}
const struct command_run groups_run = { .answer = answer_groups, .long_answer = true };

static json_t *answer_partitions(const struct command_env *env, json_t *args, char *err)
{
	const char *which = NULL;
	json_t *rows;

	if (!command_unpack(args, err, "{s?s}", "partition", &which))
		return NULL;
	rows = partitions_document(env->fabric, which);
	return rows ? rows : command_refuse(err, "no partition %s", which);
}
const struct command_run partitions_run = { .answer = answer_partitions, .long_answer = true };
