/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * role: the part that this manager has in its fabric. The pipe keeps it; one room (fm/sm/module.h)
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
#ifndef FMD_FABRIC_ROLE_H
#define FMD_FABRIC_ROLE_H

#include <stdbool.h>
#include "topology/snapshot/topo.h"

struct fabric;

enum fabric_role {
	FABRIC_ROLE_AWAY,	/* the own port is in no fabric; sends nothing */
	FABRIC_ROLE_ASKING,	/* sweeps, to learn who is master; sets PortStateChange at most */
	FABRIC_ROLE_LOCKED_OUT, /* sweeps, and sets nothing at all */
	FABRIC_ROLE_STANDBY,	/* neither sweeps nor sets anything, nor writes state files */
	FABRIC_ROLE_MASTER,
};

/* The role in force. */
enum fabric_role fabric_role(const struct fabric *fabric);
/*
 * True: it is master since another manager ceased to be, so tables are read before they are
 * written, and ports keep the LIDs that they hold.
 */
bool fabric_took_over(const struct fabric *fabric);

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
	bool reregister; /* hosts have registered with that manager */
	guid_t master;	 /* STANDBY: the master's port GUID; 0 = not known */
};

/*
 * Asks for another role: the loop calls the rooms' hook role(). The latest of
 * several changes that wait counts, but what was to begin anew does. A master that did not begin
 * anew manages what was just swept.
 */
void fabric_change_role(struct fabric *fabric, const struct fabric_role_change *change,
			const char *reason);
/*
 * At once: no sweep begins and no Set but of SMInfo leaves, until a change of role that is
 * requested after this is served, or until it is switched off. A master remains master.
 */
void fabric_pause(struct fabric *fabric, bool on, const char *reason);

#endif
