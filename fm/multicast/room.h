/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * room: what the files of this room share. trees.c makes trees of groups and has them written, behind learn.c, which makes them of the
 * tables that switches hold at first; absent.c has members out of service, mlids.c the room for groups, group_file.c what state_dir
 * keeps, document.c what operators see. module.c is the door and alone calls several of them.
 */
#ifndef FMD_MULTICAST_ROOM_H
#define FMD_MULTICAST_ROOM_H

#include <sys/types.h>
#include "fm/core/job.h"
#include "fm/core/log.h"
#include "fm/fabric/module.h"
#include "fm/fabric/progress.h"
#include "fm/fabric/request.h"
#include "fm/fabric/view.h"
#include "fm/program/mft.h"
#include "fm/sa/sa.h"
#include "fm/sa/sa_alias.h"
#include "routing/multicast/mcast_proof.h"
#include "routing/multicast/mcast_tree.h"

struct gathered { /* of one MLID: the members of its groups, as ports of a snapshot */
	struct mcast_member *list;
	uint32_t count;
};

/* trees.c */
struct trees {
	struct job *job;
	struct loop_timer *fold; /* armed: a change waits for others to join it */
	uint64_t folds_since_us;
	bool changed[SA_MLIDS]; /* by MLID: since it was gathered */
	bool pending;		/* any of these, or a block is to be written again */
	bool again;		/* switches that failed are to be tried */
	bool read;		/* what switches held when fmd began is known.. */
	bool learned;		/* ..and is the plan to start from */
	unsigned strangers;	/* learned entries for hosts that are members of nothing */
	bool telling;		/* the job is past the point of being started anew */
	struct topo *seen;	/* referenced: the published snapshot that the trees are made for */

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

/* An end port out of service whose memberships are kept, see absent.c. */
struct awaited_port {
	guid_t guid;
	uint64_t until_us;
	bool rebooting; /* since before the first sweep: whatever its leaf says of it */
	bool member;	/* of some group */
};

struct absent {
	struct awaited_port *awaited; /* by GUID */
	uint32_t nawaited;
	unsigned waiting; /* of these, members */
	struct loop_timer *patience;
};

struct mlids {
	guid_t smallest; /* the switch that has room for fewest; 0 = none is known */
	unsigned logged;
};

struct multicast {
	struct fabric *fabric;
	struct fabric_services services;
	struct sa_groups *groups; /* the SA's */
	bool known;		  /* who is a member of what was in state_dir when fmd began */
	struct trees trees;
	struct absent absent;
	struct mlids mlids;
};

/* trees.c */
void trees_init(struct multicast *m);
void trees_fini(struct multicast *m);
void trees_wake(struct multicast *m);			/* begins what is due */
void trees_changed(struct multicast *m, uint16_t mlid); /* groups of the MLID, or their members */
void trees_again(struct multicast *m);			/* a block is to be written again */
void trees_published(struct multicast *m);
void trees_shown(struct multicast *m, const struct topo *before);
void trees_keep_proof(struct multicast *m); /* before the next proof begins */

/* learn.c: a step of the job of trees.c; its argument is the room */
enum job_said multicast_learn(void *arg);

/* group_file.c: groups in state_dir */
void group_file_read(struct multicast *m);
void group_file_changed(struct multicast *m); /* it is to be written */

/* each_group.c */
typedef void group_fn(struct multicast *m, struct sa_group *group, void *arg);
/* Each group once; it may end in the course of it. */
void multicast_each_group(struct multicast *m, group_fn *fn, void *arg);

/* mlids.c: room for groups */
void mlids_published(struct multicast *m);
void mlids_check(struct multicast *m); /* groups have changed */

/* absent.c: members whose ports are out of service */
void absent_init(struct multicast *m);
void absent_fini(struct multicast *m);
/* Another snapshot is published; before NULL: the first one. Ahead of bring-up. */
void absent_published(struct multicast *m, const struct topo *before);
/* The port with that GUID of its own is out of service, and its memberships are kept. */
bool absent_is_awaited(const struct multicast *m, guid_t port);

/* document.c */
json_t *multicast_groups_json(const struct multicast *m);
json_t *multicast_figures_json(const struct multicast *m);

#endif
