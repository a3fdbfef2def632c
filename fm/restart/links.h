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

#define KNOWN_LINKS_SINCE 32

#endif
