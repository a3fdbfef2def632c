/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Who subscribed to which notices (sa_report.c), and the Reports of them (sa_report.c).
 * Private to fm/sa.
 */
#ifndef FMD_SA_SA_REPORT_H
#define FMD_SA_SA_REPORT_H

#include <complib/cl_qlist.h>
#include <complib/cl_qmap.h>
#include "fm/loop/log.h"
#include "fm/mad/mad.h"
#include "fm/mad/wire_inform.h"
#include "fm/mad/wire_sa.h"

struct sa;

/*
 * A wish for notices. On one of the lists of struct reports, on its subscriber's, or a Report to it
 * is on its way.
 */
struct subscription {
	cl_list_item_t item; /* first */
	struct subscriber *by;
	struct wire_inform_info info; /* qpn: where Reports go */
	/* of the request that made it */
	uint16_t pkey_index;
	uint8_t sl;
	bool trusted;
	bool held;	  /* on the subscriber's list */
	uint8_t failures; /* Reports in a row that nobody acknowledged */
	uint64_t next;	  /* the first notice not looked at yet */
	mad_token token;  /* 0: none is on its way */
};

struct subscriber {
	cl_map_item_t item; /* key: port GUID */
	struct sa *sa;
	unsigned count;
	struct subscription **subs;
	unsigned in_flight; /* Reports */
	cl_qlist_t held;    /* subscriptions that wait for a Report in flight to be over */
};

struct sa_notice {
	struct wire_notice notice;
	struct wire_gid issuer;
	guid_t about;  /* port that the subscriber must share a partition with; 0 = any */
	uint16_t pkey; /* of a group: the subscriber must be a member; 0 = any */
};

struct reports {
	cl_qlist_t due, idle;	/* subscriptions with notices to look at, and those that saw all */
	struct sa_notice *ring; /* [size], by sequence number */
	uint32_t size;		/* a power of two, or 0 */
	uint64_t first, end;	/* sequence numbers held */
	unsigned in_flight;
	struct loop_timer *step;
	guid_t *serving; /* end ports in service at the last publish, sorted */
	uint32_t nserving;
	bool compare; /* serving is known */
	struct log_limit limit;
};

/* sa_report.c. The SA's; NULL: there is no room for it. It sees what comes from now on. */
struct subscription *sa_subscribe(struct sa *sa, guid_t guid, const struct subscription *wish);
void sa_unsubscribe(struct subscription *s); /* and frees it */
struct subscription *sa_subscription_find(const struct sa *sa, guid_t guid,
					  const struct wire_inform_info *info); /* NULL: none */

/* sa->reports. Its end does not free subscriptions: sa_subscriptions_forget() comes before. */
void sa_reports_init(struct sa *sa);
void sa_reports_fini(struct sa *sa);
void sa_reports_compare(struct sa *sa); /* a new view: who is in service now, and was not before */
void sa_reports_wake(struct sa *sa);	/* what was held back goes on */
/* A multicast group was made, or the last member has left. Call it after the fact. */
void sa_group_changed(struct sa *sa, const struct wire_gid *mgid, uint16_t pkey, bool created);

/*
 * Of violated keys, 256 bad M_Key .. 259 bad P_Key at a switch: for trusted subscribers
 * (C15-0.2-1.16).
 */
static inline bool sa_trap_is_secret(bool generic, uint16_t trap)
{
	return generic && trap >= 256 && trap <= 259;
}

#endif
