/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * quarantine: links that are up but unreliable; saved in state_dir/quarantine.
 *
 * A quarantined link carries no transit for a time, as if it were cordoned. The time doubles with
 * each quarantine of the same link, until the link has stayed up for as long as the last one. Begin
 * and end of a quarantine are events.
 *
 * A link that is held (hold.h) is quarantined until its errors have ended, however long that takes.
 *
 * A leaf keeps `quarantine_min_uplinks` percent of its uplinks. A quarantine that would leave it
 * less, at once or later when other links go down, is waived, the newest first, and stays waived so
 * that it does not oscillate. A host's link carries no transit: it is only logged and shown.
 */
#ifndef FMD_MAINTENANCE_QUARANTINE_H
#define FMD_MAINTENANCE_QUARANTINE_H

#include "fm/fabric/module.h"
#include "fm/maintenance/target.h"

#define QUARANTINE_WHY 96

struct quarantine { /* of a link, by its end with the lower GUID */
	guid_t node;
	uint8_t port;
	bool over;	   /* it has ended; kept for the length of the next one */
	bool waived;	   /* a leaf needs the link */
	bool held;	   /* it lasts until its link was clean for `seconds` */
	unsigned seconds;  /* how long it lasts */
	uint64_t clean_us; /* maintenance_clean() */
	uint64_t until_us; /* its end, by the loop's clock; kept for as long again */
	char why[QUARANTINE_WHY];
};

struct quarantine_list {	 /* all zero = empty; its memory is freed by free(list) */
	struct quarantine *list; /* oldest first */
	unsigned count;
};

struct quarantines {
	struct fabric *fabric;
	const struct fabric_services *services;
	struct quarantine_list known;
	struct loop_timer *due; /* the next end, or the next that is forgotten */
};

/* An empty list; fabric and services are borrowed. Then load() reads the state file. Fini frees. */
void quarantines_init(struct quarantines *quarantines, struct fabric *fabric,
		      const struct fabric_services *services);
void quarantines_load(struct quarantines *quarantines);
void quarantines_fini(struct quarantines *quarantines);

/* Marks ports in the inventory, after cordons_mark(). Waives what leaves need, with an event. */
void quarantines_mark(struct quarantines *quarantines);

/* Replaces an end of a link by the end with the lower GUID. */
void quarantines_take_lower_end(const struct quarantines *quarantines, guid_t *node, uint8_t *port);
/*
 * Begins a quarantine, by either end: adds an event, marks the state file as changed and requests a
 * reroute. why: cut to QUARANTINE_WHY.
 */
void quarantines_add(struct quarantines *quarantines, guid_t node, uint8_t port, const char *why);

/* ---- For module.c --------------------------------------------------------------------------- */

/* The row of a link by its lower end, valid until the list changes; NULL = it is not listed. */
const struct quarantine *quarantines_find(const struct quarantines *quarantines, guid_t node,
					  uint8_t port);
/*
 * By the end with the lower GUID: holds a link, as quarantines_add(), twice as long each time; ends
 * a hold whose link is clean, with an event and a reroute; drops one that was waived.
 */
void quarantines_hold(struct quarantines *quarantines, guid_t node, uint8_t port, const char *why);
void quarantines_end_hold(struct quarantines *quarantines, guid_t node, uint8_t port);
void quarantines_drop_hold(struct quarantines *quarantines, guid_t node, uint8_t port);
/*
 * Whether a leaf would have too few uplinks without that link, or a switch no other to the next
 * tier; true also for a link that is unknown or not between switches.
 */
bool quarantines_need_link(const struct quarantines *quarantines, guid_t node, uint8_t port);

/*
 * Ends and forgets all quarantines of the target: moves them to `released` (the caller frees its
 * list) and requests a reroute if there were any. Returns how many were in force.
 */
unsigned quarantines_release(struct quarantines *quarantines, const struct target *target,
			     struct quarantine_list *released);
/* Takes back a release: lists those quarantines again. */
void quarantines_restore(struct quarantines *quarantines, const struct quarantine_list *released);

/*
 * The reason of the quarantine of a link (by either end) that is in force, or would be if the link
 * carried transit; valid until the list changes. NULL = none.
 */
const char *quarantines_why(const struct quarantines *quarantines, guid_t node, uint8_t port);

/* Appends to `rows` a row for each quarantine in force; topo: the published snapshot. */
void quarantines_rows(const struct quarantines *quarantines, const struct topo *topo, json_t *rows);

#endif
