/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * corrupt: forwarding tables with something wrong, or merely odd, about them, for those who judge
 * tables. Seeded.
 */
#pragma once

#include "routing/tables.h"
#include "topology/snapshot/topo.h"

/* An entry, a dead end, a loop, turns that no tree makes, or a way to nowhere. */
void corrupt_tables(const struct topo *t, struct tables *tables, uint64_t *random);
/* Many entries of one switch: a block of another one's, or all by one port. */
void corrupt_many(const struct topo *t, struct tables *tables, uint64_t *random);
/* A few packets turn where no tree would have them turn; nothing else is wrong. */
void corrupt_turns(const struct topo *t, struct tables *tables, uint64_t *random);
/* Every entry is any byte below `below`. */
void corrupt_all(struct tables *tables, unsigned below, uint64_t *random);
