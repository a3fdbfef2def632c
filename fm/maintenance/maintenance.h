/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* maintenance: the state of this room; for its own files. */
#ifndef FMD_MAINTENANCE_MAINTENANCE_H
#define FMD_MAINTENANCE_MAINTENANCE_H

#include "fm/events/event_log.h"
#include "fm/fabric/module.h"
#include "fm/fabric/operation.h"
#include "fm/fabric/view.h"
#include "topology/snapshot/topo.h"

/* ---- The node or port that an operator's command names --------------------------------------- */

#define TARGET_ERROR_SIZE WHAT_ERROR_SIZE

struct target {
	guid_t guid;   /* of the node */
	uint32_t node; /* index in the snapshot; TOPO_NONE = it is not there */
	unsigned port; /* 0 = the node as a whole */
	char name[256];
};

/*
 * Finds a node or a port (topology/what/what.h). False: there is none, or nothing is published yet;
 * err, of TARGET_ERROR_SIZE bytes, has the reason.
 */
bool target_find(const struct fabric_view *view, const char *what, struct target *target,
		 char *err);
/*
 * Finds a node, a port or a host: its HCAs, each with the host's name. Returns their number; the
 * caller frees *targets. 0 = none: the reason is in err.
 */
unsigned target_find_all(const struct fabric_view *view, const char *what, struct target **targets,
			 char *err);

/* The number of the target's links to switches; 0 for a node that is not in the snapshot. */
unsigned target_count_links(const struct topo *topo, const struct target *target);

#define FLAP_COUNT_MAX 31 /* of the key flap_count */

/* ---- Holds ----------------------------------------------------------------------------------- */

/*
 * Which links with a persistently high error rate are quarantined until they are clean
 * (maintenance_hold()): no host's link, none that is excluded or needed, and few at once. A
 * refusal is an event once, and each further request is judged again. A link that an operator has
 * released is not held until it was clean.
 */

enum hold_answer {
	HOLD_YES,
	HOLD_HOST_LINK,
	HOLD_EXCLUDED,
	HOLD_RELEASED, /* by an operator */
	HOLD_NEEDED,
	HOLD_FULL, /* so many are held already */
	HOLD_DRY_RUN
};

struct hold_refused {
	guid_t node; /* the end with the lower GUID */
	uint8_t port;
	enum hold_answer why;
	uint64_t clean_us; /* maintenance_clean() */
};

struct holds {
	struct fabric *fabric;
	const struct fabric_services *services;
	struct quarantines *quarantines;
	struct hold_refused *refused;
	unsigned nrefused;
	struct loop_timer *timer; /* checks whether links have become clean */
};

/* ---- Cordons --------------------------------------------------------------------------------- */

/*
 * Switches and links that operators take out of transit before maintenance; saved in
 * state_dir/cordons.
 *
 * Routing uses a cordoned link between switches only for destinations that nothing else reaches
 * (routing/ftree/route.h), so no pair of hosts is cut off by a cordon. Links to hosts carry no
 * transit and are never cordoned.
 */

struct cordon {
	guid_t node;		/* a switch */
	uint8_t port;		/* 0 = all of its links to switches */
	char since[EVENT_TIME]; /* as in events; "" = not known, of an earlier fmd's file */
};

struct cordon_list { /* all zero = empty; its memory is freed by free(list) */
	struct cordon *list;
	unsigned count;
};

struct cordons {
	struct fabric *fabric;
	const struct fabric_services *services;
	struct cordon_list in_force;
};

/* state_dir/cordons; a lost one leaves the list empty. The room frees the list. */
extern const struct state_kind cordons_kind;

/* Marks the cordoned ports in the inventory; cordons_change() takes marks away. */
void cordons_mark(const struct cordons *cordons);

/*
 * Adds to `change` (the caller frees its list) the cordons of the target to add (on) or to remove;
 * none if nothing has to be done. False: it can't be done; the reason is in err, TARGET_ERROR_SIZE
 * bytes. The cordon of a link may be at either end. topo: the published snapshot.
 */
bool cordons_plan(const struct cordons *cordons, const struct topo *topo,
		  const struct target *target, bool on, struct cordon_list *change, char *err);
/* Adds or removes cordons; marks the state file as changed and requests a reroute. */
void cordons_change(struct cordons *cordons, const struct cordon_list *change, bool on);

/*
 * When that cordon (port 0: of the whole switch) was set, as in events; owned by the list, valid
 * until it changes. NULL = there is none, or it is not known.
 */
const char *cordons_since(const struct cordons *cordons, guid_t node, unsigned port);

/*
 * For a switch that is not in the snapshot: if `what` is the GUID in hexadecimal of a switch with a
 * cordon, sets guid and name of *target and returns true; else false.
 */
bool cordons_find_absent(const struct cordons *cordons, const char *what, struct target *target);

/* ---- Quarantines ----------------------------------------------------------------------------- */

/*
 * A quarantined link carries no transit for a time, as if it were cordoned. The time doubles with
 * each quarantine of the same link, until the link has stayed up for as long as the last one. Begin
 * and end of a quarantine are events.
 *
 * A link that is held (maintenance.h) is quarantined until its errors have ended, however long
 * that takes.
 *
 * A leaf keeps `quarantine_min_uplinks` percent of its uplinks. A quarantine that would leave it
 * less, at once or later when other links go down, is waived, the newest first, and stays waived so
 * that it does not oscillate. A host's link carries no transit: it is only logged and shown.
 */

#define QUARANTINE_WHY 96

struct quarantine { /* of a link, by its end with the lower GUID */
	guid_t node;
	uint8_t port;
	bool over;	   /* it has ended; kept for the length of the next one */
	bool waived;	   /* a leaf needs the link */
	bool held;	   /* it lasts until its link was clean for `seconds` */
	unsigned seconds;  /* how long it lasts */
	uint64_t clean_us; /* maintenance_clean() */
	uint64_t until_us; /* its end, by the loop's clock; kept for as long again */
	char why[QUARANTINE_WHY];
};

struct quarantine_list {	 /* all zero = empty; its memory is freed by free(list) */
	struct quarantine *list; /* oldest first */
	unsigned count;
};

struct quarantines {
	struct fabric *fabric;
	const struct fabric_services *services;
	struct quarantine_list known;
	struct loop_timer *due; /* the next end, or the next that is forgotten */
};

/* An empty list; fabric and services are borrowed. Then load() reads the state file. */
void quarantines_init(struct quarantines *quarantines, struct fabric *fabric,
		      const struct fabric_services *services);
void quarantines_load(struct quarantines *quarantines);

/* Marks ports in the inventory, after cordons_mark(). Waives what leaves need, with an event. */
void quarantines_mark(struct quarantines *quarantines);

/* Replaces an end of a link by the end with the lower GUID. */
void quarantines_take_lower_end(const struct quarantines *quarantines, guid_t *node, uint8_t *port);
/*
 * Begins a quarantine, by either end: adds an event, marks the state file as changed and requests a
 * reroute. why: cut to QUARANTINE_WHY.
 */
void quarantines_add(struct quarantines *quarantines, guid_t node, uint8_t port, const char *why);

/* ---- For module.c --------------------------------------------------------------------------- */

/* The row of a link by its lower end, valid until the list changes; NULL = it is not listed. */
struct quarantine *quarantines_find(const struct quarantines *quarantines, guid_t node,
				    uint8_t port);
/*
 * By the end with the lower GUID: holds a link, as quarantines_add(), twice as long each time; ends
 * a hold whose link is clean, with an event and a reroute; drops one that was waived.
 */
void quarantines_hold(struct quarantines *quarantines, guid_t node, uint8_t port, const char *why);
void quarantines_end_hold(struct quarantines *quarantines, struct quarantine *hold);
void quarantines_drop_hold(struct quarantines *quarantines, struct quarantine *hold);
/*
 * Whether a leaf would have too few uplinks without that link, or a switch no other to the next
 * tier; true also for a link that is unknown or not between switches.
 */
bool quarantines_need_link(const struct quarantines *quarantines, guid_t node, uint8_t port);

/*
 * Ends and forgets all quarantines of the target: moves them to `released` (the caller frees its
 * list) and requests a reroute if there were any. Returns how many were in force.
 */
unsigned quarantines_release(struct quarantines *quarantines, const struct target *target,
			     struct quarantine_list *released);
/* Takes back a release: lists those quarantines again. */
void quarantines_restore(struct quarantines *quarantines, const struct quarantine_list *released);

/*
 * The reason of the quarantine of a link (by either end) that is in force, or would be if the link
 * carried transit; valid until the list changes. NULL = none.
 */
const char *quarantines_why(const struct quarantines *quarantines, guid_t node, uint8_t port);

/* Appends to `rows` a row for each quarantine in force; topo: the published snapshot. */
void quarantines_rows(const struct quarantines *quarantines, const struct topo *topo, json_t *rows);

/* ---- Admission ------------------------------------------------------------------------------- */

/*
 * Links that were not known before, and are kept out of the fabric (`admission`), in
 * state_dir/held. Nothing is sent over them but the probe that found them; they are in no snapshot,
 * and what is known at their ports stays so. Where another manager set the LIDs behind one its
 * port here is disabled, after the file was written; others stay in Init. Judged are links of which
 * one end was known before: not what the first sweep of an empty state_dir finds.
 */
enum held_cause {
	HELD_NOT,      /* not listed, but for a port that is still to be enabled */
	HELD_MANAGER,  /* no link: a manager that `admit` allowed, its port's GUID as `peer` */
	HELD_ADMITTED, /* by an operator, and not met yet */
	HELD_FOREIGN,  /* from here on links are held */
	HELD_HOSTS,
	HELD_MISWIRED,
	HELD_STRICT,
	HELD_PLAN,   /* the plan has another cable there, or none */
	HELD_UNSEEN, /* came and went while no manager was here: peer 0; port 0: it may be any */
	HELD_CAUSES
};

#define HELD_NAME 200

/* A link, by our end; node 0: any link to a switch that was forgotten. Peer 0: not met yet. */
struct held {
	guid_t node, peer;
	uint8_t port, peer_port;
	uint8_t cause; /* enum held_cause */
	/* What becomes of the port: the first and the last are on their way. */
	enum { HELD_IN_INIT, HELD_SHUTS, HELD_SHUT, HELD_OPENS } shut;
	unsigned hosts;		/* unknown ones behind it, as far as that was seen */
	char since[EVENT_TIME]; /* as in events */
	const char *why;	/* a literal, of this life; NULL = that of the cause */
};

/*
 * The plan of links (plan.c), in state_dir/plan: all that are to be, so also those that are known.
 * Its links are in use as soon as they are met; new ones at ports for which it has others are held.
 */
enum plan_verdict {
	PLAN_SILENT,
	PLAN_MAY, /* the device that it expects there is not known yet, and nor is this one */
	PLAN_HAS,
	PLAN_NOT
};

struct plan {	    /* zeroed = there is none */
	char *text; /* of the file that was given */
	const struct topo *topo,
		*of;   /* what it says; NULL = not read yet. Whose GUIDs these are: */
	guid_t *guids; /* cabling_plan_guids() */
};

struct admission {
	struct fabric *fabric;
	const struct fabric_services *services;
	struct held *list;
	unsigned count;
	struct plan plan;
	bool judges;  /* something was known before the present sweep, and the own port is there */
	bool starts;  /* nothing was published in this life */
	bool met_new; /* a switch that nobody knew was admitted: what is behind it is counted */
	uint16_t predecessor; /* LID of the master before this one; 0 = none was there */
	struct {	      /* PortPhysicalState of a port */
		mad_token token;
		struct held sent;
		unsigned turn;
	} setting;
	/*
	 * What was read behind a link to another fabric while its port was not disabled yet: its
	 * LIDs are those of which the switch beside its manager has an entry.
	 */
	struct {
		struct batch *batch;
		struct mad_path path;	/* towards that manager */
		bool beside;		/* it is at an HCA */
		bool whole;		/* all LIDs were read, in this life */
		unsigned waits;		/* how often its port's end may still be put off */
		uint16_t sm_lid, left;	/* blocks that are not read yet */
		uint8_t *out;		/* by LID: the port of that switch, 0xff = nobody has it */
		struct wire_sm_info sm; /* guid 0 = not read */
	} sight;
	struct loop_timer *due;
};

/* Nothing is judged before admission_load(). The end of the room opens no port. */
void admission_init(struct admission *a, struct fabric *fabric,
		    const struct fabric_services *services);
void admission_fini(struct admission *a); /* ports stay as they are */
/* The hooks; published: FABRIC_PUBLISHED; review: FABRIC_REVIEWED. */
void admission_load(struct admission *a);
void admission_configure(struct admission *a);
void admission_swept(struct admission *a);
void admission_published(struct admission *a);
void admission_review(struct admission *a);
/*
 * beyond.c: what is known of the fabric behind a held link. Forgets its LIDs; takes a line of the
 * file (false: it is none of these); writes them.
 */
void beyond_clear(struct admission *a);
bool beyond_take(struct admission *a, const char *line);
void beyond_write(const struct admission *a, FILE *out);
/* The LID of the manager that this one took over from; whether a LID was set by neither. */
uint16_t beyond_predecessor(const struct admission *a);
bool beyond_is_foreign(const struct admission *a, guid_t guid, const struct wire_port_info *port0);
/*
 * Which LIDs move when that fabric and this one are joined: those that both have, of the one with
 * fewer, or else of the one whose manager is not the master. Null: its LIDs were not read.
 */
json_t *beyond_moves(const struct admission *a, bool is_master, unsigned *others);
/*
 * At a start. True: a link came up at that switch and went down again while no manager was here, as
 * where that of another fabric has disabled the other end. *only: its port, if one alone is down.
 */
bool beyond_missed(const struct admission *a, struct inv_node *node, uint8_t *only);
/* How many links are held, of that cause; HELD_NOT = of any. */
unsigned admission_held(const struct admission *a, enum held_cause cause);
/*
 * HELD_ADMITTED: that switch is forgotten; when it returns with its LID it is not of another
 * fabric. HELD_MANAGER: lists a manager that is allowed.
 */
void admission_expect(struct admission *a, guid_t guid, enum held_cause cause);
/* plan.c: its file. The end: frees what it has. */
extern const struct state_kind plan_kind;
void plan_fini(struct plan *plan);
/*
 * Reads the text, once there is a snapshot, and finds the devices of that one (NULL = there is none
 * yet). False with `name:line: reason` in err: it is no plan.
 */
bool plan_read(struct plan *plan, const struct topo *t, const char *name, char *err, size_t size);
/* A link, by its ends: which devices, and at which of their ports (local_port). */
enum plan_verdict plan_judge(const struct plan *plan, const struct inventory *inv,
			     const struct wire_node_info *one, const struct wire_node_info *two);
/* A cable was pulled: ports are enabled again, and judged if it was not. How many. */
unsigned admission_forget(struct admission *a, guid_t guid, unsigned port);

/* ---- The room ------------------------------------------------------------------------------- */

struct maintenance {
	struct fabric *fabric;
	struct fabric_services services;
	struct cordons cordons;
	struct quarantines quarantines;
	struct holds holds;
	struct admission admission;
};

enum change_kind { CHANGE_CORDON, CHANGE_UNCORDON, CHANGE_RELEASE };

/*
 * change.c: cordons that were added or removed, or quarantines that were released, from the command
 * to its answer.
 */
struct change {
	struct maintenance *room;
	enum change_kind kind;
	const char *note; /* why nothing changes; NULL = something does */
	char what[256];	  /* the target's name */
	guid_t node;	  /* the target */
	uint8_t port;	  /* of it, 0 = all */
	unsigned links;	  /* number of its links */
	struct cordon_list cordons;
	struct quarantine_list released;
	uint64_t asked_us, blocks_before;
};

/* The caller owns it and gives it to one of the other three functions, which frees it. */
struct change *change_new(struct maintenance *room, const struct target *target,
			  enum change_kind kind);
void change_free(void *change);
/*
 * Starts the operation for a change that was made: fn is called once, when it is programmed and
 * saved, or with an error when the tables were refused and the change was taken back. note, a
 * literal: nothing was to be changed, and why; it is answered at once.
 */
void change_start(struct change *change, const char *note, waiter_fn *fn, void *arg);

#endif
