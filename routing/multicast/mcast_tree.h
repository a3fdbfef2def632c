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
 * Switches whose multicast table (MulticastFDBCap) is too small for the group's MLID carry nothing
 * of it, and members there are left out. In a snapshot in which no switch has such a table, as one
 * made from a file, all switches can hold it.
 *
 * A switch forwards by a full member's port always, and by a link in the direction in which there
 * is a full member beyond it. Send-only members have a path into the tree and receive nothing.
 */
#pragma once

#include "topology/graph/graph.h"
#include "topology/snapshot/topo.h"

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
	bool as_before; /* its older tree was made of these members on this snapshot */
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
	uint32_t root;	   /* switch, TOPO_NONE = no switch forwards */
	uint32_t left_out; /* members whose link is down, or that no link connects to the root */
	bool kept;	   /* equal to the older plan's, port by port */
	bool narrow;	   /* members that links connect are left out, to avoid a credit loop */
	uint32_t nhops;
	struct mcast_hop *hops; /* by switch */
};

/* Whether a switch of a tree forwards by a port. */
static inline bool mcast_forwards(const struct mcast_hop *hop, unsigned port)
{
	return hop->ports[port / MCAST_POSITION] >> (port % MCAST_POSITION) & 1;
}

/* Whether MulticastFDBCap is known of any switch; and whether a switch can hold an MLID. */
bool mcast_tables_known(const struct topo *t);

static inline bool mcast_carries(const struct topo_node *sw, bool tables_known, uint16_t mlid)
{
	return !tables_known || sw->mft_cap > mlid - MCAST_FIRST_MLID;
}

/*
 * A snapshot prepared for trees, with the number of trees that each link carries. The caller frees
 * it (NULL is fine) before the snapshot.
 */
struct mcast;
struct mcast *mcast_new(const struct topo *t, enum graph_orientation orientation);
void mcast_free(struct mcast *m);

/*
 * Makes the tree of one group, which the caller frees by mcast_tree_fini(), and adds it to the load
 * of its links. An older tree of the group (of any snapshot; NULL = none) keeps its root and links
 * where they are as good as others. It comes in steps of a few ms in the largest fabrics: start,
 * then step until it returns true = done. The arguments are borrowed until then.
 */
void mcast_tree_start(struct mcast *m, const struct mcast_group *group,
		      const struct mcast_tree *older, struct mcast_tree *out);
bool mcast_tree_step(struct mcast *m);
/* Sets all loads to 0; and adds a tree with the indices of this snapshot to the loads. */
void mcast_forget_load(struct mcast *m);
void mcast_tree_add_load(struct mcast *m, const struct mcast_tree *tree);
void mcast_tree_fini(struct mcast_tree *tree);

/* Sets root (the highest switch) and turns of a tree of which only the hops are known. */
void mcast_tree_describe(const struct topo *t, struct mcast_tree *tree);

/*
 * Judges a tree by the snapshot alone: every member that links connect receives and can send, no
 * cycle, no dead link, nothing is forwarded where there is no member. False with a reason in err.
 */
bool mcast_tree_check(const struct topo *t, const struct mcast_group *group,
		      const struct mcast_tree *tree, char *err, size_t err_size);

/* ---- What walks over the hops of trees have in common ---------------------------------------- */

#define MCAST_WORDS 4 /* of 64 ports */

/* Bit p of word w: whether it forwards by port 64 w + p. */
static inline uint64_t mcast_mask_word(const struct mcast_hop *hop, unsigned word)
{
	const uint16_t *ports = hop->ports + word * 4;

	return ports[0] | (uint64_t)ports[1] << 16 | (uint64_t)ports[2] << 32 |
	       (uint64_t)ports[3] << 48;
}

/* A hop's switch in this snapshot, of whichever snapshot the hop is; TOPO_NONE = it has left. */
static inline uint32_t mcast_hop_switch(const struct topo *t, const struct mcast_hop *hop)
{
	return hop->sw < t->nswitches && t->nodes[hop->sw].guid == hop->guid
		       ? hop->sw
		       : topo_find(t, hop->guid);
}
