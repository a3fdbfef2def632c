/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: a concern of the fabric manager, as the pipe sees it: a row of hooks.
 *
 * A concern lives in a folder of its own and keeps its state to itself. The pipe calls it by these
 * hooks; it asks the pipe by fm/fabric/request.h and reads what is published by fm/fabric/view.h.
 * What it asks of another concern is a function of that one's module.h; these calls go one way.
 * fm/rooms.c has all of them in one table: hooks run in its order, and ends in the reverse order. A
 * hook that is NULL is not needed. `room` is what init() returned.
 *
 * A room restarts, end and init, when this manager becomes master after another one or ceases to
 * be master (fabric_change_role()); what it kept in state_dir is loaded again then.
 */
#pragma once

#include "fm/conf/conf.h"
#include "fm/events/alert.h"
#include "fm/events/event_log.h"
#include "fm/fabric/view.h"
#include "fm/fabric/request.h"
#include "fm/inventory/inventory.h"
#include "fm/loop/loop.h"
#include "fm/mad/mad.h"
#include "fm/mad/wire.h"
#include "fm/state/state.h"
#include "topology/snapshot/topo.h"

struct bringup_result;
struct fabric_module;
struct mft_result;
struct program_result;
struct sweep_result;

/* ---- What the pipe lends to all rooms (fm/fabric/module.h) ----------------------------------- */

struct bringup;
struct check_base;
struct fabric;
struct lid_memory;
struct mft;
struct program;
struct sa;
struct sweep;

/*
 * What all rooms work with; borrowed for as long as the room lives. conf is changed in place before
 * configure() is called.
 */
struct fabric_services {
	struct loop *loop;
	struct mad *mad;
	const struct conf *conf;
	struct event_log *events;
	struct alerts *alerts;
	struct sweep *sweep;
	struct inventory *inventory;
	struct bringup *bringup;
	struct program *program;
	struct mft *mft;	   /* multicast tables: what switches are to hold, and do */
	struct check_base *proofs; /* what the latest proof of unicast tables left to build upon */
	struct lid_memory *lids;   /* of every port ever met */
	struct sa *sa;		   /* answers from what sa_module gave it of the view */
	struct state *state;	   /* state_dir: rooms read it in load(), and report changes */
};

/* The same for all rooms, from their init() on. */
struct fabric_services fabric_services(struct fabric *fabric);

/* A room's own struct, zeroed but for its `fabric` and `services`: struct x *r = ROOM_NEW(r, f). */
#define ROOM_NEW(room, of)                                                                         \
	({                                                                                         \
		__typeof__(room) new_room = mem_new(new_room);                                     \
		new_room->fabric = (of);                                                           \
		new_room->services = fabric_services(new_room->fabric);                            \
		new_room;                                                                          \
	})

/* ---- The part that this manager has in its fabric -------------------------------------------- */

/*
 * The pipe keeps it; one room (fm/sm/module.h)
 * decides what it is to be.
 *
 *   AWAY ---- the port has a link ----> ASKING ---- nobody better answers ----> MASTER
 *     ^                                  ^  |                                    ^  |
 *     | from any: the port has lost      |  | another is master,                 |  | another
 *     | its fabric                       |  v or is to be                        |  v outranks us
 *     '----------------------------------+- STANDBY ---- HANDOVER ---------------'
 *                                        '--- the master is silent
 *
 * LOCKED_OUT is ASKING in a fabric whose ports hold another manager's M_Key. A manager that another
 * one has disabled is a STANDBY.
 */

enum fabric_role {
	FABRIC_ROLE_AWAY,	/* the own port is in no fabric; sends nothing */
	FABRIC_ROLE_ASKING,	/* sweeps, to learn who is master; sets PortStateChange at most */
	FABRIC_ROLE_LOCKED_OUT, /* sweeps, and sets nothing at all */
	FABRIC_ROLE_STANDBY,	/* sets nothing, writes no state, sweeps only if it observes */
	FABRIC_ROLE_MASTER,
};

/* The role in force. */
enum fabric_role fabric_role(const struct fabric *fabric);
/*
 * True: it is master since another manager ceased to be, so tables are read before they are
 * written, and ports keep the LIDs that they hold.
 */
bool fabric_took_over(const struct fabric *fabric);

/*
 * Whether an end port keeps the LID that it holds, whatever is remembered of it: its link is Armed
 * or Active, so its LID is in use. That is so for the first LIDs of a manager that has just become
 * master; `num` is 0 for a switch. A manager that was master when the LID was written restores its
 * own, and after a take-over only what the followed master wrote is kept (fabric_role_change).
 */
bool fabric_keeps_lid(const struct fabric *fabric, const struct inv_node *node, unsigned num);

/* The port GUID of a STANDBY's master; 0 = not known, or another role. */
guid_t fabric_master(const struct fabric *fabric);

/* The error of those who waited for something when all began again. */
#define FABRIC_ROLE_CHANGED "this subnet manager changed its role meanwhile; see fmctl events"

struct fabric_role_change {
	enum fabric_role role;
	/*
	 * Nothing that was known of the fabric counts any more: operators who wait get an
	 * error, rooms that do not last begin again from what state_dir has, and a heavy sweep
	 * follows. Always so when a master becomes something else.
	 */
	bool anew;
	/* As master: another manager was at work until now. */
	bool took_over;
	/* As master: it was master before, and what others wrote meanwhile is not kept. */
	bool was_master;
	/*
	 * As master: the LID of the master that it followed as standby. LIDs count as that one's
	 * where the port shows it as its SM LID. 0 = it followed none, or that LID is not known.
	 */
	uint16_t followed_lid;
	bool reregister; /* hosts have registered with that manager */
	guid_t master;	 /* STANDBY: the master's port GUID; 0 = not known */
};

/*
 * Asks for another role: the loop calls the rooms' hook role(). The latest of
 * several changes that wait counts, but what was to restart does. A master that did not restart
 * manages what was just swept.
 */
void fabric_change_role(struct fabric *fabric, const struct fabric_role_change *change,
			const char *reason);
/*
 * At once: no sweep begins and no Set but of SMInfo leaves, until a change of role that is
 * requested after this is served, or until it is switched off. A master remains master.
 */
void fabric_pause(struct fabric *fabric, bool on, const char *reason);

/* ---- Rooms ----------------------------------------------------------------------------------- */

/* The state of a room, for its own functions that others call; NULL = it is not in the table. */
void *fabric_room(const struct fabric *fabric, const struct fabric_module *module);

enum fabric_load_step {
	/*
	 * LIDs, multicast groups, and what the inventory begins with, before the first sweep: in
	 * all rooms, ahead of FABRIC_LOAD.
	 */
	FABRIC_RESTORE,
	FABRIC_LOAD,  /* what state_dir has; behind all init() */
	FABRIC_START, /* the manager begins its work: once, behind the first FABRIC_LOAD */
};

enum fabric_role_step {
	FABRIC_ROLE_IN_FORCE, /* another role, or the same one, in which all has begun again */
	/*
	 * What files hold is about to be read again: last changes are noted now, and who waits gets
	 * FABRIC_ROLE_CHANGED for an error.
	 */
	FABRIC_ROLE_LEFT,
	FABRIC_ROLE_ENDS, /* the process ends: last changes are noted now; nobody is called */
};

/* What sweeps come to. One of all or of some nodes may end while this manager is not master. */
struct fabric_swept {
	enum {
		FABRIC_SWEEP_BEGINS, /* its first request is about to be sent */
		FABRIC_SWEEP_ENDED,
		/*
		 * A link is down, or was, since the published snapshot: found by the update behind
		 * the sweep.
		 */
		FABRIC_LINK_FELL,
	} step;
	bool light; /* all switches are asked for PortStateChange, and no more */
	const struct sweep_result *result; /* of one that has ended and was not light */
	guid_t node;			   /* either end of the link that fell */
	uint8_t port;
};

/* What an update has come to, or is about to. */
enum fabric_update_step {
	/* No tables are computed, and no port is set: nothing has changed, nobody asked for it. */
	FABRIC_UNCHANGED,
	/* The proof of unicast tables is about to begin: who uses the one before lets go of it. */
	FABRIC_PROVING,
	/* The proof refused the tables: what is published stays, what asked for them is undone. */
	FABRIC_TABLES_REFUSED,
	/* The new snapshot, LIDs and tables are in place. */
	FABRIC_PUBLISHED,
	/* The published snapshot was exchanged for one that differs in the state of ports alone. */
	FABRIC_SHOWN,
	/* All that stays; what a room knows of hosts does not: fabric_report_hosts_changed(). */
	FABRIC_HOSTS_CHANGED,
};

/* What was published is in the devices, or was given up: one of these has ended. */
struct fabric_programmed {
	const struct program_result *tables; /* after a restart once more when all are read */
	const struct mft_result *multicast;  /* fabric_report_mft_written() */
	const struct bringup_result *ports;
};

enum fabric_settle_step {
	FABRIC_SETTLED, /* all that was published is programmed and brought up */
	/* Alerts about the present state are counted again: now, and behind each light sweep. */
	FABRIC_REVIEWED,
	FABRIC_SETTLED_LATER, /* behind both, for what takes a pass over the snapshot */
};

struct fabric_module {
	const char *name;
	/*
	 * This room goes on where others restart: what it has of fabric_services() is outdated
	 * when role() is called.
	 */
	bool lasts;

	/* ---- Life ---- */

	/*
	 * Whether the files that a configuration names can be used, without using them: 0, or -1
	 * with the reason in err. The room does not exist then.
	 */
	int (*check)(const struct conf *conf, char *err, size_t err_size);
	void *(*init)(struct fabric *fabric);
	void (*fini)(void *room);
	void (*load)(void *room, enum fabric_load_step step);
	void (*configure)(void *room); /* the configuration may be another */
	/* role: in force; with FABRIC_ROLE_LEFT and .._ENDS the one until now. */
	void (*role)(void *room, enum fabric_role role, enum fabric_role_step step);

	/* ---- What is seen of the fabric ---- */

	/*
	 * A trap of the fabric, `times` of it at once; repeated ones are left out. forged: it names
	 * a port that did not send it.
	 */
	void (*trap)(void *room, const struct wire_notice *notice, uint16_t from_lid,
		     unsigned times, bool forged);
	/*
	 * Not NULL, where a sweep has ended that was not light: the own port is in no fabric, or in
	 * another one, so what was found is of no use. Rooms behind it are not called, and
	 * operators who wait get this text; it is good until control returns to the loop.
	 */
	const char *(*swept)(void *room, const struct fabric_swept *swept);

	/*
	 * ---- An update, in this order ----
	 *
	 * Between two of these anything may happen, for only the publication touches what others
	 * see.
	 */

	/*
	 * The inventory is about to be copied into a snapshot: marks of ports (cordoned,
	 * quarantined, isolated) are set now. So it is when all has settled.
	 */
	void (*annotate)(void *room, struct inventory *inventory);
	/*
	 * next NULL: an update is wanted. Not NULL: it may not begin yet; the room requests one
	 * when it may. Else: the snapshot is made. Not NULL: this fabric is not ours to manage;
	 * nothing is computed, and operators who wait get this text. Either way, rooms behind it
	 * are not asked.
	 */
	const char *(*admit)(void *room, const struct topo *next);
	/* Adds to what routing goes by; of any snapshot, for what-if too. */
	void (*route_input)(const void *room, const struct topo *next,
			    struct fabric_policy *policy);
	/*
	 * before: the snapshot until then, NULL = there was none; it is about to go. NULL too where
	 * the published one stays.
	 */
	void (*published)(void *room, enum fabric_update_step step, const struct topo *before);
	void (*programmed)(void *room, const struct fabric_programmed *programmed);
	void (*settled)(void *room, enum fabric_settle_step step);
	/*
	 * Nothing is requested and nothing under way (fabric_request_improvement() has it asked
	 * soon). True: what this room adds to route_input() is another by now, and an update begins
	 * at once; rooms behind it are not asked.
	 */
	bool (*improves)(void *room);

	/* ---- Reports ---- */

	/* Adds its members to the document of `fmctl --json status`. */
	void (*status)(const void *room, json_t *doc);
};

/* A row of the table of rooms: hooks run in its order, and ends in the reverse order. */
struct fabric_row {
	const struct fabric_module *module; /* NULL = the end */
	/*
	 * Rooms whose hooks have to run before this one's, up to NULL; NULL = there are none. A
	 * table in another order does not start.
	 */
	const struct fabric_module *const *after;
};
typedef const struct fabric_row fabric_modules[];
