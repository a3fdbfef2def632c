/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_forget: cables that are down are a part of the design until somebody says that they are gone for good, for nobody else can
 * know. Their ends are then without a cable, and a node that nothing leads to any more is no node of the fabric. An act
 * like `reroute`: what was left free for them is in use when it is answered. What comes back later is new.
 */
#include <stdlib.h>
#include "fm/core/words.h"
#include "fm/fabric/own.h"

#define ERROR_SIZE 512

/* Of all the ports of a node, or one. */
static unsigned forget_cables(struct inventory *inv, struct inv_node *node, unsigned only)
{
	unsigned count = 0;

	for (unsigned p = only ? only : 1; p <= (only ? only : node->nports); p++)
		if (p <= node->nports && node->ports[p].peer && !node->ports[p].link_up) {
			inventory_unlink(inv, node, (uint8_t)p);
			count++;
		}
	return count;
}

static unsigned forget_all_cables(struct inventory *inv)
{
	unsigned count = 0;

	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node))
		count += forget_cables(inv, node, 0);
	return count;
}

static bool is_nowhere(const struct inventory *inv, const struct inv_node *node)
{
	if (!node->gone || node == inv->local)
		return false;
	for (unsigned p = 1; p <= node->nports; p++)
		if (node->ports[p].peer)
			return false;
	return true;
}

/* Its LIDs are free for others. */
static void forget_lids_of(struct fabric *f, const struct inv_node *node)
{
	lid_memory_drop(&f->memory, node->guid);
	for (unsigned p = 1; node->port_guids && p <= node->nports; p++)
		lid_memory_drop(&f->memory, node->port_guids[p]);
}

/* Of ports that are no part of the fabric, and were not before. */
static unsigned forget_lids_of_absent(struct fabric *f)
{
	unsigned before = f->memory.count;

	for (uint32_t i = f->memory.count; i-- > 0;)
		if (topo_find_port(f->topo, f->memory.entries[i].port_guid) == TOPO_NONE)
			lid_memory_drop(&f->memory, f->memory.entries[i].port_guid);
	return before - f->memory.count;
}

static unsigned forget_nodes(struct fabric *f)
{
	struct inventory *inv = sweep_inventory(f->sweep);
	struct inv_node *node, *next;
	unsigned count = 0;

	for (node = inventory_first(inv); node; node = next) {
		next = inventory_next(inv, node);
		if (!is_nowhere(inv, node))
			continue;
		forget_lids_of(f, node);
		inventory_remove(inv, node);
		count++;
	}
	return count;
}

static void follow_up(struct fabric *f, const char *what, unsigned cables, unsigned lids,
		      fabric_done_fn *fn, void *arg)
{
	static const struct fabric_operation_ops ops = { .file = NULL };
	unsigned nodes = forget_nodes(f);

	event_log_add(f->events, LOG_NOTICE, "forgotten",
		      json_pack("{si si si}", "cables", (int)cables, "nodes", (int)nodes, "absent",
				(int)lids),
		      "%s: forgotten, %u %s that %s down, %u %s; LIDs of %u ports that left "
		      "earlier are free",
		      what, cables, words_plural(cables, "cable", "cables"),
		      words_plural(cables, "was", "were"), nodes,
		      words_plural(nodes, "node", "nodes"), lids);
	fabric_state_save(f);
	fabric_operation_start(f, &ops, NULL, fn, arg);
	fabric_request_reroute(f, "links were forgotten");
}

void fabric_forget(struct fabric *f, const char *what, fabric_done_fn *fn, void *arg)
{
	struct inventory *inv = sweep_inventory(f->sweep);
	char err[ERROR_SIZE];
	struct target target = { .name = "fabric" };
	struct inv_node *node = NULL;
	unsigned cables, lids;

	if (!f->topo || (what && !fabric_find_target(f, what, &target, err))) {
		fn(arg, NULL, f->topo ? err : "no picture of the fabric yet");
		return;
	}
	if (what)
		node = inventory_find(inv, target.guid);
	cables = !what ? forget_all_cables(inv) : node ? forget_cables(inv, node, target.port) : 0;
	lids = what ? 0 : forget_lids_of_absent(f);
	if (cables || lids)
		follow_up(f, target.name, cables, lids, fn, arg);
	else
		fn(arg, NULL, "no cable of it is down: nothing to forget");
}
