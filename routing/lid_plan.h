/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * lid_plan: which port has which LID.
 *
 * A port gets, in this order: its LID of the memory (the previous run's map); the LID that it
 * holds, if that is valid and no other port holds it; where it runs, and another has its LID, a LID
 * by lid_distance() further, as all of these; a free LID, in topological order, the hosts of a leaf
 * contiguous and, where that costs nothing, within one 64-entry LFT block. Where more ports run
 * that are not in the memory than are, two fabrics were joined, and what is held comes first: LIDs
 * of the smaller one move. A port keeps its LID for as long as the memory has it, also while it is
 * absent. Only when no other LID is left are LIDs of absent ports taken back, the longest absent
 * first.
 */
#pragma once

#include "topology/snapshot/topo.h"

#define LID_SPACE 0xc000u /* unicast LIDs are below it */

struct lid_entry {
	guid_t port_guid; /* switches: node GUID */
	uint16_t lid;
	uint8_t lmc;
	int64_t away; /* Unix time since which the port is absent, 0 = it is not */
};
struct lid_memory { /* sorted by port_guid, no LID twice */
	uint32_t count;
	struct lid_entry *entries;
	uint32_t changes; /* so often was it changed by lid_memory_learn() and lid_memory_drop() */
	uint16_t first, last; /* new LIDs are from this range; 0, 0 = all */
};
/* Frees the entries; the memory is empty then. */
void lid_memory_fini(struct lid_memory *memory);

/* The plan for one snapshot. */
struct lid_map {
	uint16_t top;	 /* highest LID in use, 0 = none */
	uint32_t nports; /* = topo.nports */
	uint8_t lmc;	 /* of CA ports */
	/* by port index: base LID; 0 = has none (not an end port, or LIDs ran out) */
	uint16_t *lid_of_port;
	uint32_t *port_of_lid; /* [top + 1], port index or TOPO_NONE; with LMC > 0 the same port
				  several times */
	uint32_t without_lid;  /* end ports left without one: LID space exhausted */
	uint32_t taken_back;   /* absent ports whose LIDs were given to others */
};
/*
 * Plans the LIDs of a snapshot. `memory` NULL = nothing is remembered. lmc: CA ports get 2^lmc
 * consecutive LIDs each (IBA 7.11.1), switches one. Entries with another LMC do not count. The
 * caller owns the map, which refers to nothing, and frees it (NULL is fine).
 */
struct lid_map *lid_plan(const struct topo *t, const struct lid_memory *memory, unsigned lmc);
/* The LIDs that ports hold, 0 = none or another port's; the caller's, never NULL. Another map: */
struct lid_map *lid_held(const struct topo *t);
struct lid_map *lid_map_copy(const struct lid_map *map);
void lid_map_free(struct lid_map *map);

/*
 * Before the first plan of a master: drops the entries that contradict LIDs that are to stay. kept,
 * by port index: the port keeps the LID that it holds, if that is valid and no other such port
 * holds it. The LID of any other port counts for nothing.
 */
void lid_memory_yield(struct lid_memory *memory, const struct topo *t, const bool *kept);
/*
 * By how much LIDs that are marked in `moving` are raised, so that all become free ones of that
 * range: beyond the last unicast LID it goes on at 0. Arrays by LID, of LID_SPACE; 0 = they can't
 * move together.
 */
unsigned lid_distance(const uint8_t *taken, const uint8_t *moving, unsigned first, unsigned last);
/*
 * Brings the memory up to this plan: adds or replaces its ports, notes since when (`now`, Unix
 * time) others are absent, drops those whose LIDs were taken back. False: nothing changed.
 */
bool lid_memory_learn(struct lid_memory *memory, const struct topo *t, const struct lid_map *map,
		      int64_t now);
/* Drops the entry of a port, if there is one. */
void lid_memory_drop(struct lid_memory *memory, guid_t port_guid);
