/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * acyclic_turns: which turns packets may take, so that no channel waits for itself, and which ones
 * that begins with. Private to routing/acyclic/.
 *
 * An acyclic set of turns between arcs makes acyclic dependencies between their links. Turns own
 * their arrays and refer to the net that they are of, which has to outlive them. What is not
 * allowed is said by `false`: nothing else fails.
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

void turns_init(struct turns *turns, const struct net *net); /* none is allowed */
void turns_fini(struct turns *turns);
void turns_copy(struct turns *to, const struct turns *from);
/*
 * Positions given by the caller, while no turn is allowed: all turns along that order are allowed
 * then.
 */
void turns_allow_order(struct turns *turns);
/*
 * Allows a turn unless it closes a cycle. What is banned once stays it. Returns whether it is
 * allowed.
 */
bool turns_allow(struct turns *turns, uint32_t a, uint32_t b);
/*
 * Turns of dead arcs are banned and in nobody's way any more, nor are those that nobody uses (NULL
 * = all are used): the others may be asked for again.
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
 * The first turns, where none is allowed; and by arc a spanning tree, all turns of which are among
 * them, but for BY_TIERS.
 */
void turns_begin(struct turns *turns, enum beginning how, uint64_t *seed, bool *tree);
/*
 * Finds such a tree of open arcs (states NULL: of all) and allows its turns. False: others are in
 * its way, and it is in pieces.
 */
bool turns_fit_tree(struct turns *turns, const uint8_t *states, bool *tree);

#endif
