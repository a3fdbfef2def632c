/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* fabric_mcast: multicast in the conductor: mcast.c (from groups to tables), mcast_learn.c (from tables to groups),
 * groups.c (files, documents), absent.c (members out of service), mlids.c (room). */
#ifndef FMD_FABRIC_MCAST_H
#define FMD_FABRIC_MCAST_H

#include <sys/types.h>
#include "fm/fabric/own.h"
#include "fm/program/mft.h"
#include "routing/multicast/mcast_proof.h"
#include "routing/multicast/mcast_tree.h"

struct fabric_gathered { /* of one MLID: the members of its groups, as ports of a snapshot */
	struct mcast_member *list;
	uint32_t count;
};

/* An end port out of service whose memberships are kept, see absent.c. */
struct awaited_port {
	guid_t guid;
	uint64_t until_us;
	bool rebooting; /* since before the first look: whatever its leaf says of it */
	bool member;	/* of some group */
};

struct fabric_mcast {
	struct mft *mft; /* the pipe's */
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
	bool told_failed;    /* of blocks that are not acknowledged */
	unsigned with_turns; /* trees, as last told */
	uint64_t rounds;

	struct {		 /* mlids.c */
		guid_t smallest; /* the switch that has room for fewest; 0 = none is known */
		unsigned told;
	} mlids;

	/* absent.c */
	struct awaited_port *awaited; /* by GUID */
	uint32_t nawaited;
	unsigned waiting; /* of these, members */
	struct loop_timer *patience;

	/* groups.c */
	bool known; /* who is a member of what, when fmd began */
};

/* mcast.c: what switches are to hold of a tree, or no more */
void fabric_mcast_want(struct fabric_mcast *m, const struct mcast_tree *tree, bool wanted);

/* mcast_learn.c: a step of the job; its argument is the fabric */
enum job_said fabric_mcast_learn(void *arg);

/* groups.c */
void fabric_groups_init(struct fabric *f);
void fabric_groups_fini(struct fabric *f);
void fabric_groups_load(struct fabric *f);
void fabric_groups_changed(struct fabric *f); /* they are to be saved */
typedef void fabric_group_fn(struct fabric *f, struct sa_group *group, void *arg);
/* Each group once; it may end in the course of it. */
void fabric_groups_each(struct fabric *f, fabric_group_fn *fn, void *arg);

/* mlids.c: room for groups */
void fabric_mlids_published(struct fabric *f);
void fabric_mlids_check(struct fabric *f); /* groups have changed */

/* absent.c: members whose ports are out of service. */
void fabric_absent_init(struct fabric *f);
void fabric_absent_fini(struct fabric *f);
/* Another snapshot is published; older NULL: the first one. Ahead of bring-up. */
void fabric_absent_published(struct fabric *f, const struct topo *older);
/* The port with that GUID of its own is out of service, and its memberships are kept. */
bool fabric_is_awaited(const struct fabric *f, guid_t port);

#endif
