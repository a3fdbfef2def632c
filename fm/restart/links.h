/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* links: every link ever met and where it ended, in state_dir/cables. */
#ifndef FMD_RESTART_LINKS_H
#define FMD_RESTART_LINKS_H

#include "fm/fabric/module.h"
#include "routing/lid_plan.h"

struct down_link;
struct known_links {
	const struct fabric_services *services; /* of the room */
	uint64_t shape;				/* a sum over all that is in the file, but.. */
	uint64_t sum;				/* ..for what is down, which this one has, too */
	struct down_link *down;			/* by end */
	uint32_t ndown;
};

/*
 * Before the first sweep, behind the LIDs: nodes, ports and links of an earlier life come into the
 * inventory, as gone and down.
 */
void known_links_restore(struct known_links *links, const struct lid_memory *lids);
/* Notes what the published snapshot has more, and what is down now. One pass over its ports. */
void known_links_settled(struct known_links *links, const struct topo *topo);
/* since: UTC, as in events; "" = not known, or the link at that port is up. */
#define KNOWN_LINKS_SINCE 32
void known_links_down_since(const struct known_links *links, const struct topo *topo, uint32_t port,
			    char since[KNOWN_LINKS_SINCE]);
json_t *known_links_down(const struct known_links *links, const struct topo *topo);
void known_links_fini(struct known_links *links);

#endif
