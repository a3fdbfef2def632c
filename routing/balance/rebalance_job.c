/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* rebalance_job: a pass and its base: one owns the other, and is freed with it. */
#include <stdlib.h>
#include "routing/balance/rebalance_own.h"
#include "topology/mem.h"

struct rebalance *rebalance_new(const struct topo *t, const struct lid_map *lids,
				const struct route_params *params,
				const struct rebalance_limits *limits)
{
	struct rebalance *job = mem_alloc(1, sizeof(*job));

	*job = (struct rebalance){ .t = t, .lids = lids, .limits = *limits };
	if (params)
		job->params = *params;
	return job;
}

void rebalance_free(struct rebalance *job)
{
	if (!job)
		return;
	rebalance_free(job->base);
	topo_unref(job->whole);
	legal_fini(&job->legal);
	legal_fini(&job->design);
	shift_load_fini(&job->load);
	free(job->open);
	free(job->candidates);
	free(job->hops);
	free(job->mark);
	free(job->list);
	free(job->users);
	free(job->known);
	free(job->others);
	free(job->of_lid);
	free(job->place);
	free(job->result.overrides);
	free(job);
}
