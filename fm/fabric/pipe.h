/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * pipe: struct fabric, for the files of the pipe alone. They call each other downward only
 * (tests/check-calls):
 *
 *   fabric.c                        the scheduler: what is requested becomes sweeps, updates and
 *                                   settling; life
 *   operator.c report.c             operators' commands that are the pipe's own; the status
 *   settle.c                        all that was published is programmed and brought up
 *   update.c                        from the inventory to what is published
 *   deploy.c                        what is published goes to the devices
 *   poll.c                          light sweeps
 *   change.c snapshot.c warn.c      what differs; what is; what an operator should know of it
 *   traps.c                         what is swept because of traps
 *   fault.c links.c port_class.c    timed faults; usable links; what routing goes by
 *   operations.c modules.c          who waits; the rooms' hooks
 *   request.c role.c progress.c view.c
 *
 * What is above is called by a function given to init(): it serves what is next.
 */
#ifndef FMD_FABRIC_PIPE_H
#define FMD_FABRIC_PIPE_H

#include "fm/conf/lists.h"
#include "fm/loop/job.h"
#include "fm/fabric/modules.h"
#include "fm/fabric/operations.h"
#include "fm/fabric/phase.h"
#include "fm/fabric/progress.h"
#include "fm/fabric/publication.h"
#include "fm/fabric/announce.h"
#include "fm/fabric/request.h"
#include "fm/fabric/role.h"
#include "fm/fabric/traps.h"
#include "fm/fabric/view.h"
#include "fm/program/mft.h"
#include "fm/program/program.h"
#include "fm/sa/sa.h"
#include "fm/state/event_files.h"
#include "fm/sweep/bringup.h"
#include "fm/sweep/sweep.h"
#include "routing/proof/check_change.h"

#define FABRIC_STEPS_MAX 12 /* of a job */

struct role { /* role.c; goes on where all else begins anew */
	enum fabric_role now;
	bool paused, took_over;
	guid_t master; /* of a STANDBY; 0 = not known */
	bool waits;    /* `next` is to be served */
	bool resumes;  /* it was asked for behind the pause, and ends it */
	struct fabric_role_change next;
	struct loop_timer *timer;
};

struct requests { /* request.c: merged; the scheduler serves them */
	bool sweep, reroute;
	bool forced; /* the next update goes on even when nothing has changed */
	bool retry;  /* something was not acknowledged: an update follows the next light sweep */
	bool reregister;	/* hosts are to register anew: what they had is not known here */
	struct guid_list dirty; /* nodes of the next partial sweep */
	struct loop_timer *timer;
	fabric_verified_fn *verified; /* of the verification under way */
	void *verified_arg;
};

struct lasting { /* fabric.c: state_dir, keys that are derived from a secret file, rooms */
	struct state_store *store;
	struct event_files *events;
	struct m_keys *keys; /* of ports */
	struct modules *modules;
};

struct clients { /* operator.c, report.c */
	struct operations *operations;
	struct follower *followers; /* of events; they go on where all else begins anew */
};

struct fabric {
	/* Given, or made once: they go on where all else begins anew. */
	struct loop *loop;
	struct mad *mad;
	struct conf conf; /* rooms point to it; changed in place */
	struct event_log *events;
	struct alerts *alerts;
	struct lasting kept;
	struct role *role;
	struct clients clients;

	/* What the pipe works with; rooms borrow it (struct fabric_services). */
	struct sweep *sweep; /* with the inventory */
	struct bringup *bringup;
	struct program *program;
	struct mft *mft;
	struct sa *sa;
	struct lid_memory memory; /* the LIDs of every port ever met: a plan takes them from here */

	struct publication now; /* update.c changes it; its snapshot: settle.c too */
	struct requests requests;
	struct progress progress;
	struct figures *figures;

	/* Each is known to its file alone. */
	struct traps *traps;
	struct faults *faults;
	struct links *links;
	struct poll *poll;
	struct deploy *deploy;
	struct update *update;
	struct settle *settle;
};

/* request.c; serve: called with f from the loop when something is requested. */
void fabric_requests_init(struct fabric *f, loop_fn *serve);
void fabric_requests_fini(struct fabric *f);
bool fabric_sweeping(const struct fabric *f); /* true: a heavy sweep is requested or under way */
/* role.c; serve: calls fabric_role_enter(), from the loop. */
void fabric_role_init(struct fabric *f, loop_fn *serve);
void fabric_role_fini(struct fabric *f);
void fabric_role_enter(struct fabric *f); /* the role that was asked for last is in force */
/* progress.c: figures of a sweep that has ended, a light one too. */
void fabric_note_sweep(struct fabric *f, const struct sweep_result *result);

#endif
