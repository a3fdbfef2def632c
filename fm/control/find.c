/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/control/find.h"
#include <stdlib.h>
#include "fm/fabric/view.h"
#include "fm/sa/module.h"
#include "topology/base/mem.h"

static guid_t port_of_alias(const void *arg, guid_t guid)
{
	return sa_port_of_alias(arg, guid);
}

bool command_find_what(const struct command_env *env, const char *text, unsigned accepts,
		       struct what *what, char *err)
{
	const struct fabric_view view = fabric_view(env->fabric);
	struct what_scope scope = fabric_view_scope(&view);

	scope.alias = port_of_alias;
	scope.alias_arg = env->fabric;
	return what_find(&scope, text, accepts, what, err, COMMAND_ERROR_SIZE);
}

uint32_t command_find_switch(const struct command_env *env, const char *text, char *err)
{
	const struct topo *t = fabric_view(env->fabric).topo;
	struct what what;

	if (!command_find_what(env, text, WHAT_NODE | WHAT_PORT, &what, err))
		return TOPO_NONE;
	if (t->nodes[what.node].type != TOPO_SWITCH)
		command_refuse(err, "%s is not a switch", t->nodes[what.node].name);
	else if (what.port)
		command_refuse(err, "%s: a port has no forwarding table; name its switch", text);
	else
		return what.node;
	return TOPO_NONE;
}

bool command_find_number(const struct command_env *env, const char *text, unsigned accepts,
			 struct what *what, char *err)
{
	static const struct topo nothing = { 0 };
	const struct fabric_view view = fabric_view(env->fabric);
	struct what_scope scope = fabric_view_scope(&view);

	if (!scope.topo)
		scope.topo = &nothing;
	scope.number_is_pkey = accepts == WHAT_PKEY;
	return what_find(&scope, text, accepts, what, err, COMMAND_ERROR_SIZE);
}

const char *command_find_host(const struct command_env *env, const char *text)
{
	char err[COMMAND_ERROR_SIZE];
	struct what what;

	return command_find_what(env, text, WHAT_HOST, &what, err)
		       ? fabric_view(env->fabric).topo->hosts[what.host].name
		       : NULL;
}

/* ---- Ends of paths --------------------------------------------------------------------------- */

/* only: a port; 0 = the first with a LID. */
static uint32_t end_port(const struct fabric_view *view, uint32_t node, unsigned only)
{
	const struct topo_node *n = &view->topo->nodes[node];

	if (n->type == TOPO_SWITCH)
		return n->port0;
	for (unsigned p = only ? only : 1; p <= (only ? only : n->nports); p++)
		if (view->lids->lid_of_port[n->port0 + p])
			return n->port0 + p;
	return TOPO_NONE;
}

unsigned command_end_ports(const struct command_env *env, const char *text, uint32_t **ports,
			   char *err)
{
	const struct fabric_view view = fabric_view(env->fabric);
	const uint32_t *nodes;
	unsigned count, found = 0;
	struct what what;
	char name[256];

	*ports = NULL;
	if (!command_find_what(env, text, WHAT_PLACE, &what, err))
		return 0;
	count = what_nodes(view.topo, &what, &nodes);
	*ports = mem_alloc(count, sizeof(**ports));
	for (unsigned i = 0; i < count; i++) {
		uint32_t port = end_port(&view, nodes[i], what.port);

		if (port != TOPO_NONE)
			(*ports)[found++] = port;
	}
	what_name(view.topo, &what, name, sizeof(name));
	if (!found)
		command_refuse(err, "%s has no port with a LID", name);
	return found;
}
