/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * answer_tables: forwarding tables: of a switch, along a path, their proof, and as OpenSM's files.
 */
#include <string.h>
#include "fm/control/answer.h"
#include "fm/fabric/view.h"
#include "fm/multicast/module.h"
#include "fm/opensm/osm_dump.h"
#include "routing/path.h"
#include "routing/report/report.h"

static json_t *json_guid(guid_t guid)
{
	return json_sprintf("0x%016llx", (unsigned long long)guid);
}

static json_t *lft_entry(const struct topo *t, uint32_t owner, uint32_t lid, uint8_t port)
{
	return json_pack("{s:i, s:i, s:s}", "lid", (int)lid, "port", (int)port, "to",
			 t->nodes[t->ports[owner].node].name);
}

/* One row for each LID that somebody has; port null = packets to it are dropped. */
static json_t *lft_entries(const struct command_env *env, uint32_t sw)
{
	const struct topo *t = fabric_view(env->fabric).topo;
	const struct lid_map *lids = fabric_view(env->fabric).lids;
	const uint8_t *row = tables_row(fabric_view(env->fabric).tables, sw);
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
	const struct topo *t = command_topo(env, err);
	const struct topo_node *sw;
	const char *what;
	unsigned port;
	uint32_t node;

	if (!t || !command_tables(env, err) || !command_unpack(args, err, "{s:s}", "switch", &what))
		return NULL;
	node = topo_resolve(t, what, &port, err, COMMAND_ERROR_SIZE);
	if (node == TOPO_NONE)
		return NULL;
	sw = &t->nodes[node];
	if (port)
		return command_refuse(err, "%s: a table is a whole switch's, not a port's", what);
	if (sw->type != TOPO_SWITCH)
		return command_refuse(err, "%s is no switch", sw->name);
	return json_pack("{s:s, s:o, s:i, s:o}", "name", sw->name, "guid", json_guid(sw->guid),
			 "lid", (int)fabric_view(env->fabric).lids->lid_of_port[sw->port0],
			 "entries", lft_entries(env, node));
}
const struct command_run lft_run = { .answer = answer_lft, .long_answer = true };

/*
 * The port that packets to or from `what` use: the one written, a switch's own, or the first with a
 * LID.
 */
static uint32_t resolve_end(const struct command_env *env, const char *what, char *err)
{
	const struct topo *t = fabric_view(env->fabric).topo;
	const struct lid_map *lids = fabric_view(env->fabric).lids;
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
	command_refuse(err, "%s has no port with a LID", n->name);
	return TOPO_NONE;
}

static json_t *port_number(unsigned num)
{
	return num ? json_integer(num) : json_null();
}

/*
 * Ports are null where there is none: in at the first hop, out at the last, and on a switch that is
 * an end itself.
 */
static json_t *path_hop(const struct topo *t, const struct lid_map *lids,
			const struct path_hop *hop)
{
	const struct topo_node *node = &t->nodes[hop->node];
	const struct topo_port *out = topo_port(t, hop->node, hop->out_port);
	unsigned lid_port = hop->out_port ? hop->out_port : hop->in_port;
	bool leaves = hop->out_port != 0;

	if (node->type == TOPO_SWITCH)
		lid_port = 0;
	return json_pack("{s:s, s:o, s:s, s:i, s:o, s:o, s:o, s:o}", "name", node->name, "guid",
			 json_guid(node->guid), "role", topo_role_name(node->role), "lid",
			 (int)lids->lid_of_port[node->port0 + lid_port], "in_port",
			 port_number(hop->in_port), "out_port", port_number(hop->out_port), "speed",
			 leaves ? json_string(topo_speed_name(out->speed)) : json_null(), "width",
			 leaves ? json_integer(out->width) : json_null());
}

static json_t *answer_path(const struct command_env *env, json_t *args, char *err)
{
	const struct topo *t = command_topo(env, err);
	const struct lid_map *lids = fabric_view(env->fabric).lids;
	const char *from, *to;
	uint32_t source, target;
	struct path path;
	json_t *hops;
	int status;

	if (!t || !command_tables(env, err) ||
	    !command_unpack(args, err, "{s:s, s:s}", "from", &from, "to", &to))
		return NULL;
	source = resolve_end(env, from, err);
	target = source == TOPO_NONE ? TOPO_NONE : resolve_end(env, to, err);
	if (target == TOPO_NONE)
		return NULL;
	status = path_trace(t, lids, fabric_view(env->fabric).tables, source,
			    lids->lid_of_port[target], &path);
	if (status)
		return command_refuse(err, "no route from %s to %s: %s", from, to,
				      strerror(-status));
	hops = json_array();
	for (unsigned i = 0; i < path.count; i++)
		json_array_append_new(hops, path_hop(t, lids, &path.hops[i]));
	return json_pack("{s:i, s:o}", "dlid", (int)lids->lid_of_port[target], "hops", hops);
}
const struct command_run path_run = { .answer = answer_path };

static json_t *answer_check(const struct command_env *env, json_t *args, char *err)
{
	struct check_report report = { 0 };
	int readback = 0;
	bool sound;

	if (!command_topo(env, err) || !command_tables(env, err) ||
	    !command_unpack(args, err, "{s?b}", "readback", &readback))
		return NULL;
	sound = fabric_check(env->fabric, &report);
	return json_pack("{s:b, s:o}", "sound", sound, "proof", report_proof(&report));
}
const struct command_run check_run = { .answer = answer_check,
				       .long_answer = true,
				       .act = fabric_readback };

static json_t *answer_dump(const struct command_env *env, json_t *args, char *err)
{
	const char *file;

	if (!command_topo(env, err) || !command_tables(env, err) ||
	    !command_unpack(args, err, "{s:s}", "file", &file))
		return NULL;
	return osm_dump_find(file) ? json_pack("{s:s}", "follows", "text")
				   : command_refuse(err, "no dump file %s", file);
}

static int text_dump(const struct command_env *env, json_t *args, FILE *out)
{
	const char *file = json_string_value(json_object_get(args, "file"));
	const struct osm_dump_view view = { fabric_view(env->fabric).topo,
					    fabric_view(env->fabric).lids,
					    fabric_view(env->fabric).tables,
					    multicast_trees(env->fabric) };

	return osm_dump_find(file)->write(&view, out);
}
const struct command_run dump_run = { .answer = answer_dump,
				      .text = text_dump,
				      .long_answer = true };
