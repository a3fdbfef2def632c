/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* fabric_election: what its files share: fabric_election_ask.c asks, fabric_election.c acts, fabric_election_tell.c says so. */
#ifndef FMD_FABRIC_ELECTION_H
#define FMD_FABRIC_ELECTION_H

#include "fm/fabric_own.h"

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
	bool warned;		/* of two masters */
	struct other *others;	/* as last asked */
	unsigned nothers, open; /* open: not answered yet */
	struct other master;	/* as STANDBY: who is polled */
	struct other heir;	/* who got our HANDOVER, or gave us his */
	uint16_t own_lid;
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
void fabric_election_judge(struct fabric *f); /* all others have answered, or are silent */
void fabric_election_tell_others(struct fabric *f);
void fabric_election_tell_master(struct fabric *f);
void fabric_election_tell_standby(struct fabric *f);
void fabric_election_tell_two(struct fabric *f, const struct other *whom);
void fabric_election_tell_control(struct fabric *f, enum election_event event,
				  const struct other *from);

#endif
