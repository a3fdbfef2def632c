/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the monitor's files share: nvswitch.c (life, decisions, events), nvswitch_poll.c (exporters), nvswitch_report.c (JSON). */
#ifndef FMD_NVSWITCH_OWN_H
#define FMD_NVSWITCH_OWN_H

#include "fm/nvswitch/fetch.h"
#include "fm/nvswitch/hook.h"
#include "fm/nvswitch/log_server.h"
#include "fm/nvswitch/nvswitch.h"
#include "fm/nvswitch/targets.h"

struct scrape; /* one answer under way */

struct poll { /* of one target, in the order of targets */
	struct nvswitch *nv;
	unsigned host, source;
	struct scrape *scrape;
	uint64_t link_downs;  /* of the latest answer, UINT64_MAX = none */
	char address[48];     /* where the latest good answer came from, "" = ask for it */
	unsigned address_age; /* answers since it was asked for */
};

struct change { /* of a host's state, in the step that runs */
	unsigned host;
	enum nvswitch_state before;
};

struct nvswitch {
	struct loop *loop;
	const struct nvswitch_ops *ops;
	void *arg;
	struct health health;

	/* As configured; texts are ours. */
	struct nvswitch_conf conf;
	struct targets targets;
	char **present;
	unsigned npresent;

	struct fetch *fetch; /* NULL = nobody is asked */
	struct poll *polls;  /* [targets.count] */
	unsigned cursor, in_flight;
	uint64_t due_us; /* of the poll at the cursor */
	struct loop_timer *poll_timer;

	struct log_server *logs; /* NULL = nobody is listened to */
	char own_name[256];
	uint64_t strangers; /* lines of hosts that nobody knows */
	struct log_limit stranger_limit, source_limit;

	struct hook *hook;
	struct loop_timer *step_timer;
	bool soon; /* a step is near */
	struct change *changes;
	unsigned nchanges;
};

/* nvswitch.c */
void nvswitch_step_soon(struct nvswitch *nv);

/* nvswitch_report.c */
const char *nvswitch_host_system(const struct health_host *host);

/* nvswitch_poll.c */
void nvswitch_polls_start(struct nvswitch *nv); /* targets and fetch are set */
void nvswitch_polls_stop(struct nvswitch *nv);

#endif
