/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * order_work: the blocks that change, as the stages of ordering share them (order.c). Private to
 * routing/order/.
 *
 * A work owns its units and refers to the snapshot, the tables and the blocks that it was made of,
 * which have to outlive it. Nothing here fails.
 */
#ifndef FMD_ROUTING_ORDER_WORK_H
#define FMD_ROUTING_ORDER_WORK_H

#include "routing/byteset.h"
#include "routing/order/order.h"
#include "routing/order/order_bits.h"

struct order_unit { /* a block that changes */
	uint32_t sw, block;
	uint32_t given;		  /* place in what order_make() was given */
	const uint8_t *old, *new; /* old NULL = unknown */
	uint64_t mask;		  /* entries that change */
	uint64_t last;		  /* entries of the mask: as in order_step */
	uint64_t awaited;	  /* entries of the mask that another entry waits for */
	uint64_t to_hosts;	  /* entries of the mask whose new path ends at a host */
	uint16_t round;
	bool split, hosts;
};

/* All that an entry depends on is in the same block of other switches: blocks are independent. */
struct order_work {
	const struct topo *t;
	const struct tables *newer;
	struct order_unit *units; /* by block, then as given */
	uint32_t nunits, nblocks;
	uint32_t *column; /* by block [nblocks + 1]: its first unit */
	uint32_t *slot;	  /* by switch: its unit in the entered column, + 1; 0 = none */
};

/* Makes the units of the changed blocks; order_work_fini() frees them. */
void order_work_init(struct order_work *w, const struct topo *t, const struct tables *newer,
		     const struct order_block *changed, uint32_t count);
void order_work_fini(struct order_work *w);
/* Fills w->slot with the units of one block number, and empties it again. */
void order_column_enter(struct order_work *w, uint32_t block);
void order_column_leave(struct order_work *w, uint32_t block);

/* The unit of a switch in the entered column, owned by w; NULL = its block does not change. */
static inline struct order_unit *order_unit_of(const struct order_work *w, uint32_t sw)
{
	return w->slot[sw] ? &w->units[w->slot[sw] - 1] : NULL;
}

/* The switch behind a port, by a link that is up; TOPO_NONE = there is none. */
static inline uint32_t order_next_switch(const struct topo *t, uint32_t sw, unsigned out)
{
	const struct topo_port *port;
	uint32_t node;

	if (!out || out > t->nodes[sw].nports)
		return TOPO_NONE;
	port = topo_port(t, sw, out);
	if (!port->link_up)
		return TOPO_NONE;
	node = t->ports[port->peer].node;
	return node < t->nswitches ? node : TOPO_NONE;
}

/* Whether a is above b in a total order of switches, leaves lowest. */
static inline bool order_above(const struct topo *t, uint32_t a, uint32_t b)
{
	const struct topo_node *x = &t->nodes[a], *y = &t->nodes[b];

	return x->level != y->level ? x->level > y->level : a > b;
}

#endif
