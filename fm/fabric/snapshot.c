/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/fabric/snapshot.h"
#include "fm/fabric/pipe.h"
#include "topology/snapshot/topo_builder.h"

struct snapshot_parts fabric_snapshot_collect(struct fabric *f)
{
	struct inventory *inv = sweep_inventory(f->sweep);
	struct snapshot_parts draft = { .shapes = inv->shapes };

	MODULES_CALL(f->kept.modules, annotate, inv);
	traps_collected(f->traps);
	draft.links = fabric_links_rule(f);
	if (f->now.topo)
		draft.topo = inventory_snapshot_ports(inv, f->now.topo, f->now.shapes);
	if (!draft.topo)
		draft.builder = inventory_snapshot_builder(inv);
	return draft;
}

struct topo *fabric_snapshot_freeze(struct snapshot_parts *draft)
{
	struct topo *t = draft->topo ? draft->topo : topo_freeze(draft->builder);

	*draft = (struct snapshot_parts){ .shapes = draft->shapes, .links = draft->links };
	return t;
}

void fabric_snapshot_drop(struct snapshot_parts *draft)
{
	topo_builder_free(draft->builder);
	topo_unref(draft->topo);
	*draft = (struct snapshot_parts){ 0 };
}
