/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * ar_world: a fabric whose switches have adaptive routing, all of one packing that fmd knows, with
 * adaptive_routing = "on". Include cmocka first.
 */
#pragma once

#include "tests/lib/fabric_world.h"

#define AR_TOP 1000 /* LID that a packing has room for */

/* Eight leaves with four hosts, and two links to each of four spines. */
struct topo *two_tiers(void);
struct topo *three_tiers(void);
/* The switch has it, off, with the packing of that seed; and what a probe would find of it. */
void able(const struct world *w, uint32_t sw, uint64_t seed);
void packing_row(const struct world *w, uint64_t seed, char row[256]);
/* All of its switches have it, and fmd begins anew. */
void restart_on(struct world *w, uint64_t seed);
void begin(struct world *w, struct topo *design, uint64_t seed);

/* From all leaves to all hosts: the worst end of any choice that switches have. */
enum end { NEW, OPEN, ARRIVES, LOST, LOOPS };
enum end worst(const struct world *w);
/* Switches that have it on, and entries that leave a choice. */
unsigned count_on(const struct world *w);
unsigned count_free(const struct world *w);
/* So many have it on, all pairs are served, and entries have the ports of the tables. */
void assert_on(const struct world *w, unsigned count);
