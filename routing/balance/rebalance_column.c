/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* rebalance_column: one LID's next hops from all switches, as the pass's own tables have them. */
#include "routing/balance/rebalance_own.h"

struct hop rebalance_hop(const struct rebalance *job, uint32_t sw, uint8_t out)
{
	uint32_t port = job->t->nodes[sw].port0 + out;

	if (!out || out > job->t->nodes[sw].nports || job->load.channel[port] == TOPO_NONE)
		return (struct hop){ TOPO_NONE, TOPO_NONE };
	return (struct hop){ job->load.channel[port],
			     job->t->ports[job->t->ports[port].peer].node };
}

void rebalance_set_lid(struct rebalance *job, uint32_t lid)
{
	if (job->hops_of == lid)
		return;
	job->hops_of = lid;
	for (uint32_t sw = 0; sw < job->t->nswitches; sw++)
		job->hops[sw] = rebalance_hop(job, sw, tables_row(&job->legal.tables, sw)[lid]);
}

struct shift_path rebalance_path_from(const struct rebalance *job, uint32_t sw)
{
	struct shift_path path;

	for (path.n = 0; job->hops[sw].channel != TOPO_NONE && path.n < SHIFT_MAX_PATH; path.n++) {
		path.channel[path.n] = job->hops[sw].channel;
		sw = job->hops[sw].next;
	}
	return path;
}
