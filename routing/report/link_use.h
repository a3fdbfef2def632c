/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * link_use: what forwarding tables send over a link: how many LIDs, and how many pairs of hosts.
 * Directions are counted separately, by the port that packets leave from.
 */
#ifndef FMD_ROUTING_REPORT_LINK_USE_H
#define FMD_ROUTING_REPORT_LINK_USE_H

#include "routing/lid_plan.h"
#include "routing/tables.h"

struct link_use_scene { /* borrowed */
	const struct topo *topo;
	const struct lid_map *lids;
	const struct tables *tables;
};

/*
 * Sets lids[port] to the number of assigned LIDs that a switch forwards by that port. Returns how
 * many assigned LIDs it has no route for.
 */
uint32_t link_use_by_port(const struct link_use_scene *s, uint32_t sw, uint32_t lids[256]);

/*
 * Counts the ordered pairs of host ports whose packets to the base LID leave by that port of a
 * switch or a host. Takes up to some 100 ms at 16,384 hosts.
 */
uint64_t link_use_pairs(const struct link_use_scene *s, uint32_t port);

struct lid_use {
	uint32_t forward, drop;
};
/* The number of switches that forward an assigned LID, and of those that have no route for it. */
struct lid_use link_use_of_lid(const struct link_use_scene *s, unsigned lid);

#endif
