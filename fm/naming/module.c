/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The node-name-map, and labels of ports (labels.h). The file is read when fmd starts and at each
 * reload; the inventory borrows what was read, and the update that follows each reload brings the
 * names into the next snapshot. A file that is bad changes nothing: a reload is refused before it
 * comes here, and a start, which must not fail for names, goes on without and has an alert.
 */
#include "fm/naming/module.h"
#include <stdlib.h>
#include "fm/fabric/progress.h"
#include "fm/naming/labels.h"
#include "topology/base/mem.h"
#include "topology/snapshot/naming.h"

struct naming_room {
	struct fabric *fabric;
	struct fabric_services services;
	struct labels *labels;	  /* of ports */
	struct node_names *names; /* NULL = no map */
};

/* Reads the file into *names (NULL = none is configured). False = it is bad, which is an event. */
static bool load_file(const struct naming_room *r, struct node_names **names)
{
	const char *path = r->services.conf->node_name_map;
	char err[512];

	*names = *path ? node_names_read(path, err, sizeof(err)) : NULL;
	if (*path && !*names) {
		event_log_add(r->services.events, LOG_ERR, "names-refused", NULL, NULL,
			      "fabric: previous node names kept: %s", err);
		trouble_set(r->services.alerts, "node_name_map", err);
		return false;
	}
	trouble_set(r->services.alerts, "node_name_map", NULL);
	return true;
}

static uint32_t count_here(const struct naming_room *r)
{
	uint32_t here = 0;

	for (uint32_t i = 0; i < node_names_count(r->names); i++)
		here += inventory_find(r->services.inventory, node_names_guid(r->names, i)) != NULL;
	return here;
}

static void log_names(const struct naming_room *r)
{
	uint32_t count = node_names_count(r->names), here = count_here(r);

	if (count)
		event_log_add(r->services.events, LOG_NOTICE, "names", NULL,
			      json_pack("{si si}", "names", (int)count, "nodes", (int)here),
			      "fabric: %u node names from %s, %u of them of known nodes", count,
			      r->services.conf->node_name_map, here);
	else
		event_log_add(r->services.events, LOG_NOTICE, "names", NULL, NULL,
			      "fabric: node_name_map was removed, nodes are named by their "
			      "NodeDescriptions");
}

static void configure(void *room)
{
	struct naming_room *r = room;
	struct node_names *next, *before = r->names;

	if (!load_file(r, &next))
		return;
	if (node_names_equal(next, before)) {
		node_names_free(next);
		return;
	}
	r->names = next;
	inventory_name_nodes(r->services.inventory, next);
	node_names_free(before);
	log_names(r);
}

/* ---- Labels of ports ------------------------------------------------------------------------- */

static bool may_ask(void *arg)
{
	const struct naming_room *r = arg;

	return fabric_is_quiet(r->fabric);
}

/* The next snapshot is made anew, with them. */
static void labels_changed(void *arg)
{
	struct naming_room *r = arg;

	r->services.inventory->shapes++;
	fabric_request_reroute(r->fabric, "ports have other labels");
}

static void settled(void *room, enum fabric_settle_step step)
{
	struct naming_room *r = room;

	if (step == FABRIC_SETTLED)
		labels_ask(r->labels);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void *init(struct fabric *fabric)
{
	static const struct labels_ops ops = { .may_ask = may_ask, .changed = labels_changed };
	struct naming_room *r = mem_alloc(1, sizeof(*r));

	r->fabric = fabric;
	r->services = fabric_services(fabric);
	if (load_file(r, &r->names))
		inventory_name_nodes(r->services.inventory, r->names);
	r->labels = labels_new(r->services.loop, r->services.mad, r->services.inventory, &ops, r);
	return r;
}

static void fini(void *room)
{
	struct naming_room *r = room;

	labels_free(r->labels);
	inventory_name_nodes(r->services.inventory, NULL);
	node_names_free(r->names);
	free(r);
}

const struct fabric_module naming_module = {
	.name = "naming", .init = init, .fini = fini, .configure = configure, .settled = settled
};
