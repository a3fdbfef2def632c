/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What order.c (what waits for what) and order_turns.c (credit cycles) share. */
#ifndef FMD_ROUTING_ORDER_OWN_H
#define FMD_ROUTING_ORDER_OWN_H

#include "routing/cdg.h"
#include "routing/order/order.h"
#include "routing/byteset.h"
#include "routing/order/order_bits.h"

struct order_unit { /* a block that changes */
	uint32_t sw, block;
	uint32_t given;		  /* place in what order_make() was given */
	const uint8_t *old, *new; /* old NULL = unknown */
	uint64_t mask;		  /* entries that change */
	uint64_t last;		  /* of these: as in order_step */
	uint64_t awaited;	  /* of these: some other entry waits for them */
	uint64_t to_hosts;	  /* of these: the new way ends at a host */
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
	uint32_t *slot;	  /* by switch: its unit in the block looked at, + 1; 0 = none */
};

void order_work_init(struct order_work *w, const struct topo *t, const struct tables *newer,
		     const struct order_block *changed, uint32_t count);
void order_work_fini(struct order_work *w);
void order_column_enter(struct order_work *w, uint32_t block);
void order_column_leave(struct order_work *w, uint32_t block);

static inline struct order_unit *order_unit_of(const struct order_work *w, uint32_t sw)
{
	return w->slot[sw] ? &w->units[w->slot[sw] - 1] : NULL;
}

/* The switch behind a port, by a cable that is up; TOPO_NONE = there is none. */
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

/* A total order of switches, leaves lowest. */
static inline bool order_above(const struct topo *t, uint32_t a, uint32_t b)
{
	const struct topo_node *x = &t->nodes[a], *y = &t->nodes[b];

	return x->level != y->level ? x->level > y->level : a > b;
}

/* ---- order_turns.c -------------------------------------------------------------------------- */

struct order_turn {    /* a packet comes by one channel and leaves by another */
	uint32_t unit; /* whose entry makes it */
	uint8_t bit;
	uint8_t out;   /* port of the second channel */
	uint32_t from; /* index of the topo port that the first channel leaves by */
};

enum order_direction {
	ORDER_FROM, /* the work's tables are what comes, the units' `old` what was */
	ORDER_TO,   /* the work's tables are what is, the units' `old` what comes */
};

/*
 * Whether no mixture of tables and units has channels that wait for one another in a circle, as
 * long as no switch takes a new entry before the next changed switch on the new way has. The tables
 * by themselves have none. If it is not so and `guilty` is given, guilty[unit.given] gets the
 * entries whose `old` ways are in the first circle found. In calls of a few milliseconds: begin, go
 * until it says false, end says true = safe. It may be ended early.
 *
 * `beyond` is of a whole change: a look that goes ORDER_FROM it fills it in where it can, those
 * ORDER_TO parts of it read it.
 */
struct order_beyond { /* turns of mixtures that the graph of the new tables' proof has not */
	struct order_proof proof; /* given; base NULL: there is none */
	/* all there may be at any time of the change; the owner's to free */
	struct order_turn *turns;
	uint32_t count;
	bool known;
};
struct order_look;
struct order_look *order_look_begin(struct order_work *w, enum order_direction direction,
				    uint64_t *guilty, struct order_beyond *beyond);
bool order_look_go(struct order_look *look);
bool order_look_end(struct order_look *look);

/* ---- order_circle.c ------------------------------------------------------------------------- */

/*
 * Whether these turns close a circle with those of a graph that has none by itself (cdg.h: it has
 * an order). Of the graph's turns only those count that are in use; `used` is asked where it
 * matters. True where that is not found out by looking at a few circles. The graph stays as it is
 * meanwhile.
 */
struct order_circle;
struct order_circle *order_circle_new(const struct cdg *g, const struct order_turn *turns,
				      uint32_t count, cdg_used_fn *used, void *arg);
bool order_circle_go(struct order_circle *c, uint32_t visits); /* false: it has ended */
bool order_circle_found(const struct order_circle *c);	       /* of one that has ended */
bool order_circle_sure(const struct order_circle *c); /* .. each turn of one found is in use */
void order_circle_free(struct order_circle *c);	      /* NULL is fine */

/* ---- order_valleys.c ------------------------------------------------------------------------ */

/*
 * Whether the turns of the work's tables and those listed are free of circles: true is certain,
 * false may be wrong.
 */
bool order_valleys_safe(const struct order_work *w, const struct order_turn *turns, uint32_t count);

/* ---- order_secure.c ------------------------------------------------------------------------- */

/*
 * Makes every round free of circles by itself: by more rounds, and by emptying entries first where
 * that does not do. In calls of a few milliseconds as above; o is good when go has said false.
 */
struct order_secure;
struct order_secure *order_secure_begin(const struct order_work *w, struct order_beyond *beyond,
					struct order *o);
bool order_secure_go(struct order_secure *s);
void order_secure_end(struct order_secure *s);

/* ---- order.c -------------------------------------------------------------------------------- */

/* The rounds of all columns, as above. */
struct order_columns;
struct order_columns *order_columns_begin(struct order_work *w, struct order *o);
bool order_columns_go(struct order_columns *c);
void order_columns_end(struct order_columns *c);

#endif
