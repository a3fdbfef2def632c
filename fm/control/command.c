/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The commands of the control socket: arguments in, a JSON document out. Each is a function of the
 * published fabric (fm/fabric/fabric.h) and one row of the table at the end; who runs it, and where, is
 * control.c's affair.
 *
 * Arguments are unpacked strictly: a key that a command does not know is refused, with jansson's
 * own words for it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "fm/control/command.h"
#include "fm/opensm/osm_dump.h"
#include "fm/control/whatif.h"
#include "fm/core/log.h"
#include "routing/path.h"
#include "routing/report.h"
#include "topology/dump.h"
#include "topology/netfile.h"

#define EVENTS_DEFAULT 20
#define EVENTS_MAX     10000

__attribute__((format(printf, 2, 3))) static json_t *refuse(char *err, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(err, COMMAND_ERROR_SIZE, format, list);
	va_end(list);
	return NULL;
}

/* jansson's unpack, strict, with its reason in err. */
#define UNPACK(args, err, ...)                                                                     \
	unpacked(json_unpack_ex(args, &why, JSON_STRICT, __VA_ARGS__), &why, err)
static bool unpacked(int status, const json_error_t *why, char *err)
{
	if (status)
		refuse(err, "arguments: %s", why->text);
	return !status;
}

static const struct topo *published(const struct command_env *env, char *err)
{
	const struct topo *t = fabric_topo(env->fabric);

	if (!t)
		refuse(err, "%s",
		       fabric_refusal(env->fabric)
			       ? fabric_refusal(env->fabric)
			       : "no picture of the fabric yet: the first sweep is under way");
	return t;
}

static const struct tables *published_tables(const struct command_env *env, char *err)
{
	const struct tables *tables = fabric_tables(env->fabric);

	if (!tables || !fabric_lids(env->fabric)) {
		refuse(err, "no tables yet: the first sweep is under way");
		return NULL;
	}
	return tables;
}

static json_t *json_guid(guid_t guid)
{
	return json_sprintf("0x%016llx", (unsigned long long)guid);
}

/* ---- Pictures of the fabric ---- */

static json_t *answer_status(const struct command_env *env, json_t *args, char *err)
{
	json_error_t why;

	return UNPACK(args, err, "{}") ? fabric_status(env->fabric) : NULL;
}

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
	result = status ? refuse(err, "writing: %s", strerror(-status))
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
	const struct topo *t = published(env, err);
	const char *format = "text";
	json_error_t why;

	if (!t || !UNPACK(args, err, "{s?s}", "format", &format))
		return NULL;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(formats[i].name, format))
			return formats[i].dump ? text_of(formats[i].dump, t, err) : dump_json(t);
	return refuse(err, "no format %s: text, json, ibnetdiscover, dot, svg, slurm or lst",
		      format);
}

static json_t *answer_nodes(const struct command_env *env, json_t *args, char *err)
{
	const struct topo *t = published(env, err);
	json_error_t why;

	return t && UNPACK(args, err, "{}") ? dump_json_nodes(t, false) : NULL;
}

static json_t *answer_switches(const struct command_env *env, json_t *args, char *err)
{
	const struct topo *t = published(env, err);
	json_error_t why;

	return t && UNPACK(args, err, "{}") ? fabric_switches(env->fabric) : NULL;
}

static json_t *answer_links(const struct command_env *env, json_t *args, char *err)
{
	const struct topo *t = published(env, err);
	json_error_t why;
	int down = 0, sick = 0;

	if (!t || !UNPACK(args, err, "{s?b, s?b}", "down", &down, "sick", &sick))
		return NULL;
	if (sick)
		return fabric_sick(env->fabric);
	return down ? fabric_links_down(env->fabric) : dump_json_links(t, false);
}

static json_t *answer_health(const struct command_env *env, json_t *args, char *err)
{
	json_error_t why;
	int now = 0;

	return UNPACK(args, err, "{s?b}", "read", &now) ? fabric_health(env->fabric) : NULL;
}

static json_t *answer_hosts(const struct command_env *env, json_t *args, char *err)
{
	const struct topo *t = published(env, err);
	json_error_t why;

	return t && UNPACK(args, err, "{}") ? dump_json_hosts(t) : NULL;
}

static json_t *answer_nvswitch(const struct command_env *env, json_t *args, char *err)
{
	json_error_t why;

	return UNPACK(args, err, "{}") ? fabric_nvswitch(env->fabric) : NULL;
}

static json_t *answer_events(const struct command_env *env, json_t *args, char *err)
{
	int count = EVENTS_DEFAULT;
	json_error_t why;

	if (!UNPACK(args, err, "{s?i}", "count", &count))
		return NULL;
	if (count < 0 || count > EVENTS_MAX)
		return refuse(err, "count is outside 0..%d", EVENTS_MAX);
	return fabric_events(env->fabric, (unsigned)count);
}

/* ---- Tables ---- */

static json_t *lft_entry(const struct topo *t, uint32_t owner, uint32_t lid, uint8_t port)
{
	return json_pack("{s:i, s:i, s:s}", "lid", (int)lid, "port", (int)port, "to",
			 t->nodes[t->ports[owner].node].desc);
}

/* One row for each LID that somebody has; port null = packets to it are dropped. */
static json_t *lft_entries(const struct command_env *env, uint32_t sw)
{
	const struct topo *t = fabric_topo(env->fabric);
	const struct lid_map *lids = fabric_lids(env->fabric);
	const uint8_t *row = tables_row(fabric_tables(env->fabric), sw);
	json_t *entries = json_array();

	for (uint32_t lid = 1; lid <= lids->top; lid++) {
		json_t *entry;

		if (lids->port_of_lid[lid] == TOPO_NONE)
			continue;
		entry = lft_entry(t, lids->port_of_lid[lid], lid, row[lid]);
		if (row[lid] == TABLES_NO_ROUTE)
			json_object_set_new(entry, "port", json_null());
		json_array_append_new(entries, entry);
	}
	return entries;
}

static json_t *answer_lft(const struct command_env *env, json_t *args, char *err)
{
	const struct topo *t = published(env, err);
	const struct topo_node *sw;
	const char *what;
	json_error_t why;
	unsigned port;
	uint32_t node;

	if (!t || !published_tables(env, err) || !UNPACK(args, err, "{s:s}", "switch", &what))
		return NULL;
	node = topo_resolve(t, what, &port, err, COMMAND_ERROR_SIZE);
	if (node == TOPO_NONE)
		return NULL;
	sw = &t->nodes[node];
	if (port)
		return refuse(err, "%s: a table is a whole switch's, not a port's", what);
	if (sw->type != TOPO_SWITCH)
		return refuse(err, "%s is no switch", sw->desc);
	return json_pack("{s:s, s:o, s:i, s:o}", "name", sw->desc, "guid", json_guid(sw->guid),
			 "lid", (int)fabric_lids(env->fabric)->lid_of_port[sw->port0], "entries",
			 lft_entries(env, node));
}

/* The port that packets to or from `what` use: the one written, a switch's own, or the first with a
 * LID. */
static uint32_t resolve_end(const struct command_env *env, const char *what, char *err)
{
	const struct topo *t = fabric_topo(env->fabric);
	const struct lid_map *lids = fabric_lids(env->fabric);
	const struct topo_node *n;
	unsigned port;
	uint32_t node = topo_resolve(t, what, &port, err, COMMAND_ERROR_SIZE);

	if (node == TOPO_NONE)
		return TOPO_NONE;
	n = &t->nodes[node];
	if (n->type == TOPO_SWITCH)
		return n->port0;
	for (unsigned p = port ? port : 1; p <= (port ? port : n->nports); p++)
		if (lids->lid_of_port[n->port0 + p])
			return n->port0 + p;
	refuse(err, "%s has no port with a LID", n->desc);
	return TOPO_NONE;
}

static json_t *port_number(unsigned num)
{
	return num ? json_integer(num) : json_null();
}

/* Ports are null where there is none: in at the first hop, out at the last, and on a switch that is an end itself. */
static json_t *path_hop(const struct topo *t, const struct lid_map *lids,
			const struct path_hop *hop)
{
	const struct topo_node *node = &t->nodes[hop->node];
	const struct topo_port *out = topo_port(t, hop->node, hop->out_port);
	unsigned lid_port = hop->out_port ? hop->out_port : hop->in_port;
	bool leaves = hop->out_port != 0;

	if (node->type == TOPO_SWITCH)
		lid_port = 0;
	return json_pack("{s:s, s:o, s:s, s:i, s:o, s:o, s:o, s:o}", "name", node->desc, "guid",
			 json_guid(node->guid), "role", topo_role_name(node->role), "lid",
			 (int)lids->lid_of_port[node->port0 + lid_port], "in_port",
			 port_number(hop->in_port), "out_port", port_number(hop->out_port), "speed",
			 leaves ? json_string(topo_speed_name(out->speed)) : json_null(), "width",
			 leaves ? json_integer(out->width) : json_null());
}

static json_t *answer_path(const struct command_env *env, json_t *args, char *err)
{
	const struct topo *t = published(env, err);
	const struct lid_map *lids = fabric_lids(env->fabric);
	const char *from, *to;
	uint32_t source, target;
	struct path path;
	json_error_t why;
	json_t *hops;
	int status;

	if (!t || !published_tables(env, err) ||
	    !UNPACK(args, err, "{s:s, s:s}", "from", &from, "to", &to))
		return NULL;
	source = resolve_end(env, from, err);
	target = source == TOPO_NONE ? TOPO_NONE : resolve_end(env, to, err);
	if (target == TOPO_NONE)
		return NULL;
	status = path_trace(t, lids, fabric_tables(env->fabric), source, lids->lid_of_port[target],
			    &path);
	if (status)
		return refuse(err, "no way from %s to %s: %s", from, to, strerror(-status));
	hops = json_array();
	for (unsigned i = 0; i < path.count; i++)
		json_array_append_new(hops, path_hop(t, lids, &path.hops[i]));
	return json_pack("{s:i, s:o}", "dlid", (int)lids->lid_of_port[target], "hops", hops);
}

static json_t *answer_check(const struct command_env *env, json_t *args, char *err)
{
	struct check_report report = { 0 };
	json_error_t why;
	int readback = 0;
	bool sound;

	if (!published(env, err) || !published_tables(env, err) ||
	    !UNPACK(args, err, "{s?b}", "readback", &readback))
		return NULL;
	sound = fabric_check(env->fabric, &report);
	return json_pack("{s:b, s:o}", "sound", sound, "proof", report_proof(&report));
}

static json_t *answer_dump(const struct command_env *env, json_t *args, char *err)
{
	const char *file;
	json_error_t why;

	if (!published(env, err) || !published_tables(env, err) ||
	    !UNPACK(args, err, "{s:s}", "file", &file))
		return NULL;
	return osm_dump_find(file) ? json_pack("{s:s}", "follows", "text")
				   : refuse(err, "no dump file %s", file);
}

static int text_dump(const struct command_env *env, json_t *args, FILE *out)
{
	const char *file = json_string_value(json_object_get(args, "file"));
	const struct osm_dump_view view = { fabric_topo(env->fabric), fabric_lids(env->fabric),
					    fabric_tables(env->fabric), fabric_trees(env->fabric) };

	return osm_dump_find(file)->write(&view, out);
}

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
	json_error_t why;
	json_t *groups;

	if (!UNPACK(args, err, "{s?s}", "group", &name))
		return NULL;
	groups = fabric_groups(env->fabric);
	for (size_t i = json_array_size(groups); name && i-- > 0;)
		if (!is_named(json_array_get(groups, i), name))
			json_array_remove(groups, i);
	if (!name || json_array_size(groups))
		return groups;
	json_decref(groups);
	return refuse(err, "no multicast group %s", name);
}

static json_t *answer_partitions(const struct command_env *env, json_t *args, char *err)
{
	const char *which = NULL;
	json_error_t why;
	json_t *rows;

	if (!UNPACK(args, err, "{s?s}", "partition", &which))
		return NULL;
	rows = fabric_partitions(env->fabric, which);
	return rows ? rows : refuse(err, "no partition %s", which);
}

/* ---- Acts ---- */

static void ask_cordon(struct fabric *fabric, json_t *args, fabric_done_fn *fn, void *arg, bool on)
{
	char err[COMMAND_ERROR_SIZE];
	const char *what;
	json_error_t why;

	if (UNPACK(args, err, "{s:s}", "what", &what))
		fabric_cordon(fabric, what, on, fn, arg);
	else
		fn(arg, NULL, err);
}

static void act_cordon(struct fabric *fabric, json_t *args, fabric_done_fn *fn, void *arg)
{
	ask_cordon(fabric, args, fn, arg, true);
}

static void act_uncordon(struct fabric *fabric, json_t *args, fabric_done_fn *fn, void *arg)
{
	ask_cordon(fabric, args, fn, arg, false);
}

static void act_release(struct fabric *fabric, json_t *args, fabric_done_fn *fn, void *arg)
{
	char err[COMMAND_ERROR_SIZE];
	const char *what;
	json_error_t why;

	if (UNPACK(args, err, "{s:s}", "what", &what))
		fabric_release(fabric, what, fn, arg);
	else
		fn(arg, NULL, err);
}

static void act_forget(struct fabric *fabric, json_t *args, fabric_done_fn *fn, void *arg)
{
	char err[COMMAND_ERROR_SIZE];
	const char *what = NULL;
	int down = 0;
	json_error_t why;

	if (!UNPACK(args, err, "{s?s, s?b}", "what", &what, "down", &down))
		fn(arg, NULL, err);
	else if (!what == !down)
		fn(arg, NULL, "arguments: either what or down");
	else
		fabric_forget(fabric, what, fn, arg);
}

static void act_nvswitch(struct fabric *fabric, json_t *args, fabric_done_fn *fn, void *arg)
{
	const char *host, *state = NULL;
	char err[COMMAND_ERROR_SIZE];
	json_error_t why;

	if (UNPACK(args, err, "{s:s, s?s}", "host", &host, "state", &state))
		fabric_nvswitch_set(fabric, host, state, fn, arg);
	else
		fn(arg, NULL, err);
}

static json_t *answer_reload(const struct command_env *env, json_t *args, char *err)
{
	json_error_t why;

	if (!UNPACK(args, err, "{}") || env->reload(env->reload_arg, err, COMMAND_ERROR_SIZE))
		return NULL;
	return json_object();
}

static json_t *answer_loglevel(const struct command_env *env, json_t *args, char *err)
{
	const char *module = NULL, *level;
	json_error_t why;

	if (!UNPACK(args, err, "{s:s, s?s}", "level", &level, "module", &module))
		return NULL;
	if (log_level_parse(level) < 0)
		return refuse(err, "no level %s: error, warning, notice, info or debug", level);
	if (module && log_module_parse(module) < 0)
		return refuse(err, "no module %s", module);
	log_set_level(module ? log_module_parse(module) : -1, log_level_parse(level));
	return json_pack("{s:s, s:s}", "module", module ? module : "all", "level", level);
}

/* ---- The table ---- */

static const struct command commands[] = {
	{ .name = "status", .answer = answer_status },
	{ .name = "topology", .answer = answer_topology, .long_answer = true },
	{ .name = "nodes", .answer = answer_nodes, .long_answer = true },
	{ .name = "switches", .answer = answer_switches, .long_answer = true },
	{ .name = "links", .answer = answer_links, .long_answer = true },
	{ .name = "hosts", .answer = answer_hosts, .long_answer = true },
	{ .name = "lft", .answer = answer_lft, .long_answer = true },
	{ .name = "path", .answer = answer_path },
	{ .name = "check",
	  .answer = answer_check,
	  .long_answer = true,
	  .act = fabric_readback,
	  .act_when = "readback" },
	{ .name = "dump", .answer = answer_dump, .text = text_dump, .long_answer = true },
	{ .name = "groups", .answer = answer_groups, .long_answer = true },
	{ .name = "partitions", .answer = answer_partitions, .long_answer = true },
	{ .name = "events", .answer = answer_events },
	{ .name = "follow", .answer = answer_events, .follows = true },
	{ .name = "reroute", .act = fabric_reroute },
	{ .name = "sweep", .act = fabric_sweep },
	{ .name = "whatif", .answer = whatif_answer, .long_answer = true },
	{ .name = "cordon", .ask = act_cordon },
	{ .name = "uncordon", .ask = act_uncordon },
	{ .name = "health",
	  .answer = answer_health,
	  .long_answer = true,
	  .act = fabric_health_read,
	  .act_when = "read" },
	{ .name = "release", .ask = act_release },
	{ .name = "forget", .ask = act_forget },
	{ .name = "nvswitch", .answer = answer_nvswitch, .long_answer = true },
	{ .name = "nvswitch-set", .ask = act_nvswitch },
	{ .name = "reload", .answer = answer_reload, .changes = true },
	{ .name = "loglevel", .answer = answer_loglevel, .changes = true },
};

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

bool command_is_act(const struct command *command, json_t *args)
{
	if (!command->act)
		return command->ask != NULL;
	return !command->act_when || json_is_true(json_object_get(args, command->act_when));
}
