/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * room: what the files of this room share. trees.c makes trees of groups and has them written;
 * before the first, it makes trees of the tables that switches hold. members.c has members that an
 * earlier manager knew (assumed), and members out of service (absent); module.c how many groups
 * there may be, what state_dir keeps and what operators see.
 */
#pragma once

#include <sys/types.h>
#include "fm/loop/log.h"
#include "fm/fabric/module.h"
#include "fm/fabric/request.h"
#include "fm/fabric/view.h"
#include "fm/loop/job.h"
#include "fm/program/mft.h"
#include "fm/sa/sa.h"
#include "routing/multicast/mcast_plan.h"
#include "routing/multicast/mcast_proof.h"

/* An end port out of service whose memberships are kept. */
struct awaited_port {
	guid_t guid;
	uint64_t until_us;
	bool rebooting; /* absent since before the first sweep: its leaf's report does not count */
	bool member;	/* of some group */
};

struct absent {
	struct awaited_port *awaited; /* by GUID */
	uint32_t nawaited;
	unsigned waiting; /* awaited ports that are members */
	struct loop_timer *patience;
};

struct assumed_member {
	uint16_t mlid;
	guid_t port; /* its own GUID */
};

struct assumed {
	struct assumed_member *list; /* by MLID, after assumed_begin() */
	uint32_t count;
	unsigned mlids;
	uint64_t until_us;
	struct loop_timer *end;
};

struct gathered { /* the members of the groups of one MLID, as ports of a snapshot */
	struct mcast_member *list;
	uint32_t count;
};

struct trees {
	struct job *job;
	struct loop_timer *coalesce; /* armed: a change waits for others to join it */
	uint64_t coalesce_since_us;
	bool changed[SA_MLIDS]; /* by MLID: since its members were collected */
	bool pending;		/* an MLID has changed, or a block is to be written again */
	bool again;		/* switches that failed are to be tried again */
	/* Those that switches held at the start: not known yet; read; the plan to start from. */
	enum { TABLES_UNREAD, TABLES_READ, TABLES_LEARNED } tables;
	unsigned unknown_members; /* entries read for hosts that are members of no group */
	bool reporting;		  /* the job is past the point where it can be started anew */
	struct topo *seen; /* referenced: the published snapshot that the trees are made for */

	/* Trees that are being made. */
	struct topo *topo; /* referenced: what planner and gathered ports refer to */
	bool proof_due;	   /* the graph of the tables last published is still to be copied */
	struct mcast_proof *published; /* made for the tables last published; moves to `proof` */
	/* Of the trees of `topo`; NULL while no group had members since it was published. */
	struct mcast_proof *proof;
	struct mcast_planner *planner;
	struct gathered gathered[SA_MLIDS];
	struct mcast_group *groups; /* [SA_MLIDS] by MLID */
	uint32_t ngroups;
	bool nobody; /* no group has a member */
	struct mcast_plan next;
	uint32_t at; /* of the step that runs */

	struct mcast_plan plan;	  /* as given to the switches */
	struct mft_result result; /* of the last round */
	unsigned with_turns;	  /* trees, as last logged */
	uint64_t rounds;
};

struct lost_keys { /* who lost a group's P_Key, and is in it */
	struct loop_timer *walk;
	const struct partition_set *of; /* as of the last walk; it is only compared */
	bool walked, waiting;		/* waiting: for what ports are to acknowledge */
	unsigned next;			/* MLID */
};

struct mlids {
	guid_t smallest; /* the switch that holds the fewest MLIDs; 0 = none is known */
	unsigned logged;
};

struct multicast {
	struct fabric *fabric;
	struct fabric_services services;
	struct sa_groups *groups; /* the SA's */
	bool known;		  /* state_dir had the groups and members when fmd started */
	struct trees trees;
	struct absent absent;
	struct lost_keys lost_keys;
	struct mlids mlids;
	struct assumed assumed;
};

static inline uint64_t multicast_now(const struct multicast *m)
{
	return loop_now_us(m->services.loop);
}

/* trees.c. Makes timer and job, and gives the SA the plan; trees_fini() ends and frees all. */
void trees_init(struct multicast *m);
void trees_fini(struct multicast *m);
/* Starts what is due, if nothing is under way. */
void trees_start(struct multicast *m);
/* Groups of an MLID, or their members, have changed. */
void trees_changed(struct multicast *m, uint16_t mlid);
/* A block is to be written again. */
void trees_rewrite(struct multicast *m);
/* Tables were published: their proof is to be copied, before the next proof begins. */
void trees_published(struct multicast *m);
void trees_keep_proof(struct multicast *m);
/* `before` was replaced by a snapshot that differs only in the state of ports. */
void trees_same_links(struct multicast *m, const struct topo *before);

/* members.c: makes the timers of m->assumed, at whose end comes grace_over(), and of m->absent. */
void members_init(struct multicast *m, loop_fn *grace_over);
/* Calls fn with each group once; fn may delete the group. */
typedef void group_fn(struct multicast *m, struct sa_group *group, void *arg);
void multicast_each_group(struct multicast *m, group_fn *fn, void *arg);

/*
 * Members that an earlier manager knew and this one does not. Adds one; then begin, after the last,
 * starts takeover_grace.
 */
void assumed_add(struct multicast *m, uint16_t mlid, guid_t port);
void assumed_begin(struct multicast *m);
/* Whether an MLID has assumed members. */
bool assumed_has(const struct multicast *m, uint16_t mlid);
/* Drops all assumed members and calls changed() with each of their MLIDs. */
void assumed_end(struct multicast *m, void (*changed)(struct multicast *m, uint16_t mlid));
/* Adds the assumed members of an MLID to *to. */
void assumed_gather(const struct multicast *m, uint16_t mlid, struct gathered *to);

/*
 * Members whose ports are out of service. Another snapshot is published; before NULL = the first
 * one. Called before bring-up.
 */
void absent_published(struct multicast *m, const struct topo *before);
/* All is brought up: members without the P_Key of their group are looked for where that is due. */
void lost_keys_settled(struct multicast *m);
/* The room's; NULL: the port is in service, or has no memberships that are kept. */
struct awaited_port *absent_awaited(const struct multicast *m, guid_t port);
