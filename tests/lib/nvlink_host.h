/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * nvlink_host: one host beside healthy others, with responses as dcgm-exporter writes them, lines
 * of its kernel log, and simulated time. Defaults of fmd.conf: a request every 15 s, hold-downs of
 * 30 s and 300 s.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/state_monitor.h"

#define HOST_S	      1000000ull
#define HOST_INTERVAL 15
#define HOST_GPUS     16

struct machine { /* what its exporter reports */
	const char *model;
	unsigned gpus, switches, links; /* links: of a switch */
	bool asks_p2p, asks_fm, asks_links, asks_action, asks_mig, asks_reset, asks_temp;
	bool gone[HOST_GPUS]; /* the GPU has no series but the Xid gauge */
	bool switch_gone[16];
	uint32_t lost[HOST_GPUS]; /* by GPU: peers that it does not reach, by bit */
	bool mig[HOST_GPUS], instances[HOST_GPUS];
	unsigned replaced[HOST_GPUS];				   /* how often */
	unsigned long long energy;				   /* 0: no series */
	unsigned fm[HOST_GPUS], action[HOST_GPUS], xid[HOST_GPUS]; /* xid 0: no series */
	char extra[4096];					   /* more lines */
};

struct machine machine_of(const char *model, unsigned switches, unsigned links);
struct machine h100(void);
struct machine a100(void);

struct answer {
	char text[1 << 18];
	size_t used;
};

struct host {
	struct health h;
	struct machine machine;
	uint64_t now;
	unsigned changes;
	enum fm_progress progress;
	enum nvswitch_trust trust; /* of its exporter */
	bool silent;		   /* the exporter does not answer */
	char error[80];		   /* why the latest response was of no use */
	struct answer answer;
};

struct host *host_new(struct machine machine);
void host_free(struct host *it);
struct memory *host_memory(struct host *it);

/* One scrape of a source: its response is parsed, remembered, judged and passed to health. */
void host_ask_source(struct host *it, const struct machine *machine, uint8_t source);
void host_pass(struct host *it, unsigned seconds);
void host_log(struct host *it, const char *line);
enum nvswitch_state host_state(const struct host *it);

#define assert_host(it, wanted)                                                                    \
	do {                                                                                       \
		if (host_state(it) != (wanted))                                                    \
			fail_msg("%s, not %s: %s", nvswitch_states[host_state(it)],                \
				 nvswitch_states[wanted], health_reason(&(it)->h.hosts[0]));       \
	} while (0)

/* A HEALTHY host. One minute is longer than the hold-down to worse, ten than that to better. */
struct host *host_well(struct machine machine);
