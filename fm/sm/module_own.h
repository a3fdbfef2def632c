/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module_own: what the files of this room share. Calls go down this list:
 *
 *   module.c         the hooks, SMInfo's control packets, the own port's callbacks
 *   module.c   as MASTER that stood still: asks who is master
 *   module_role.c    carries out what election.c decides, and asks the pipe for the role then
 *   module_parting.c as one that has handed over: answers those who ask here still
 *   module_allowed.c managers that allowed_sm_guids does not name
 *   module_role.c    as STANDBY: polls the master
 *   module_ask.c     who else manages: rounds of Get(SMInfo)
 *   module_report.c  says so in events and in the status
 */
#ifndef FMD_SM_MODULE_OWN_H
#define FMD_SM_MODULE_OWN_H

#include "fm/loop/loop.h"
#include "fm/fabric/module.h"
#include "fm/fabric/role.h"
#include "fm/fabric/waiters.h"
#include "fm/sm/election.h"
#include "fm/sm/keys.h"
#include "fm/sm/module_allowed.h"
#include "fm/sm/module_ask.h"
#include "fm/sm/module_parting.h"
#include "fm/sm/module_report.h"
#include "fm/sm/module_still.h"
#include "fm/sm/port.h"
#include "fm/sm/sm.h"

struct polls { /* module_role.c */
	void (*polled)(struct sm_room *room, enum election_event event);
	struct other master; /* who is polled */
	uint64_t heard_us, polled_us;
	uint64_t reading_until_us; /* while election.reading */
	unsigned count;
	mad_token poll;
};

struct wish { /* to hand over */
	bool open;
	bool passed_on; /* what this manager keeps is where it is to go, or has been waited for */
	bool better;	/* nobody's: for one that outranks this manager */
	guid_t whom;	/* 0 = the highest standby */
	uint64_t since_us;
	waiter_fn *fn; /* NULL: its client is gone */
	void *arg;
};

struct sm_room {
	struct fabric *fabric;
	struct fabric_services services; /* those of the present life */
	struct sm *sm;
	struct port *port;
	struct keys keys;
	bool foreign_prefix; /* of the fabric that is to be taken over; an alert says so */
	struct election core;
	struct rounds rounds;
	struct strangers strangers;
	struct polls polls;
	struct loop_timer *due;	    /* of a poll; as MASTER: to ask the others again */
	struct loop_timer *passing; /* of a wish: until what is kept here is passed on */

	bool stood_by;	   /* another was master meanwhile */
	bool was_away;	   /* the own port was, and another may have been master */
	bool warned;	   /* of two masters */
	struct other peer; /* who got our HANDOVER, or gave us his */
	mad_token handover;
	bool peer_silent;	   /* did not answer our latest HANDOVER */
	uint64_t refused_until_us; /* no HANDOVER before that */
	uint64_t verified_us;	   /* when sm_verify() last asked */
	struct wish wish;
	struct parting parting;
	struct still still;

	struct reports reports;
};

/* module_role.c */
void sm_role_init(struct sm_room *r); /* behind sm_ask_init(); services, sm and port are there */
void sm_role_fini(struct sm_room *r); /* ends what is under way, too; before sm_ask_fini() */
/*
 * Takes the election's step and does what it says. whom: whom the event is about; NULL = nobody, or
 * the master that is polled.
 */
void sm_take(struct sm_room *r, enum election_event event, const struct other *whom);
/* The others are asked, and the one that is wished for gets a HANDOVER. */
void sm_wish(struct sm_room *r, const struct wish *wish);
/* The own port has left its fabric: this manager is nobody's master and nobody's standby. */
void sm_leave(struct sm_room *r);
/*
 * The own port has a link: who is master is to be found out, unless another manager has disabled
 * this one.
 */
void sm_enter(struct sm_room *r);
/*
 * The pipe has changed the role: what was under way for the one before ends, and what the new one
 * needs begins.
 */
void sm_role_changed(struct sm_room *r, enum fabric_role role);
/*
 * Somebody says that another is master, or is no more: the other managers are asked at once, by a
 * standby the one that it polls. Once in VERIFY_US at most.
 */
void sm_verify(struct sm_room *r);
/* A sweep of somebody who does not know yet who is master has ended: all others are asked. */
void sm_find_master(struct sm_room *r);
/* The configuration or the state may be another: SMInfo, and the role in events. */
void sm_show_state(struct sm_room *r);

#endif
