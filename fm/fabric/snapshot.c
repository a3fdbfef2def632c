/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/fabric/snapshot.h"
#include "fm/fabric/pipe.h"
#include "topology/topo_builder.h"

struct snapshot_draft fabric_snapshot_collect(struct fabric *f)
{
	struct inventory *inv = sweep_inventory(f->sweep);
	struct snapshot_draft draft = { .shapes = inv->shapes };

	modules_annotate(f->modules, inv);
	draft.links = fabric_links_rule(f);
	if (f->now.topo)
		draft.topo = inventory_again(inv, f->now.topo, f->now.shapes);
	if (!draft.topo)
		draft.builder = inventory_draft(inv);
	return draft;
}

struct topo *fabric_snapshot_freeze(struct snapshot_draft *draft)
{
	struct topo *t = draft->topo ? draft->topo : topo_freeze(draft->builder);

	*draft = (struct snapshot_draft){ .shapes = draft->shapes, .links = draft->links };
	return t;
}

void fabric_snapshot_drop(struct snapshot_draft *draft)
{
	topo_builder_free(draft->builder);
	topo_unref(draft->topo);
	*draft = (struct snapshot_draft){ 0 };
}
