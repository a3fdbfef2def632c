/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What nvswitch.c (decisions, events, the hook) and nvswitch_report.c (documents) share; sources
 * see its `home` alone.
 */
#ifndef FMD_NVSWITCH_OWN_H
#define FMD_NVSWITCH_OWN_H

#include "fm/core/hook.h"
#include "fm/nvswitch/log_intake.h"
#include "fm/nvswitch/nvswitch.h"
#include "fm/nvswitch/sources.h"

struct change { /* of a host's state, in the step that runs */
	unsigned host;
	enum nvswitch_state before;
};

struct nvswitch {
	struct source_home home; /* the first member: sources' calls lead back by it */
	struct health health;
	struct nvswitch_conf conf; /* in force */
	struct sources *sources;
	struct log_intake *intake;

	struct hook *hook;
	struct loop_timer *step_timer;
	bool soon; /* a step is near */
	struct change *changes;
	unsigned nchanges;
	bool states_changed; /* some host's, in that step; or who is watched has */
};

/* nvswitch_report.c */
const char *nvswitch_host_system(const struct health_host *host);
/* What is known of a host, a line a finding, cut to some KB; to be freed. */
char *nvswitch_evidence_text(const struct nvswitch *nv, const struct health_host *host);

#endif
