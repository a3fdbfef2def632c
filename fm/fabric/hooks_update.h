/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * hooks_update: an update, in this order, from the request to its publication.
 * Between two of these anything may happen, for only the publication touches what others see.
 * See fm/fabric/module.h for who calls them and when; a hook that is NULL is not needed.
 */
#ifndef FMD_FABRIC_HOOKS_UPDATE_H
#define FMD_FABRIC_HOOKS_UPDATE_H

#include <stdbool.h>
#include <stdint.h>
#include "fm/fabric/announce.h"
#include "topology/snapshot/topo.h"

struct fabric_policy;
struct inventory;

struct fabric_update_hooks {
	/*
	 * An update is wanted. False: it may not begin yet; the room requests one when it may.
	 * Rooms behind it are not asked.
	 */
	bool (*ready)(void *room);
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
	/* A link has too many errors still (fabric_request_hold()). */
	void (*hold)(void *room, guid_t node, uint8_t port, const char *why);
	/* fabric_request_isolate() was called. */
	void (*isolate)(void *room, guid_t node, uint8_t port, enum isolation_cause cause);
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
	 * The new snapshot, LIDs and tables are in place, and nobody was notified yet. before: as
	 * in published().
	 */
	void (*publishing)(void *room, const struct topo *before);
	/*
	 * A snapshot, LIDs and tables were published. before: the snapshot until then, NULL = none;
	 * it is about to go.
	 */
	void (*published)(void *room, const struct topo *before);
	/* The published snapshot was exchanged for one that differs in the state of ports alone. */
	void (*shown)(void *room, const struct topo *before);
	/*
	 * Nothing is requested and nothing under way (fabric_request_improvement() has it asked
	 * soon). True: what this room adds to route_input() is another by now, and an update begins
	 * at once; rooms behind it are not asked.
	 */
	bool (*improves)(void *room);
};

#endif
