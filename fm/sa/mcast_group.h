/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mcast_group: the store of multicast groups and their members. Data and invariants alone: who may
 * join is record_mcmember.c's affair, where packets go fm/multicast/trees.c's.
 *
 * Invariants: MGIDs are unique, and so is a port within a group; a member's JoinState is never 0; a
 * group that was not made in advance has a member that keeps it (full, or send-only full) and ends
 * with the last such member, the others with it. One MLID a group, except that groups of IPv6
 * solicited nodes share one where that is wanted. A MLID that was given back rests for a minute
 * while there are others: hosts may still send to the old group.
 *
 * A group is held by one of the members that keep it: who made it, and then another of them. So
 * each MLID is held by a port, and a port's share of them can be limited.
 */
#pragma once

#include <complib/cl_fleximap.h>
#include <complib/cl_qmap.h>
#include <stdio.h>
#include "fm/mad/wire_sa.h"
#include "routing/multicast/mcast_tree.h"

#define SA_LAST_MLID 0xFFFE
#define SA_MLIDS     (SA_LAST_MLID - MCAST_FIRST_MLID + 1u)

/* A member with one of these bits keeps the group. */
#define SA_JOIN_KEEPS (WIRE_JOIN_FULL | WIRE_JOIN_SEND_ONLY_FULL)

struct sa_member {
	guid_t port;
	uint8_t state; /* enum wire_join bits */
	bool proxy;    /* somebody else joined it */
};

struct sa_group {
	cl_fmap_item_t item;	   /* key: attr.mgid */
	struct sa_group *next;	   /* of the same MLID */
	struct wire_mcmember attr; /* what it is for all of its members: mgid to hop_limit */
	uint16_t mlid;
	bool preset;	   /* made in advance: stays without members */
	guid_t holder;	   /* one of those that keep it; 0 = nobody does */
	uint32_t nkeepers; /* members that keep it */
	uint32_t nmembers, size;
	struct sa_member *members; /* by port */
};
static inline uint8_t sa_group_scope(const struct wire_mcmember *attr)
{
	return attr->mgid.prefix >> 48 & 0xf;
}

/* The item with that key; NULL: there is none. */
static inline void *sa_map_find(const cl_qmap_t *map, uint64_t key)
{
	cl_map_item_t *item = cl_qmap_get(map, key);

	return item == cl_qmap_end(map) ? NULL : item;
}

/* The item with the least key behind `after`; NULL: there is none. */
static inline void *sa_map_next(const cl_qmap_t *map, uint64_t after)
{
	cl_map_item_t *item = cl_qmap_get_next(map, after);

	return item == cl_qmap_end(map) ? NULL : item;
}

struct sa_group_port {	    /* a port that is in a group */
	cl_map_item_t item; /* key: GUID */
	unsigned groups;    /* how many it is in */
	unsigned held;	    /* of how many it is the holder; those in advance do not count */
	bool reported;	    /* the SA's: that it is in too many */
};
struct sa_groups;
/* Called in the course of a change: they change nothing themselves. Any may be NULL. */
struct sa_groups_ops {
	void (*changed)(void *arg, uint16_t mlid); /* groups or members of the MLID */
	/* The first member that keeps it has joined, or the last one has left. */
	void (*kept)(void *arg, const struct sa_group *group, bool kept);
	/* member NULL: the group was made, or is gone; else the member as it is now, 0 = it left */
	void (*record)(void *arg, const struct sa_group *group, const struct sa_member *member,
		       bool gone);
};
/* The caller's, empty, never NULL. ops is borrowed. Its end calls none of them; NULL is fine. */
struct sa_groups *sa_groups_new(const struct sa_groups_ops *ops, void *arg);
void sa_groups_free(struct sa_groups *groups);
/* changed() and record() of ops are called too from now on; NULL = nobody follows any more. */
void sa_groups_follow(struct sa_groups *groups, const struct sa_groups_ops *ops, void *arg);
/* How many MLIDs may be given out, from the first; groups beyond stay. */
void sa_groups_set_capacity(struct sa_groups *groups, unsigned mlids);
/* Of groups yet to come; from half of the capacity on they share all the same. */
void sa_groups_share_snm(struct sa_groups *groups, bool share);
/* Whose MLID a group of that MGID takes; NULL = one of its own. */
const struct sa_group *sa_groups_sharing(const struct sa_groups *groups,
					 const struct wire_gid *mgid);
struct sa_groups_use {
	unsigned groups, members; /* members: memberships in all */
	unsigned mlids, capacity; /* MLIDs in use, and how many there may be */
};
/* As it is at any time; valid as long as groups. */
const struct sa_groups_use *sa_groups_use(const struct sa_groups *groups);
/* The highest MLID in use; below MCAST_FIRST_MLID = none is. */
uint16_t sa_groups_top(const struct sa_groups *groups);
/* Both belong to groups; NULL = there is none. By MLID: the first of a chain by .next. */
struct sa_group *sa_groups_find(const struct sa_groups *groups, const struct wire_gid *mgid);
struct sa_group *sa_groups_by_mlid(const struct sa_groups *groups, uint16_t mlid);

/*
 * A new group without members. mlid 0 = one that is free; else that one, NULL if it is out of range
 * or taken (by other than groups to share with). NULL too when the MGID exists or no MLID is left.
 */
struct sa_group *sa_groups_create(struct sa_groups *groups, const struct wire_mcmember *attr,
				  uint16_t mlid, uint64_t now_us);
/* Marks a free MLID as one that was given back just now. */
void sa_groups_rest(struct sa_groups *groups, uint16_t mlid, uint64_t now_us);
/* Whether it counts as made in advance; a group that does not any more ends if nobody keeps it. */
void sa_groups_preset(struct sa_groups *groups, struct sa_group *group, bool preset,
		      uint64_t now_us);
/* MGID of the SA's own making that no group has (IBA 15.2.5.17, C15-0.1.24). */
struct wire_gid sa_groups_new_mgid(struct sa_groups *groups, uint64_t subnet_prefix, uint8_t scope);

/* A port that is in a group, valid until it has left all; and the next one by GUID. NULL: none. */
struct sa_group_port *sa_groups_port(const struct sa_groups *groups, guid_t port);
struct sa_group_port *sa_groups_next_port(const struct sa_groups *groups, guid_t after);
/* The port's membership, the group's until it changes; NULL: it has none. */
struct sa_member *sa_group_member(const struct sa_group *group, guid_t port);
/* Adds the bits; returns the JoinState then. */
uint8_t sa_groups_join(struct sa_groups *groups, struct sa_group *group, guid_t port, uint8_t state,
		       bool proxy);
/* Takes bits away, returns what is left. The group may be gone then. */
uint8_t sa_groups_leave(struct sa_groups *groups, struct sa_group *group, guid_t port,
			uint8_t state, uint64_t now_us);
/* Ends a group that nobody keeps and that was not made in advance; true: it is gone. */
bool sa_groups_end_if_unkept(struct sa_groups *groups, struct sa_group *group, uint64_t now_us);
void sa_groups_clear(struct sa_groups *groups); /* ends all */

/* ---- As rows of the kind `groups` ------------------------------------------------------------ */

/*
 * All groups, then their members. Numbers with 0x are hexadecimal, and the MGID is two of them:
 *
 *   group MGID MLID P_Key Q_Key MTU rate life SL FlowLabel HopLimit TClass
 *   joined MGID PORT_GUID JoinState proxy
 */

/* The line of a group, and of a member of it, without their ends. */
#define MCAST_LINE 256
void mcast_group_line(const struct sa_group *group, char line[MCAST_LINE]);
void mcast_member_line(const struct sa_group *group, const struct sa_member *member,
		       char line[MCAST_LINE]);
/* All groups of that MLID, with their members. Returns how many lines. */
unsigned mcast_group_write(const struct sa_groups *groups, unsigned mlid, FILE *out);
/* Adds what the line says. False: it is none, or does not fit to what is there. */
bool mcast_group_read(struct sa_groups *groups, const char *line, uint64_t now_us);
/* How the member has joined, in words for people; a literal. */
const char *sa_member_joined(const struct sa_member *member);
/* Whether a group can be that; the MLID is its own. */
bool mcast_group_is_plain(const struct wire_mcmember *attr, unsigned mlid);
