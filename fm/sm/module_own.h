/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module_own: what the files of this room share. Calls go down this list:
 *
 *   module.c         the hooks, SMInfo's control packets, the own port's callbacks; as MASTER that
 *                    stood still: asks who is master
 *   module_role.c    carries out what election.c decides, and asks the pipe for the role then; as
 *                    STANDBY: polls the master
 *   module_ask.c     who else manages: rounds of Get(SMInfo); as one that has handed over: answers
 *                    those who ask here still
 *   module_report.c  says so in events and in the status; managers that allowed_sm_guids does not
 *                    name
 */
#pragma once

#include "fm/fabric/module.h"
#include "fm/fabric/operation.h"
#include "fm/inventory/inventory.h"
#include "fm/keys/lookup.h"
#include "fm/loop/loop.h"
#include "fm/mad/mad.h"
#include "fm/mad/wire.h"
#include "fm/sm/election.h"
#include "fm/sm/port.h"
#include "fm/sm/sm.h"
#include "topology/snapshot/topo.h"

struct sm_room;

/* ---- A master that was stopped, or not heard, for so long that a standby may have taken over - */

struct still {
	struct loop_timer *beat;
	uint64_t beat_us;     /* when it last ran */
	uint64_t patience_us; /* how long a standby waited for this master at that beat */

	uint64_t answers, sent; /* by mad's count, at the latest beat that devices had answered */
	unsigned silent;	/* beats since somebody was asked in vain */
	bool unheard;		/* was master until then, and asks who is */
	bool deaf;		/* was master until a sweep without any answer, and asks who is */
};

/*
 * Compares the clock with that of the latest beat. A master that stood still for longer than a
 * standby waits, and knows of one, is none any more: who is master is to be found out, as at a
 * start. Called by the beat, before anybody learns who is master here, and when the configuration
 * may be another: the next beat was due by the one before.
 */
void sm_still_check(void *room);

/* ---- Who else manages: rounds of Get(SMInfo), and what they hold up -------------------------- */

#define JUDGED_LIDS 16
#define VERIFY_US   100000 /* between two questions that a packet of somebody else causes */

struct other { /* a subnet manager that is not this one */
	struct sm_room *room;
	guid_t guid; /* of its port */
	char name[NAMING_MAX];
	struct mad_path path;
	uint16_t lid; /* 0 = none */
	mad_token token;
	bool answered; /* info is its own */
	struct wire_sm_info info;
};

struct rounds {
	void (*judge)(struct sm_room *room); /* all others have answered, or are silent */
	struct other **others;	/* as last asked; each stays where it is while it is asked */
	unsigned nothers, open; /* open: not answered yet */
	struct other met;	/* by sm_meet(), maybe in no inventory yet; guid 0 = nobody */
	guid_t met_by;		/* for sm_met_by() */
	uint8_t met_port;
	uint64_t met_us; /* when that switch was last to be read again, once in VERIFY_US at most */
	enum { HOLDS_NOT, HOLDS_ASKS, HOLDS_TWO_MASTERS } holds; /* an update waits, till `hold` */
	struct loop_timer *hold;
	uint16_t judged_lids[JUDGED_LIDS]; /* SM LIDs on ports that are no manager's any more */
	unsigned njudged;
	unsigned unasked; /* ends whose manager nobody was asked about, when last counted */
	uint16_t own_lid;
	uint16_t usual_lid; /* own_lid, or what a port that has lost it is going to get */
	uint32_t own_capmask;
};

/* Begin and end r->rounds and r->parting; end drops requests that are under way, without over(). */
void sm_ask_init(struct sm_room *r);
void sm_ask_fini(struct sm_room *r);
/*
 * Asks all others; rounds.judge() is called behind the last answer, or at once if there are none.
 */
void sm_ask_round(struct sm_room *r);
void sm_ask(struct sm_room *r);	    /* the same, by a master that is not handing over */
void sm_ask_met(struct sm_room *r); /* the same; what a sweep finds meanwhile waits for it */
/* A master's sweep has ended; true: others are to answer before what it found is published. */
bool sm_ask_holds(struct sm_room *r, bool fell, bool another_sm);
/* Whose SM LIDs ports hold is known: no other manager's any more. */
void sm_know_lids(struct sm_room *r);
void sm_know_lid(struct sm_room *r, uint16_t lid); /* that one is none's, or our own of before */
/* True: one that outranks us still sweeps, and can't take over before that is over. */
bool sm_better_comes(const struct sm_room *r);
void sm_stop_asking(struct sm_room *r); /* the round under way is not judged */
void sm_forget_others(struct sm_room *r);
const struct other *sm_find_other(const struct sm_room *r, guid_t guid); /* NULL = not known */

/* ---- A manager that has handed over goes on answering the SA for a while --------------------- */

#define PARTING_READS 32
#define PARTING_US    8000000 /* from the hand-over, at most */

struct parting_end { /* a port that may ask the SA */
	guid_t node;
	uint8_t port;
	uint8_t losses; /* reads in a row without an answer */
};

struct parting_read {
	struct sm_room *room;
	struct parting_end end;
	mad_token token; /* 0 = not in use */
};

struct parting {
	void (*over)(struct sm_room *room); /* nobody needs this manager's answers any more */
	bool on;
	uint16_t own_lid;
	struct parting_end *ends; /* [0, kept) are to be read again, [at, count) in this round */
	uint32_t count, at, kept;
	struct parting_read reads[PARTING_READS];
	unsigned open, window; /* reads under way, and how many there may be */
	uint64_t answered;     /* by the SA, when it was last looked at */
	bool all_moved;
	struct loop_timer *step, *limit;
	loop_fn *fn; /* of sm_when_parted() */
	void *arg;
};

/* parting.over() is called later; false: nothing was ever answered here, and it is not. */
bool sm_part_begin(struct sm_room *r);
void sm_part_end(struct sm_room *r); /* at once, without over(); sm_when_parted() is served */

/* ---- Who is master, in events, alerts and the status ----------------------------------------- */

#define ROLE_CHANGES_MAX 3 /* in ROLE_CHANGES_US; more ask for an operator */
#define ROLE_CHANGES_US	 600000000ull

struct other;

struct reported { /* of another manager, in the latest event */
	guid_t guid;
	uint8_t state, priority;
	bool answered;
};

struct reports {
	uint64_t since_us; /* when core.state last changed */
	const char *role;  /* NULL = not known yet; a literal */
	unsigned role_changes;
	uint64_t role_changed_us[ROLE_CHANGES_MAX]; /* the latest, in a ring */
	struct loop_timer *settled;
	struct {
		uint64_t begun_us, heard_us; /* begun_us 0 = none is under way */
		char from[NAMING_MAX];
	} taking;
	double take_over_ms; /* the latest, 0 = none */
	unsigned take_overs;
	struct reported *reported;
	unsigned nreported;
	char refusal[256];
};

/* An event for each other manager that is another than when it was last reported. */
void sm_report_others(struct sm_room *r);
void sm_show_to_sa(struct sm_room *r);	    /* all others, for SMInfoRecords */
void sm_report_standby(struct sm_room *r);  /* for polls.master */
void sm_report_handover(struct sm_room *r); /* to `peer` */
void sm_report_two_masters(struct sm_room *r, const struct other *whom);
void sm_report_control(struct sm_room *r, enum election_event event, const struct other *from);
/* A take-over begins; heard_us: when its master was last heard, 0 = it hands over. */
void sm_report_taking(struct sm_room *r, const struct other *from, uint64_t heard_us);
void sm_report_taken(struct sm_room *r); /* all is programmed: how long the take-over took */
void sm_report_role(void *room);	 /* the role may be another */
void sm_report_init(struct sm_room *r);
/* Why operators' commands are not taken; until the next call. NULL = this room has no reason. */
const char *sm_refusal(struct sm_room *r);
/*
 * Adds "sm", "role", "role_changes", "election", "sms_not_allowed" and "traps"; and has
 * "state" and "fabric_up" say why nothing is managed, where that is so.
 */
void sm_status(const void *room, json_t *doc); /* the hook */

/* ---- Ports that show a subnet manager (IsSM) which allowed_sm_guids does not name ------------ */

/*
 * Each is an alert (kind "sm-not-allowed") and an event, and a master hands over to none of them.
 * With foreign_sm_action = "isolate" the master also takes the link of such an adapter out of
 * service: it is brought down once, and stays in Init, where it carries SMPs and no data. So it is
 * seen when the manager there ends, and the link comes up again then, or when it is allowed. Its
 * SMPs are kept from ports by M_Keys alone. A switch is never touched, nor the adapter that this
 * manager is on.
 */

#define UNALLOWED_MAX 64

struct unallowed_sm {	   /* a manager that is not allowed */
	guid_t guid, node; /* of its port, of the device */
	uint8_t num;	   /* of its port; 0 = a switch's own */
	bool shut;	   /* its link is out of service, or is to be */
	char name[NAMING_MAX];
};

struct unallowed {
	struct unallowed_sm list[UNALLOWED_MAX]; /* more are left out, and come when others go */
	unsigned count;
	guid_t admitted[UNALLOWED_MAX]; /* allowed by sm_allow(), the latest */
	unsigned nadmitted;
	bool marked;	   /* some port has INV_SHUT */
	uint64_t asked_us; /* their ports were last to be read again */
};

/* Whether allowed_sm_guids names the port with that GUID, or is empty, or it was admitted. */
bool sm_is_allowed(const struct sm_room *r, guid_t port_guid);
/* The port with that GUID, for events; of what the inventory does not know: nothing. */
struct event_subject sm_subject(const struct sm_room *r, guid_t port_guid);
/* "NAME (port GUID 0x..", with ", priority N" unless that is -1; the text goes on behind it. */
struct sm_called {
	char text[NAMING_MAX + 48];
} sm_called(const char *name, guid_t guid, int priority);
/* All others were asked, or the configuration may be another. */
void sm_allowed_review(struct sm_room *r);
/* A snapshot is about to be made: sets INV_SHUT, and lets go of those that are no managers. */
void sm_allowed_mark(void *room, struct inventory *inventory); /* the hook annotate */

/* ---- The room, and what follows from the election (module_role.c) ---------------------------- */

struct polls { /* module_role.c */
	void (*polled)(struct sm_room *room, enum election_event event);
	struct other master; /* who is polled */
	uint64_t heard_us, polled_us;
	uint64_t reading_until_us; /* while ELECTION_READING */
	unsigned count;
	mad_token poll;
};

#define IDLE_US 10000000 /* a client has waited in vain for so long */

/* Whether the master serves this manager's port, as it has to serve any; behind each poll. */
struct idle {
	bool is; /* it does not; the alert master-idle says so */
	uint64_t served_us;
	mad_token ask; /* the SA's ClassPortInfo */
	struct event_subject subject;
};

struct wish { /* to hand over */
	bool open;
	bool taking;	/* the other way round: to take over from `peer` */
	bool passed_on; /* what this manager keeps is where it is to go, or has been waited for */
	bool better;	/* nobody's: for one that outranks this manager */
	guid_t whom;	/* 0 = the highest standby */
	uint64_t since_us;
	waiter_fn *fn; /* NULL: nobody waits */
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
	struct unallowed unallowed;
	struct polls polls;
	struct idle idle;
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

static inline uint64_t sm_now(const struct sm_room *r)
{
	return loop_now_us(r->services.loop);
}

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
/* From the master, which does nothing; who: "an operator has", in the event. */
void sm_take_from_idle(struct sm_room *r, const char *who);
/* The own port has left its fabric: this manager is nobody's master and nobody's standby. */
void sm_leave(void *room);
/*
 * The own port has a link: who is master is to be found out, unless another manager has disabled
 * this one.
 */
void sm_enter(void *room);
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
void sm_find_master(void *room);
/* The configuration or the state may be another: SMInfo, and the role in events. */
void sm_show_state(struct sm_room *r);
