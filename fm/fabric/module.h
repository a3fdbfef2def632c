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

#include <jansson.h>
#include "fm/core/alert.h"
#include "fm/core/conf.h"
#include "fm/core/event_log.h"
#include "fm/core/loop.h"
#include "fm/fabric/role.h"
#include "fm/fabric/policy.h"
#include "fm/fabric/request.h"
#include "fm/mad/mad.h"
#include "fm/mad/wire.h"
#include "fm/state/state_store.h"
#include "fm/sweep/inventory.h"

struct bringup;
struct bringup_result;
struct check_base;
struct fabric;
struct lid_memory;
struct mft;
struct mft_result;
struct program;
struct program_result;
struct sa;
struct sweep;
struct sweep_result;
struct table_block;

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
	struct lid_memory *lids;   /* of every port ever met: lids_changed() */
	struct sa *sa;		   /* it serves by what sa_module makes of the view */
	struct state_store
		*state; /* files of state_dir; rooms read them in load() and say what has changed */
};

struct fabric_services fabric_services(struct fabric *fabric);

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

	/*
	 * A trap of the fabric, `times` of it at once; repeated ones are left out. forged: it names
	 * a port that did not send it.
	 */
	void (*trap)(void *room, const struct wire_notice *notice, uint16_t from_lid,
		     unsigned times, bool forged);
	/*
	 * Since when something waits for its sweep, or for the update behind that, by the loop's
	 * clock; 0 = nothing does.
	 */
	uint64_t (*pending_since)(const void *room);

	/*
	 * A sweep is about to send its first request. light: it asks switches for PortStateChange.
	 */
	void (*sweeping)(void *room, bool light);
	/* ---- A sweep, of all or of some nodes, ended without an error; this manager may not be master (yet). --- */
	/*
	 * False: the own port is in no fabric, or in another one, so what was found is of no use.
	 * Rooms behind it are not called, and operators who wait get an error.
	 */
	bool (*swept)(void *room, const struct sweep_result *result);
	/* A light sweep has ended: all switches were asked for PortStateChange. */
	void (*polled)(void *room);

	/*
	 * An update is wanted. False: it may not begin yet; the room requests one when it may.
	 * Rooms behind it are not asked.
	 */
	bool (*ready)(void *room);
	/*
	 * What fabric_request_verification() asked is answered: so many nodes answered otherwise
	 * than before.
	 */
	void (*verified)(void *room, unsigned changed);
	/* fabric_request_isolate() was called. */
	void (*isolate)(void *room, guid_t node, uint8_t port, enum isolation_cause cause);

	/* ---- An update, in this order. Between two of these anything may happen, for only the publication touches what others see. --- */
	/* An update begins: nothing is collected for it yet. */
	void (*updating)(void *room);
	/*
	 * The inventory is about to be copied into a snapshot: marks of ports (cordoned,
	 * quarantined, isolated) are set now.
	 */
	void (*annotate)(void *room, struct inventory *inventory);
	/*
	 * The snapshot is made. Not NULL: this fabric is not ours to manage; nothing is computed,
	 * and operators who wait get this text.
	 */
	const char *(*admit)(void *room, const struct topo *next);
	/*
	 * What the next snapshot has otherwise than the published one was logged. differs:
	 * something has.
	 */
	void (*compared)(void *room, bool differs);
	/*
	 * Behind that: no tables are computed, and no port is set, for nothing has changed and
	 * nobody has asked for it.
	 */
	void (*unchanged)(void *room);
	/* A link is down, or was, since the published snapshot; by either end. */
	void (*link_fell)(void *room, guid_t node, uint8_t port);
	/* Another room finds a link unhealthy, by either end (fabric_request_quarantine()). */
	void (*quarantine)(void *room, guid_t node, uint8_t port, const char *why);
	/* Adds to what routing goes by; of any snapshot, for what-if too. */
	void (*route_input)(const void *room, const struct topo *next,
			    struct fabric_policy *policy);
	/* services.lids is another: ports were given LIDs, or lost theirs. */
	void (*lids_changed)(void *room);
	/*
	 * The proof of unicast tables is about to begin: what holds on to the one before lets go of
	 * it.
	 */
	void (*proving)(void *room);
	/*
	 * The proof refused the tables: what is published stays in force, and what asked for them
	 * is taken back.
	 */
	void (*refused)(void *room);
	/*
	 * The new snapshot, LIDs and tables are in place, and nobody has been told yet. before: as
	 * in published().
	 */
	void (*publishing)(void *room, const struct topo *before);
	/*
	 * A snapshot, LIDs and tables were published. before: the snapshot until then, NULL = none;
	 * it is about to go.
	 */
	void (*published)(void *room, const struct topo *before);
	/*
	 * What was published is about to be programmed. False: the room holds that back until it
	 * calls fabric_request_program().
	 */
	bool (*may_program)(void *room);
	/* The published snapshot was exchanged for one that differs in the state of ports alone. */
	void (*shown)(void *room, const struct topo *before);
	/*
	 * Tables were programmed, and acknowledged or not; after a restart once more when all are
	 * read.
	 */
	void (*programmed)(void *room, const struct program_result *result);
	/* Multicast tables were written, and acknowledged or not (fabric_report_mft_written()). */
	void (*mft_written)(void *room, const struct mft_result *result);
	/*
	 * A switch does not hold a multicast block that it acknowledged
	 * (fabric_report_mft_mismatch()).
	 */
	void (*mft_mismatch)(void *room);
	/* Ports and links were brought up, or given up. */
	void (*brought_up)(void *room, const struct bringup_result *result);
	/* Work of this room is under way that the audit of tables waits for. */
	bool (*busy)(const void *room);
	/*
	 * Nothing is requested and nothing under way (fabric_request_improvement() has it asked
	 * soon). True: what this room adds to route_input() is another by now, and an update begins
	 * at once; rooms behind it are not asked.
	 */
	bool (*improves)(void *room);
	/* All that was published is programmed and brought up. */
	void (*settled)(void *room);
	/* The same, in a step of its own behind it: for what takes a pass over the snapshot. */
	void (*settled_later)(void *room);
	/* What files hold is about to be made anew or to go: last changes are said now. */
	void (*checkpoint)(void *room);
	/*
	 * A switch holds another block of its forwarding table than it acknowledged; an operator's
	 * readback found it.
	 */
	void (*mismatch)(void *room, guid_t sw, uint32_t block);
	/*
	 * A switch does not hold a block that was written to it twice
	 * (fabric_report_table_unheld()).
	 */
	void (*table_unheld)(void *room, const struct table_block *block);
	/* Alerts about the present state are counted anew: behind each update and poll. */
	void (*review)(void *room);
	/* A client that waits is gone: its callbacks with this arg are dropped. */
	void (*cancel)(void *room, const void *arg);
	/* This manager is master no more: who waits is answered with this error. */
	void (*abandon)(void *room, const char *why);
	/*
	 * Why operators' commands that change something are not taken; until control returns to the
	 * loop. NULL = they are.
	 */
	const char *(*refusal)(void *room);
	/*
	 * Appends a row for each link that is unhealthy (`fmctl links --sick`); something is
	 * published.
	 */
	void (*unhealthy)(const void *room, json_t *rows);
	/* Adds its members to the document of `fmctl --json status`. */
	void (*status)(const void *room, json_t *doc);
};

/* The rows, in order; ends with NULL. */
typedef const struct fabric_module *const fabric_modules[];

#endif
