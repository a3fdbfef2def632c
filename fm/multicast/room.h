/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * room: what the files of this room share. trees.c makes trees of groups and has them written,
 * behind learn.c, which makes them of the tables that switches hold at first; assumed.c has members
 * that an earlier manager knew, absent.c members out of service, mlids.c the room for groups,
 * group_file.c what state_dir keeps, document.c what operators see. module.c is the door and alone
 * calls several of them.
 */
#ifndef FMD_MULTICAST_ROOM_H
#define FMD_MULTICAST_ROOM_H

#include <sys/types.h>
#include "fm/core/log.h"
#include "fm/fabric/module.h"
#include "fm/fabric/progress.h"
#include "fm/fabric/request.h"
#include "fm/fabric/view.h"
#include "fm/multicast/trees.h"
#include "fm/sa/sa.h"
#include "fm/sa/sa_alias.h"

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

struct assumed_member {
	uint16_t mlid;
	guid_t port; /* its own GUID */
};

struct assumed {		     /* assumed.c */
	struct assumed_member *list; /* by MLID, once all are there */
	uint32_t count, size;
	unsigned mlids;
	uint64_t until_us;
	struct loop_timer *end;
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
	struct assumed assumed;
};

/* learn.c: a step of the job of trees.c; its argument is the room */
enum job_said multicast_learn(void *arg);

/* assumed.c: members that a manager of before knew, and this one does not */
void assumed_init(struct multicast *m, loop_fn *due); /* the grace is over */
void assumed_fini(struct multicast *m);
void assumed_add(struct multicast *m, uint16_t mlid, guid_t port);
void assumed_begin(struct multicast *m); /* all were added: for takeover_grace from now on */
bool assumed_has(const struct multicast *m, uint16_t mlid);
uint16_t assumed_top(const struct multicast *m); /* the highest MLID; 0 = there is none */
void assumed_gather(const struct multicast *m, uint16_t mlid, struct gathered *to);
/* Nobody is assumed any more; changed() for each MLID of those who were. */
void assumed_end(struct multicast *m, void (*changed)(struct multicast *m, uint16_t mlid));
unsigned assumed_left_s(const struct multicast *m);

/* group_file.c: groups in state_dir */
void group_file_read(struct multicast *m);
void group_file_changed(struct multicast *m); /* it is to be written */
/* As struct sa_groups_ops has it; arg: the room. */
void group_file_record(void *arg, const struct sa_group *group, const struct sa_member *member,
		       bool gone);

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
/* Those of one MLID (0 = of any) and with that MGID (NULL = any). */
json_t *multicast_groups_json(const struct multicast *m, unsigned mlid, const uint8_t mgid[16]);
json_t *multicast_figures_json(const struct multicast *m);

#endif
