/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * acyclic_turns: the set of turns that packets may take without a cycle, and the sets it can start
 * from. Private to routing/acyclic/.
 *
 * An acyclic set of turns between arcs makes acyclic dependencies between their links. Turns own
 * their arrays and refer to the net, which has to outlive them. Nothing here fails.
 */
#ifndef FMD_ROUTING_ACYCLIC_TURNS_H
#define FMD_ROUTING_ACYCLIC_TURNS_H

#include "routing/acyclic/acyclic_net.h"

enum turn_state { TURN_UNKNOWN, TURN_ALLOWED, TURN_BANNED };

struct turns {
	const struct net *net;
	uint8_t *state;	    /* by turn */
	uint32_t *position; /* by arc: a topological order of allowed turns */
	/*
	 * steps that may still be spent on searching; without, no turn against the order is allowed
	 */
	int64_t work;
	uint32_t *mark, marks;
	uint32_t *before, *after, *places; /* scratch */
};

/* A set without allowed turns, and a copy of another; turns_fini() frees each. */
void turns_init(struct turns *turns, const struct net *net);
void turns_fini(struct turns *turns);
void turns_copy(struct turns *to, const struct turns *from);
/* Allows all turns along the order that the caller wrote to `position`; none was allowed before. */
void turns_allow_order(struct turns *turns);
/*
 * Allows the turn from arc a to arc b unless it closes a cycle. A turn that was refused once stays
 * banned. Returns whether it is allowed.
 */
bool turns_allow(struct turns *turns, uint32_t a, uint32_t b);
/*
 * Bans the turns of dead arcs and withdraws the allowed ones that are not `used` (by turn; NULL =
 * all are used), so that they close no cycles; all banned turns of live arcs may be tried again.
 */
void turns_forget(struct turns *turns, const uint8_t *states, const bool *used);

static inline uint32_t turn_number(const struct net *n, uint32_t a, uint32_t b)
{
	return n->first_turn[a] + (b - n->first[n->to[a]]);
}
static inline bool turn_is_allowed(const struct turns *t, uint32_t a, uint32_t b)
{
	return t->state[turn_number(t->net, a, b)] == TURN_ALLOWED;
}

/* ---- Beginnings (acyclic_begin.c) ------------------------------------------------------------ */

enum beginning { BY_TIERS, TREE_CENTRAL, TREE_LINE, TREE_ELSEWHERE };

/*
 * Allows the first turns of a set that has none, and sets tree[arc] to a spanning tree, all turns
 * of which are allowed (not with BY_TIERS).
 */
void turns_begin(struct turns *turns, enum beginning how, uint64_t *seed, bool *tree);
/*
 * Finds a spanning tree of open arcs (states NULL: of all) and allows its turns. False: turns that
 * are allowed already do not permit one; tree[] has several parts then.
 */
bool turns_fit_tree(struct turns *turns, const uint8_t *states, bool *tree);

#endif
