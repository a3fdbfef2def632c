/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/maintenance/target.h"
#include <stdio.h>
#include "topology/base/mem.h"

static struct target make(const struct topo *t, const struct what *what, uint32_t node)
{
	struct target target = { .guid = t->nodes[node].guid, .node = node, .port = what->port };

	what_name(t, what, target.name, sizeof(target.name));
	return target;
}

bool target_find(const struct fabric_view *view, const char *text, struct target *target, char *err)
{
	const struct what_scope scope = fabric_view_scope(view);
	struct what what;

	*target = (struct target){ .node = TOPO_NONE };
	if (!what_find(&scope, text, WHAT_NODE | WHAT_PORT, &what, err, TARGET_ERROR_SIZE))
		return false;
	*target = make(view->topo, &what, what.node);
	return true;
}

unsigned target_find_all(const struct fabric_view *view, const char *text, struct target **targets,
			 char *err)
{
	const struct what_scope scope = fabric_view_scope(view);
	const uint32_t *nodes;
	struct what what;
	unsigned count;

	*targets = NULL;
	if (!what_find(&scope, text, WHAT_PLACE, &what, err, TARGET_ERROR_SIZE))
		return 0;
	count = what_nodes(view->topo, &what, &nodes);
	*targets = mem_alloc(count, sizeof(**targets));
	for (unsigned i = 0; i < count; i++)
		(*targets)[i] = make(view->topo, &what, nodes[i]);
	return count;
}

const struct topo_port *target_far_end(const struct topo *t, uint32_t node, unsigned num)
{
	const struct topo_port *peer = topo_peer(t, topo_port(t, node, num));

	return node < t->nswitches && peer && peer->node < t->nswitches ? peer : NULL;
}

unsigned target_count_links(const struct topo *t, const struct target *target)
{
	unsigned count = 0;

	if (target->node == TOPO_NONE)
		return 0;
	for (unsigned num = 1; num <= t->nodes[target->node].nports; num++)
		if ((!target->port || num == target->port) && target_far_end(t, target->node, num))
			count++;
	return count;
}
