/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* fabric_election: what its files share: election_ask.c asks, election.c acts, election_tell.c says so. */
#ifndef FMD_FABRIC_ELECTION_H
#define FMD_FABRIC_ELECTION_H

#include "fm/fabric/own.h"

#define ROLE_CHANGES_MAX 3 /* in ROLE_CHANGES_US; more ask for an operator */
#define ROLE_CHANGES_US	 600000000ull
#define JUDGED_LIDS	 16

struct other { /* a subnet manager that is not this one */
	struct fabric *f;
	guid_t guid; /* of its port */
	char name[65];
	struct mad_path path;
	uint16_t lid; /* 0 = none */
	mad_token token;
	bool answered; /* info is its own */
	struct wire_sm_info info;
};

struct fabric_election {
	struct election core;
	bool rules;		/* the fabric is ours to change */
	bool stood_by;		/* another was master meanwhile */
	bool was_away;		/* the own port was, and another may have been */
	bool warned;		/* of two masters */
	struct other **others;	/* as last asked; each stays where it is while it is asked */
	unsigned nothers, open; /* open: not answered yet */
	bool holds;		/* an update waits for their answers, till `hold` */
	struct loop_timer *hold;
	uint16_t judged_lids[JUDGED_LIDS]; /* SM LIDs on ports that are nobody's any more */
	unsigned njudged;
	unsigned unasked; /* ends whose manager nobody was asked about, when last counted */
	loop_fn *given;	  /* of an operator's hand-over; NULL = none is under way */
	void *given_arg;
	const char *role; /* NULL = not known yet; a literal */
	unsigned role_changes;
	uint64_t role_changed_us[ROLE_CHANGES_MAX]; /* the latest, in a ring */
	struct loop_timer *calm;
	struct other master; /* as STANDBY: who is polled */
	struct other heir;   /* who got our HANDOVER, or gave us his */
	uint16_t own_lid;
	uint16_t usual_lid; /* own_lid, or what a port that has lost it is going to get */
	uint32_t own_capmask;
	uint64_t since_us; /* the state's */
	uint64_t heard_us, polled_us;
	uint64_t refused_until_us; /* no HANDOVER before that */
	unsigned polls;
	mad_token poll, handover;
	struct loop_timer *poll_due; /* of the master; as MASTER: to ask the others again */
	struct loop_timer *act;
	enum election_act due; /* by it */
	struct {
		uint64_t begun_us, heard_us; /* begun_us 0 = none is under way */
		char from[65];
	} taking;
	double take_over_ms; /* the latest, 0 = none */
	unsigned take_overs;
	struct told {
		guid_t guid;
		uint8_t state, priority;
		bool answered;
	} * told; /* the others, as last told of */
	unsigned ntold;
	char refusal[256];
};

void fabric_election_stop_asking(struct fabric *f);
void fabric_election_forget_others(struct fabric *f);
void fabric_election_ask_init(struct fabric *f);
void fabric_election_ask_fini(struct fabric *f);
void fabric_election_round(struct fabric *f); /* asks all others; ends in fabric_election_judge() */
/* Whose SM LIDs ports hold is known: nobody's any more. */
void fabric_election_know_lids(struct fabric *f);
void fabric_election_judge(struct fabric *f); /* all others have answered, or are silent */
void fabric_election_tell_others(struct fabric *f);
void fabric_election_tell_master(struct fabric *f);
void fabric_election_tell_standby(struct fabric *f);
void fabric_election_tell_handover(struct fabric *f, const struct other *whom);
void fabric_election_tell_two(struct fabric *f, const struct other *whom);
void fabric_election_tell_control(struct fabric *f, enum election_event event,
				  const struct other *from);

#endif
