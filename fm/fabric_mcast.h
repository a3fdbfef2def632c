/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* fabric_mcast: multicast in the conductor: fabric_mcast.c (from groups to tables), fabric_mcast_learn.c (from tables to groups),
 * fabric_groups.c (files, documents). */
#ifndef FMD_FABRIC_MCAST_H
#define FMD_FABRIC_MCAST_H

#include <sys/types.h>
#include "fm/fabric_own.h"
#include "fm/program/mft.h"
#include "routing/mcast_proof.h"
#include "routing/mcast_tree.h"

struct fabric_gathered { /* of one MLID: the members of its groups, as ports of a snapshot */
	struct mcast_member *list;
	uint32_t count;
};

struct fabric_mcast {
	struct mft *mft;
	struct job *job;
	struct loop_timer *fold; /* armed: a change waits for others to join it */
	uint64_t folds_since_us;
	bool changed[SA_MLIDS]; /* by MLID: since it was gathered */
	bool pending;		/* any of these */
	bool again;		/* switches that failed are to be tried */
	bool read;		/* what switches held when fmd began is known.. */
	bool learned;		/* ..and is the plan to start from */
	unsigned strangers;	/* entries for hosts that are members of nothing, learned */
	bool telling;		/* the job is past the point of being started anew */
	const struct topo
		*seen; /* referenced: the published snapshot that the trees are made for */

	/* Trees in the making. */
	const struct topo *topo; /* referenced: what planner and gathered ports refer to */
	bool proof_due;		 /* the graph of the tables last published is still to be copied */
	struct mcast_proof *published; /* beside the tables last published, until it is taken.. */
	struct mcast_proof *proof;     /* ..for the trees of `topo` */
	struct mcast_planner *planner;
	struct fabric_gathered gathered[SA_MLIDS];
	struct mcast_group *groups; /* [SA_MLIDS] by MLID */
	uint32_t ngroups;
	struct mcast_plan next;
	uint32_t at; /* of the step that runs */

	struct mcast_plan plan; /* as given to the switches */
	struct mft_result result;
	struct spoilt *spoilt; /* multicast's: places, as in fabric_audit.c */
	unsigned nspoilt;
	unsigned with_turns; /* trees, as last told */
	uint64_t rounds;

	/* fabric_groups.c */
	struct loop_timer *save, *patience;
	bool known;		    /* who is a member of what, when fmd began */
	struct state_writer writer; /* of the groups */
};

/* fabric_mcast.c: what switches are to hold of a tree, or no more */
void fabric_mcast_want(struct fabric_mcast *m, const struct mcast_tree *tree, bool wanted);

/* fabric_mcast_learn.c: a step of the job; its argument is the fabric */
enum job_said fabric_mcast_learn(void *arg);

/* fabric_groups.c */
void fabric_groups_init(struct fabric *f);
void fabric_groups_fini(struct fabric *f);
void fabric_groups_load(struct fabric *f);
void fabric_groups_changed(struct fabric *f); /* they are to be saved */
/* Ends what ports had joined that were in service in the older snapshot and are not in the newer. */
void fabric_groups_prune(struct fabric *f, const struct topo *older, const struct topo *newer);

#endif
