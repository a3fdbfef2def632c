/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * check_own: what the proof's files share: check.c (all entries, and who reaches whom) and
 * check_change.c (only what changed). Private to routing/.
 */
#pragma once

#include "routing/cdg.h"
#include "routing/proof/check.h"
#include "routing/tables.h"

struct check_count { /* of one LID that was walked: pairs with the hosts of its connected part */
	uint32_t reachable, unreachable, special;
	/* the first switch with hosts that does not reach it, or whose packets loop, TOPO_NONE */
	uint32_t from;
	bool loop; /* packets from there loop */
};

struct check {
	const struct topo *t;
	const struct lid_map *lids;
	const struct tables *tables;
	struct check_report *report;
	struct cdg cdg;
	bool *walk;		    /* by LID: not plain, see check.c */
	struct check_count *counts; /* by LID, good where walk is set */
	/* Scratch of one proof, which the arena owns. */
	struct arena *scratch;
	uint32_t *part;		    /* by node: connected part (union-find) */
	uint32_t *hosts, *specials; /* by switch: attached host ports, SHARP aggregation nodes */
	uint64_t *part_hosts, *part_specials, *part_lidless; /* by part's root, a switch */
	uint64_t back_to_back; /* hosts' ports with a link to another host */
	uint64_t all_hosts;
	uint8_t *arrival; /* by switch, for one LID */
	uint16_t *hops;
	uint32_t *leads; /* by port: the switch behind its link, TOPO_NONE = none, or it is down */
	uint32_t *trail;
	uint64_t hop_sum, hop_count;
	/* Of a proof of all entries that is under way: see check.c. */
	unsigned phase;
	uint32_t at; /* row or LID that is next in the phase */
	struct check_turns *turns;
	bool exact; /* the graph is of dependencies alone */
	struct cdg_search *search;
	bool *measured; /* by switch: hops to a LID behind it */
};

/* Whether a link to another switch that is up leaves by this port of a switch. */
static inline bool check_is_channel(const struct check *c, uint32_t port)
{
	return c->leads[port] != TOPO_NONE;
}

/* Whether a link to that switch (TOPO_NONE = it is none) leads up the ranks. */
static inline bool check_leads_up(const struct check *c, uint32_t sw, uint32_t to)
{
	return to != TOPO_NONE && c->cdg.rank[to] > c->cdg.rank[sw];
}

/*
 * check.c: proves all entries, in calls of a few milliseconds: begin, go while it returns true,
 * end. When end returns true the tables are sound, and the caller owns cdg, walk and counts; else,
 * also when it was ended early, these are freed. The scratch is the caller's to make and free.
 */
void check_begin(struct check *c);
bool check_go(struct check *c);
bool check_end(struct check *c);
void check_scratch_init(struct check *c);
void check_scratch_fini(struct check *c);
void check_result_fini(struct check *c); /* frees cdg, walk, counts */
/* Whether port `out` of the switch leads to the port that has the LID, or 0 is the switch's own. */
bool check_delivers(const struct check *c, uint32_t sw, unsigned out, uint32_t lid);

/* Who reaches whom. */
void check_find_leads(struct check *c);			   /* sets leads, by channels */
void check_find_parts(struct check *c);			   /* sets part, hosts, and sums */
uint32_t check_part(const struct check *c, uint32_t node); /* the root of its connected part */
/* The CA port, in the snapshot, that has the LID and has a link to a switch; NULL = none. */
const struct topo_port *check_host_port(const struct check *c, uint32_t lid);
void check_walk_lid(struct check *c, uint32_t lid); /* walk and counts of a host port's LID */
void check_sum(struct check *c); /* pairs into the report, the first finding by name */

/* ---- Which blocks of the tables have changed, by fingerprints -------------------------------- */

/* Private to routing/. */

#define CHECK_PIECE 16 /* blocks that are looked at one by one only if some changed */

struct check_prints {
	uint64_t key[CHECK_PIECE * TABLES_BLOCK / sizeof(uint64_t)];
	unsigned __int128 fold[3];
	/* by switch, then piece of the row: its fingerprint, and those of its blocks */
	uint64_t *pieces, (*blocks)[CHECK_PIECE];
	uint32_t nswitches, npieces;
};

struct check_block { /* of the tables */
	uint32_t sw, block;
};
struct check_blocks {
	struct check_block *list; /* by switch */
	uint32_t count;
};

/* Sets the keys, from a secret seed; there are no fingerprints yet. check_prints_fini() frees. */
void check_prints_init(struct check_prints *p, uint64_t seed);
void check_prints_fini(struct check_prints *p);
/*
 * Takes the fingerprints of the tables' rows [first, end), and adds to `changed` (its list is the
 * caller's to free) the blocks whose fingerprints differ from those before. NULL = not wanted, as
 * for tables of another size.
 */
void check_prints_take(struct check_prints *p, const struct tables *tables, uint32_t first,
		       uint32_t end, struct check_blocks *changed);
