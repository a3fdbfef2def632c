/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* flap: counts how often links go down within a window. */
#ifndef FMD_MAINTENANCE_FLAP_H
#define FMD_MAINTENANCE_FLAP_H

#include <complib/cl_qmap.h>
#include <stdbool.h>
#include "topology/topo.h"

#define FLAP_COUNT_MAX 31 /* of the key flap_count */

struct flaps {
	cl_qmap_t links;
	size_t tidy_at; /* the number of links at which old ones are dropped */
};

/* Without links; flaps_fini() frees them. */
void flaps_init(struct flaps *flaps);
void flaps_fini(struct flaps *flaps);

/*
 * Notes that a link, always named by the same end, went down at `now_us`. True: it did so more than
 * `allowed` times within the window, this time included; its count starts again then.
 */
bool flaps_note_down(struct flaps *flaps, guid_t node, uint8_t port, unsigned allowed,
		     uint64_t window_us, uint64_t now_us);

#endif
