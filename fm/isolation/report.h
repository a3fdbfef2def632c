/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* report: isolations, and findings that are not in force, as alerts and in the status. */
#ifndef FMD_ISOLATION_REPORT_H
#define FMD_ISOLATION_REPORT_H

#include "fm/isolation/list.h"

/* Raises or ends the alerts `isolated`, for what is in force, and `refusing`, for all others. */
void isolation_raise_alerts(struct isolation *is);
/*
 * Reads from a device that refuses Sets whether it counts M_Key violations; the alert says so when
 * it has answered. One device at a time.
 */
void isolation_ask_keys(struct isolation *is, const struct isolated *it);
/* The name of an entry's switch or link. */
struct inv_link_name isolated_name(const struct isolated *it);
/* A new list of {"what", "why", "in_force", "since_s"}; the caller owns it. */
json_t *isolation_json(const struct isolation *is);

#endif
