/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * own: struct fabric and what the files of the pipe share, and concerns that are not yet rooms of their own (fm/fabric/module.h). Each
 * section below is headed by the file that has it. Nothing outside of fm/fabric/ includes this.
 */
#ifndef FMD_FABRIC_OWN_H
#define FMD_FABRIC_OWN_H

#include <sys/types.h>
#include "fm/core/alert.h"
#include "fm/core/event_log.h"
#include "fm/core/guid_list.h"
#include "fm/core/job.h"
#include "fm/core/log.h"
#include "fm/fabric/fabric.h"
#include "fm/fabric/modules.h"
#include "fm/fabric/operations.h"
#include "fm/fabric/progress.h"
#include "fm/fabric/request.h"
#include "fm/fabric/role.h"
#include "fm/fabric/role.h"
#include "fm/fabric/view.h"
#include "fm/fabric/waiters.h"
#include "fm/program/audit.h"
#include "fm/program/mft.h"
#include "fm/program/program.h"
#include "fm/sa/sa.h"
#include "fm/state/state_store.h"
#include "fm/sweep/bringup.h"
#include "fm/sweep/sweep.h"
#include "routing/proof/check_change.h"
#include "routing/ftree/route.h"
#include "topology/cutoff.h"

/* The old name of fabric_is_master(). */
static inline bool fabric_rules(const struct fabric *f)
{
	return fabric_is_master(f);
}

/* The old name of fabric_updating(). */
static inline bool fabric_updates(const struct fabric *f)
{
	return fabric_updating(f);
}

enum fabric_state {
	FABRIC_STARTING, /* nothing known yet */
	FABRIC_BRINGUP,	 /* first tables and links under way */
	FABRIC_UP,	 /* as wanted */
	FABRIC_CHANGING, /* up, and a change is being programmed */
	FABRIC_REFUSED,	 /* the newest tables were not proven: the old ones stay in force */
};

struct fault { /* a change of the fabric, see fault.c */
	bool open;
	bool differs; /* a look found something else than what was published.. */
	bool loss;    /* ..and some of it is lost */
	bool trains;  /* a link came up, and is being brought up */
	char what[256];
	uint64_t detected_us; /* trap received, or poll answered */
	uint64_t proven_us;
};

struct answered { /* the latest fault, or repair */
	char what[256];
	double proven_ms, programmed_ms; /* since it was detected */
	uint64_t entries;
	unsigned blocks;
};

struct follower { /* of events */
	struct follower *next;
	fabric_event_fn *fn;
	void *arg;
};

struct spoilt { /* a block that the audit found changed, until it is repaired */
	guid_t sw;
	uint32_t block;
};

struct fabric_figures { /* of the latest of each kind */
	double sweep_ms, route_ms, check_ms, program_ms, bringup_ms;
	unsigned reroutes; /* updates that changed tables, since start */
	uint64_t polls;	   /* that ended, since start */
	bool check_whole;  /* the latest proof was of all entries */
	unsigned sweep_smps, silent, partial, duplicates;
	unsigned links_failed, links_fresh; /* as in bringup_result */
	struct program_result programmed;
	struct answered last_fault, last_repair;
};

#define FABRIC_STEPS_MAX 12

/* Which links a snapshot takes for usable (links.c). */
struct fabric_links {
	uint32_t turns; /* inventory.turns */
	bool decided;	/* those that are Active at both ends, else all that are up */
};

/* The present as it was collected. */
struct fabric_draft {
	struct fabric_links links;
	struct topo
		*topo; /* made at once, where nothing but ports differs from what is published */
	struct topo_builder *builder; /* else */
	uint32_t shapes;	      /* inventory.shapes */
};

/* The update in the making. Nothing of it is seen by anybody before it is published. */
struct fabric_update {
	struct job *job;
	struct fabric_draft draft;
	struct topo *topo;
	uint32_t shapes;
	struct fabric_links links;
	struct lid_map *lids;
	struct fabric_policy policy; /* what routing goes by, while it does.. */
	bool routing;		     /* ..which it does */
	struct fabric_tried routed;  /* by whom the tables are */
	bool *spanning;		     /* route_spanning()'s; NULL = none */
	struct tables tables;
	size_t room;			     /* bytes of their memory that were touched */
	uint64_t spent_us[FABRIC_STEPS_MAX]; /* of the loop's own time */
	struct job *touching;		     /* what children had shared, tables in force too.. */
	size_t touched, touched_next;	     /* ..so many bytes yet, of these and of those */
};

struct fabric_settle {
	bool due;	  /* something was published since it was last done.. */
	bool wrote;	  /* ..and changed what devices hold */
	bool told_failed; /* of blocks that are not acknowledged */
	bool told_up;
	struct job *job;
	struct fabric_draft draft;
	struct topo *now;
	uint64_t spent_us[FABRIC_STEPS_MAX];
};

/* What rooms asked for (fm/fabric/request.h), merged; fabric_look() serves it. */
struct fabric_requests {
	bool sweep, reroute;
	bool forced; /* the next update goes on even when nothing has changed */
	bool retry;  /* something was not acknowledged: an update follows the next light sweep */
	bool reregister;	/* hosts are to register anew: what they had is not known here */
	struct guid_list dirty; /* nodes of the next partial sweep */
	struct loop_timer *timer;
};

struct fabric {
	struct loop *loop;
	struct mad *mad;
	struct conf conf;
	uint64_t started_us;
	struct { /* role.c; goes on where all else begins anew */
		enum fabric_role now;
		bool paused, took_over;
		bool waits; /* `next` is to be served */
		struct fabric_role_change next;
		struct loop_timer *timer;
	} role;

	struct sweep *sweep;
	struct bringup *bringup;
	struct program *program;
	struct mft *mft;
	struct adaptive *adaptive; /* adaptive.c */
	bool adaptive_begun;	   /* something was programmed */
	struct mutes *mutes;	   /* adaptive.c */
	struct sa *sa;
	struct fabric_mcast *mcast;
	struct route *route;
	struct event_log *events;

	/* The published present: tables are the engine's answer to exactly this topo and lids. */
	struct topo *topo;
	uint32_t shapes;	   /* of the inventory, when that was collected.. */
	struct fabric_links links; /* ..and this */
	bool lit; /* the fabric was up when it was first met: most links were Active */
	struct loop_timer *links_timer;
	struct lid_map *lids;
	struct tables tables;
	struct fabric_tried routed; /* .. and who made them */
	bool *spanning; /* .. and what multicast's trees are parts of; NULL = they are free */
	struct check_report proof;
	struct check_base *proof_base;		/* what the next proof can build upon */
	const struct partition_set *partitions; /* partition_module's, and.. */
	const struct pkey_map *pkeys;		/* ..of these and topo */
	struct qos_set qos;
	uint16_t sm_lid;
	struct lid_memory memory;

	struct fabric_update update;
	struct fabric_settle settle;

	enum fabric_state state;
	bool programming, bringing_up; /* under way */
	bool reading;		       /* all is written, and what was remembered is not read yet */
	bool retrying;		       /* the update under way does */
	struct loop_timer *retry_timer; /* ports that were given up */
	struct {
		uint64_t trial_us; /* of switches, not before then */
		unsigned ports;	   /* that do not hold what they acknowledged.. */
		unsigned named;	   /* ..and these and switches, when they were told last */
	} held;
	struct {
		struct loop_timer *timer;
		bool due;		     /* something was answered once, or may have been */
		bool found;		     /* and something was not as it was said to be */
		uint64_t since_us, quiet_us; /* it is due; not before then */
		unsigned
			refused; /* ports with somebody behind them who can't be there, as last told.. */
		uint64_t refused_us,
			refused_wait_us; /* ..are asked again then; what that was waited for */
	} verify;

	struct fabric_requests requests;
	struct loop_timer *poll_timer;
	struct {
		unsigned count;	  /* of what is in doubt */
		uint64_t wait_ms; /* before the poll that is due */
	} doubt;		  /* to look soon; to poll */
	struct modules *modules;
	struct fault fault;    /* its look or update is to come */
	struct fault answered; /* published, and not programmed yet */
	unsigned told_silent;  /* nodes, of those told of and not taken back */

	struct audit *audit;
	struct spoilt *spoilt, *mft_spoilt; /* mft's: block * MCAST_POSITIONS + position */
	unsigned nspoilt, nmft_spoilt;
	struct log_limit audit_log;
	struct {
		struct untrue *list;
		struct loop_timer *timer;
	} untrue;
	uint64_t audit_repaired;
	uint64_t settled_us; /* when all was last as wanted */

	struct isolation *isolation;

	struct alerts *alerts;	   /* raised and ended by whoever sees it: fm/core/alert.h */
	struct state_store *store; /* state_dir; goes on over a change of role */

	struct follower *followers;
	struct operations *operations;
	struct waiters readers; /* answered when the readback ends */
	struct fabric_figures figures;
};

/* fabric.c */
void fabric_look(struct fabric *f); /* starts what is wanted next, if nothing is under way */
/* role.c; serve: calls fabric_role_enter(), from the loop. */
void fabric_role_init(struct fabric *f, loop_fn *serve);
void fabric_role_fini(struct fabric *f);
void fabric_role_enter(struct fabric *f); /* the role that was asked for last is in force */

/* request.c: a heavy sweep is requested or under way. */
bool fabric_sweeping(const struct fabric *f);

/* update.c */
void fabric_update_init(struct fabric *f);
void fabric_update_fini(struct fabric *f);
void fabric_update(struct fabric *f); /* begins with the present; not while one is in the making */
/* A child has ended that shared all memory: tables' memory is made ready again, while nobody waits. */
void fabric_update_unshare(struct fabric *f);
bool fabric_update_room(
	struct fabric *f); /* makes room for the next one's tables; true: call again */
json_t *fabric_update_stages(const struct fabric *f); /* milliseconds by step */

/* snapshot.c */
/* Collects the inventory with its marks; the caller freezes it, or ends it. */
struct fabric_draft fabric_draft(struct fabric *f);
struct topo *fabric_draft_freeze(struct fabric_draft *draft); /* the caller's reference */
void fabric_draft_fini(struct fabric_draft *draft);	      /* one that was frozen too */

/* settle.c */
void fabric_settle_init(struct fabric *f);
void fabric_settle_fini(struct fabric *f);
void fabric_settle(struct fabric *f);	   /* if it is due, and all that was begun has ended */
void fabric_settle_stop(struct fabric *f); /* it stays due */
void fabric_programmed(void *arg, const struct program_result *result);
void fabric_brought_up(void *arg, const struct bringup_result *result);
json_t *fabric_settle_stages(const struct fabric *f);

/* retry.c: ports that were given up. */
void fabric_retry_init(struct fabric *f);
void fabric_retry_fini(struct fabric *f);
void fabric_retry_note(struct fabric *f,
		       const struct bringup_result *result); /* bring-up has ended */

/* held.c: devices that do not hold what they acknowledged, but for forwarding tables. */
void fabric_held_fini(struct fabric *f);
void fabric_held_note(struct fabric *f,
		      const struct bringup_result *result); /* bring-up has ended */
void fabric_held_polled(struct fabric *f); /* a master, while nothing is being programmed */

/* links.c: links between switches carry data when both their ends are Active. */
void fabric_links_init(struct fabric *f);
void fabric_links_fini(struct fabric *f);
struct fabric_links fabric_links_judge(struct fabric *f);		 /* before a snapshot */
void fabric_links_published(struct fabric *f, const struct topo *older); /* older NULL: the first */
/* Some became Active, or ceased to be, since the published snapshot was collected: asks for an update, and says so. */
bool fabric_links_follow(struct fabric *f);
bool fabric_links_brought_up(struct fabric *f); /* .. and bring-up has ended */
void fabric_link_activated(void *arg);		/* bring-up's */

/* verify.c: what was answered once. */
void fabric_verify_init(struct fabric *f);
void fabric_verify_fini(struct fabric *f);
void fabric_verify_later(struct fabric *f); /* a look has ended, or what was published is settled */

/* untrue.c: switches that do not hold what they acknowledge. */
void fabric_untrue_init(struct fabric *f);
void fabric_untrue_fini(struct fabric *f);
bool fabric_untrue(const struct fabric *f, guid_t sw); /* it is one of these */
void fabric_untrue_tops(struct fabric *f); /* a look has met some that do not keep LinearFDBTop */
/* The block was found spoilt, written again and acknowledged: is it held? */
void fabric_untrue_repaired(struct fabric *f, guid_t sw, uint32_t block);
void fabric_untrue_load(struct fabric *f);    /* those of an earlier life, from state_dir/untrue */
void fabric_untrue_changed(struct fabric *f); /* which of them are isolated is to be saved */
void fabric_untrue_met(
	struct fabric *f); /* of those from the file some may be known by now: they are isolated */
void fabric_untrue_mft_repaired(struct fabric *f, guid_t sw, uint16_t block, unsigned position);

/*
 * isolate.c: a switch (port 0) or a link, by either end, that is there and can not be worked with. It carries no transit, as
 * if it were cordoned, and is named in an alert for as long as it lasts, unless too many are: then nothing is moved, and
 * that is the alert. To say so again changes nothing. Whoever said so releases it when the fault is over, but for
 *   ISOLATED_NOT_ACTIVE   ends by itself when both ends are Active, and when the link is down
 *   ISOLATED_NO_SETS      such a switch is sent no Set any more but one probe a minute, and is released by the first that it takes
 * An update follows by itself. Both may be called at any time, from any callback.
 */
enum isolation_cause { ISOLATED_NOT_ACTIVE, ISOLATED_NO_SETS, ISOLATED_WRONG_TABLES };
void fabric_isolate(struct fabric *f, guid_t node, uint8_t port, enum isolation_cause cause);
/* A switch that was isolated in an earlier life: in force at once, for it was judged then. */
void fabric_isolate_again(struct fabric *f, guid_t sw, enum isolation_cause cause);
bool fabric_isolated(const struct fabric *f, guid_t sw,
		     enum isolation_cause cause); /* listed, and in force */
void fabric_isolate_release(struct fabric *f, guid_t node, uint8_t port,
			    enum isolation_cause cause);
void fabric_isolate_refusing(
	struct fabric *f); /* switches whose PortStateChange can't be cleared */
/* A Set was not taken: if it answers a Get, it is isolated by ISOLATED_NO_SETS. */
void fabric_isolate_suspect(void *arg, guid_t sw);
void fabric_isolate_links(
	struct fabric
		*f); /* judges at once those that bring-up has given up and that are not Active */
void fabric_isolate_mark(struct fabric *f); /* before a snapshot */
json_t *fabric_isolated_json(
	const struct fabric *f); /* {"what", "why", "in_force", "since_s"} each */
void fabric_isolation_init(struct fabric *f);
void fabric_isolation_fini(struct fabric *f);

/* mcast.c */
void fabric_mcast_init(struct fabric *f); /* behind the SA's */
void fabric_mcast_fini(struct fabric *f); /* ahead of it */
void fabric_mcast_start(struct fabric *f);
bool fabric_mcast_known(const struct fabric *f); /* the groups of an earlier life were read */
void fabric_mcast_configure(struct fabric *f);
void fabric_mcast_published(struct fabric *f, const struct topo *older); /* older NULL: the first */
void fabric_mcast_keep_proof(struct fabric *f);				 /* before the next one */
void fabric_mcast_shown(struct fabric *f, const struct topo *older); /* its like, port by port */
void fabric_mcast_wake(struct fabric *f);			     /* begins what is due */
void fabric_mcast_again(struct fabric *f); /* a block is to be written again */
bool fabric_mcast_busy(const struct fabric *f);
json_t *fabric_mcast_figures(const struct fabric *f);

/* audit.c */
void fabric_audit_init(struct fabric *f);
void fabric_audit_configure(struct fabric *f);
void fabric_audit_fini(struct fabric *f); /* before the ends of program and multicast */
/* A switch does not hold what it acknowledged: an update writes it again. */
void fabric_audit_found(struct fabric *f, guid_t sw, uint32_t block);
void fabric_audit_repaired(struct fabric *f);
void fabric_audit_tell(struct fabric *f, guid_t sw,
		       uint32_t block); /* it was read: it is repaired */
void fabric_audit_tell_mft(struct fabric *f, guid_t sw, unsigned block, unsigned position);
void fabric_audit_mft_repaired(struct fabric *f);

/* watch.c */
void fabric_watch_init(struct fabric *f);
void fabric_watch_fini(struct fabric *f);
void fabric_watch_schedule(struct fabric *f);
void fabric_watch_doubt(
	struct fabric *f); /* what is in doubt was counted anew: polls may come sooner */

/*
 * Switches that were met are ours to change now. Those whose PortStateChange was left as it is are looked at again: something may have
 * changed behind the look.
 */
void fabric_take_in(struct fabric *f);

/* change.c */
enum fabric_change {
	FABRIC_SAME, /* down to the last bit of a port */
	FABRIC_STATES, /* what ports say of themselves: tables are the same, and there may be links to bring up */
	FABRIC_CHANGED,
};
enum fabric_change fabric_note_changes(struct fabric *f, const struct topo *older,
				       const struct topo *newer);
void fabric_note_silent(struct fabric *f); /* nodes that ceased to answer, or do again */

/* fault.c */
void fabric_fault_name(struct fabric *f, bool loss, const char *what);
void fabric_fault_trains(struct fabric *f); /* a link is up: its repair is told when it is in use */
void fabric_fault_trained(struct fabric *f); /* bring-up has ended, and none follows */
void fabric_fault_none(struct fabric *f);    /* a look found nothing */
void fabric_fault_published(struct fabric *f);
void fabric_fault_programmed(struct fabric *f);

/* report.c */
json_t *fabric_report_stages(const struct job_step *steps,
			     const uint64_t *spent_us);	  /* milliseconds by name */
void fabric_report_event(void *arg, const json_t *event); /* to the followers */
void fabric_report_fini(struct fabric *f);

/* warn.c: alerts about the published fabric's state */
void fabric_warn(struct fabric *f); /* finds them anew; without a published fabric: ends them */
void fabric_cutoff(const struct fabric *f, struct cutoff *out); /* of the published fabric */

/* adaptive.c: adaptive routing that another manager left on */
void fabric_adaptive_init(struct fabric *f);
void fabric_adaptive_fini(struct fabric *f);
void fabric_adaptive_load(struct fabric *f);
void fabric_adaptive_ask(struct fabric *f);	/* at the beginning of an update */
void fabric_adaptive_program(struct fabric *f); /* programs what is published, behind that */

/* class.c. By name alone: the caller frees them, NULL = all compute. */
uint8_t *fabric_classes_by_name(const struct fabric *f, const struct topo *t);
/* Points to what it is made from. */
struct route_params fabric_route_params(const struct fabric *f, const struct fabric_policy *policy);

/* Files of concerns that are not rooms yet; their owner is the pipe. */
static inline int fabric_state_read(struct fabric *f, const struct state_file *file)
{
	return state_store_read(f->store, file, f);
}

static inline void fabric_state_changed(struct fabric *f, const struct state_file *file)
{
	state_store_changed(f->store, file, f);
}

static inline void fabric_state_unchanged(struct fabric *f, const struct state_file *file)
{
	state_store_unchanged(f->store, file);
}

#endif
