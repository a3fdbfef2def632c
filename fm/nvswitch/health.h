/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * health: from what sources say to states of hosts, and from states to what routing takes into
 * account. Decisions alone: no I/O, and the time is the caller's.
 *
 *   observed   the worst of what the host's sources say and of the events in its memory (memory.h),
 *              now. Worse than DEGRADED_LINK takes somebody trusted, or two who say so
 *   state      what is believed: observed, once it has lasted (hold-down), unless so many hosts
 *              turn bad that the sources are suspect (guard); UNKNOWN while no source speaks
 *   routed     what routing takes the host for: state, taken over in batches with a distance;
 *              UNKNOWN leaves it as it is
 * A source is an exporter or whoever sends health reports; these stay until an operator's `clear`
 * finds them silent. A manual override counts at once and as long as it stands.
 */
#ifndef FMD_NVSWITCH_HEALTH_H
#define FMD_NVSWITCH_HEALTH_H

#include <stddef.h>
#include "fm/nvswitch/health_host.h"
#include "fm/nvswitch/aliases.h"
#include "topology/names.h"

struct health_conf {
	uint64_t worsen_us, recover_us; /* how long it must last */
	uint64_t interval_us;		/* between two batches */
	uint64_t stale_us;		/* a source that was not heard so long says nothing */
	/*
	 * Whose word alone is enough for a state worse than DEGRADED_LINK; others need a second
	 * source.
	 */
	enum nvswitch_trust sure;
	unsigned guard_percent; /* of the hosts; 100 = no guard */
	/* What routing makes of a state: equal numbers, no difference. */
	uint8_t treatment[NVSWITCH_STATES];
};

struct health_ops {
	/* `state` of a host has changed. */
	void (*changed)(void *arg, const struct health_host *host, enum nvswitch_state before);
	/* The guard holds everything, or does no more; `bad` hosts look bad. */
	void (*guard)(void *arg, bool on, unsigned bad);
};

struct health {
	const struct health_ops *ops;
	void *arg;
	struct health_conf conf;
	struct health_host *hosts;
	unsigned nhosts;
	bool guarded, urgent;	/* urgent: an operator spoke */
	bool batched;		/* batch_us is set */
	uint64_t batch_us;	/* when routing last took states over */
	struct names names;	/* of hosts, in small letters; ids are hosts' numbers */
	struct names firsts;	/* .. their parts before a dot */
	struct aliases aliases; /* the caller puts them in */
	unsigned *first_host;	/* by id of firsts; UINT_MAX = several hosts have it */
};

void health_init(struct health *h, const struct health_ops *ops, void *arg);
void health_fini(struct health *h);
/*
 * health_names.c. A host by its name as it stands, by an alias, else by its first part if only one
 * has that; UINT_MAX = nobody.
 */
unsigned health_find(const struct health *h, const char *name);
unsigned health_add(struct health *h, const char *name); /* finds it, or makes it */

/*
 * What was believed of it before a restart, and what routing took it for; before its memory is
 * read, which knows better what exporters had to do with it.
 */
void health_remember(struct health *h, unsigned host, enum nvswitch_state believed,
		     enum nvswitch_state override);

/* All sources are listed anew: one from the same place keeps what it said. */
void health_sources_begin(struct health *h);
/* Its number. */
unsigned health_source_add(struct health *h, unsigned host, const char *where,
			   enum nvswitch_trust trust);
void health_sources_end(struct health *h);
/* What a source says; verdict NULL: it failed, for that reason. */
void health_hear(struct health *h, unsigned host, unsigned source,
		 const struct nvswitch_verdict *verdict, const char *error, uint64_t now_us);
/*
 * What a source says by `health-report`. False: too many sources do so of this host, and nothing
 * changes. health_report.c
 */
bool health_report(struct health *h, unsigned host, const struct memory_report *report,
		   uint64_t now_us);
/* The sources of the reports in the host's memory, which was read from a file: silent so far. */
void health_report_recall(struct health *h, unsigned host);
#define HEALTH_REPORT_PREFIX "health-report:" /* health_source.where, before the source's name */

struct sxid_event;
void health_hear_log(struct health *h, unsigned host, const struct sxid_event *event,
		     uint64_t now_us);
void health_override(struct health *h, unsigned host,
		     enum nvswitch_state state); /* UNKNOWN ends it */

/* What is remembered of a host; made when it is asked for first. */
struct memory *health_memory(struct health *h, unsigned host);

/* The worst thing known of a host, in words; "" = nothing. */
const char *health_reason(const struct health_host *host);
/* That finding itself, for the hook; NULL = none, or a manual override. */
const struct nvswitch_finding *health_worst(const struct health_host *host);

/*
 * Brings everything up to now. *reroute: routing shall take `routed` anew. Returns when to come
 * again at the latest, in us from now; UINT64_MAX = when something is heard.
 */
uint64_t health_step(struct health *h, uint64_t now_us, bool *reroute);

#endif
