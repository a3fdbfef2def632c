/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* osm_dump: OpenSM's dump files: writes the fabric, for ibdmchk and scripts, and reads tables. */
#pragma once

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
	osm_dump_fn *write; /* NULL = groups of adaptive routing (fm/adaptive/module.h) */
};
/* The files in their order, static; NULL past the last, and for an unknown name. */
const struct osm_dump_file *osm_dump_file(size_t index);
const struct osm_dump_file *osm_dump_find(const char *name);

/*
 * Forwarding tables of another manager, read from OpenSM's opensm-lfts.dump, or from the output of
 * ibroute(8) for several switches in a row. The port of a LID is known from the `portguid` remarks
 * and the headings; where there are none, from the LIDs that the snapshot's ports hold (an
 * ibnetdiscover file has them).
 */
struct osm_tables {
	struct lid_map *lids;
	struct tables tables;
	uint32_t without_table; /* switches that are not in the dump: they have no routes */
};

/*
 * Read the tables of the switches of `t`. 0, and the caller frees *out by osm_tables_fini(); or
 * -EINVAL (or -errno of the file) with `FILE:LINE: reason` in err and nothing in *out.
 */
int osm_dump_read_lfts(const struct topo *t, const char *path, struct osm_tables *out, char *err,
		       size_t err_size) __attribute__((warn_unused_result));
int osm_dump_parse_lfts(const struct topo *t, const char *name, const char *text, size_t len,
			struct osm_tables *out, char *err, size_t err_size)
	__attribute__((warn_unused_result));
void osm_tables_fini(struct osm_tables *tables);
