/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * quarantine: links that are up and can't be trusted; in state_dir/quarantine.
 *
 * A quarantined link carries no transit for a time, as if it were cordoned. The time doubles with
 * each quarantine of the same link, until it has held for as long as the last one lasted. The end
 * of a quarantine is an event, as its beginning.
 *
 * A link that is held (hold.h) is quarantined until its errors have ended, however long that takes.
 *
 * A leaf keeps `quarantine_min_uplinks` percent of its uplinks. The quarantine that takes it below,
 * at first or later when other links die, is waived, the newest first, and stays so, lest it go to
 * and fro. A host's link carries no transit: it is logged, shown and otherwise left alone.
 */
#ifndef FMD_MAINTENANCE_QUARANTINE_H
#define FMD_MAINTENANCE_QUARANTINE_H

#include "fm/fabric/module.h"
#include "fm/maintenance/target.h"

#define QUARANTINE_WHY 96

struct quarantine { /* of a link, by its end with the lower GUID */
	guid_t node;
	uint8_t port;
	bool over;	   /* remembered only, for the length of the next one */
	bool waived;	   /* a leaf needs it */
	bool held;	   /* it lasts until its link was clean for that many seconds */
	unsigned seconds;  /* it lasts.. */
	uint64_t until_us; /* ..to then, by the loop's clock; remembered for as long again */
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

void quarantines_init(struct quarantines *quarantines, struct fabric *fabric,
		      const struct fabric_services *services);
void quarantines_load(struct quarantines *quarantines);
void quarantines_fini(struct quarantines *quarantines);

/* Marks ports in the inventory, behind cordons_mark(). Waives what leaves need: an event. */
void quarantines_mark(struct quarantines *quarantines);

/* A link's end, by either, becomes the one with the lower GUID. */
void quarantines_take_lower_end(const struct quarantines *quarantines, guid_t *node, uint8_t *port);
/*
 * Begins one, by either end: an event; noted, to be saved, and a reroute is requested. why: cut to
 * QUARANTINE_WHY.
 */
void quarantines_add(struct quarantines *quarantines, guid_t node, uint8_t port, const char *why);

/* ---- For hold.c ------------------------------------------------------------------------------ */

/* By the end with the lower GUID; NULL = not listed. Until the list changes. */
const struct quarantine *quarantines_find(const struct quarantines *quarantines, guid_t node,
					  uint8_t port);
/* Holds a link, by the end with the lower GUID; as quarantines_add(). Twice as long each time. */
void quarantines_hold(struct quarantines *quarantines, guid_t node, uint8_t port, const char *why);
/* Its link was clean for as long as it takes: an event, noted, and a reroute is requested. */
void quarantines_end_hold(struct quarantines *quarantines, guid_t node, uint8_t port);
/* It was waived: it is none any more, and may be asked for anew. Noted. */
void quarantines_drop_hold(struct quarantines *quarantines, guid_t node, uint8_t port);
/*
 * Whether a leaf would have too few uplinks without that link, or a switch no other to the next
 * tier; also where it is none between switches, or not known.
 */
bool quarantines_need_link(const struct quarantines *quarantines, guid_t node, uint8_t port);

/*
 * Ends and forgets all of the target's: moved to `released`, noted, to be saved, and a reroute is
 * requested, if there is one. Returns how many were in force.
 */
unsigned quarantines_release(struct quarantines *quarantines, const struct target *target,
			     struct quarantine_list *released);
/* What was released is so again. */
void quarantines_restore(struct quarantines *quarantines, const struct quarantine_list *released);

/*
 * Why the link at that port can't be trusted, where a quarantine of it is in force or would be if
 * it carried transit; NULL = none. By either end.
 */
const char *quarantines_why(const struct quarantines *quarantines, guid_t node, uint8_t port);

/* Appends a row for each that is in force; topo: the published snapshot. */
void quarantines_rows(const struct quarantines *quarantines, const struct topo *topo, json_t *rows);

#endif
