/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * trees: makes the switches' multicast tables out of the SA's groups and the published snapshot.
 * Part of the room's state (room.h).
 */
#ifndef FMD_MULTICAST_TREES_H
#define FMD_MULTICAST_TREES_H

#include "fm/loop/job.h"
#include "fm/loop/loop.h"
#include "fm/program/mft.h"
#include "fm/sa/mcast_group.h"
#include "routing/multicast/mcast_plan.h"
#include "routing/multicast/mcast_proof.h"

struct multicast;

struct gathered { /* the members of the groups of one MLID, as ports of a snapshot */
	struct mcast_member *list;
	uint32_t count;
};

struct trees {
	struct job *job;
	struct loop_timer *coalesce; /* armed: a change waits for others to join it */
	uint64_t coalesce_since_us;
	bool changed[SA_MLIDS];	  /* by MLID: since its members were collected */
	bool pending;		  /* an MLID has changed, or a block is to be written again */
	bool again;		  /* switches that failed are to be tried again */
	bool read;		  /* the tables that switches held at the start were read */
	bool learned;		  /* .. and are the plan to start from */
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

	struct mcast_plan plan; /* as given to the switches */
	struct mft_result result;
	bool logged_failed;  /* that blocks are not acknowledged */
	unsigned with_turns; /* trees, as last logged */
	uint64_t rounds;
};

/* Makes timer and job, and gives the SA the plan; trees_fini() ends and frees all. */
void trees_init(struct multicast *m);
void trees_fini(struct multicast *m);
/* Starts what is due, if nothing is under way. */
void trees_start(struct multicast *m);
/* Groups of an MLID, or their members, have changed; a block is to be written again. */
void trees_changed(struct multicast *m, uint16_t mlid);
void trees_rewrite(struct multicast *m);
/* Tables were published: their proof is to be copied, before the next proof begins. */
void trees_published(struct multicast *m);
void trees_keep_proof(struct multicast *m);
/* `before` was replaced by a snapshot that differs only in the state of ports. */
void trees_same_links(struct multicast *m, const struct topo *before);

#endif
