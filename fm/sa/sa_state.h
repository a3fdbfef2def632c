/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sa_state: what hosts have asked the SA for and is to outlive the process, as rows of state_dir.
 */
#pragma once

#include "fm/sa/mcast_group.h"

struct sa;
struct subscription;
struct wire_service;

#define SA_LINES 500 /* that a call writes, about */

/* As struct state_kind has them; sa is the struct sa. False: the line can't be one. */
bool sa_subscriptions_line(void *sa, const char *line);
uint64_t sa_subscriptions_write(const void *sa, uint64_t from, FILE *out);
void sa_subscriptions_forget(void *sa);
/*
 * Leases are kept as the second they end at: `now` is that of the system's clock. False: the line
 * can't be one.
 */
bool sa_services_line(struct sa *sa, const char *line, int64_t now);
uint64_t sa_services_write(const struct sa *sa, uint64_t from, FILE *out, int64_t now);
void sa_services_forget(void *sa);
bool sa_aliases_line(void *sa, const char *line);
uint64_t sa_aliases_write(const void *sa, uint64_t from, FILE *out);
void sa_aliases_forget(void *sa);

/* ---- What hosts registered with another manager's SA ----------------------------------------- */

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
