/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mcast_tree: multicast groups as spanning trees, and the trees as multicast forwarding tables.
 *
 * Pure: a snapshot and the members of each MLID in, trees out; the same input, the same bytes. A
 * tree's root is the switch that reaches most members and has the least of, in this order: the
 * largest distance to a member, the sum of distances, load, structural place. From it a shortest
 * live path goes to each member's switch, by the links that other groups use least. Paths lead
 * down only, so that packets go up, then down, as unicast does; where no switch has all members
 * below it, any path is taken (`turns`), and cordoned links where nothing else connects. A plan
 * for given unicast tables is proven beside them (mcast_proof.h): a tree that would close a credit
 * loop is built otherwise, or leaves members out (`narrow`).
 *
 * Switches whose multicast table (MulticastFDBCap) has no place for the group's MLID carry nothing
 * of it, and who sits there is left out. In a snapshot in which no switch has such a table, made
 * from a file, all do.
 *
 * What a switch forwards by: a full member's port always; a link, in the direction in which there
 * is a full member beyond it. Members that send only have a path in and nothing comes to them.
 */
#ifndef FMD_ROUTING_MCAST_TREE_H
#define FMD_ROUTING_MCAST_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "topology/topo.h"

#define MCAST_FIRST_MLID 0xC000
#define MCAST_BLOCK	 32 /* MLIDs in one MFT block */
#define MCAST_POSITION	 16 /* ports in one MFT position */
#define MCAST_POSITIONS	 16

struct mcast_member {
	uint32_t port; /* index in topo.ports: a CA's port, or port 0 of a switch */
	bool send_only;
};
struct mcast_group {
	uint16_t mlid; /* no two groups have one */
	uint32_t nmembers;
	const struct mcast_member *members; /* in any order, no port twice */
	/* its older tree was made of these members on this snapshot: not judged again */
	bool as_before;
};

struct mcast_hop { /* a switch on the tree */
	guid_t guid;
	uint32_t sw;
	/* bit p % 16 of ports[p / 16]: out by port p, 0 = itself */
	uint16_t ports[MCAST_POSITIONS];
};
struct mcast_tree {
	uint16_t mlid;
	uint16_t turns;	   /* switches on it where packets may go down, then up */
	uint32_t root;	   /* switch, TOPO_NONE = nobody to forward to */
	uint32_t left_out; /* members whose link is down, or that no link connects to the root */
	bool kept;	   /* of the older plan, port by port */
	bool narrow; /* members that links connect are left out, lest it closes a credit loop */
	uint32_t nhops;
	struct mcast_hop *hops; /* by switch */
};

static inline bool mcast_forwards(const struct mcast_hop *hop, unsigned port)
{
	return hop->ports[port / MCAST_POSITION] >> (port % MCAST_POSITION) & 1;
}

/* Whether tables of a snapshot are known; and whether a switch of it has place for a MLID. */
bool mcast_tables_known(const struct topo *t);
static inline bool mcast_carries(const struct topo_node *sw, bool tables_known, uint16_t mlid)
{
	return !tables_known || sw->mft_cap > mlid - MCAST_FIRST_MLID;
}

/* A snapshot prepared for trees, and how many of them each link carries. */
struct mcast;
struct mcast *mcast_new(const struct topo *t);		   /* refers to t */
void mcast_free(struct mcast *m);			   /* NULL is fine */
uint32_t mcast_load(const struct mcast *m, uint32_t port); /* trees by a switch's port */

/*
 * Makes the tree of one group and loads its links. An older tree of the group (of any snapshot;
 * NULL = none) keeps its root and links where they are as good as others.
 */
void mcast_tree_build(struct mcast *m, const struct mcast_group *group,
		      const struct mcast_tree *older, struct mcast_tree *out);
/*
 * The same in steps of a few ms in the largest fabrics: start, then step until it returns true.
 * What start takes is read until then.
 */
void mcast_tree_start(struct mcast *m, const struct mcast_group *group,
		      const struct mcast_tree *older, struct mcast_tree *out);
bool mcast_tree_step(struct mcast *m);
void mcast_forget_load(struct mcast *m);
/* Loads a tree that was made for this snapshot, or renumbered for it, on its links. */
void mcast_tree_add_load(struct mcast *m, const struct mcast_tree *tree);
void mcast_tree_fini(struct mcast_tree *tree);

/* Root and turns of a tree of which only the hops are known: by levels, the highest is the root. */
void mcast_tree_describe(const struct topo *t, struct mcast_tree *tree);

/*
 * Judges a tree by the snapshot alone, knowing nothing of how it was made: every member that links
 * connect gets and sends, no cycle, no dead link, nothing forwarded where nobody wants it.
 * False with a reason in err.
 */
bool mcast_tree_check(const struct topo *t, const struct mcast_group *group,
		      const struct mcast_tree *tree, char *err, size_t err_size);

#endif
