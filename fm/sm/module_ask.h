/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* module_ask: who else manages: rounds of Get(SMInfo), and what they hold up. */
#ifndef FMD_SM_MODULE_ASK_H
#define FMD_SM_MODULE_ASK_H

#include "fm/loop/loop.h"
#include "fm/mad/mad.h"
#include "fm/mad/wire.h"

#define JUDGED_LIDS 16

struct sm_room;

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
	bool holds;		/* an update waits for their answers, till `hold` */
	struct loop_timer *hold;
	uint16_t judged_lids[JUDGED_LIDS]; /* SM LIDs on ports that are no manager's any more */
	unsigned njudged;
	unsigned unasked; /* ends whose manager nobody was asked about, when last counted */
	uint16_t own_lid;
	uint16_t usual_lid; /* own_lid, or what a port that has lost it is going to get */
	uint32_t own_capmask;
};

/* Begin and end r->rounds; end drops requests that are under way. */
void sm_ask_init(struct sm_room *r);
void sm_ask_fini(struct sm_room *r);
/*
 * Asks all others; rounds.judge() is called behind the last answer, or at once if there are none.
 */
void sm_ask_round(struct sm_room *r);
void sm_ask(struct sm_room *r); /* the same, by a master that is not handing over */
/* A master's sweep has ended; true: others are to answer before what it found is published. */
bool sm_ask_holds(struct sm_room *r, bool fell, bool another_sm);
/* Whose SM LIDs ports hold is known: no other manager's any more. */
void sm_know_lids(struct sm_room *r);
/* True: one that outranks us still sweeps, and can't take over before that is over. */
bool sm_better_comes(const struct sm_room *r);
void sm_stop_asking(struct sm_room *r); /* the round under way is not judged */
void sm_forget_others(struct sm_room *r);
const struct other *sm_find_other(const struct sm_room *r, guid_t guid); /* NULL = not known */

#endif
