/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cdg: the channel dependency graph (Dally and Seitz, 1987). A channel is one direction of a
 * switch-to-switch link. Channel a depends on channel b when some packet that came by a leaves by
 * b: a waits for b's credits. One virtual lane is free of deadlock exactly when this graph has no
 * cycle.
 *
 * A graph found without cycles may be kept and grow: each channel has a height, and whoever depends
 * on a channel stands higher. That order is the proof of no cycle; a new dependency that agrees
 * with it costs nothing, another raises who has it, or finds that it closes a cycle.
 */
#ifndef FMD_ROUTING_CDG_H
#define FMD_ROUTING_CDG_H

#include <stdbool.h>
#include <stdint.h>
#include "topology/topo.h"

#define CDG_WORDS 4 /* output ports of a switch as a bitmap */

struct cdg {
	uint32_t nports, nchannels, nswitches;
	uint32_t *channel;   /* by topo port: the channel that leaves there, TOPO_NONE = none */
	uint32_t *port_of;   /* by channel: its topo port */
	uint32_t *head;	     /* by channel: port0 of the switch it leads to */
	uint32_t *back;	     /* by channel: the link's other direction */
	uint8_t *head_ports; /* by channel: that switch's highest port number */
	uint32_t *port0;     /* by switch */
	uint32_t *rank;	     /* by switch: by level, then by index; no two have the same */
	uint32_t *from, *to; /* by channel: the switches at its ends */
	/* channels as up/down routing has them wait: the first waits for none */
	uint32_t *settling;
	uint64_t (*next)[CDG_WORDS]; /* by channel: output ports at that switch that packets go on
					by */
	uint32_t *by, *mark;	     /* by channel, cdg_grow()'s: the way back; when it was met */
	uint32_t marks;
	int32_t top;	 /* of heights when it began to grow */
	int32_t *height; /* by channel: above all it depends on, once cdg_cycles() found none */
};

void cdg_init(struct cdg *c, const struct topo *t);	  /* channels: links that are up */
void cdg_init_links(struct cdg *c, const struct topo *t); /* .. and those that are down */
void cdg_copy(struct cdg *to, const struct cdg *from);
void cdg_fini(struct cdg *c);

static inline void cdg_add(struct cdg *c, uint32_t channel, uint8_t out_port)
{
	c->next[channel][out_port / 64] |= 1ull << (out_port % 64);
}

static inline void cdg_drop(struct cdg *c, uint32_t channel, uint8_t out_port)
{
	c->next[channel][out_port / 64] &= ~(1ull << (out_port % 64));
}
static inline bool cdg_has(const struct cdg *c, uint32_t channel, uint8_t out_port)
{
	return c->next[channel][out_port / 64] >> (out_port % 64) & 1;
}

/* Whether there is a channel to wait for at that port. */
static inline bool cdg_leads_on(const struct cdg *c, uint32_t channel, uint8_t out_port)
{
	return out_port <= c->head_ports[channel] &&
	       c->channel[c->head[channel] + out_port] != TOPO_NONE;
}

/* Whether a channel leads down the ranks: those that do not, lead up. */
static inline bool cdg_falls(const struct cdg *c, uint32_t channel)
{
	return c->rank[c->to[channel]] <= c->rank[c->from[channel]];
}

/*
 * Strongly connected groups of more than one channel; the first one's channels (at most `size`) in
 * `cycle`, *length of them.
 */
uint64_t cdg_cycles(const struct cdg *c, uint32_t *cycle, unsigned size, unsigned *length);

/* The same in pieces; c stays as it is meanwhile. */
struct cdg_search;
struct cdg_search *cdg_search_new(const struct cdg *c);
void cdg_search_free(struct cdg_search *s);		   /* NULL is fine */
bool cdg_search_go(struct cdg_search *s, uint32_t visits); /* false: it has ended */
/* Of one that has ended. */
uint64_t cdg_search_groups(const struct cdg_search *s, uint32_t *cycle, unsigned size,
			   unsigned *length);

/* Whether the tables of today have this dependency. */
typedef bool cdg_used_fn(void *arg, uint32_t channel, uint8_t out_port);

void cdg_grow_begin(struct cdg *c); /* before the first of a change */
/*
 * To a graph without cycles. Where it would have one, dependencies on it that are not in use any
 * more are taken out. False = a cycle of such as are in use; the graph is good for nothing then.
 */
bool cdg_grow(struct cdg *c, uint32_t channel, uint8_t out_port, cdg_used_fn *used, void *arg)
	__attribute__((warn_unused_result));
/* Whether a dependency, there or not, is as its order has it. */
bool cdg_agrees(const struct cdg *c, uint32_t channel, uint8_t out_port);
/* Takes all dependencies of a channel and on it away; nothing may lead there meanwhile. */
void cdg_forget(struct cdg *c, const struct topo *t, uint32_t channel);

#endif
