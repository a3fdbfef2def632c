/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* osm_dump: writes the fabric in OpenSM's dump files, for ibdmchk and scripts. */
#ifndef FMD_OPENSM_OSM_DUMP_H
#define FMD_OPENSM_OSM_DUMP_H

#include <stdio.h>
#include "routing/lid_plan.h"
#include "routing/multicast/mcast_plan.h"
#include "routing/tables.h"
#include "topology/snapshot/topo.h"

struct osm_dump_view {
	const struct topo *topo;
	const struct lid_map *lids;
	const struct tables *tables;
	const struct mcast_plan *trees; /* of any snapshot; NULL = none */
};

/* Writes one file. Returns 0, or -errno when the stream has an error. */
typedef int osm_dump_fn(const struct osm_dump_view *view, FILE *out);
struct osm_dump_file {
	const char *name;
	osm_dump_fn *write;
};
/* The files in their order, static; NULL past the last, and for an unknown name. */
const struct osm_dump_file *osm_dump_file(size_t index);
const struct osm_dump_file *osm_dump_find(const char *name);

#endif
