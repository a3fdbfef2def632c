/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * acyclic_net: the switches of a snapshot as the engine for fabrics that are no trees wants them
 * (acyclic.h). Private to routing/acyclic/.
 *
 * An arc is one direction between two neighbouring switches, all parallel links together. A turn
 * is a pair of arcs, the second of which begins where the first one ends. A net is made of all
 * known links and refers to no snapshot; which of them are up is read separately, into arrays of
 * the caller. Nothing here fails.
 */
#ifndef FMD_ROUTING_ACYCLIC_NET_H
#define FMD_ROUTING_ACYCLIC_NET_H

#include <stdbool.h>
#include <stdint.h>
#include "topology/snapshot/topo.h"

#define ARC_NONE                                                                                   \
	UINT8_MAX /* as a number among a switch's arcs: none. A switch has at most 254 ports */

enum arc_state { ARC_DOWN, ARC_CORDONED, ARC_OPEN }; /* of its best link */

struct net {
	uint32_t nswitches, narcs;
	uint32_t *first;	    /* by switch [nswitches + 1]: its arcs */
	uint32_t *from, *to, *back; /* by arc: its ends, its other direction */
	uint32_t *first_link;	    /* by arc [narcs + 1]: its first link in `links` */
	uint8_t *links;		    /* by link: port number on the arc's switch `from` */
	uint32_t *first_turn;	    /* by arc: number of its turn to the first arc of `to` */
	uint32_t nturns;
	uint16_t *hosts; /* by switch: ports that lead to hosts, links dead or alive */
	uint8_t *level;	 /* by switch */
};

/* Makes the net of all known links; net_fini() frees it. */
void net_init(struct net *n, const struct topo *t);
void net_fini(struct net *n);
/* Sets states[arc] to its enum arc_state in a snapshot of the same links. */
void net_read_states(const struct net *n, const struct topo *t, uint8_t *states);
/*
 * Sets part[sw] to the lowest switch that arcs of state `least` or better (states NULL: all arcs)
 * connect with sw.
 */
void net_find_parts(const struct net *n, const uint8_t *states, enum arc_state least,
		    uint32_t *part);

static inline unsigned net_degree(const struct net *n, uint32_t sw)
{
	return n->first[sw + 1] - n->first[sw];
}
static inline unsigned net_links(const struct net *n, uint32_t arc)
{
	return n->first_link[arc + 1] - n->first_link[arc];
}

#endif
