/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* report: what is isolated, and what may not be, as alerts and in the status. */
#ifndef FMD_ISOLATION_REPORT_H
#define FMD_ISOLATION_REPORT_H

#include "fm/isolation/list.h"

/* `isolated` by name for what is in force, `refusing` as one alert for what may not be. */
void isolation_raise_alerts(struct isolation *is);
/*
 * Asks one that refuses whether it counts violations of our M_Key; the alert says so when it has
 * answered. One at a time.
 */
void isolation_ask_keys(struct isolation *is, const struct isolated *it);
struct inv_link_name isolated_name(const struct isolated *it);
/* {"what", "why", "in_force", "since_s"} each; the caller owns it. */
json_t *isolation_json(const struct isolation *is);

#endif
