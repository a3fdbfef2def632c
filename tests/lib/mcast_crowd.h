/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mcast_crowd: fabrics, groups with random members on them, and checks of their trees. Include
 * cmocka first.
 */
#pragma once

#include <stdlib.h>
#include <string.h>
#include "routing/multicast/mcast_plan.h"
#include "tests/fabric/damage.h"
#include "tests/lib/fabrics.h"
#include "topology/generate/generate.h"
#include "topology/base/mem.h"

#define MLID(n) (MCAST_FIRST_MLID + (n))

struct crowd { /* groups, which own their members */
	uint32_t n;
	struct mcast_group *groups;
};

void crowd_fini(struct crowd *c);
/*
 * Groups of MLID(0) .. with random members, a fifth of them send-only, of all end ports or only of
 * hosts' ports. The caller frees them by crowd_fini().
 */
struct crowd random_groups_of(const struct topo *t, bool only_hosts, uint32_t ngroups,
			      uint32_t nmembers, uint64_t seed);
struct crowd random_groups(const struct topo *t, uint32_t ngroups, uint32_t nmembers,
			   uint64_t seed);
/* Fails unless mcast_tree_check() accepts the tree, or all trees of a plan for these groups. */
void assert_right(const struct topo *t, const struct mcast_group *group,
		  const struct mcast_tree *tree);
void assert_plan_right(const struct topo *t, const struct crowd *c, const struct mcast_plan *plan);
/* Snapshots, which the caller owns: generate_pgft(); 4 leaves with hosts at ports 1..4 and 3 spines
 * at ports 5..7. */
struct topo *pgft(unsigned h, const unsigned *m, const unsigned *w, const unsigned *p);
struct topo *two_tier_tree(void);
/* The n-th switch of a level; the port behind a switch's port; the hop of a switch, NULL = none. */
uint32_t switch_of_level(const struct topo *t, unsigned level, unsigned n);
uint32_t host_at(const struct topo *t, uint32_t sw, unsigned num);
const struct mcast_hop *hop_at(const struct mcast_tree *tree, uint32_t sw);
/* A new tree; the caller frees it by mcast_tree_fini(). */
struct mcast_tree tree_for(const struct topo *t, const struct mcast_group *group);

#define GROUP(list) ((struct mcast_group){ MLID(0), sizeof(list) / sizeof((list)[0]), list, false })
