/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * control_packet: which control packets of other subnet managers are obeyed: Set(SMInfo), IBA
 * 14.4.1. Decides only: no I/O, no clock.
 *
 * The standard's only protection is the SM_Key, and the usual one is public: whoever is root on one
 * host can send these. So a packet is obeyed only where the managers' own answers to Get(SMInfo)
 * bear it out, and one that makes a MASTER, or one that does not know who is, begin anew no more
 * than once in CONTROL_PAUSE_US:
 *
 *   HANDOVER  MASTER       of one whose latest answer said that it is master, too
 *             STANDBY      of the master that is polled, when it shows a lower rank than ours, or
 *                          priority 0. A lower rank is why any master hands over (IBA 14.4.1.5);
 *                          one that does so by an operator's wish shows priority 0
 *             DISCOVERING  of anyone
 *   DISABLE   STANDBY      of the master that is polled
 *   DISCOVER  STANDBY      of the master that is polled
 */
#ifndef FMD_SM_CONTROL_PACKET_H
#define FMD_SM_CONTROL_PACKET_H

#include "fm/sm/election.h"

#define CONTROL_PAUSE_US 10000000ull

struct control {
	uint32_t number;		   /* the attribute's modifier */
	const struct wire_sm_info *sender; /* as the packet has it */
	/* What the manager of that GUID last answered to a Get; NULL = it never did. */
	const struct wire_sm_info *known;
	uint64_t now_us;
};

enum control_verdict {
	CONTROL_OBEYED,
	CONTROL_REFUSED,
	/*
	 * Not borne out, but what is known may be old: the other managers are asked, and then it is
	 * judged again. One that is doubted still is not answered.
	 */
	CONTROL_DOUBTED,
};

/* Takes no step. *event: of one that is obeyed; *why: a literal, for the others. */
enum control_verdict control_judge(const struct election *e, const struct control *control,
				   enum election_event *event, const char **why);
/* It was obeyed: the step that it leads to is about to be taken. */
void control_obeyed(struct election *e, enum election_event event, uint64_t now_us);

#endif
