/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mcast_crowd: fabrics, groups of members on them, and the judge's word on their trees. Include
 * cmocka first.
 */
#ifndef FMD_TESTS_MCAST_CROWD_H
#define FMD_TESTS_MCAST_CROWD_H

#include <stdlib.h>
#include <string.h>
#include "routing/multicast/mcast_plan.h"
#include "tests/fabric/damage.h"
#include "tests/lib/fabrics.h"
#include "topology/generate.h"
#include "topology/mem.h"

#define MLID(n) (MCAST_FIRST_MLID + (n))

struct crowd { /* groups with members of their own */
	uint32_t n;
	struct mcast_group *groups;
};

void crowd_fini(struct crowd *c);
struct crowd gather_from(const struct topo *t, bool only_hosts, uint32_t ngroups, uint32_t nmembers,
			 uint64_t seed);
struct crowd gather(const struct topo *t, uint32_t ngroups, uint32_t nmembers, uint64_t seed);
void assert_right(const struct topo *t, const struct mcast_group *group,
		  const struct mcast_tree *tree);

/* Groups are in MLID order, as gather() makes them. */
void assert_plan_right(const struct topo *t, const struct crowd *c, const struct mcast_plan *plan);
struct topo *pgft(unsigned h, const unsigned *m, const unsigned *w, const unsigned *p);

/*
 * Two tiers: 4 leaves of 4 hosts, 3 spines. Leaf l's hosts are at its ports 1..4, spines at 5..7.
 */
struct topo *two_tier_tree(void);
uint32_t switch_of_level(const struct topo *t, unsigned level, unsigned n);
uint32_t host_at(const struct topo *t, uint32_t sw, unsigned num);
const struct mcast_hop *hop_at(const struct mcast_tree *tree, uint32_t sw);
struct mcast_tree tree_for(const struct topo *t, const struct mcast_group *group);

#define GROUP(list) ((struct mcast_group){ MLID(0), sizeof(list) / sizeof((list)[0]), list, false })

#endif
