/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: links that carry no transit by a manual override (cordons) or as they are unreliable
 * (quarantines), and links that are removed for good, as a room (fm/fabric/module.h).
 */
#ifndef FMD_MAINTENANCE_MODULE_H
#define FMD_MAINTENANCE_MODULE_H

#include "fm/fabric/module.h"
#include "fm/fabric/waiters.h"

extern const struct fabric_module maintenance_module;

/*
 * Operators' commands. fn is called once, perhaps before they return, with the answer or an error;
 * what: see topology/what/what.h. Each is answered when it is programmed and saved, or refused.
 *
 * Takes `what` out of transit, or back (on = false); what only it leads to stays reachable.
 */
void maintenance_cordon(struct fabric *fabric, const char *what, bool on, waiter_fn *fn, void *arg);
/*
 * When the switch (port 0) or its link was cordoned, as in events, by its own cordon or that of the
 * whole switch; valid until control returns to the loop. NULL = it is not, or an earlier version
 * did it.
 */
const char *maintenance_cordoned_since(const struct fabric *fabric, guid_t node, unsigned port);
/* Ends and forgets the quarantines of `what`. */
void maintenance_release(struct fabric *fabric, const char *what, waiter_fn *fn, void *arg);
/* Removes links of `what` (NULL = all) that are down from the design; see module.h. */
void maintenance_forget(struct fabric *fabric, const char *what, waiter_fn *fn, void *arg);

#endif
