/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module_still: a master that stood still, because its process or its machine was stopped, for so
 * long that a standby may have taken over.
 */
#ifndef FMD_SM_MODULE_STILL_H
#define FMD_SM_MODULE_STILL_H

#include "fm/loop/loop.h"

struct sm_room;

struct still {
	struct loop_timer *beat;
	uint64_t beat_us;     /* when it last ran.. */
	uint64_t patience_us; /* ..and for how long a standby waited then */
};

/*
 * Compares the clock with that of the latest beat. A master that stood still for longer than a
 * standby waits, and knows of one, is none any more: who is master is to be found out, as at a
 * start. Called by the beat, before anybody is told who is master here, and when the configuration
 * may be another: the next beat was due by the one before.
 */
void sm_still_check(struct sm_room *r);

#endif
