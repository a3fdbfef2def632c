/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * evidence: what one scrape of dcgm-exporter reports on a host, in all generations of names and
 * labels. Filled by exposition's callbacks; of equal series the worst counts. Blank values are no
 * values. Judged when the body is complete, together with the host's memory (memory.h).
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
	char pci[16], uuid[48];	    /* "" = not reported */
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
	unsigned states;  /* samples of the state of an NVLink, a GPU's fabric or an NVSwitch */
	bool repeated;	  /* series came twice: which switch each is about is not certain */
	struct evidence_gpu gpus[EVIDENCE_GPUS];
	struct evidence_switch switches[EVIDENCE_SWITCHES];
	unsigned ncounts;
	struct xid_count counts[MEMORY_COUNTS];
	char host[64];	  /* the exporter's name for it, "" = none */
	char cluster[48]; /* UUID of the NVLink domain, "" = not reported */
	uint32_t clique;
	bool has_clique;
};

extern const struct exposition_ops evidence_ops; /* arg: the evidence */
/* Empties it for a new scrape; there is nothing to free. */
void evidence_init(struct evidence *evidence, enum nvswitch_system configured);

/* What a fabric manager that is "in progress" means (nvswitch_fm_in_progress). */
enum fm_progress {
	FM_PROGRESS_NORMAL,   /* GPUs wait for a partition on purpose: shared NVSwitches */
	FM_PROGRESS_DEGRADED, /* DCGM's own warning */
	FM_PROGRESS_FAILED,   /* as if it had not started */
};
struct evidence_context {
	uint64_t now_us;
	uint64_t settle_us; /* a state reported so soon after an event may be older than it */
	uint8_t source;	    /* number among the host's sources */
	enum nvswitch_trust trust;
	enum fm_progress progress;
};

/*
 * Updates the host's memory: latest states, what was seen, events; drops events that are disproved.
 */
void evidence_remember(const struct evidence *evidence, struct memory *m,
		       const struct evidence_context *c);
/* Then sets *verdict by the states; UNKNOWN if none was reported. */
void evidence_judge(const struct evidence *evidence, const struct memory *m,
		    const struct evidence_context *c, struct nvswitch_verdict *verdict);

/* A mask of GPUs that are intentionally not in NVLink: in MIG, or without a partition yet. */
uint32_t evidence_exempt(const struct memory *m, enum fm_progress progress);
/* How many GPUs, from number 0, the host should have. */
unsigned evidence_gpus_expected(const struct evidence *evidence, const struct memory *m);
/* Whether that status of a fabric manager is a failure. */
bool evidence_fm_failed(uint8_t status, enum fm_progress progress);

#endif
