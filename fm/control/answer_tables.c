/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * answer_tables: forwarding tables: of a switch, along a path, their proof, and as OpenSM's files.
 */
#include <stdlib.h>
#include <string.h>
#include "fm/control/answer.h"
#include "fm/control/find.h"
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
	uint32_t node;

	if (!t || !command_tables(env, err) || !command_unpack(args, err, "{s:s}", "switch", &what))
		return NULL;
	node = command_find_switch(env, what, err);
	if (node == TOPO_NONE)
		return NULL;
	sw = &t->nodes[node];
	return json_pack("{s:s, s:o, s:i, s:o}", "name", sw->name, "guid", json_guid(sw->guid),
			 "lid", (int)fabric_view(env->fabric).lids->lid_of_port[sw->port0],
			 "entries", lft_entries(env, node));
}
const struct command_run lft_run = { .answer = answer_lft, .long_answer = true };

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

static json_t *path_hops(const struct fabric_view *view, const struct path *path)
{
	json_t *hops = json_array();

	for (unsigned i = 0; i < path->count; i++)
		json_array_append_new(hops, path_hop(view->topo, view->lids, &path->hops[i]));
	return hops;
}

/* One path of a host's: which ends it joins, and by which switches. */
static json_t *path_row(const struct fabric_view *view, uint32_t from, uint32_t to)
{
	const struct topo *t = view->topo;
	struct path path = { 0 };
	json_t *via = json_array();
	int status =
		path_trace(t, view->lids, view->tables, from, view->lids->lid_of_port[to], &path);

	for (unsigned i = 0; !status && i < path.count; i++)
		if (path.hops[i].node < t->nswitches)
			json_array_append_new(via, json_string(t->nodes[path.hops[i].node].name));
	return json_pack("{ss ss si si so ss*}", "from", t->nodes[t->ports[from].node].name, "to",
			 t->nodes[t->ports[to].node].name, "slid",
			 (int)view->lids->lid_of_port[from], "dlid",
			 (int)view->lids->lid_of_port[to], "via", via, "error",
			 status ? strerror(-status) : NULL);
}

struct ends {
	uint32_t *ports;
	unsigned count;
};

/* Of a host's ports the one on the other end's rail, else that in its place, else the first. */
static uint32_t partner(const struct topo *t, uint32_t of, unsigned place, const struct ends *ends)
{
	int16_t rail = t->nodes[t->ports[of].node].rail;

	for (unsigned i = 0; rail >= 0 && i < ends->count; i++)
		if (t->nodes[t->ports[ends->ports[i]].node].rail == rail)
			return ends->ports[i];
	return ends->ports[place < ends->count ? place : 0];
}

/* A row for each HCA of the host that has more of them. */
static json_t *path_rows(const struct fabric_view *view, const struct ends *from,
			 const struct ends *to)
{
	json_t *rows = json_array();

	for (unsigned i = 0; from->count >= to->count && i < from->count; i++)
		json_array_append_new(rows, path_row(view, from->ports[i],
						     partner(view->topo, from->ports[i], i, to)));
	for (unsigned i = 0; from->count < to->count && i < to->count; i++)
		json_array_append_new(
			rows,
			path_row(view, partner(view->topo, to->ports[i], i, from), to->ports[i]));
	return rows;
}

static json_t *path_document(const struct fabric_view *view, const struct ends *from,
			     const struct ends *to, char *err)
{
	bool several = from->count > 1 || to->count > 1;
	bool by_target = to->count > from->count;
	uint32_t source = by_target ? partner(view->topo, to->ports[0], 0, from) : from->ports[0];
	uint32_t target = by_target ? to->ports[0] : partner(view->topo, source, 0, to);
	struct path path;
	json_t *doc;
	int status;

	status = path_trace(view->topo, view->lids, view->tables, source,
			    view->lids->lid_of_port[target], &path);
	if (status && !several)
		return command_refuse(err, "%s", strerror(-status));
	doc = json_pack("{s:i, s:o}", "dlid", (int)view->lids->lid_of_port[target], "hops",
			status ? json_array() : path_hops(view, &path));
	if (several)
		json_object_set_new(doc, "paths", path_rows(view, from, to));
	return doc;
}

static json_t *answer_path(const struct command_env *env, json_t *args, char *err)
{
	const struct fabric_view view = fabric_view(env->fabric);
	struct ends from = { 0 }, to = { 0 };
	const char *from_text, *to_text;
	char why[COMMAND_ERROR_SIZE];
	json_t *doc = NULL;

	if (!command_topo(env, err) || !command_tables(env, err) ||
	    !command_unpack(args, err, "{s:s, s:s}", "from", &from_text, "to", &to_text))
		return NULL;
	from.count = command_end_ports(env, from_text, &from.ports, err);
	if (from.count)
		to.count = command_end_ports(env, to_text, &to.ports, err);
	if (to.count)
		doc = path_document(&view, &from, &to, why);
	if (to.count && !doc)
		command_refuse(err, "no route from %s to %s: %.60s", from_text, to_text, why);
	free(from.ports);
	free(to.ports);
	return doc;
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
				       .begin = fabric_readback };

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
const struct command_run dump_run = { .answer = answer_dump, .text = text_dump };
