/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* answer_show: everything known of one part of the fabric, on one screen. */
#include <stdlib.h>
#include "fm/control/show.h"

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
	if (what->by == WHAT_BY_LID)
		show_lid(s, what);
	else if (what->port)
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
	s.unhealthy = fabric_unhealthy(env->fabric);
	s.doc = json_object();
	if (!fill(&s, &what, err)) {
		json_decref(s.doc);
		s.doc = NULL;
	}
	json_decref(s.unhealthy);
	return s.doc;
}
const struct command_run show_run = { .answer = answer_show, .long_answer = true };
