/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * pipe: struct fabric, and what the files of the pipe have of one another; no other folder includes
 * it. They call each other downward only (tests/check-calls):
 *
 *   report.c        the status, and who follows events
 *   fabric.c        the scheduler: what is requested becomes sweeps, updates and settling; the
 *                   rooms and their hooks, life
 *   settle.c        all that was published is programmed and brought up
 *   update.c        from the inventory to what is published
 *   deploy.c        what is published goes to the devices
 *   poll.c          light sweeps
 *   change.c        what differs, and what an operator should know of it
 *   snapshot.c      what is, and which links are usable
 *   traps.c         what is swept because of traps
 *   fault.c         timed faults
 *   policy.c        what routing goes by
 *   operations.c    who waits, and for what
 *   pipe.c          requests, the role, what others may know
 *
 * What is above is called by a function given to init(): it serves what is next.
 */
#pragma once

#include "fm/conf/lists.h"
#include "fm/conf/qos.h"
#include "fm/fabric/fabric.h"
#include "fm/fabric/module.h"
#include "fm/fabric/operation.h"
#include "fm/fabric/request.h"
#include "fm/fabric/traps.h"
#include "fm/fabric/view.h"
#include "fm/loop/job.h"
#include "fm/loop/loop.h"
#include "fm/program/mft.h"
#include "fm/program/program.h"
#include "fm/sa/sa.h"
#include "fm/state/event_rows.h"
#include "fm/state/state.h"
#include "fm/sweep/bringup.h"
#include "fm/sweep/sweep.h"
#include "routing/ftree/route.h"
#include "routing/proof/check_change.h"
#include "topology/graph/cutoff.h"
#include "topology/snapshot/topo.h"
#include "topology/snapshot/topo_builder.h"

#define FABRIC_STEPS_MAX 12 /* of a job */

/* ---- Rooms, and how their hooks are called, in their order (fabric.c) ------------------------ */

struct modules { /* owned by the pipe */
	unsigned count;
	struct module_row {
		const struct fabric_module *module; /* NULL = the end */
		void *room;			    /* NULL = not begun */
	} rows[];
};

#define MODULES_EACH(modules, row)                                                                 \
	for (const struct module_row *row = (modules)->rows; (row)->module; (row)++)

/* Calls that hook of each room that has it: MODULES_CALL(m, settled, FABRIC_SETTLED). */
#define MODULES_CALL(modules, hook, ...)                                                           \
	do {                                                                                       \
		MODULES_EACH (modules, row_)                                                       \
			if (row_->module->hook)                                                    \
				row_->module->hook(row_->room, ##__VA_ARGS__);                     \
	} while (0)

/*
 * The same of a hook that answers, up to the first room whose answer is not `usual`: it is the
 * result; `usual` if there is none. MODULES_ANY: one says true.
 * MODULES_FIRST: the first answer that is not NULL.
 */
#define MODULES_UNTIL(modules, usual, hook, ...)                                                   \
	({                                                                                         \
		__typeof__((modules)->rows->module->hook(NULL, ##__VA_ARGS__)) answer_ = (usual);  \
		MODULES_EACH (modules, row_) {                                                     \
			if (row_->module->hook)                                                    \
				answer_ = row_->module->hook(row_->room, ##__VA_ARGS__);           \
			if (answer_ != (usual))                                                    \
				break;                                                             \
		}                                                                                  \
		answer_;                                                                           \
	})
#define MODULES_ANY(modules, hook, ...)	  MODULES_UNTIL(modules, false, hook, ##__VA_ARGS__)
#define MODULES_FIRST(modules, hook, ...) MODULES_UNTIL(modules, NULL, hook, ##__VA_ARGS__)

/* ---- What the pipe is at, and figures of it -------------------------------------------------- */

enum fabric_state {
	FABRIC_STARTING, /* nothing known yet */
	FABRIC_BRINGUP,	 /* first tables and links under way */
	FABRIC_UP,	 /* all that was published is in the devices */
	FABRIC_CHANGING, /* up, and a change is being programmed */
	FABRIC_REFUSED,	 /* the newest tables were not proven: the old ones stay in force */
};

/* What rooms ask for by request.h; written by the file that is at it. */
struct progress {
	enum fabric_state state;
	uint64_t started_us; /* this process */
	uint64_t begun_us;   /* the first sweep that was of use began; 0 = not yet */
	uint64_t up_us;	     /* it was up for the first time; 0 = not yet */
	unsigned unread;     /* blocks: all is written, and what was remembered is not read yet */
	uint64_t settled_us; /* all was settled, for the first time or behind a write; 0 = never */
	bool updating;
	bool programming, bringing_up;
	bool retrying; /* the publication under way tries again what was not acknowledged */
	bool due;      /* something was published since all was settled */
	bool wrote;    /* and it changed what devices hold */
};

/* Of the latest of each kind, for the status. */
struct figures {
	double sweep_ms;
	double route_ms;
	double check_ms;
	double program_ms;
	double bringup_ms;
	unsigned reroutes;    /* updates that changed tables, since the beginning */
	uint64_t rerouted_us; /* the latest of them; 0 = none */
	uint64_t polls;	      /* light sweeps that ended, since the beginning */
	bool check_whole;     /* the latest proof was of all entries */
	unsigned sweep_smps, silent, partial;
	unsigned silent_logged;		    /* nodes */
	unsigned links_failed, links_fresh; /* as in bringup_result */
	struct program_result programmed;
	struct drained { /* by the latest change that had no safe order: LIDs, and for how long */
		unsigned lids;
		double ms;
	} drained;
};

/* ---- What is published ----------------------------------------------------------------------- */

/* What a snapshot was collected by; it belongs to that snapshot. */
struct link_rule {
	uint32_t turns;	     /* inventory.turns then */
	bool active_decides; /* usable links are Active at both ends, else all that are up are */
};

/* The inventory as it is now, with the marks of rooms, on its way to a snapshot. */
struct snapshot_parts { /* all 0 = none */
	struct link_rule links;
	uint32_t shapes; /* inventory.shapes */
	int min_share;	 /* conf_routing.transit_min_share */
	/* made at once, where nothing but ports differs from what is published; else NULL */
	struct topo *topo;
	struct topo_builder *builder; /* NULL where topo is made */
};

/*
 * A snapshot, and the LIDs and tables made for it: the published one, and the one that an update is
 * making. tables are the engine's answer to exactly this topo and these lids. The snapshot alone
 * may be exchanged for one that differs in the state of ports. What the update's one has is its
 * own; partitions and pkeys are partition_module's.
 */
struct publication {
	struct topo *topo;	/* NULL: there is none (yet) */
	uint32_t shapes;	/* inventory.shapes when the snapshot was collected */
	struct link_rule links; /* by which it was collected */
	struct lid_map *lids;
	struct tables tables;
	bool *spanning; /* what multicast's trees are parts of, by port; NULL = they are free */
	struct fabric_tried routed; /* who made the tables */
	struct check_report proof;
	/* What follows is not the update's to make. */
	const struct partition_set *partitions;
	const struct pkey_map *pkeys;
	struct qos_set qos;
	uint16_t sm_lid; /* host order; 0 = the own port has none */
};

/* ---- The pipe -------------------------------------------------------------------------------- */

struct role { /* pipe.c; goes on where all else restarts */
	enum fabric_role now;
	bool paused, took_over, was_master;
	uint16_t followed_lid; /* as in struct fabric_role_change */
	guid_t master;	       /* of a STANDBY; 0 = not known */
	bool waits;	       /* `next` is to be served */
	bool resumes;	       /* it was asked for behind the pause, and ends it */
	struct fabric_role_change next;
	struct loop_timer *timer;
};

struct requests { /* pipe.c: merged; the scheduler serves them */
	bool sweep, reroute;
	bool forced; /* the next update goes on even when nothing has changed */
	bool retry;  /* something was not acknowledged: an update follows the next light sweep */
	bool reregister;	/* hosts are to register again: what they had is not known here */
	struct guid_list dirty; /* nodes of the next partial sweep */
	struct loop_timer *timer;
	struct observation *observation; /* observe.c alone */
	fabric_verified_fn *verified;	 /* of the verification under way */
	void *verified_arg;
};

struct lasting { /* fabric.c: state_dir, keys that are derived from a secret file, rooms */
	struct state *state;
	struct event_rows *events;
	struct m_keys *keys; /* of ports */
	struct modules *modules;
	json_t *totals; /* the status when a role ended: counts go on from it; NULL = none did */
};

struct clients { /* operations.c, report.c */
	struct operations *operations;
	struct follower *followers; /* of events; they go on where all else restarts */
};

struct fabric {
	/* Given, or made once: they go on where all else restarts. */
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

	struct publication now; /* update.c changes it; its snapshot: fabric.c too */
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

/* ---- Requests, the role, figures (pipe.c) ---------------------------------------------------- */

/* serve: calls fabric_role_enter(), from the loop. */
void fabric_role_init(struct fabric *f, loop_fn *serve);
void fabric_role_fini(struct fabric *f);
void fabric_role_enter(struct fabric *f); /* the role that was asked for last is in force */
/* Figures of a sweep that has ended, a light one too. */
void fabric_note_sweep(struct fabric *f, const struct sweep_result *result);

/* ---- Operations that wait for their answer (operations.c): see operation.h ------------------- */

typedef json_t *operations_status_fn(const struct fabric *fabric);

/*
 * The pipe's, never NULL. store, borrowed, knows which files are on disk or could not be written.
 * status makes the answer of an operation without a result of its own.
 */
struct operations *operations_new(struct fabric *fabric, struct state *state,
				  operations_status_fn *status);
void operations_free(struct operations *operations); /* nobody is called */

/* fabric_operation_start() and fabric_operation_done(), whose comments hold (operation.h). */
void operations_start(struct operations *operations, const struct fabric_operation_ops *ops,
		      void *data, waiter_fn *fn, void *arg);
void operations_done(struct operations *operations, json_t *result, waiter_fn *fn, void *arg);

/*
 * An update begins and takes the operations that wait. sweeping: a heavy sweep is yet to come or
 * under way, and operations that wait for one stay.
 */
void operations_take(struct operations *operations, bool sweeping);
bool operations_taken(const struct operations *operations); /* true: some are not answered yet */
/* The proof refused the tables of those that were taken: undoes them. Answer them next. */
void operations_rollback(struct operations *operations);
/*
 * Answers those that were taken; error NULL: all is settled, and those that are `late` wait to be
 * answered behind that, with `late` true. Their callbacks may start others.
 */
void operations_answer(struct operations *operations, const char *error, bool late);
/* Answers all at once with that error: this manager changes nothing any more. */
void operations_abandon(struct operations *operations, const char *why);

/* ---- What routing goes by beside the snapshot (policy.c) ------------------------------------- */

/* enum route_class by port and by name alone: the caller frees them; NULL = all compute. */
uint8_t *fabric_classes_by_name(const struct fabric *f, const struct topo *t);
/* With the configured engine; points to what the policy has. */
struct route_params fabric_route_params(const struct fabric *f, const struct fabric_policy *policy);

/* ---- The steps of a fault, or of a repair; rooms open one by request.h (fault.c) ------------- */

/* f->faults, to be freed. */
void fabric_faults_init(struct fabric *f);

/*
 * A snapshot differs from the published one by that; loss: something is down, gone or slower. Opens
 * a fault if none is open. event: number of the first event about it, 0 = there is none.
 */
void fabric_fault_name(struct fabric *f, bool loss, const char *what, uint64_t event);
/* A link has come up and is not Active yet: its repair is logged when tables lead over it. */
void fabric_fault_training(struct fabric *f);
/*
 * Bring-up has ended, and no update follows from it; a sweep found nothing; new tables are
 * published; their last block is acknowledged or given up. waits_since_us: traps_pending_since().
 */
void fabric_fault_trained(struct fabric *f, uint64_t waits_since_us);
void fabric_fault_none(struct fabric *f, uint64_t waits_since_us);
void fabric_fault_published(struct fabric *f, uint64_t waits_since_us);
void fabric_fault_programmed(struct fabric *f);

/* Adds the latest fault and the latest repair to the document of `fmctl --json status`. */
void fabric_faults_status(const struct fabric *f, json_t *doc);

/* ---- Snapshots: collect, then freeze; and usable links (snapshot.c) -------------------------- */

/* The parts are the caller's, to be frozen or dropped. */
struct snapshot_parts fabric_snapshot_collect(struct fabric *f);
/* The snapshot, the caller's reference. The draft keeps links and shapes, and needs no drop. */
struct topo *fabric_snapshot_freeze(struct snapshot_parts *draft);
void fabric_snapshot_drop(struct snapshot_parts *draft);

/* f->links; its end frees it. */
void fabric_links_init(struct fabric *f);
void fabric_links_fini(struct fabric *f);

/* Before a snapshot is collected: sets the rule in the inventory. */
void fabric_links_published(struct fabric *f, const struct topo *before); /* NULL: the first */
/*
 * True: links became Active, or ceased to be, since the published snapshot was collected, and an
 * update was requested for them. False also while one is being computed, for bring-up ends once
 * more behind that. fabric_links_brought_up(): the same when bring-up has ended.
 */
bool fabric_links_follow(struct fabric *f);
bool fabric_links_brought_up(struct fabric *f);
void fabric_link_activated(void *fabric); /* bring-up's callback */

/* ---- What differs, as events, and alerts about the present state (change.c) ------------------ */

enum fabric_change {
	FABRIC_SAME, /* down to the last bit of a port */
	/* what ports say of themselves: tables are the same, and there may be links to bring up */
	FABRIC_STATES,
	FABRIC_CHANGED,
};

/* Logs what differs, names the open fault by it, and calls the rooms' changed(). */
enum fabric_change fabric_log_changes(struct fabric *f, const struct topo *older,
				      const struct topo *newer);
/* True: they have the same ports, cordoned and quarantined alike. */
bool fabric_same_marks(const struct topo *older, const struct topo *newer);
void fabric_log_silent(struct fabric *f); /* nodes that ceased to answer, or do again */

void fabric_warn(struct fabric *f); /* finds them again; without a published fabric: ends them */
void fabric_cutoff(const struct fabric *f, struct cutoff *out); /* of the published fabric */

/* ---- Light sweeps (poll.c) ----------------------------------------------------------------- */

/* What is unfinished may be more than before: then light sweeps come sooner. */
void fabric_poll_recheck(struct fabric *f);
/* The manager is at another port: a light sweep follows when all that was begun is settled. */
void fabric_poll_moved(struct fabric *f);
/* serve: called with f, where a light sweep has found something to do. */
void fabric_poll_init(struct fabric *f, loop_fn *serve);
void fabric_poll_fini(struct fabric *f);
void fabric_poll_schedule(struct fabric *f); /* the next one; the interval may be another */

/* ---- Tables are programmed, ports and links brought up (deploy.c) ---------------------------- */

/*
 * ended: called with f whenever programming or bring-up has ended; both may go on
 * (fm/fabric/request.h).
 */
void fabric_deploy_init(struct fabric *f, loop_fn *ended);
void fabric_deploy_fini(struct fabric *f);

/*
 * Switches that were met may be set now; those whose PortStateChange was left as it is are swept
 * again.
 */
void fabric_deploy_adopt(struct fabric *f);
/*
 * Something else is published. before: the snapshot until then. NULL = there was none. Calls the
 * rooms' published().
 */
void fabric_deploy(struct fabric *f, const struct topo *before);
/*
 * The published snapshot has other states of ports, and the same tables: there may be links to
 * bring up.
 */
void fabric_deploy_ports(struct fabric *f, const struct topo *before);

/* ---- From the inventory to what is published, in steps (update.c) ---------------------------- */

/* f->update; ended: called with f behind the last step. */
void fabric_update_init(struct fabric *f, loop_fn *ended);
void fabric_update_fini(struct fabric *f);
/* Begins with the inventory as it is; not while one is being computed (fabric_updating()). */
void fabric_update(struct fabric *f);
/* While nobody waits: touches memory for the next update's tables. True: there is more to do. */
bool fabric_update_reserve(struct fabric *f);
/* While nobody waits, and all is settled: frees what the proof keeps of earlier tables. */
void fabric_update_tidy(struct fabric *f);
/* True: the next update shares evenly what was routed as fast as possible; it is begun then. */
bool fabric_update_balances(struct fabric *f);
/* True: the update being computed was for that alone, and begins again with what is newer. */
bool fabric_update_restarts(struct fabric *f);
struct check_base *fabric_update_proofs(const struct fabric *f); /* belongs to the update */

const char *fabric_update_step(const struct fabric *f); /* that is due, a literal; NULL = none */
/* The tables being computed; they belong to the update, and are published when they are proven. */
struct tables *fabric_update_tables(const struct fabric *f);
json_t *fabric_update_stages(const struct fabric *f); /* milliseconds by step, the caller's */

/* ---- What switches hold, read by who observes (observe.c) ------------------------------------ */

/* f->requests.observation. read: called with f when all tables were read. */
void fabric_observe_init(struct fabric *f, loop_fn *read);
void fabric_observe_fini(struct fabric *f);
/* Reads the tables of all devices; one that is reading (`reads`) does so again. */
void fabric_observe(struct fabric *f);
bool fabric_observe_reads(const struct fabric *f); /* true: its callback is to come */
/* True: they were read so long ago that all is to be swept again. */
bool fabric_observe_is_due(const struct fabric *f);
/* The tables as last read, for the snapshot's switches: its own entries for LIDs up to `top`. */
void fabric_observed_tables(const struct fabric *f, const struct topo *t, uint16_t top,
			    struct tables *out);

/* ---- All that was published is programmed and brought up (settle.c) -------------------------- */

/* ended: called with f behind the last step. */
void fabric_settle_init(struct fabric *f, loop_fn *ended);
void fabric_settle_fini(struct fabric *f);
/* Begins when it is due and nothing of it is under way; nothing else. fabric: f. */
void fabric_settle(void *fabric);
void fabric_settle_stop(struct fabric *f);		/* it stays due */
const char *fabric_settle_step(const struct fabric *f); /* that is due, a literal; NULL = none */
json_t *fabric_settle_stages(const struct fabric *f);	/* ms by step; the caller owns it */

/* ---- The status, and who follows events (report.c) ------------------------------------------- */

/* The event log's listener: hands the event to all followers. */
void fabric_report_event(void *fabric, const json_t *event);
