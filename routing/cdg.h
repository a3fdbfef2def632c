/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cdg: the channel dependency graph (Dally and Seitz, 1987). A channel is one direction of a
 * switch-to-switch link. Channel a depends on channel b when some packet that came by a leaves by
 * b: a waits for b's credits. One virtual lane is free of deadlock exactly when this graph has no
 * cycle.
 *
 * A graph found without cycles may be kept and grow: each channel has a height, greater than those
 * of all channels that it depends on. That order proves that there is no cycle. A new dependency
 * that agrees with it costs nothing; another raises the channel that has it, or closes a cycle.
 */
#pragma once

#include "topology/snapshot/topo.h"

#define CDG_PORTS 256
#define CDG_WORDS (CDG_PORTS / 64) /* output ports of a switch as a bitmap */

struct arena;
struct cdg {
	struct arena *arena; /* owns the arrays */
	uint32_t nports, nchannels, nswitches;
	uint32_t *channel;   /* by topo port: the channel that leaves there, TOPO_NONE = none */
	uint32_t *port_of;   /* by channel: its topo port */
	uint32_t *head;	     /* by channel: port0 of the switch it leads to */
	uint32_t *back;	     /* by channel: the link's other direction */
	uint8_t *head_ports; /* by channel: that switch's highest port number */
	uint32_t *port0;     /* by switch */
	uint32_t *rank;	     /* by switch: by level, then by index; no two have the same */
	uint32_t *from, *to; /* by channel: the switches at its ends */
	uint32_t *settling;  /* channels in up/down routing's order: the first waits for none */
	uint64_t (*next)[CDG_WORDS]; /* by channel: output ports at that switch that packets go on
					by */
	uint32_t *by, *mark;	     /* by channel, cdg_grow()'s: the way back; when it was met */
	uint32_t marks;
	int32_t top;	 /* of heights when it began to grow */
	int32_t *height; /* by channel: above all it depends on, once cdg_cycles() found none */
};

/*
 * Make a graph without dependencies, which keeps nothing of `t`: its channels are the links that
 * are up, or (`known`) all known links. cdg_fini() frees it.
 */
void cdg_init(struct cdg *c, const struct topo *t, bool known);
void cdg_fini(struct cdg *c);

/* Adds, drops, finds: the dependency of a channel on the one that leaves its head by out_port. */
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

/* The first output port from `port` on that the channel depends on; CDG_PORTS = there is none. */
static inline unsigned cdg_next_port(const struct cdg *c, uint32_t channel, unsigned port)
{
	for (; port < CDG_PORTS; port = (port / 64 + 1) * 64) {
		uint64_t left = c->next[channel][port / 64] >> port % 64;

		if (left)
			return port + __builtin_ctzll(left);
	}
	return port;
}

/* Whether a channel leaves the switch at the channel's head by that port. */
static inline bool cdg_leads_on(const struct cdg *c, uint32_t channel, uint8_t out_port)
{
	return out_port <= c->head_ports[channel] &&
	       c->channel[c->head[channel] + out_port] != TOPO_NONE;
}

/* Whether a channel leads to a switch of lower or equal rank; all others lead up. */
static inline bool cdg_falls(const struct cdg *c, uint32_t channel)
{
	return c->rank[c->to[channel]] <= c->rank[c->from[channel]];
}

/*
 * Returns the number of strongly connected groups with a cycle, 0 = no cycle, and sets heights.
 * cycle[0 .. *length) gets channels of the first group, at most `size`.
 */
uint64_t cdg_cycles(const struct cdg *c, uint32_t *cycle, unsigned size, unsigned *length);

/*
 * cdg_cycles() in pieces. The caller owns the search and frees it (NULL is fine), before the graph;
 * dependencies must not change meanwhile. cdg_search_go() looks at up to `visits` channels: true =
 * there are more, false = it has ended, and cdg_search_groups() returns what cdg_cycles() would.
 */
struct cdg_search;
struct cdg_search *cdg_search_new(const struct cdg *c);
void cdg_search_free(struct cdg_search *s);
bool cdg_search_go(struct cdg_search *s, uint32_t visits);
uint64_t cdg_search_groups(const struct cdg_search *s, uint32_t *cycle, unsigned size,
			   unsigned *length);

/* Whether the present tables have this dependency. */
typedef bool cdg_used_fn(void *arg, uint32_t channel, uint8_t out_port);

/* Called once before the first cdg_grow() of a change. */
void cdg_grow_begin(struct cdg *c);
/*
 * Adds a dependency to a graph without cycles. Where it closes one, dependencies on it that are no
 * longer in use are dropped. False = all on the cycle are in use; the graph is then unusable.
 */
bool cdg_grow(struct cdg *c, uint32_t channel, uint8_t out_port, cdg_used_fn *used, void *arg)
	__attribute__((warn_unused_result));
/*
 * Spreads the heights: each channel as high as those allow that depend on it, with gaps between, so
 * that growing mostly moves two channels alone. The graph has no cycle, and heights.
 */
void cdg_spread(struct cdg *c);
/* Whether a dependency, in the graph or not, agrees with the heights. */
bool cdg_agrees(const struct cdg *c, uint32_t channel, uint8_t out_port);
/* Drops all dependencies of a channel and on it: no entry may lead there any more. */
void cdg_forget(struct cdg *c, const struct topo *t, uint32_t channel);
