/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * legal: the minimal up/down paths of a snapshot: an engine's tables of them, and which ports an
 * entry might take instead. Entries chosen freely among these make no loop and no credit loop.
 * Private to routing/.
 */
#pragma once

#include "routing/ftree/engine.h"

struct legal {
	struct graph *g;
	struct dests d;
	struct reach r;	      /* costs complete */
	struct tables tables; /* by legal paths alone: what has none is TABLES_NO_ROUTE */
	struct gaps gaps;
};
struct legal_ports {
	uint8_t port[256];
	unsigned n;
};

/*
 * Makes the graph of a snapshot and what is below which switch; legal_fill() then makes tables and
 * costs. Keeps nothing of its arguments. legal_fini() frees all.
 */
void legal_init(struct legal *legal, const struct topo *t, const struct lid_map *lids,
		const struct route_params *params, struct graph_how how);
/*
 * Touches the memory that the tables take, which is half the time of a first legal_fill(): some
 * megabytes from switch *next on. True after the last.
 */
bool legal_get_memory(struct legal *legal, uint32_t *next) __attribute__((warn_unused_result));
void legal_fill(struct legal *legal);
void legal_fini(struct legal *legal);

/*
 * Live ports by which a minimal up/down path from sw to what is behind switch d begins, those to
 * the first neighbour first; none at d itself. The costs of r are complete.
 */
void legal_ports(const struct graph *g, const struct reach *r, uint32_t sw, uint32_t d,
		 struct legal_ports *out);

struct legal_exits { /* of one switch, into the graph */
	/* by live port: its group, NULL = it leads to no switch; downs: the first group down */
	const struct graph_group *by_port[256], *downs;
};
/* Fills *out, which is valid as long as the graph. */
void legal_find_exits(const struct graph *g, uint32_t sw, struct legal_exits *out);
/*
 * Whether legal_ports() would name `port` where it names `like`; cheaper than legal_ports() for one
 * port. False when either leads to no switch.
 */
bool legal_is_like(const struct graph *g, const struct reach *r, const struct legal_exits *exits,
		   uint32_t d, uint8_t port, uint8_t like);

/*
 * By destination switch, whether some switch with hosts has no legal path to its hosts though live
 * links (of t; t NULL: all known links) lead there. Such destinations take no overrides: whether a
 * detour can be found must not depend on them. The caller frees it.
 */
bool *legal_find_open(const struct topo *t, const struct graph *g, const struct gaps *gaps);

/*
 * Writes to `out` the overrides that lead on minimal up/down paths to destinations that are not
 * open (NULL: to all); the others are left out.
 */
void legal_override(const struct graph *g, const struct reach *r, const struct dests *d,
		    const bool *open, const struct route_override *list, uint32_t n,
		    struct tables *out);
