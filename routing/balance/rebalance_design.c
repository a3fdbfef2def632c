/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * rebalance_design: the base of a pass over an uneven design: what would be moved if all known
 * links lived and none was cordoned. It depends on neither, so that no fault and no repair moves
 * it.
 */
#include <stdlib.h>
#include <string.h>
#include "routing/balance/rebalance_own.h"
#include "topology/mem.h"
#include "topology/topo_builder.h"

#define BASE_SHARE 3 / 4 /* of the entries that may move: damage has the rest */

/* The same fabric with all known links up and no cordons. */
static struct topo *make_whole(const struct topo *t)
{
	struct topo *whole = topo_with_ports(t);

	for (uint32_t i = 0; i < t->nports; i++) {
		const struct topo_port *port = &t->ports[i];
		const struct topo_port_attr attr = { .capmask = port->capmask,
						     .lid = port->lid,
						     .lmc = port->lmc,
						     .state = port->state,
						     .speed = port->speed,
						     .width = port->width,
						     .mtu = port->mtu };

		topo_with_port(whole, i, &attr, true);
	}
	return whole;
}

void rebalance_base_begin(struct rebalance *job)
{
	struct rebalance_limits limits = job->limits;

	if (job->aim == REBALANCE_DAMAGE) {
		limits.entries = limits.entries * (uint64_t)BASE_SHARE;
		job->whole = make_whole(job->t);
	}
	job->base =
		rebalance_new(job->whole ? job->whole : job->t, job->lids, &job->params, &limits);
	job->base->aim = job->aim + 1;
}

void rebalance_base_apply(const struct rebalance *job, struct legal *legal, const bool *open)
{
	if (job->base)
		legal_override(legal->g, &legal->r, &legal->d, open, job->base->result.overrides,
			       job->base->result.count, &legal->tables);
}

static int compare(const struct route_override *a, const struct route_override *b)
{
	if (a->sw != b->sw)
		return a->sw < b->sw ? -1 : 1;
	return a->lid < b->lid ? -1 : a->lid > b->lid;
}

/* Both lists are by switch, then LID. */
void rebalance_base_merge(struct rebalance *job)
{
	const struct rebalance_result *base = job->base ? &job->base->result : NULL;
	struct rebalance_result *result = &job->result;
	struct route_override *all;
	uint32_t n = 0, b = 0, moved = 0;

	if (!base || !base->count)
		return;
	if (job->aim == REBALANCE_WIDE) /* the engine's tables are what both began with */
		result->before = base->before;
	all = mem_alloc(base->count + result->count, sizeof(*all));
	while (b < base->count || moved < result->count) {
		int order = b == base->count ? 1
			    : moved == result->count
				    ? -1
				    : compare(&base->overrides[b], &result->overrides[moved]);

		all[n++] = order < 0 ? base->overrides[b] : result->overrides[moved];
		b += order <= 0;
		moved += order >= 0;
	}
	free(result->overrides);
	result->overrides = all;
	result->count = n;
}
