/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * lid_plan: which port has which LID.
 *
 * In this order: what the memory (the previous run's map) says; the LID the port holds, if it is
 * valid and no other port has a claim on it; then free LIDs in topological order, the hosts of a
 * leaf contiguous and, where that costs nothing, within one 64-entry LFT block. A port keeps its
 * LID for as long as the memory lasts, also while it is away; only when no other LID is left, those
 * of ports that are away are taken back, of the longest away first.
 */
#ifndef FMD_ROUTING_LID_PLAN_H
#define FMD_ROUTING_LID_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include "topology/topo.h"

struct lid_entry {
	guid_t port_guid; /* switches: node GUID */
	uint16_t lid;
	uint8_t lmc;
	int64_t away; /* since that time (Unix), 0 = not */
};
struct lid_memory { /* sorted by port_guid, no LID twice */
	uint32_t count;
	struct lid_entry *entries;
};
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
	/* ports that are away and lost theirs to these: there was no other left */
	uint32_t taken_back;
};
/*
 * lmc: CA ports get 2^lmc consecutive LIDs each (IBA 7.11.1), switches one. A map remembered with
 * another LMC is planned anew.
 */
struct lid_map *lid_plan_lmc(const struct topo *t, const struct lid_memory *memory, unsigned lmc);
struct lid_map *lid_plan(const struct topo *t, const struct lid_memory *memory); /* lmc 0 */
struct lid_map *lid_map_copy(const struct lid_map *map);
void lid_map_free(struct lid_map *map);

/*
 * Another manager has distributed LIDs meanwhile: what a port of the snapshot holds (valid, and no
 * other holds it) is what it has; entries that say otherwise of the port or the LID are dropped.
 */
void lid_memory_yield(struct lid_memory *memory, const struct topo *t);
/*
 * The memory after this plan: entries of the old one kept, those of the plan added or replaced,
 * those whose LIDs were taken back dropped.
 */
bool lid_memory_learn(struct lid_memory *memory, const struct topo *t, const struct lid_map *map,
		      int64_t now);				   /* false: it is as it was */
void lid_memory_drop(struct lid_memory *memory, guid_t port_guid); /* if it is there */

#endif
