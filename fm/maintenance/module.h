/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: links that carry no transit by a manual override (cordons) or since they can't be trusted
 * (quarantines), and links that are gone for good, as a room (fm/fabric/module.h).
 */
#ifndef FMD_MAINTENANCE_MODULE_H
#define FMD_MAINTENANCE_MODULE_H

#include "fm/fabric/module.h"
#include "fm/fabric/waiters.h"

extern const struct fabric_module maintenance_module;

/*
 * Operators' commands. fn is called once, perhaps before they return, with the answer or an error;
 * what: see topology/what.h. Each is answered when it is programmed and saved, or refused.
 */
/* WHAT carries no transit, or does again (on = false); what only it leads to stays reachable. */
void maintenance_cordon(struct fabric *fabric, const char *what, bool on, waiter_fn *fn, void *arg);
/*
 * When the switch (port 0) or its link was cordoned, as in events, by its own cordon or that of the
 * whole switch; NULL = it is not, or an earlier fmd did it.
 */
const char *maintenance_cordoned_since(const struct fabric *fabric, guid_t node, unsigned port);
/* Quarantines of WHAT end now, and are forgotten. */
void maintenance_release(struct fabric *fabric, const char *what, waiter_fn *fn, void *arg);
/*
 * Links of WHAT (NULL = of all) that are down are no part of the fabric any more, nor is a node
 * without any.
 */
void maintenance_forget(struct fabric *fabric, const char *what, waiter_fn *fn, void *arg);

#endif
