/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * evidence: what one scrape of dcgm-exporter says of a host, in all generations of names and
 * labels. Fed by exposition's callbacks; of equal series the worst counts. Blank values are no
 * values. Judged when the whole body is there, together with what is remembered of the host
 * (memory.h).
 */
#ifndef FMD_NVSWITCH_EVIDENCE_H
#define FMD_NVSWITCH_EVIDENCE_H

#include "fm/nvswitch/exposition.h"
#include "fm/nvswitch/memory.h"

#define EVIDENCE_GPUS	  MEMORY_GPUS
#define EVIDENCE_SWITCHES MEMORY_SWITCHES
#define EVIDENCE_LINKS	  MEMORY_LINKS

struct evidence_gpu {
	struct gpu_said said;
	bool has_failures;
	uint32_t xid;		    /* the gravest that the gauge shows */
	uint64_t failed_recoveries; /* counter */
	char pci[16], uuid[48];	    /* "" = not said */
};
struct evidence_switch {
	struct switch_said said;
	uint32_t fatal, nonfatal; /* SXid, 0 = none */
	uint32_t link_fatal;	  /* SXid of its worst link */
	int16_t link_fatal_link;
};
struct evidence {
	enum nvswitch_system configured, learnt;
	uint8_t links;	  /* of one GPU by its model, 0 = not known */
	unsigned samples; /* of any wanted metric */
	unsigned states;  /* .. that report the state of an NVLink, a GPU's fabric or an NVSwitch */
	bool repeated;	  /* series came twice: which switch one is about is not sure */
	struct evidence_gpu gpus[EVIDENCE_GPUS];
	struct evidence_switch switches[EVIDENCE_SWITCHES];
	unsigned ncounts;
	struct xid_count counts[MEMORY_COUNTS];
	char host[64];	  /* as the exporter calls it, "" = it does not */
	char cluster[48]; /* UUID of the NVLink domain, "" = not reported */
	uint32_t clique;
	bool has_clique;
};

extern const struct exposition_ops evidence_ops; /* arg: the evidence */
void evidence_init(struct evidence *evidence, enum nvswitch_system configured);

/* What a fabric manager that is "in progress" means (nvswitch_fm_in_progress). */
enum fm_progress {
	FM_PROGRESS_NORMAL,   /* GPUs wait for a partition on purpose: shared NVSwitches */
	FM_PROGRESS_DEGRADED, /* DCGM's own warning */
	FM_PROGRESS_FAILED,   /* as if it had not started */
};
struct evidence_context {
	uint64_t now_us;
	uint64_t settle_us; /* what is reported so soon after an event may be older */
	uint8_t source;	    /* which of the host's */
	enum nvswitch_trust trust;
	enum fm_progress progress;
};

/*
 * Puts what was said into the host's memory: last states, what was seen, events; and ends events
 * that are disproved.
 */
void evidence_remember(const struct evidence *evidence, struct memory *m,
		       const struct evidence_context *c);
/* After that: what the states come to. UNKNOWN where none was reported. */
void evidence_judge(const struct evidence *evidence, const struct memory *m,
		    const struct evidence_context *c, struct nvswitch_verdict *verdict);

/* GPUs that take no part in NVLink on purpose, by bit: in MIG, or without a partition yet. */
uint32_t evidence_exempt(const struct memory *m, enum fm_progress progress);
/* How many GPUs, from number 0, the host should have. */
unsigned evidence_gpus_expected(const struct evidence *evidence, const struct memory *m);
bool evidence_fm_failed(uint8_t status, enum fm_progress progress);

#endif
