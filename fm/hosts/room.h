/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* room: the state of the room, for its own files. */
#ifndef FMD_HOSTS_ROOM_H
#define FMD_HOSTS_ROOM_H

#include "fm/os/hook.h"
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
	bool passing, reporting;  /* a pass is under way; its results are being reported */
	bool again;		  /* another pass is to follow */
	uint32_t next;		  /* the next host of the pass or report */
	uint64_t next_us;	  /* from the end of the pass till something is due */
	bool logged[HOST_STATES]; /* in one event for all hosts */
	unsigned counting[HOST_STATES], counts[HOST_STATES]; /* of this pass; of the latest one */
};

#endif
