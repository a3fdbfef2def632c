/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* snapshot: the inventory as it is now, with the marks of rooms, becomes a snapshot in two steps: collect, and freeze. */
#include "fm/fabric/own.h"

struct fabric_draft fabric_draft(struct fabric *f)
{
	struct inventory *inv = sweep_inventory(f->sweep);
	struct fabric_draft draft = { .shapes = inv->shapes };

	modules_annotate(f->modules, inv);
	fabric_isolate_mark(f);
	draft.links = fabric_links_judge(f);
	if (f->topo)
		draft.topo = inventory_again(inv, f->topo, f->shapes);
	if (!draft.topo)
		draft.builder = inventory_draft(inv);
	return draft;
}

struct topo *fabric_draft_freeze(struct fabric_draft *draft)
{
	struct topo *t = draft->topo ? draft->topo : topo_freeze(draft->builder);

	*draft = (struct fabric_draft){ .shapes = draft->shapes, .links = draft->links };
	return t;
}

void fabric_draft_fini(struct fabric_draft *draft)
{
	topo_builder_free(draft->builder);
	topo_unref(draft->topo);
	*draft = (struct fabric_draft){ 0 };
}
