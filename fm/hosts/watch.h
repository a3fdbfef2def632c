/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * watch: when a changed verdict of a host is news. A verdict that differs from the last that was
 * reported is reported once it has stayed on that side of it, worse or better, for as long as
 * configured; one that comes back before was none. No I/O; time is the caller's.
 */
#ifndef FMD_HOSTS_WATCH_H
#define FMD_HOSTS_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include "fm/core/host_verdict.h"
#include "topology/names.h"

struct watch_conf {
	uint64_t worsen_us, recover_us;
	uint64_t unknown_us;	/* at least so long where it has become UNKNOWN */
	unsigned guard_percent; /* of all hosts; 100 = no guard */
};

struct watched {
	char *name;
	enum host_state reported; /* HOST_STATES = nothing yet */
	enum host_state now;
	int8_t side; /* of `now`: 1 = worse than reported, -1 = better, 0 = the same */
	uint64_t since_us;
	bool due; /* watch_end(): to be reported now, by watch_report() */
};

struct watch {
	struct watched *list;
	unsigned count;
	struct names names;   /* of the list */
	struct watched *next; /* of the pass under way, in the caller's order */
	unsigned nnext, room;
	unsigned cut_off; /* hosts that are, by the latest pass, and were not reported as that */
	bool guarded;	  /* so many are cut off at once that none of these is due */
};

void watch_init(struct watch *watch); /* all zero is fine, too */
void watch_fini(struct watch *watch);
/* Before the first pass: what was reported in an earlier life. */
void watch_recall(struct watch *watch, const char *host, enum host_state reported);

/*
 * A pass over all hosts: begin, each host once, end. Who is not in it is forgotten. A pass that was
 * begun and not ended leaves nothing.
 */
void watch_begin(struct watch *watch);
void watch_take(struct watch *watch, const char *host, enum host_state now, uint64_t now_us);
/*
 * Marks those in watch.list that are due, in the order of the pass. Returns after how many us
 * another may be; UINT64_MAX = not before something changes.
 */
uint64_t watch_end(struct watch *watch, const struct watch_conf *conf, uint64_t now_us);
/* It is reported: returns what was before; HOST_STATES = it was never. */
enum host_state watch_report(struct watched *host);

#endif
