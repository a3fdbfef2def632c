/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/maintenance/forget.h"
#include <stdlib.h>
#include <string.h>
#include "fm/core/words.h"
#include "fm/fabric/operation.h"
#include "fm/fabric/request.h"
#include "fm/fabric/view.h"
#include "fm/maintenance/target.h"

/* only: a port; 0 = all. Returns how many links were down. */
static unsigned forget_links(struct inventory *inv, struct inv_node *node, unsigned only)
{
	unsigned count = 0;

	for (unsigned p = only ? only : 1; p <= (only ? only : node->nports); p++)
		if (p <= node->nports && node->ports[p].peer && !node->ports[p].link_up) {
			inventory_unlink(inv, node, (uint8_t)p);
			count++;
		}
	return count;
}

/* What was named: false, with the reason in err, if nothing is so. */
static bool forget_what(struct fabric *fabric, struct inventory *inv, const char *what, char *name,
			unsigned *links, char *err)
{
	const struct fabric_view view = fabric_view(fabric);
	struct target *targets;
	unsigned count = target_find_all(&view, what, &targets, err);

	for (unsigned i = 0; i < count; i++) {
		struct inv_node *node = inventory_find(inv, targets[i].guid);

		*links += node ? forget_links(inv, node, targets[i].port) : 0;
		strcpy(name, targets[i].name);
	}
	free(targets);
	return count;
}

static unsigned forget_all_links(struct inventory *inv)
{
	unsigned count = 0;

	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node))
		count += forget_links(inv, node, 0);
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

static unsigned forget_nodes(struct fabric *fabric, struct inventory *inv)
{
	struct inv_node *node, *next;
	unsigned count = 0;

	for (node = inventory_first(inv); node; node = next) {
		next = inventory_next(inv, node);
		if (!is_nowhere(inv, node))
			continue;
		fabric_request_lids_free(fabric, node->guid);
		for (unsigned p = 1; node->port_guids && p <= node->nports; p++)
			fabric_request_lids_free(fabric, node->port_guids[p]);
		inventory_remove(inv, node);
		count++;
	}
	return count;
}

/* LIDs of ports that are no part of the fabric, and were not before. */
static unsigned forget_absent(struct fabric *fabric, const struct lid_memory *lids)
{
	const struct topo *t = fabric_view(fabric).topo;
	unsigned before = lids->count;

	for (uint32_t i = lids->count; i-- > 0;)
		if (topo_find_port(t, lids->entries[i].port_guid) == TOPO_NONE)
			fabric_request_lids_free(fabric, lids->entries[i].port_guid);
	return before - lids->count;
}

static void follow_up(struct fabric *fabric, const struct fabric_services *services,
		      const char *name, unsigned links, unsigned lids)
{
	unsigned nodes = forget_nodes(fabric, services->inventory);

	event_log_add(services->events, LOG_NOTICE, "forgotten",
		      json_pack("{si si si}", "cables", (int)links, "nodes", (int)nodes, "absent",
				(int)lids),
		      "%s: forgot %u %s that %s down and %u %s; freed the LIDs of %u %s that "
		      "left earlier",
		      name, links, words_plural(links, "link", "links"),
		      words_plural(links, "was", "were"), nodes,
		      words_plural(nodes, "node", "nodes"), lids,
		      words_plural(lids, "port", "ports"));
}

void forget(struct fabric *fabric, const struct fabric_services *services, const char *what,
	    waiter_fn *fn, void *arg)
{
	static const struct fabric_operation_ops ops = { .file = "cables",
							 .also = "lids",
							 .late = true };
	struct inventory *inv = services->inventory;
	char err[TARGET_ERROR_SIZE], name[sizeof(((struct target *)NULL)->name)] = "fabric";
	unsigned links = 0, lids = 0;

	if (!fabric_view(fabric).topo) {
		fn(arg, NULL, "no topology yet");
		return;
	}
	if (what && !forget_what(fabric, inv, what, name, &links, err)) {
		fn(arg, NULL, err);
		return;
	}
	if (!what) {
		links = forget_all_links(inv);
		lids = forget_absent(fabric, services->lids);
	}
	if (!links && !lids) {
		fn(arg, NULL,
		   what ? "it has no link that is down: nothing to forget"
			: "no link is down: nothing to forget");
		return;
	}
	follow_up(fabric, services, name, links, lids);
	fabric_operation_start(fabric, &ops, NULL, fn, arg);
	fabric_request_reroute(fabric, "links were forgotten");
}
