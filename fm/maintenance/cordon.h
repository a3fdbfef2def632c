/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cordon: switches and links that operators take out of transit before maintenance; saved in
 * state_dir/cordons.
 *
 * Routing uses a cordoned link between switches only for destinations that nothing else reaches
 * (routing/ftree/route.h), so no pair of hosts is cut off by a cordon. Links to hosts carry no
 * transit and are never cordoned.
 */
#ifndef FMD_MAINTENANCE_CORDON_H
#define FMD_MAINTENANCE_CORDON_H

#include "fm/events/event_log.h"
#include "fm/fabric/module.h"
#include "fm/maintenance/target.h"

struct cordon {
	guid_t node;		/* a switch */
	uint8_t port;		/* 0 = all of its links to switches */
	char since[EVENT_TIME]; /* as in events; "" = not known, of an earlier fmd's file */
};

struct cordon_list { /* all zero = empty; its memory is freed by free(list) */
	struct cordon *list;
	unsigned count;
};

struct cordons {
	struct fabric *fabric;
	const struct fabric_services *services;
	struct cordon_list in_force;
};

/* Reads the state file; a lost one is an alert and leaves the list empty. Fini frees the list. */
void cordons_load(struct cordons *cordons);
void cordons_fini(struct cordons *cordons);

/* Marks the cordoned ports in the inventory; cordons_change() takes marks away. */
void cordons_mark(const struct cordons *cordons);

/*
 * Adds to `change` (the caller frees its list) the cordons of the target to add (on) or to remove;
 * none if nothing has to be done. False: it can't be done; the reason is in err, TARGET_ERROR_SIZE
 * bytes. The cordon of a link may be at either end. topo: the published snapshot.
 */
bool cordons_plan(const struct cordons *cordons, const struct topo *topo,
		  const struct target *target, bool on, struct cordon_list *change, char *err);
/* Adds or removes cordons; marks the state file as changed and requests a reroute. */
void cordons_change(struct cordons *cordons, const struct cordon_list *change, bool on);

/*
 * When that cordon (port 0: of the whole switch) was set, as in events; owned by the list, valid
 * until it changes. NULL = there is none, or it is not known.
 */
const char *cordons_since(const struct cordons *cordons, guid_t node, unsigned port);

/*
 * For a switch that is not in the snapshot: if `what` is the GUID in hexadecimal of a switch with a
 * cordon, sets guid and name of *target and returns true; else false.
 */
bool cordons_find_absent(const struct cordons *cordons, const char *what, struct target *target);

#endif
