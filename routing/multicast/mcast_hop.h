/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* mcast_hop: what walks over the hops of trees have in common. */
#ifndef FMD_ROUTING_MCAST_HOP_H
#define FMD_ROUTING_MCAST_HOP_H

#include "routing/multicast/mcast_tree.h"

#define MCAST_WORDS 4 /* of 64 ports */

/* Bit p of word w: whether it forwards by port 64 w + p. */
static inline uint64_t mcast_mask_word(const struct mcast_hop *hop, unsigned word)
{
	const uint16_t *ports = hop->ports + word * 4;

	return ports[0] | (uint64_t)ports[1] << 16 | (uint64_t)ports[2] << 32 |
	       (uint64_t)ports[3] << 48;
}

/* A hop's switch in this snapshot, of whichever snapshot the hop is; TOPO_NONE = it has left. */
static inline uint32_t mcast_hop_switch(const struct topo *t, const struct mcast_hop *hop)
{
	return hop->sw < t->nswitches && t->nodes[hop->sw].guid == hop->guid
		       ? hop->sw
		       : topo_find(t, hop->guid);
}

#endif
