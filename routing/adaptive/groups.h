/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * groups: what switches with adaptive routing get beside their tables, as a value: for each switch
 * and destination switch the ports on minimal up/down paths of the tree by live links. An entry
 * with such a group is Free: the switch takes the least loaded member, and has the port of the
 * plain table as its static port. All others are Static: those of switches, of aggregation nodes
 * and of storage, those with one such port, and those that lead by a detour.
 *
 * A group's number follows from the fabric's design alone, so that a fault renumbers nothing:
 *   0                 all live links up; the destinations that all of them lead to share it
 *   1 + c             all live links to the c-th neighbour below
 *   behind those      any other set: each destination has a group of its own
 * Where a switch has fewer numbers, the last of them are shared, each by destinations of several
 * sets: its members are those that all of these have in common.
 *
 * Members have no weights, also where the trunks behind them are uneven. The public headers (OpenSM
 * 5.x, ib_types.h) have the layouts of sub-group 1 (ARGroupTable) and of weights by sub-group
 * (WHBFConfig, 0xFF25). What a Free entry does with sub-group 1 is in no public source, nor is the
 * modifier of WHBFConfig. Fewer members instead would need groups by LID: the static port of each
 * entry has to be a member, and those of one destination's LIDs are mostly all ports.
 */
#pragma once

#include <stdio.h>
#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "topology/snapshot/topo.h"

#define AR_GROUPS_MAX 4096 /* the group field of ARInfo has 12 bits */

struct ar_ports {
	uint64_t word[4];
};
static inline bool ar_has(const struct ar_ports *ports, unsigned num)
{
	return ports->word[num / 64] >> (num % 64) & 1;
}

struct ar_group {
	uint16_t id;
	struct ar_ports ports;
};
struct ar_groups {
	unsigned users; /* who is to free it; 0 = one */
	uint32_t nswitches, ndests;
	uint16_t top;	 /* highest LID */
	uint32_t *dest;	 /* by LID: its destination's number, TOPO_NONE = all static */
	struct ar_span { /* of blocks of tables */
		uint16_t first, end;
	} * spans;	 /* by destination: where its LIDs are */
	uint32_t *first; /* by switch, and one more: its groups in `list`, by id */
	struct ar_group *list;
	uint16_t *entry; /* by switch, then destination: 1 + place among its groups, or 0 */
	uint32_t coarse; /* groups with fewer members than a destination could have */
	uint32_t fixed;	 /* entries that are Static only because numbers ran out */
};

struct ar_params {
	const uint8_t *classes; /* enum route_class by port; NULL = all compute */
	const uint16_t *caps;	/* by switch: number of groups; NULL = AR_GROUPS_MAX each */
};

/*
 * Makes the groups of tables that an engine of the tree made for this snapshot. The caller owns the
 * value, which refers to nothing, and frees it (NULL is fine).
 */
struct ar_groups *ar_groups_new(const struct topo *t, const struct lid_map *lids,
				const struct ar_params *params);
void ar_groups_free(struct ar_groups *groups);
/*
 * The same, sooner where the snapshot has the links of the one before, other ones live: what that
 * needs is kept, and the caller frees it (NULL is fine).
 */
struct ar_maker;
void ar_maker_free(struct ar_maker *maker);
struct ar_groups *ar_groups_make(struct ar_maker **kept, const struct topo *t,
				 const struct lid_map *lids, const struct ar_params *params);

/* Groups to be filled: none yet, and every LID that a port has is a destination of its own. */
struct ar_groups *ar_groups_by_lid(const struct topo *t, const struct lid_map *lids);

/* 1 + the place of an entry's group among those of its switch; 0 = it is Static. */
static inline unsigned ar_place(const struct ar_groups *g, uint32_t sw, uint32_t lid)
{
	uint32_t dest = lid <= g->top ? g->dest[lid] : TOPO_NONE;

	return dest == TOPO_NONE ? 0 : g->entry[(size_t)sw * g->ndests + dest];
}

/* That group; NULL = the entry is Static, or there are no groups (NULL is fine). */
static inline const struct ar_group *ar_group_of(const struct ar_groups *g, uint32_t sw,
						 uint32_t lid)
{
	unsigned place = g ? ar_place(g, sw, lid) : 0;

	return place ? &g->list[g->first[sw] + place - 1] : NULL;
}

/* The members of that group; NULL = as above. */
static inline const struct ar_ports *ar_members(const struct ar_groups *g, uint32_t sw,
						uint32_t lid)
{
	const struct ar_group *group = ar_group_of(g, sw, lid);

	return group ? &group->ports : NULL;
}

/* ---- As text: ibdiagnet2.far ----------------------------------------------------------------- */

/* Writes groups and entries of all switches. Returns 0, or -errno when the stream has an error. */
int ar_far_write(const struct topo *t, const struct lid_map *lids, const struct tables *tables,
		 const struct ar_groups *groups, FILE *out);

/*
 * Reads tables and groups of the switches of t from such a text; lids says whose LIDs they are.
 * Sub-groups above 0 are left out. Entries that are not there are TABLES_NO_ROUTE. NULL with
 * `NAME:LINE: reason` in err: it is no such text, or has a switch, port, LID or group that is not
 * there.
 */
struct ar_groups *ar_far_read(const struct topo *t, const struct lid_map *lids, const char *name,
			      FILE *in, struct tables *tables, char *err, size_t err_size);
