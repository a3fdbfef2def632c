/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: links that carry no transit by a manual override (cordons) or as they are unreliable
 * (quarantines), and links that are removed for good, as a room (fm/fabric/module.h).
 */
#ifndef FMD_MAINTENANCE_MODULE_H
#define FMD_MAINTENANCE_MODULE_H

#include "fm/fabric/module.h"
#include "fm/fabric/operation.h"

struct host_verdict;

extern const struct fabric_module maintenance_module;

/*
 * Adds what this room knows of a host, by index of the published snapshot, where that is not
 * healthy. Cheap but for a formatted reason.
 */
void maintenance_judge_host(const struct fabric *fabric, uint32_t host,
			    struct host_verdict *verdict);

/*
 * Quarantines an unhealthy link, named by either port: it carries no transit for the configured
 * time, doubled for each repetition. An event has the reason, and an update follows.
 */
void maintenance_quarantine(struct fabric *fabric, guid_t node, uint8_t port, const char *why);
/*
 * Holds a link between switches, named by either port, whose error rate has long been too high;
 * called again with each reading. The link carries no transit until it is clean, unless it is
 * needed or excluded, or too many links are held. A change of that decision is an event, and an
 * update follows.
 */
void maintenance_hold(struct fabric *fabric, guid_t node, uint8_t port, const char *why);
/* Whether a link, by either end, is held or refused until it is clean; then, with each reading: */
bool maintenance_waits_for_clean(const struct fabric *fabric, guid_t node, uint8_t port);
/* For how long its error rates have been below their limits; 0 = they are not. */
void maintenance_clean(struct fabric *fabric, guid_t node, uint8_t port, uint64_t clean_us);
/* Appends a row for each link in quarantine (`fmctl links --sick`); something is published. */
void maintenance_unhealthy(const struct fabric *fabric, json_t *rows);

/*
 * Operators' commands. fn is called once, perhaps before they return, with the answer or an error;
 * what: see topology/what/what.h. Each is answered when it is programmed and saved, or refused.
 *
 * Takes `what` out of transit, or back (on = false); what only it leads to stays reachable.
 */
void maintenance_cordon(struct fabric *fabric, const char *what, bool on, waiter_fn *fn, void *arg);
/*
 * Lines of the file `cordons` of a manager that was master too: they are in force beside those that
 * are, and an event says so.
 */
void maintenance_cordon_too(struct fabric *fabric, const char *lines, size_t length);
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

struct admission;
/* Of that fabric; never NULL. */
struct admission *maintenance_admission(const struct fabric *fabric);
/* A new list, the caller's, never NULL: a row for each link that admission holds. */
json_t *admission_rows(const struct admission *a);
/*
 * Admits held links: "all", or those with an end at that switch, port, or GUID of a device behind.
 * dry: nothing is done, and the answer is what would be.
 */
void admission_admit(struct admission *a, const char *what, bool dry, waiter_fn *fn, void *arg);
/* Takes back that a manager was admitted, by the GUID of its port. */
void admission_revoke(struct admission *a, const char *what, waiter_fn *fn, void *arg);
/*
 * Takes a plan of links in place of the one before, the text of a file (cabling.h), "" = there is
 * none any more; refused with `name:line: reason`, and the one before stays.
 */
void admission_plan(struct admission *a, const char *name, const char *text, bool dry,
		    waiter_fn *fn, void *arg);

#endif
