/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * nvlink_world: the monitor of hosts' NVLinks in simulated time, with exporters that answer what a
 * test says, lines of kernel logs, and a hook that is only noted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "fm/nvswitch/intake_sources.h"
#include "fm/nvswitch/state_monitor.h"

#define NVLINK_HOSTS 64
#define NVLINK_CALLS 256
#define NVLINK_S     1000000ull

struct nvlink_call { /* of the hook */
	char host[32], state[16], old_state[16], action[24], gpu[8], jobs[8];
	uint64_t at_us;
};

struct nvlink_world {
	struct loop *loop;
	struct loop_timer *stop;
	struct event_log *events;
	struct alerts *alerts;
	struct nvswitch *nv;
	struct conf_nvswitch conf;
	struct source_home *home;
	unsigned nhosts;
	char names[NVLINK_HOSTS][16];	 /* box-00 .. */
	const char *texts[NVLINK_HOSTS]; /* what its exporter answers; NULL = it does not */
	struct nvlink_call calls[NVLINK_CALLS];
	unsigned ncalls;
	bool hook_fails;
};

/*
 * A monitor of `nhosts` hosts with the defaults of fmd.conf; `exporters`: each has one, whose
 * address proves nothing. One world at a time.
 */
void nvlink_world_init(struct nvlink_world *w, unsigned nhosts, bool exporters);
void nvlink_world_fini(struct nvlink_world *w);
void nvlink_world_pass(struct nvlink_world *w, uint64_t us);
/* fmd ends and begins again; what it keeps in files is kept. */
void nvlink_world_restart(struct nvlink_world *w);
/* A line of a host's kernel, as the collector writes it; false = it is not about NVLinks. */
bool nvlink_world_log(struct nvlink_world *w, unsigned host, const char *line);
/* A new reference to the host's row of the document. */
json_t *nvlink_world_row(const struct nvlink_world *w, unsigned host);
/* The latest call of the hook for the host; NULL = there was none. */
const struct nvlink_call *nvlink_world_call(const struct nvlink_world *w, unsigned host);
