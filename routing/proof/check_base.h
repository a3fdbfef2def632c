/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* check_base: what a proof leaves for the next one. Private to check_base.c and check_change.c. */
#ifndef FMD_ROUTING_CHECK_BASE_H
#define FMD_ROUTING_CHECK_BASE_H

#include "routing/proof/check_change.h"
#include "routing/proof/check_own.h"
#include "routing/proof/check_print.h"

struct base_node {
	guid_t guid;
	uint8_t type, nports;
	bool sharp;
};

struct base_port {
	uint32_t peer;
	uint16_t lid;
	bool link_up;
};

struct base_turn { /* a channel dependency */
	uint32_t channel;
	uint8_t out;
};

struct check_base {
	bool good;
	uint64_t serial; /* of the proof begun last */
	/* What was proven. */
	uint32_t nnodes, nswitches, nports;
	struct base_node *nodes;
	struct base_port *ports;
	uint16_t top, lid_top;
	uint8_t lmc;
	struct check_prints prints;
	/* What it left. */
	struct check_report report;
	struct cdg cdg;
	bool *walk;
	struct check_count *counts;
	uint32_t *hosts, *specials, *parts; /* by switch */
	struct base_turn *added;	    /* dependencies since the last whole proof */
	uint32_t nadded, added_room, tidied;
	struct check_change last;
	struct change *run; /* on its way */
};

/* Forgets what was proven; the fingerprints stay, for their memory. */
void check_base_forget(struct check_base *base);
/* Whether the base is good and of the same nodes, links (up or down), LIDs and size of tables. */
bool check_base_fits(const struct check_base *base, const struct topo *t,
		     const struct lid_map *lids, const struct tables *tables);
/* Copies nodes, ports and LIDs of the proof's snapshot to the base, after check_base_forget(). */
void check_base_keep_fabric(struct check_base *base, const struct check *c);
/* Copies hosts and connected parts to the base. Returns whether they differ from those before. */
bool check_base_keep_places(struct check_base *base, struct check *c);

#endif
