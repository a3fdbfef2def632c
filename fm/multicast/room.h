/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * room: what the files of this room share. trees.c makes trees of groups and has them written;
 * before the first, trees.c makes trees of the tables that switches hold. assumed.c has members
 * that an earlier manager knew, absent.c members out of service, module.c how many groups
 * there may be, what state_dir keeps and what operators see. Only module.c calls several of them.
 */
#ifndef FMD_MULTICAST_ROOM_H
#define FMD_MULTICAST_ROOM_H

#include <sys/types.h>
#include "fm/loop/log.h"
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

struct assumed {		     /* assumed.c */
	struct assumed_member *list; /* by MLID, after assumed_begin() */
	uint32_t count, size;
	unsigned mlids;
	uint64_t until_us;
	struct loop_timer *end;
};

struct mlids {
	guid_t smallest; /* the switch with room for fewest MLIDs; 0 = none is known */
	unsigned logged;
};

struct multicast {
	struct fabric *fabric;
	struct fabric_services services;
	struct sa_groups *groups; /* the SA's */
	bool known;		  /* state_dir had the groups and members when fmd started */
	struct trees trees;
	struct absent absent;
	struct mlids mlids;
	struct assumed assumed;
};

/* assumed.c: members that an earlier manager knew and this one does not; due: the grace is over. */
void assumed_init(struct multicast *m, loop_fn *due);
void assumed_fini(struct multicast *m);
/* Adds a member; then begin, after the last, starts takeover_grace. */
void assumed_add(struct multicast *m, uint16_t mlid, guid_t port);
void assumed_begin(struct multicast *m);
/* Whether an MLID has assumed members; the highest such MLID, 0 = none; the seconds left. */
bool assumed_has(const struct multicast *m, uint16_t mlid);
uint16_t assumed_top(const struct multicast *m);
unsigned assumed_left_s(const struct multicast *m);
/* Adds the assumed members of an MLID to *to. */
void assumed_gather(const struct multicast *m, uint16_t mlid, struct gathered *to);
/* Drops all assumed members and calls changed() with each of their MLIDs. */
void assumed_end(struct multicast *m, void (*changed)(struct multicast *m, uint16_t mlid));

/* each_group.c: calls fn with each group once; fn may delete the group. */
typedef void group_fn(struct multicast *m, struct sa_group *group, void *arg);
void multicast_each_group(struct multicast *m, group_fn *fn, void *arg);

/* absent.c: members whose ports are out of service */
void absent_init(struct multicast *m);
void absent_fini(struct multicast *m);
/* Another snapshot is published; before NULL = the first one. Called before bring-up. */
void absent_published(struct multicast *m, const struct topo *before);
/* Whether the port with that PortGUID is out of service while its memberships are kept. */
bool absent_is_awaited(const struct multicast *m, guid_t port);

#endif
