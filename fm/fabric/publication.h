/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * publication: a snapshot, and the LIDs and tables made for it: the published one, and the one that
 * an update is making.
 */
#ifndef FMD_FABRIC_PUBLICATION_H
#define FMD_FABRIC_PUBLICATION_H

#include "fm/conf/qos.h"
#include "fm/fabric/fabric.h"
#include "fm/fabric/links.h"

/*
 * tables are the engine's answer to exactly this topo and these lids. The snapshot alone may be
 * exchanged for one that differs in the state of ports. What the update's one has is its own;
 * partitions and pkeys are partition_module's.
 */
struct publication {
	struct topo *topo;	/* NULL: there is none (yet) */
	uint32_t shapes;	/* inventory.shapes when the snapshot was collected */
	struct link_rule links; /* by which it was collected */
	struct lid_map *lids;
	struct tables tables;
	bool *spanning; /* what multicast's trees are parts of, by port; NULL = they are free */
	struct fabric_tried routed; /* who made the tables */
	struct check_report proof;
	/* What follows is not the update's to make. */
	const struct partition_set *partitions;
	const struct pkey_map *pkeys;
	struct qos_set qos;
	uint16_t sm_lid; /* host order; 0 = the own port has none */
};

#endif
