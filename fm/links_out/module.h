/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: links that are out of routing, as a room (fm/fabric/module.h): by a manual override
 * (cordons), as they are unreliable (quarantines) or unusable (isolations), or as they are not
 * admitted to the fabric; and links that are removed for good.
 */
#pragma once

#include "fm/fabric/module.h"
#include "fm/fabric/operation.h"

struct host_verdict;

extern const struct fabric_module links_out_module;

/* Why a link is out of routing, or is listed for that: rules.h. */
enum out_cause {
	OUT_CORDON,
	OUT_QUARANTINE,
	OUT_HOLD,
	OUT_EXEMPT,
	OUT_NOT_ACTIVE,
	OUT_NO_SETS,
	OUT_WRONG_TABLES,
	OUT_FOREIGN_KEY,
	OUT_SUSPECT,
	OUT_REOPENED,
	OUT_MANAGER,
	OUT_ADMITTED,
	OUT_FOREIGN, /* from here on links are held */
	OUT_HOSTS,
	OUT_MISWIRED,
	OUT_STRICT,
	OUT_PLAN,
	OUT_UNSEEN,
	OUT_CAUSES
};

struct out_ask { /* a link, by either end; port 0: a switch */
	enum out_cause cause;
	guid_t node;
	uint8_t port;
	const char *why; /* OUT_QUARANTINE, OUT_HOLD: for people */
};
/*
 * Takes a link or switch out of routing: OUT_QUARANTINE, OUT_HOLD (with each reading again),
 * OUT_NOT_ACTIVE. Unless a limit keeps it in use it carries no transit until the
 * rule of the cause ends that. An event or alert has the reason, and an update follows.
 */
void links_out_ask(struct fabric *fabric, const struct out_ask *ask);
/*
 * Where a link, by either end, is held, or refused, until it is clean: for how long its error rates
 * have been below their limits, to be set with each reading; 0 = they are not. NULL = it is not.
 * Valid until control returns to the loop.
 */
uint64_t *links_out_clean_us(const struct fabric *fabric, guid_t node, uint8_t port);
/*
 * Adds what this room knows of a host, by index of the published snapshot, where that is not
 * healthy. Cheap but for a formatted reason.
 */
void links_out_judge_host(const struct fabric *fabric, uint32_t host, struct host_verdict *verdict);
/* Appends a row for each link in quarantine (`fmctl links --sick`); something is published. */
void links_out_rows(const struct fabric *fabric, json_t *rows);

/*
 * Operators' commands. fn is called once, perhaps before they return, with the answer or an error;
 * what: see topology/what/what.h. Each is answered when it is programmed and saved, or refused.
 *
 * Takes `what` out of transit, or back (on = false); what only it leads to stays reachable.
 */
void links_out_cordon(struct fabric *fabric, const char *what, bool on, waiter_fn *fn, void *arg);
/*
 * Lines of the file `cordons` of a manager that was master too: they are in force beside those that
 * are, and an event says so.
 */
void links_out_cordon_too(struct fabric *fabric, const char *lines, size_t length);
/*
 * When the switch (port 0) or its link was cordoned, as in events, by its own cordon or that of the
 * whole switch; valid until control returns to the loop. NULL = it is not, or an earlier version
 * did it.
 */
const char *links_out_cordoned_since(const struct fabric *fabric, guid_t node, unsigned port);
/* Ends and forgets the quarantines of `what`. */
void links_out_release(struct fabric *fabric, const char *what, waiter_fn *fn, void *arg);
/* Removes links of `what` (NULL = all) that are down from the design; see module.h. */
void links_out_forget(struct fabric *fabric, const char *what, waiter_fn *fn, void *arg);

struct admission;
/* Of that fabric; never NULL. */
struct admission *links_out_admission(const struct fabric *fabric);
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
