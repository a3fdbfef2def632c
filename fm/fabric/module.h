/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: a concern of the fabric manager, as the pipe sees it: a row of hooks.
 *
 * A concern lives in a folder of its own and keeps its state to itself. The pipe calls it by these
 * hooks; it asks the pipe by fm/fabric/request.h and reads what is published by fm/fabric/view.h.
 * Concerns never call each other. fm/rooms.c has all of them in one table: hooks run in its order,
 * and ends in the reverse order. A hook that is NULL is not needed. `room` is what init() returned.
 *
 * A room begins anew, end and init, when this manager becomes master after another one or ceases to
 * be master (fabric_change_role()); what it kept in state_dir is loaded again then.
 */
#ifndef FMD_FABRIC_MODULE_H
#define FMD_FABRIC_MODULE_H

#include "fm/fabric/announce.h"
#include "fm/fabric/hooks_deploy.h"
#include "fm/fabric/hooks_report.h"
#include "fm/fabric/hooks_sweep.h"
#include "fm/fabric/hooks_update.h"
#include "fm/fabric/policy.h"
#include "fm/fabric/request.h"
#include "fm/fabric/role.h"
#include "fm/fabric/services.h"
#include "fm/mad/wire.h"

struct fabric_module;
/* The state of a room, for its own functions that others call; NULL = it is not in the table. */
void *fabric_room(const struct fabric *fabric, const struct fabric_module *module);

struct fabric_module {
	const char *name;
	/*
	 * This room goes on where others begin anew: what it has of fabric_services() is of the
	 * past when role() is called.
	 */
	bool lasts;
	/*
	 * Whether the files that a configuration names can be used, without using them: 0, or -1
	 * with the reason in err. There is no room.
	 */
	int (*check)(const struct conf *conf, char *err, size_t err_size);
	void *(*init)(struct fabric *fabric);
	void (*fini)(void *room);
	/*
	 * LIDs, multicast groups, and what the inventory begins with, before the first sweep: ahead
	 * of all load().
	 */
	void (*restore)(void *room);
	void (*load)(void *room);  /* what state_dir has; behind all init() */
	void (*start)(void *room); /* the manager begins its work: once, behind the first load() */
	void (*configure)(void *room); /* the configuration may be another */
	/* This manager has another role, or has begun anew in the one it has. */
	void (*role)(void *room, enum fabric_role role);
	/* What files hold is about to be made anew or to go: last changes are said now. */
	void (*checkpoint)(void *room);

	struct fabric_sweep_hooks sweep;
	struct fabric_update_hooks update;
	struct fabric_deploy_hooks deploy;
	struct fabric_report_hooks report;
};

/* The rows, in order; ends with NULL. */
typedef const struct fabric_module *const fabric_modules[];

#endif
