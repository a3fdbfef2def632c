/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module_own: what the files of this room share. Calls go down this list:
 *
 *   module.c         the hooks, SMInfo's control packets, the own port's callbacks
 *   module_role.c    carries out what election.c decides, and asks the pipe for the role that follows
 *   module_poll.c    as STANDBY: polls the master
 *   module_ask.c     who else manages: rounds of Get(SMInfo)
 *   module_report.c  says so in events and in the status
 */
#ifndef FMD_SM_MODULE_OWN_H
#define FMD_SM_MODULE_OWN_H

#include "fm/core/loop.h"
#include "fm/fabric/module.h"
#include "fm/fabric/role.h"
#include "fm/sm/election.h"
#include "fm/sm/keys.h"
#include "fm/sm/port.h"
#include "fm/sm/sm.h"

#define ROLE_CHANGES_MAX 3 /* in ROLE_CHANGES_US; more ask for an operator */
#define ROLE_CHANGES_US	 600000000ull
#define JUDGED_LIDS	 16

struct sm_room;

struct other { /* a subnet manager that is not this one */
	struct sm_room *room;
	guid_t guid; /* of its port */
	char name[65];
	struct mad_path path;
	uint16_t lid; /* 0 = none */
	mad_token token;
	bool answered; /* info is its own */
	struct wire_sm_info info;
};

struct reported { /* of another manager, in the latest event */
	guid_t guid;
	uint8_t state, priority;
	bool answered;
};

struct rounds {				     /* module_ask.c */
	void (*judge)(struct sm_room *room); /* all others have answered, or are silent */
	struct other **others;	/* as last asked; each stays where it is while it is asked */
	unsigned nothers, open; /* open: not answered yet */
	bool holds;		/* an update waits for their answers, till `hold` */
	struct loop_timer *hold;
	uint16_t judged_lids[JUDGED_LIDS]; /* SM LIDs on ports that are no manager's any more */
	unsigned njudged;
	unsigned unasked; /* ends whose manager nobody was asked about, when last counted */
	uint16_t own_lid;
	uint16_t usual_lid; /* own_lid, or what a port that has lost it is going to get */
	uint32_t own_capmask;
};

struct polls { /* module_poll.c */
	void (*polled)(struct sm_room *room, enum election_event event);
	struct other master; /* who is polled */
	uint64_t heard_us, polled_us;
	unsigned count;
	mad_token poll;
};

struct sm_room {
	struct fabric *fabric;
	struct fabric_services services; /* those of the present life */
	struct sm *sm;
	struct port *port;
	struct keys keys;
	struct election core;
	struct rounds rounds;
	struct polls polls;
	struct loop_timer *due; /* of a poll; as MASTER: to ask the others again */

	bool stood_by;	   /* another was master meanwhile */
	bool was_away;	   /* the own port was, and another may have been master */
	bool warned;	   /* of two masters */
	struct other peer; /* who got our HANDOVER, or gave us his */
	mad_token handover;
	uint64_t refused_until_us; /* no HANDOVER before that */
	loop_fn *wish;		   /* of an operator who hands over; NULL = none is under way */
	void *wish_arg;

	/* module_report.c */
	uint64_t since_us; /* core.state's */
	const char *role;  /* NULL = not known yet; a literal */
	unsigned role_changes;
	uint64_t role_changed_us[ROLE_CHANGES_MAX]; /* the latest, in a ring */
	struct loop_timer *calm;
	struct {
		uint64_t begun_us, heard_us; /* begun_us 0 = none is under way */
		char from[65];
	} taking;
	double take_over_ms; /* the latest, 0 = none */
	unsigned take_overs;
	struct reported *reported;
	unsigned nreported;
	char refusal[256];
};

/* module_role.c */
void sm_role_init(struct sm_room *r); /* ..of its parts; the others are there */
void sm_role_fini(struct sm_room *r);
void sm_take(struct sm_room *r, enum election_event event, const struct other *whom);
/* The own port has left its fabric: nobody's master, and nobody's standby. */
void sm_leave(struct sm_room *r);
/* ..or is in one. */
void sm_enter(struct sm_room *r);
/* The pipe has changed the role: what was under way for the one before ends, and what the new one needs begins. */
void sm_role_changed(struct sm_room *r, enum fabric_role role);
/* A sweep of somebody who does not know yet who is master has ended: all others are asked. */
void sm_find_master(struct sm_room *r);
/* The configuration or the state may be another: SMInfo, and the role in events. */
void sm_show_state(struct sm_room *r);

/* module_poll.c */
void sm_poll(struct sm_room *r);
void sm_stop_polling(struct sm_room *r);

/* module_ask.c */
void sm_ask_init(struct sm_room *r);
void sm_ask_fini(struct sm_room *r);
void sm_ask_round(struct sm_room *r); /* asks all others; ends in rounds.judge() */
void sm_ask(struct sm_room *r);	      /* the same, by a master that is not handing over */
/* A master's sweep has ended; true: others are to answer before what it found is published. */
bool sm_ask_holds(struct sm_room *r, bool fell, bool strangers);
/* Whose SM LIDs ports hold is known: no other manager's any more. */
void sm_know_lids(struct sm_room *r);
void sm_stop_asking(struct sm_room *r);
void sm_forget_others(struct sm_room *r);
const struct other *sm_find_other(const struct sm_room *r, guid_t guid); /* NULL = not known */

/* module_report.c */
void sm_report_others(struct sm_room *r);
void sm_report_master(struct sm_room *r);
void sm_report_standby(struct sm_room *r);
void sm_report_handover(struct sm_room *r);
void sm_report_two_masters(struct sm_room *r, const struct other *whom);
void sm_report_control(struct sm_room *r, enum election_event event, const struct other *from);
/* A take-over begins; heard_us: when its master was last heard, 0 = it hands over. */
void sm_report_taking(struct sm_room *r, const struct other *from, uint64_t heard_us);
void sm_report_taken(struct sm_room *r); /* all is programmed: how long the take-over took */
void sm_report_role(struct sm_room *r);	 /* the role may be another */
void sm_report_init(struct sm_room *r);
void sm_report_fini(struct sm_room *r);
const char *sm_refusal(struct sm_room *r);
void sm_status(const struct sm_room *r, json_t *doc);

#endif
