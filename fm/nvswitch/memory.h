/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * memory: what is known of one host's NVLinks beyond the latest answer of an exporter.
 *
 *   said     what each GPU and NVSwitch was last reported to be (P2P bitmap, fabric manager's
 *            status, health mask and summary, recovery action, links). A state that is not reported
 *            any more stays what it was: silence mends nothing.
 *   events   what happened once: an Xid or SXid, in a log or by a gauge that changed, a counter
 *            that rose. An event stands until a reset or boot of its subject was seen, until its
 *            subject proves that it works (evidence.c), or until an operator clears it.
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
	uint64_t last_us;		 /* when it was last heard */
	uint8_t from;			 /* bits: its sources */
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
 * Adds an event. An event that is known already takes the new time and the worse of both states.
 * `from`: MEMORY_FROM_LOG or 1 << source. When there is no room the least bad event is dropped.
 */
void memory_note(struct memory *m, const struct nvswitch_finding *finding, uint8_t from,
		 uint64_t now_us);
/* The number of the GPU with that PCI address as a kernel log writes it; -1 = not known. */
int memory_gpu_by_pci(const struct memory *m, const char *pci);
/*
 * A GPU was reset (gpu -1: the one of that PCI address; pci NULL: all GPUs): drops its events and
 * states, except events that a more trusted sender reported.
 */
void memory_reset(struct memory *m, int gpu, const char *pci, enum nvswitch_trust trust);
/*
 * The GPU of that UUID was reset. If no GPU's UUID is known, it is the GPU that all events are
 * about, if that is one.
 */
void memory_reset_uuid(struct memory *m, const char *uuid, enum nvswitch_trust trust);
/* The host booted or its NVLink driver started: keeps only which GPUs and switches were seen. */
void memory_boot(struct memory *m, enum nvswitch_trust trust);
/* An operator clears the host: as after a boot, and what is absent is no longer expected. */
void memory_clear(struct memory *m);

/* Keeps the latest report of its source; false = there are too many sources. */
bool memory_report(struct memory *m, const struct memory_report *report);
/* Drops the report of a source, if there is one. */
void memory_forget_report(struct memory *m, const char *source);

/* What would end the finding: a static text for people. */
const char *memory_end_of(const struct nvswitch_finding *finding);

/* Writes the lines `KIND HOST ..` of one host; the caller checks the stream. */
void memory_write(const struct memory *m, const char *host, FILE *out);
/* Reads one such line; an unknown kind is skipped. False: the line is damaged. */
bool memory_read(struct memory *m, const char *kind, const char *rest);
/* Gives events that were read the present time, as the file has none. */
void memory_date(struct memory *m, uint64_t now_us);

#endif
