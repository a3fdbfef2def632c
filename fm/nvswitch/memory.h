/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * memory: what is known of one host's NVLinks beyond the latest answer of an exporter.
 *
 *   said     what each GPU and NVSwitch was last reported to be (P2P bitmap, fabric manager's
 *            status, health mask and summary, recovery action, links). A state that is not reported
 *            any more stays what it was: silence mends nothing.
 *   events   what happened once: an Xid or SXid, in a log or by a gauge that changed, a counter
 *            that rose. An event stands until a reset or boot of its subject was seen, until its
 *            subject proves that it works (evidence_remember.c), or until an operator clears it.
 *            Time ends none, and a gauge that shows another number neither.
 *   reports  what programs beside fmd said by `health-report`: the latest of each source.
 *   seen     the GPUs, NVSwitches and links that this host ever showed, so that what is gone is
 *            missed. GPUs' PCI addresses and UUIDs tell which of them a kernel log speaks of.
 *
 * Everything but the times is kept in state_dir (memory_write(), memory_read()).
 */
#ifndef FMD_NVSWITCH_MEMORY_H
#define FMD_NVSWITCH_MEMORY_H

#include <stdio.h>
#include "fm/nvswitch/said.h"

#define MEMORY_EVENTS  12
#define MEMORY_COUNTS  16
#define MEMORY_REPORTS 4

struct memory_gpu {
	bool seen;
	struct gpu_said last;
	char pci[16];	      /* "0000:1b:00" */
	char uuid[48];	      /* "GPU-.." */
	uint32_t xid;	      /* the gauge, 0 = none */
	uint8_t gauge_source; /* which of the host's exporters showed it */
	uint64_t failed_recoveries;
	bool dipped; /* it was not whole since its events began */
};
struct memory_switch {
	bool seen;
	struct switch_said last;
	uint32_t sxid, link_sxid; /* the gauges */
	uint8_t gauge_source;	  /* which of the host's exporters showed them */
};

enum { MEMORY_FROM_LOG = 1 << 7 }; /* else 1 << source */
struct memory_event {
	struct nvswitch_finding finding; /* since_us: when it was first heard */
	uint64_t last_us;		 /* .. and last */
	uint8_t from;			 /* bits: who said so */
	uint32_t times;
};
struct memory_report {
	char source[33]; /* a word */
	uint8_t state;	 /* enum nvswitch_state; UNKNOWN = the source can't tell */
	uint32_t ttl_s;	 /* it counts as silent when it says nothing for so long */
	char text[92];	 /* why */
};
struct memory {
	enum nvswitch_system system; /* as the exporter last showed it */
	uint8_t sources_state;	     /* enum nvswitch_state: what sources last came to */
	uint8_t links;		     /* of one GPU by its model, 0 = not known */
	bool heard;		     /* an exporter said something */
	bool changed;		     /* something that is kept: the caller clears it */
	struct memory_gpu gpus[MEMORY_GPUS];
	struct memory_switch switches[MEMORY_SWITCHES];
	unsigned nevents;
	struct memory_event events[MEMORY_EVENTS]; /* the worst first */
	unsigned nreports;
	struct memory_report reports[MEMORY_REPORTS];
	char cluster[48]; /* UUID of its NVLink domain, "" = not reported */
	uint32_t clique;
	bool has_clique;
	unsigned ncounts;
	struct xid_count counts[MEMORY_COUNTS]; /* as last reported */
};

/*
 * Something happened. What was heard before is heard again: its time is new, and the worse of both
 * counts.
 */
void memory_note(struct memory *m, const struct nvswitch_finding *finding, uint8_t from,
		 uint64_t now_us);
/* By what a kernel log calls it; -1 = not known. */
int memory_gpu_by_pci(const struct memory *m, const char *pci);
/*
 * A GPU was reset (gpu -1: by its PCI address; pci NULL: all of them): its events and states are
 * over. Whoever said so ends nothing that somebody more trusted said.
 */
void memory_reset(struct memory *m, int gpu, const char *pci, enum nvswitch_trust trust);
/*
 * By its UUID. Where no GPU's UUID is known it is the one that all events are about, if it is one.
 */
void memory_reset_uuid(struct memory *m, const char *uuid, enum nvswitch_trust trust);
/* The host or its NVLink driver began anew: all is over but what was ever seen. */
void memory_boot(struct memory *m, enum nvswitch_trust trust);
/* An operator clears the host: as after a boot, and what is missing is not missed any more. */
void memory_clear(struct memory *m);

/* Keeps the latest report of its source; false = there are too many sources. */
bool memory_report(struct memory *m, const struct memory_report *report);
void memory_forget_report(struct memory *m, const char *source);

/* What would end it, in words. */
const char *memory_end_of(const struct nvswitch_finding *finding);

/* The lines `KIND HOST ..` of one host, and one of these back: false = that is none. */
void memory_write(const struct memory *m, const char *host, FILE *out);
bool memory_read(struct memory *m, const char *kind, const char *rest);
void memory_date(struct memory *m, uint64_t now_us); /* events that were read have this time */

#endif
