/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sa_foreign: what hosts registered with another manager's SA, by the rows of its tables, as this
 * one keeps it in state_dir.
 *
 * A trusted request (one with the SM_Key) is shown nearly all. What no row has: SL and P_Key index
 * of a subscription's Reports (0), and whether it was trusted (it is where its trap is for the
 * trusted alone); groups without members; what belongs to partitions that the asking port is no
 * member of. OpenSM shows a lease as it was registered, not what is left of it.
 */
#ifndef FMD_SA_SA_FOREIGN_H
#define FMD_SA_SA_FOREIGN_H

#include <stdio.h>
#include "fm/sa/mcast_group.h"

enum sa_foreign_result {
	SA_FOREIGN_TAKEN,
	SA_FOREIGN_HIDDEN, /* not taken: it lacks what only trusted requests are shown */
	SA_FOREIGN_BAD,	   /* not taken: not valid, or it contradicts an earlier row */
};

/* MCMemberRecord: into a store of its own, with its MLID. */
enum sa_foreign_result sa_foreign_member(struct sa_groups *groups, const uint8_t *row);
/* ServiceRecord: a line of `services`; now: by the system's clock, in seconds. */
enum sa_foreign_result sa_foreign_service(const uint8_t *row, int64_t now, FILE *out);
/* InformInfoRecord: a line of `subscriptions`. */
enum sa_foreign_result sa_foreign_subscription(const uint8_t *row, FILE *out);

#endif
