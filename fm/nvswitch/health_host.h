/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * health_host: what health.h keeps of one host: its sources, its kernel log, and its states.
 */
#ifndef FMD_NVSWITCH_HEALTH_HOST_H
#define FMD_NVSWITCH_HEALTH_HOST_H

#include "fm/nvswitch/memory.h"

struct health_source { /* one source that reports on a host repeatedly */
	char *where;
	enum nvswitch_trust trust;
	bool heard, up;	 /* heard: it has reported once; up: the latest request succeeded */
	bool reported;	 /* by `health-report`; up until its TTL is over */
	uint64_t ttl_us; /* of a report; else health_conf.stale_us counts */
	uint64_t heard_us;
	struct nvswitch_verdict verdict;
	char error[80]; /* why it is not up */
};

struct health_log {	    /* of the host's kernel; faults are in the memory */
	uint64_t window_us; /* when the counting of non-fatal errors began */
	unsigned nonfatal, lines;
	char pci[16]; /* of the GPU that the next line is about, "" = not known */
};

struct health_host {
	char *name;
	struct health_source *sources;
	struct health_source *earlier; /* while the sources are listed anew */
	unsigned nsources, nearlier;
	struct health_log *log;		   /* NULL = no line so far */
	struct memory *memory;		   /* NULL = nothing is remembered */
	enum nvswitch_state sources_state; /* the worst of its sources' reports, never UNKNOWN */
	bool unconfirmed; /* an untrusted source reports what is worse than observed */
	enum nvswitch_state observed, believed, routed,
		state;		      /* the first three are never UNKNOWN */
	enum nvswitch_state override; /* UNKNOWN = none */
	uint64_t since_us;	      /* of `state` */
	uint64_t differs_us;	      /* since when observed is on one side of believed */
	int8_t side;		      /* 1 = worse, -1 = better, 0 = the same */
	bool reported;		      /* a recent report, or its log, shows its state */
	bool vouched;	/* its log shows a boot or reset, or it has a log and was cleared */
	bool present;	/* in the fabric */
	bool announced; /* its state was reported once; set by nvswitch.c */
};

#endif
