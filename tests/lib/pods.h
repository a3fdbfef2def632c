/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* pods: pods beside each other, and what admission holds in them. Include cmocka first. */
#pragma once

#include "tests/lib/sm_pair.h"

/*
 * A pod of leaves and spines, `count` of them beside each other without a cable between; the first
 * one with so many hosts at a leaf, the others with four.
 */
struct topo *pods_of(unsigned count, unsigned hosts);
/* Those with four hosts at each leaf. */
struct topo *pods(unsigned count);
/* The so many-th switch of that level. */
guid_t switch_at(const struct world *w, const struct topo *t, unsigned level, unsigned which);
/* Links that are held. */
unsigned held(const struct world *w);
/* The answer to `fmctl admit`; its result is the caller's. */
struct reply admit(struct world *w, const char *what, bool dry);
