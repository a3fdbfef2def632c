/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* flap: counts how often links go down within a window. */
#ifndef FMD_MAINTENANCE_FLAP_H
#define FMD_MAINTENANCE_FLAP_H

#include <complib/cl_qmap.h>
#include <stdbool.h>
#include "topology/snapshot/topo.h"

#define FLAP_COUNT_MAX 31 /* of the key flap_count */

struct flaps {
	cl_qmap_t links;
	size_t tidy_at; /* the number of links at which old ones are dropped */
};

#endif
