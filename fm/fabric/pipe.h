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
 *   fault.c links.c port_class.c    timed faults; usable links; what routing goes by
 *   operations.c modules.c          who waits; the rooms' hooks
 *   request.c role.c progress.c view.c
 *
 * What is above is called by a function given to init(): it serves what is next.
 */
#ifndef FMD_FABRIC_PIPE_H
#define FMD_FABRIC_PIPE_H

#include "fm/core/guid_list.h"
#include "fm/core/job.h"
#include "fm/fabric/modules.h"
#include "fm/fabric/operations.h"
#include "fm/fabric/progress.h"
#include "fm/fabric/publication.h"
#include "fm/fabric/request.h"
#include "fm/fabric/role.h"
#include "fm/fabric/view.h"
#include "fm/program/mft.h"
#include "fm/program/program.h"
#include "fm/sa/sa.h"
#include "fm/sweep/bringup.h"
#include "fm/sweep/sweep.h"
#include "routing/proof/check_change.h"

#define FABRIC_STEPS_MAX 12 /* of a job */

enum fabric_state {
	FABRIC_STARTING, /* nothing known yet */
	FABRIC_BRINGUP,	 /* first tables and links under way */
	FABRIC_UP,	 /* all that was published is in the devices */
	FABRIC_CHANGING, /* up, and a change is being programmed */
	FABRIC_REFUSED,	 /* the newest tables were not proven: the old ones stay in force */
};

struct progress { /* what rooms ask for by progress.h; written by the file that is at it */
	enum fabric_state state;
	uint64_t started_us; /* this process */
	uint64_t settled_us; /* all was settled, for the first time or behind a write; 0 = never */
	bool updating;
	bool programming, bringing_up;
	bool reading;  /* all is written, and what was remembered is not read yet */
	bool retrying; /* the publication under way tries again what was not acknowledged */
	bool due;      /* something was published since all was settled */
	bool wrote;    /* and it changed what devices hold */
	bool was_up;
};

struct role { /* role.c; goes on where all else begins anew */
	enum fabric_role now;
	bool paused, took_over;
	bool waits; /* `next` is to be served */
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
};

struct figures { /* of the latest of each kind, for the status */
	double sweep_ms, route_ms, check_ms, program_ms, bringup_ms;
	unsigned reroutes; /* updates that changed tables, since the beginning */
	uint64_t polls;	   /* light sweeps that ended, since the beginning */
	bool check_whole;  /* the latest proof was of all entries */
	unsigned sweep_smps, silent, partial;
	unsigned silent_logged;		    /* nodes */
	unsigned links_failed, links_fresh; /* as in bringup_result */
	struct program_result programmed;
};

struct clients { /* operator.c, report.c */
	struct operations *operations;
	struct waiters readers;	    /* answered when the readback ends */
	struct follower *followers; /* of events; they go on where all else begins anew */
};

struct fabric {
	struct loop *loop; /* the caller's, as is.. */
	struct mad *mad;
	struct conf conf;	  /* rooms point to it */
	struct event_log *events; /* these go on where all else begins anew */
	struct alerts *alerts;
	struct modules *modules;
	struct sweep *sweep; /* with the inventory */
	struct bringup *bringup;
	struct program *program;
	struct mft *mft;
	struct sa *sa;
	struct lid_memory memory; /* the LIDs of every port ever met */
	/*
	 * `now` is what is published; the names without it are of concerns that are not yet rooms
	 */
	union {
		struct publication now;
		struct {
			struct topo *topo;
			uint32_t shapes;
			struct link_rule links;
			struct lid_map *lids;
			struct tables tables;
			bool *spanning;
			struct fabric_tried routed;
			struct check_report proof;
			const struct partition_set *partitions;
			const struct pkey_map *pkeys;
			struct qos_set qos;
			uint16_t sm_lid;
		};
	};
	struct requests requests;
	struct role role;
	union { /* as above */
		struct progress progress;
		struct {
			enum fabric_state state;
			uint64_t started_us;
			uint64_t settled_us;
			bool updating;
			bool programming, bringing_up;
			bool reading;
			bool retrying;
			bool due;
			bool wrote;
			bool was_up;
		};
	};
	struct figures figures;
	union { /* as above */
		struct clients clients;
		struct {
			struct operations *operations;
			struct waiters readers;
			struct follower *followers;
		};
	};
	struct faults *faults;	   /* fault.c */
	struct links *link_watch;  /* links.c */
	struct poll *poll;	   /* poll.c */
	struct deploy *deploy;	   /* deploy.c */
	struct update *update;	   /* update.c */
	struct settle *settle;	   /* settle.c */
	struct state_store *store; /* state_dir; goes on, too */

	/* ---- Concerns that are not yet rooms. ---- */
	struct check_base *proof_base; /* fabric_update_proofs() */
};

/* request.c; serve: called with f from the loop when something is requested. */
void fabric_requests_init(struct fabric *f, loop_fn *serve);
void fabric_requests_fini(struct fabric *f);
bool fabric_sweeping(const struct fabric *f); /* a heavy sweep is requested or under way */
/* role.c; serve: calls fabric_role_enter(), from the loop. */
void fabric_role_init(struct fabric *f, loop_fn *serve);
void fabric_role_fini(struct fabric *f);
void fabric_role_enter(struct fabric *f); /* the role that was asked for last is in force */
/* progress.c: figures of a sweep that has ended, a light one too. */
void fabric_note_sweep(struct fabric *f, const struct sweep_result *result);

#endif
