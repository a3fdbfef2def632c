/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * generate_own: what the generators share: nodes with running GUIDs, cables as after power-on
 * (generate_make.c).
 *
 * The builder is the generator's, to freeze in the end. What is made cannot fail, as long as a node
 * is given no more ports than 254 and each is numbered once.
 */
#ifndef FMD_TOPOLOGY_GENERATE_OWN_H
#define FMD_TOPOLOGY_GENERATE_OWN_H

#include "topology/topo.h"
#include "topology/topo_builder.h"

struct generator {
	struct topo_builder *builder;
	enum topo_speed speed;
	uint16_t hca_device, switch_device;
	unsigned switches, hcas; /* made so far */
};

/*
 * Handles. GUIDs are a fixed prefix, the kind and the running number: in order of making, the
 * name's own order.
 */
int generate_switch(struct generator *g, unsigned nports, const char *name);
int generate_hca(struct generator *g, unsigned nports, const char *name);
/* The SHARP aggregation node of a switch that was made with one port more, behind that port. */
void generate_aggregation_node(struct generator *g, int sw, unsigned sw_port);
void generate_host_cable(struct generator *g, int hca, unsigned hca_port, int sw, unsigned sw_port);
void generate_cable(struct generator *g, int a, unsigned a_port, int b,
		    unsigned b_port); /* between switches */

#define PGFT_LEVELS 8 /* at most, of switches */

int generate_find_system(const char *name); /* generate.c: enum generate_system, or -1 */

#endif
