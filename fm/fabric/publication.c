/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* publication: what is published, as rooms and operators see it. */
#include "fm/fabric/publication.h"
#include "fm/fabric/pipe.h"

struct fabric_view fabric_view(const struct fabric *f)
{
	const struct publication *p = &f->now;

	if (!p->topo)
		return (struct fabric_view){ 0 };
	return (struct fabric_view){ .topo = p->topo,
				     .lids = p->lids,
				     .tables = &p->tables,
				     .proof = &p->proof,
				     .engine = p->routed.engine,
				     .uneven = p->routed.uneven,
				     .cordons_overridden = p->routed.cordons_overridden,
				     .spanning = p->spanning,
				     .partitions = p->partitions,
				     .pkeys = p->pkeys,
				     .qos = &p->qos,
				     .active_decides = p->links.active_decides,
				     .sm_lid = p->sm_lid };
}

struct fabric_written fabric_written(const struct fabric *f)
{
	return (struct fabric_written){ .entries = f->figures->programmed.entries,
					.blocks = program_blocks_written(f->program) };
}
