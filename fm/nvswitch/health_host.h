/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * health_host: what health.h keeps of one host: who speaks of it, what its kernel log said, and its
 * states.
 */
#ifndef FMD_NVSWITCH_HEALTH_HOST_H
#define FMD_NVSWITCH_HEALTH_HOST_H

#include "fm/nvswitch/memory.h"

struct health_source { /* one place that reports of a host again and again */
	char *where;
	enum nvswitch_trust trust;
	bool heard, up;	 /* ever; the latest time */
	bool reported;	 /* by `health-report`; up until its TTL is over */
	uint64_t ttl_us; /* of a report; else health_conf.stale_us counts */
	uint64_t heard_us;
	struct nvswitch_verdict verdict;
	char error[80]; /* why it is not up */
};

struct health_log {	    /* what the host's kernel said; faults are in the memory */
	uint64_t window_us; /* the counting of non-fatal ones began */
	unsigned nonfatal, lines;
	char pci[16]; /* of the GPU that the next line is about, "" = of none */
};

struct health_host {
	char *name;
	struct health_source *sources;
	struct health_source *earlier; /* while the sources are listed anew */
	unsigned nsources, nearlier;
	struct health_log *log;		   /* NULL = nothing so far */
	struct memory *memory;		   /* likewise */
	enum nvswitch_state sources_state; /* what its sources last came to, never UNKNOWN */
	bool unconfirmed; /* somebody who is not trusted said what is worse than observed */
	enum nvswitch_state observed, believed, routed,
		state;		      /* the first three are never UNKNOWN */
	enum nvswitch_state override; /* UNKNOWN = none */
	uint64_t since_us;	      /* of `state` */
	uint64_t differs_us;	      /* since when observed is on one side of believed */
	int8_t side;		      /* 1 = worse, -1 = better, 0 = the same */
	bool vouched;	/* its log has a boot or reset, or it has one and was cleared */
	bool present;	/* in the fabric */
	bool announced; /* its state was reported once: the caller's */
};

#endif
