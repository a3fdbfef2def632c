/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * generate_own: what the generators share: nodes with running GUIDs, cables as after power-on
 * (generate.c).
 *
 * The generator owns the builder and freezes it in the end. Making nodes and cables cannot fail as
 * long as a node has at most 254 ports and each port at most one cable.
 */
#ifndef FMD_TOPOLOGY_GENERATE_GENERATE_OWN_H
#define FMD_TOPOLOGY_GENERATE_GENERATE_OWN_H

#include "topology/snapshot/topo.h"
#include "topology/snapshot/topo_builder.h"

struct generator {
	struct topo_builder *builder;
	enum topo_speed speed;
	uint16_t hca_device, switch_device;
	unsigned switches, hcas; /* made so far */
};

/*
 * Make a node and return its handle in the builder. Its GUID is a fixed prefix, the kind and the
 * running number, so GUIDs follow the order of making.
 */
int generate_switch(struct generator *g, unsigned nports, const char *name);
int generate_hca(struct generator *g, unsigned nports, const char *name);
/* Make a cable that is up, its ports as after power-on: to an HCA, and between two switches. */
void generate_host_cable(struct generator *g, int hca, unsigned hca_port, int sw, unsigned sw_port);
void generate_cable(struct generator *g, int a, unsigned a_port, int b, unsigned b_port);

#define PGFT_LEVELS 8 /* at most, of switches */

/* The enum generate_system of that name ("h100"), or -1; generate.c. */
int generate_find_system(const char *name);

#endif
