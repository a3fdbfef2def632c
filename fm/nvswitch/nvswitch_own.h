/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * nvswitch_own: private to nvswitch.c (decisions, events, the hook, documents); sources see its
 * `home` alone.
 */
#ifndef FMD_NVSWITCH_OWN_H
#define FMD_NVSWITCH_OWN_H

#include "fm/os/hook.h"
#include "fm/nvswitch/log_intake.h"
#include "fm/nvswitch/nvswitch.h"
#include "fm/nvswitch/sources.h"

struct change { /* of a host's state, in the step that runs */
	unsigned host;
	enum nvswitch_state before;
};

struct nvswitch {
	struct source_home home; /* the first member: a source_home * is a struct nvswitch * */
	struct health health;
	struct nvswitch_conf conf; /* in force */
	struct sources *sources;
	struct log_intake *intake;

	struct hook *hook;
	struct loop_timer *step_timer;
	bool soon; /* a step is about to run */
	struct change *changes;
	unsigned nchanges;
	bool states_changed; /* in that step: some host's state, or whether it is watched */
};

#endif
