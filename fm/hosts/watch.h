/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * watch: when a changed verdict on a host is reported. A verdict that differs from the one last
 * reported is reported once it has been worse (or better) than that for as long as configured; if
 * it returns before, nothing is reported. No I/O; time is the caller's.
 */
#ifndef FMD_HOSTS_WATCH_H
#define FMD_HOSTS_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include "fm/fabric/host_verdict.h"
#include "topology/base/names.h"

struct watch_conf {
	uint64_t worsen_us, recover_us;
	uint64_t unknown_us;	/* at least so long where it has become UNKNOWN */
	unsigned guard_percent; /* of all hosts; 100 = no guard */
};

struct watched {
	char *name;
	enum host_state reported; /* HOST_STATES = none yet */
	enum host_state now;
	int8_t side; /* of `now`: 1 = worse than reported, -1 = better, 0 = the same */
	uint64_t since_us;
	bool due; /* set by watch_end(): to be reported by watch_report() */
};

struct watch {
	struct watched *list;
	unsigned count;
	struct names names;   /* of the list */
	struct watched *next; /* of the pass under way, in the caller's order */
	unsigned nnext, room;
	unsigned cut_off; /* hosts newly cut off in the latest pass, not reported as that yet */
	bool guarded;	  /* so many are cut off at once that none of them is due */
};

/* Without hosts, as all zero; watch_fini() frees all. */
void watch_fini(struct watch *watch);
/* Called before the first pass: sets what was reported before the restart. */
void watch_recall(struct watch *watch, const char *host, enum host_state reported);

/*
 * A pass over all hosts: begin, take each host once, end. Hosts that are not in it are dropped. A
 * pass that was begun and not ended has no effect.
 */
void watch_begin(struct watch *watch);
void watch_take(struct watch *watch, const char *host, enum host_state now, uint64_t now_us);
/*
 * Marks the hosts in watch.list, in the order of the pass, that are due. Returns after how many us
 * another may be due; UINT64_MAX = not before something changes.
 */
uint64_t watch_end(struct watch *watch, const struct watch_conf *conf, uint64_t now_us);
/* Notes that a host is reported; returns what was reported before, HOST_STATES = nothing. */
enum host_state watch_report(struct watched *host);

#endif
