/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cordon: switches and links that operators keep traffic off, before maintenance; in
 * state_dir/cordons.
 *
 * Routing leads nothing through a cordoned link to another switch but what only that reaches
 * (routing/ftree/route.h), so no pair of hosts is cut off by a cordon. Links to hosts carry no
 * transit and are never cordoned.
 */
#ifndef FMD_MAINTENANCE_CORDON_H
#define FMD_MAINTENANCE_CORDON_H

#include "fm/core/event_time.h"
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

void cordons_load(struct cordons *cordons);
void cordons_fini(struct cordons *cordons);

/* Sets the marks of ports in the inventory; those of cordons that were removed went at once. */
void cordons_mark(const struct cordons *cordons);

/*
 * What `on` (cordon) or not (uncordon) changes about the target; nothing, if that is so already.
 * False: it can't be done; the reason is in err. A cordon of one link may stand at either of its
 * ends, or be that of a whole switch. topo: the published snapshot.
 */
bool cordons_plan(const struct cordons *cordons, const struct topo *topo,
		  const struct target *target, bool on, struct cordon_list *change, char *err);
/* Adds these, or takes them off: noted, to be saved, and a reroute is requested. */
void cordons_change(struct cordons *cordons, const struct cordon_list *change, bool on);

/* Since when that very cordon (port 0: the whole switch) is in force; NULL = not, or not known. */
const char *cordons_since(const struct cordons *cordons, guid_t node, unsigned port);

/* A switch that is not in the snapshot and has a cordon, by its GUID in hexadecimal. */
bool cordons_find_absent(const struct cordons *cordons, const char *what, struct target *target);

#endif
