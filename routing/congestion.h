/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * congestion: how evenly tables spread traffic, as flows on switch-to-switch channels.
 *
 * Patterns: `shift` = host i sends to host i + k in topological order, worst of CONGESTION_SHIFTS
 * values of k (seed 1); `rail_shift` = the same within each rail, all rails at once (without rails:
 * the same as shift); `all_to_all` = every host to every host, largest load over the mean of the
 * live channels. Destinations that tables do not reach load nothing.
 */
#ifndef FMD_ROUTING_CONGESTION_H
#define FMD_ROUTING_CONGESTION_H

#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "topology/topo.h"

#define CONGESTION_SHIFTS 200

struct congestion {
	unsigned shift_max, rail_shift_max; /* flows on the worst channel, worst permutation */
	double shift_mean, rail_shift_mean; /* mean over the permutations of the worst channel */
	double all_to_all_ratio;
	uint64_t all_to_all_max;
};

void congestion_measure(const struct topo *t, const struct lid_map *lids,
			const struct tables *tables, struct congestion *out);

#endif
