/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/control/show.h"
#include "fm/inforce/module.h"
#include "fm/perf/module.h"
#include "fm/multicast/module.h"
#include "fm/partition/module.h"
#include "fm/registers/module.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

/* ---- Groups ---------------------------------------------------------------------------------- */

static void show_tree(struct show *s, uint16_t mlid)
{
	const struct mcast_plan *plan = multicast_trees(s->env->fabric);
	const struct mcast_tree *tree = plan ? mcast_plan_tree(plan, mlid) : NULL;
	json_t *rows = json_array();

	for (uint32_t h = 0; tree && h < tree->nhops; h++) {
		uint32_t sw = topo_find(s->t, tree->hops[h].guid);
		const struct mcast_hop *hop = &tree->hops[h];
		char text[400] = "";

		for (unsigned port = 0; port < 256 && strlen(text) < sizeof(text) - 8; port++)
			if (mcast_forwards(hop, port))
				array_add(text, "%s%u", *text ? " " : "", port);
		json_add(rows, "{so so ss sb}", "switch",
			 sw == TOPO_NONE ? json_guid(hop->guid) : json_string(s->t->nodes[sw].name),
			 "level", json_index(sw == TOPO_NONE ? -1 : s->t->nodes[sw].level),
			 "out_ports", text, "root", hop->sw == tree->root);
	}
	json_object_set_new(s->doc, "tree", rows);
}

/* Scalars of a row, those of its tree with "tree_" before; no lists. */
static void take_facts(json_t *doc, json_t *row, const char *before)
{
	const char *key;
	json_t *value;
	char name[64];

	json_object_foreach (row, key, value) {
		array_printf(name, "%s%s", before, key);
		if (json_is_object(value))
			take_facts(doc, value, "tree_");
		else if (!json_is_array(value))
			json_object_set(doc, name, value);
	}
}

/* A row a group, of one partition or of all (-1). */
static void show_groups(struct show *s, const json_t *groups, int pkey)
{
	json_t *rows = json_array();

	JSON_EACH (group, groups) {
		json_t *row = json_object();

		take_facts(row, group, "");
		if (pkey < 0 || PKEY_BASE(strtoul(json_text(group, "pkey"), NULL, 0)) == pkey)
			json_array_append(rows, row);
		json_decref(row);
	}
	json_object_set_new(s->doc, "groups", rows);
}

/*
 * Here, in show_node.c and show_port.c: each fills the document. False: there is no
 * such group or partition, the reason is in err.
 */
static bool show_group(struct show *s, const struct what *what, char *err)
{
	/* Groups that are meant: by MGID one, by MLID all that share it. The caller's. */
	json_t *groups = multicast_groups_of(s->env->fabric,
					     what->kind == WHAT_MLID ? what->number : 0,
					     what->kind == WHAT_MGID ? what->mgid : NULL),
	       *group = json_array_get(groups, 0), *members;
	struct event_about about = { 0 };
	char text[64];

	what_name(s->t, what, text, sizeof(text));
	if (!group) {
		json_decref(groups);
		return command_refuse(err, "no multicast group has %s", text);
	}
	json_put(s->doc, "{ss ss}", "kind", "group", "name", text);
	take_facts(s->doc, group, "");
	if (json_array_size(groups) > 1)
		show_groups(s, groups, -1);
	members = json_object_get(group, "members");
	JSON_EACH (member, members) {
		uint32_t at = topo_find_port(s->t, json_guid_of(member, "guid"));
		const struct topo_port *peer =
			at == TOPO_NONE ? NULL : topo_peer(s->t, &s->t->ports[at]);

		json_put(member, "{so ss? so}", "lid",
			 json_index(at == TOPO_NONE ? -1 : s->view.lids->lid_of_port[at]), "leaf",
			 peer ? s->t->nodes[peer->node].name : NULL, "leaf_port",
			 json_index(peer ? peer->num : -1));
	}
	json_object_set(s->doc, "members", members);
	about.mlid = strtoul(json_text(group, "mlid"), NULL, 0);
	show_tree(s, about.mlid);
	show_news(s, &about);
	json_decref(groups);
	return true;
}

/* ---- Partitions ------------------------------------------------------------------------------ */

static bool show_partition(struct show *s, unsigned pkey, char *err)
{
	char text[16];
	const struct event_about about = { .pkey = PKEY_BASE(pkey) };

	array_printf(text, "0x%04x", PKEY_BASE(pkey));

	json_t *rows = partitions_document(s->env->fabric, text);
	json_t *row = json_array_get(rows, 0);

	if (!row) {
		json_decref(rows);
		return command_refuse(err, "no partition has P_Key %s", text);
	}
	json_put(s->doc, "{ss}", "kind", "partition");
	json_object_update(s->doc, row);

	json_t *groups = multicast_groups_of(s->env->fabric, 0, NULL);

	show_groups(s, groups, PKEY_BASE(pkey));
	json_decref(groups);

	show_news(s, &about);
	json_decref(rows);
	return true;
}

/* answer_show: everything known of one part of the fabric, on one screen. */

static bool fill(struct show *s, const struct what *what, char *err)
{
	switch (what->kind) {
	case WHAT_HOST:
		show_host(s, what->host);
		return true;
	case WHAT_MLID:
	case WHAT_MGID:
		return show_group(s, what, err);
	case WHAT_PKEY:
		return show_partition(s, what->number, err);
	default:
		break;
	}
	if (what->by == WHAT_BY_LID) {
		uint32_t at = s->view.lids->port_of_lid[what->number];
		const struct lid_use use = link_use_of_lid(&s->scene, what->number);
		unsigned base = s->view.lids->lid_of_port[at];

		json_put(s->doc, "{ss ss si ss si si si}", "kind", "lid", "name", "", "lid",
			 what->number, "of", s->t->nodes[what->node].name, "base_lid", base,
			 "switches_forwarding", use.forward, "switches_dropping", use.drop);
		if (what->port)
			show_port(s, at, false);
		else
			show_node(s, what->node);
		if (s->from == TOPO_NONE)
			show_path(s, what->number);
		json_put(s->doc, "{ss so si}", "kind", "lid", "name",
			 json_sprintf("LID %u", what->number), "lid", what->number);
	} else if (what->port)
		show_port(s, s->t->nodes[what->node].port0 + what->port, what->by == WHAT_BY_LINK);
	else
		show_node(s, what->node);
	return true;
}

/* Where paths begin: at one port. */
static bool take_from(struct show *s, const struct what *what, const char *from, char *err)
{
	uint32_t *ports;
	unsigned count = command_end_ports(s->env, from, &ports, err);

	if (count == 1 && what->kind & (WHAT_NODE | WHAT_PORT))
		s->from = ports[0];
	else if (count == 1)
		command_refuse(
			err,
			"the destination of a path is a node, a port or a LID; see `fmctl path`");
	else if (count)
		command_refuse(err, "%s has %u HCAs: name one of them as the source of the path",
			       from, count);
	free(ports);
	return s->from != TOPO_NONE;
}

static json_t *answer_show(const struct command_env *env, json_t *args, char *err)
{
	struct show s = { .env = env, .view = fabric_view(env->fabric), .from = TOPO_NONE };
	const char *text, *from = NULL;
	struct what what;

	if (!command_topo(env, err) || !command_tables(env, err) ||
	    !command_unpack(args, err, "{s:s, s?s}", "what", &text, "from", &from) ||
	    !command_find_what(env, text, WHAT_ANY, &what, err) ||
	    (from && !take_from(&s, &what, from, err)))
		return NULL;
	s.t = s.view.topo;
	s.scene = (struct link_use_scene){ s.t, s.view.lids, s.view.tables };
	s.view.tables = inforce_tables(env->fabric);
	s.unhealthy = link_health_links(env->fabric);
	s.doc = json_object();
	if (!fill(&s, &what, err)) {
		json_decref(s.doc);
		s.doc = NULL;
	}
	json_decref(s.unhealthy);
	return s.doc;
}
/* What is no port has nothing to be read. */
static void begin_show(struct fabric *fabric, json_t *args, fabric_done_fn *fn, void *arg)
{
	const struct command_env env = { .fabric = fabric };
	const struct topo *t = fabric_view(fabric).topo;
	const char *text = json_text(args, "what");
	char err[COMMAND_ERROR_SIZE];
	struct what what;

	if (t && text && command_find_what(&env, text, WHAT_ANY, &what, err) &&
	    what.kind & WHAT_PORT)
		link_bit_errors_read(fabric, t->nodes[what.node].guid, what.port, fn, arg);
	else
		fn(arg, NULL, NULL);
}
const struct command_run show_run = { .answer = answer_show,
				      .long_answer = true,
				      .begin_with = begin_show,
				      .of_standby = true,
				      .answers_after = true };
