/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * evidence: what one scrape of an exporter says of a host: dcgm-exporter's metrics in both generations of names and labels, and NMX-T's.
 * Fed by exposition's callbacks; of equal series the worst counts. Judged when the whole body is there.
 */
#ifndef FMD_NVSWITCH_EVIDENCE_H
#define FMD_NVSWITCH_EVIDENCE_H

#include "fm/nvswitch/exposition.h"
#include "fm/nvswitch/state.h"

#define EVIDENCE_GPUS	  16
#define EVIDENCE_SWITCHES 16
#define EVIDENCE_LINKS	  128 /* of one NVSwitch */

enum { EVIDENCE_FM_FAILURE = 4 };		       /* DCGM's fabric manager status */
enum { EVIDENCE_UNHEALTHY = 2, EVIDENCE_LIMITED = 3 }; /* .. and fabric health summary */

struct evidence_gpu {
	bool seen, mig, p2p_seen, fm_seen, lost_pair;
	uint8_t fm_status, summary; /* the worst seen */
	uint32_t xid;
	uint64_t p2p; /* peers reached, by bit */
};
struct evidence_switch {
	bool seen, reset_required;
	uint32_t fatal, nonfatal;		  /* SXid, 0 = none */
	uint64_t links_seen[EVIDENCE_LINKS / 64]; /* with a status */
	uint64_t links_down[EVIDENCE_LINKS / 64];
	uint32_t link_fatal; /* SXid of its worst link */
	int16_t link_fatal_link;
};
struct evidence {
	enum nvswitch_system configured, learnt;
	unsigned samples; /* that say something about NVLinks */
	bool repeated;	  /* series came twice: which switch one is about is not sure */
	struct evidence_gpu gpus[EVIDENCE_GPUS];
	struct evidence_switch switches[EVIDENCE_SWITCHES];
	char host[64]; /* as the exporter calls it, "" = it does not */
	/* NMX-T */
	bool nmx;
	uint64_t link_downs; /* sum over ports, of a counter that only grows */
	double worst_ber;
	int16_t worst_port;
};

extern const struct exposition_ops evidence_ops; /* arg: the evidence */
void evidence_init(struct evidence *evidence, enum nvswitch_system configured);

/* UNKNOWN where nothing was said. earlier_downs: link_downs of the scrape before, UINT64_MAX = there was none. */
void evidence_judge(const struct evidence *evidence, uint64_t earlier_downs,
		    struct nvswitch_verdict *verdict);

#endif
