/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* room: the state of the room, for its own files. */
#ifndef FMD_HOSTS_ROOM_H
#define FMD_HOSTS_ROOM_H

#include "fm/core/hook.h"
#include "fm/hosts/module.h"
#include "fm/hosts/watch.h"

struct hosts_room {
	struct fabric *fabric;
	struct fabric_services services;
	uint8_t *fates; /* enum cutoff_fate by node of the published snapshot; NULL = not known */

	struct watch watch;
	struct hook *hook;
	struct loop_timer *timer; /* of the next slice, pass or report */
	bool settled;		  /* once since the room began: links had the time to come up */
	bool passing, reporting;  /* a pass is under way, or what came of it is reported */
	bool again;		  /* another pass is to follow */
	uint32_t next;		  /* host of either */
	uint64_t next_us;	  /* from the end of the pass till something is due */
	bool logged[HOST_STATES]; /* as one event for all */
	unsigned counting[HOST_STATES], counts[HOST_STATES]; /* of the pass; of the latest */
};

/* passes.c */
void passes_init(struct hosts_room *room);
void passes_fini(struct hosts_room *room);
/* What host() gives may have changed for some host: looked at a little later, in slices. */
void passes_request(struct hosts_room *room);
/* The hosts of the pass under way are of the past. */
void passes_restart(struct hosts_room *room);
void passes_configure(struct hosts_room *room);
void passes_load(struct hosts_room *room); /* what was reported, from state_dir/hosts */

#endif
