/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* module_report: who is master, in events, alerts and the status. */
#ifndef FMD_SM_MODULE_REPORT_H
#define FMD_SM_MODULE_REPORT_H

#include <jansson.h>
#include "fm/loop/loop.h"
#include "fm/sm/election.h"

#define ROLE_CHANGES_MAX 3 /* in ROLE_CHANGES_US; more ask for an operator */
#define ROLE_CHANGES_US	 600000000ull

struct other;
struct sm_room;

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
	struct loop_timer *calm;
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
void sm_show_to_sa(struct sm_room *r);	      /* all others, for SMInfoRecords */
void sm_report_not_copied(struct sm_room *r); /* HANDOVER leaves all the same */
void sm_report_master(struct sm_room *r);
void sm_report_standby(struct sm_room *r);  /* for polls.master */
void sm_report_handover(struct sm_room *r); /* to `peer` */
void sm_report_two_masters(struct sm_room *r, const struct other *whom);
void sm_report_control(struct sm_room *r, enum election_event event, const struct other *from);
/* A take-over begins; heard_us: when its master was last heard, 0 = it hands over. */
void sm_report_taking(struct sm_room *r, const struct other *from, uint64_t heard_us);
void sm_report_taken(struct sm_room *r); /* all is programmed: how long the take-over took */
void sm_report_role(struct sm_room *r);	 /* the role may be another */
void sm_report_init(struct sm_room *r);
void sm_report_fini(struct sm_room *r);
/* Why operators' commands are not taken; until the next call. NULL = this room has no reason. */
const char *sm_refusal(struct sm_room *r);
/*
 * Adds "sm", "role", "role_changes", "election", "sms_not_allowed" and "traps"; and has
 * "state" and "fabric_up" say why nothing is managed, where that is so.
 */
void sm_status(const struct sm_room *r, json_t *doc);

#endif
