/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * trees: from the SA's groups and the published snapshot to the switches' multicast tables. Part of
 * the room's state (room.h).
 */
#ifndef FMD_MULTICAST_TREES_H
#define FMD_MULTICAST_TREES_H

#include "fm/core/job.h"
#include "fm/core/loop.h"
#include "fm/program/mft.h"
#include "fm/sa/mcast_group.h"
#include "routing/multicast/mcast_proof.h"
#include "routing/multicast/mcast_plan.h"

struct multicast;

struct gathered { /* of one MLID: the members of its groups, as ports of a snapshot */
	struct mcast_member *list;
	uint32_t count;
};

struct trees {
	struct job *job;
	struct loop_timer *fold; /* armed: a change waits for others to join it */
	uint64_t folds_since_us;
	bool changed[SA_MLIDS];	  /* by MLID: since it was gathered */
	bool pending;		  /* any of these, or a block is to be written again */
	bool again;		  /* switches that failed are to be tried */
	bool read;		  /* what switches held when fmd began is known.. */
	bool learned;		  /* ..and is the plan to start from */
	unsigned unknown_members; /* learned entries for hosts that are members of nothing */
	bool reporting;		  /* the job is past the point where it can be started anew */
	struct topo *seen; /* referenced: the published snapshot that the trees are made for */

	/* Trees in the making. */
	struct topo *topo; /* referenced: what planner and gathered ports refer to */
	bool proof_due;	   /* the graph of the tables last published is still to be copied */
	struct mcast_proof *published; /* beside the tables last published, until it is taken.. */
	struct mcast_proof *proof;     /* ..for the trees of `topo` */
	struct mcast_planner *planner;
	struct gathered gathered[SA_MLIDS];
	struct mcast_group *groups; /* [SA_MLIDS] by MLID */
	uint32_t ngroups;
	struct mcast_plan next;
	uint32_t at; /* of the step that runs */

	struct mcast_plan plan; /* as given to the switches */
	struct mft_result result;
	bool logged_failed;  /* that blocks are not acknowledged */
	unsigned with_turns; /* trees, as last logged */
	uint64_t rounds;
};

void trees_init(struct multicast *m);
void trees_fini(struct multicast *m);
void trees_wake(struct multicast *m);			/* begins what is due */
void trees_changed(struct multicast *m, uint16_t mlid); /* groups of the MLID, or their members */
void trees_again(struct multicast *m);			/* a block is to be written again */
void trees_published(struct multicast *m);
/* The published snapshot was exchanged for one that differs in the state of ports alone. */
void trees_shown(struct multicast *m, const struct topo *before);
void trees_keep_proof(struct multicast *m); /* before the next proof begins */

#endif
