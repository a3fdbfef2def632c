/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* flap: counts how often links fall within a time, and says which of them fall too often. */
#ifndef FMD_MAINTENANCE_FLAP_H
#define FMD_MAINTENANCE_FLAP_H

#include <complib/cl_qmap.h>
#include <stdbool.h>
#include "topology/topo.h"

#define FLAP_COUNT_MAX 31 /* of the key flap_count */

struct flaps {
	cl_qmap_t links;
	size_t tidy_at; /* so many links are worth a pass over which of them fell long ago */
};

void flaps_init(struct flaps *flaps);
void flaps_fini(struct flaps *flaps);

/*
 * A link, always by the same of its ends, has fallen at `now_us`. True: more than `allowed` times
 * within the window, this one counted; the count begins anew then.
 */
bool flaps_fell(struct flaps *flaps, guid_t node, uint8_t port, unsigned allowed,
		uint64_t window_us, uint64_t now_us);

#endif
