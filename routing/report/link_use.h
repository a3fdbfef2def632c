/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * link_use: what forwarding tables send by a link: how many LIDs, and how many pairs of hosts. One
 * direction at a time: by the port that packets leave from.
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
 * Of a switch: by port number, how many LIDs that somebody has leave by it, [256]; returns how many
 * have no route.
 */
uint32_t link_use_by_port(const struct link_use_scene *s, uint32_t sw, uint32_t lids[256]);

/*
 * Ordered pairs of host ports whose packets, to the base LID, leave by that port of a switch or a
 * host. Walks the switches that lead there, LID by LID: up to some 100 ms at 16,384 hosts.
 */
uint64_t link_use_pairs(const struct link_use_scene *s, uint32_t port);

/* How many switches forward a LID, and how many of those that could do not. */
struct lid_use {
	uint32_t forward, drop;
};
struct lid_use link_use_of_lid(const struct link_use_scene *s, unsigned lid);

#endif
