/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* links: every link ever found, with both its ends, in state_dir/cables. */
#ifndef FMD_RESTART_LINKS_H
#define FMD_RESTART_LINKS_H

#include "fm/fabric/module.h"
#include "routing/lid_plan.h"

struct down_link;
struct known_links {
	const struct fabric_services *services; /* of the room */
	uint64_t shape;				/* a sum over all that is in the file, but.. */
	uint64_t sum;				/* ..for what is down, which this one has, too */
	struct topo *seen;			/* the snapshot of these sums; NULL = none yet */
	struct down_link *down;			/* by end */
	uint32_t ndown;
};

/*
 * Called before the first sweep, after the LIDs were read: adds nodes, ports and links of the file
 * to the inventory, as gone and down.
 */
void known_links_restore(struct known_links *links, const struct lid_memory *lids);
/* Notes the links of the published snapshot, and which are down. One pass over its ports. */
void known_links_settled(struct known_links *links, const struct topo *topo);
#define KNOWN_LINKS_SINCE 32
/* Since when the link at a port is down: UTC, as in events; "" = not known, or it is up. */
void known_links_down_since(const struct known_links *links, const struct topo *topo, uint32_t port,
			    char since[KNOWN_LINKS_SINCE]);
/* A new list of the links that are down, each with since when; the caller owns it. */
json_t *known_links_down(const struct known_links *links, const struct topo *topo);
/* Frees the list. */
void known_links_fini(struct known_links *links);

#endif
