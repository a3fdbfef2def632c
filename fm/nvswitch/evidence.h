/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * evidence: what is known of a host's NVLinks: what an exporter says of one GPU and one NVSwitch,
 * the memory of a host, one scrape of dcgm-exporter, and NMX-T's rows about a whole rack.
 */
#pragma once

#include "fm/nvswitch/state.h"

/* ---- Prometheus' text format (0.0.4), in pieces of any size ---------------------------------- */

/*
 * Nothing is allocated: a line is copied into the reader's buffer. The first fault (a malformed
 * line, a wanted line longer than the buffer, a body that ends within a line) ends the reading: the
 * whole body is discarded then.
 */

#define EXPOSITION_LINE	  8192 /* bytes; exporters' lines are some hundreds */
#define EXPOSITION_LABELS 48   /* of a sample; more are read and left out */

struct exposition_sample {
	double value;
	unsigned nlabels;
	struct {
		struct lex_text name, value; /* value: as written, with its escapes */
	} labels[EXPOSITION_LABELS];
};
struct exposition_ops {
	/*
	 * Returns the caller's number of a metric, < 0 = not wanted: its lines are skipped. Called
	 * once for consecutive lines of one name.
	 */
	int (*kind)(void *arg, struct lex_text name);
	/* Takes a sample, which is valid during the call. */
	void (*sample)(void *arg, int kind, const struct exposition_sample *sample);
};

struct exposition { /* the caller's; nothing to free */
	const struct exposition_ops *ops;
	void *arg;
	const char *fault; /* a static text; NULL = none so far */
	int kind;	   /* of the latest name */
	size_t name_len, carried;
	char name[128];
	char carry[EXPOSITION_LINE];
};

/* Starts with a new body; ops is borrowed until its end. */
void exposition_init(struct exposition *e, const struct exposition_ops *ops, void *arg);
/* Take a piece of the body, and its end. False: there is a fault, see e->fault. */
bool exposition_feed(struct exposition *e, const char *data, size_t len);
bool exposition_end(struct exposition *e);

/* Copies a value without its escapes, cut to size and ended by a zero byte. */
void exposition_copy(struct lex_text text, char *to, size_t size);

/* ---- What an exporter reports on one GPU and on one NVSwitch --------------------------------- */

/* Codes are those of DCGM and NVML. */

#define MEMORY_GPUS	16
#define MEMORY_SWITCHES 16
#define MEMORY_LINKS	128 /* of an NVSwitch */

enum {			/* what is reported of a GPU, by bit */
       HAS_PRESENT = 1, /* by what only a GPU that answers has: its temperature, its power */
       HAS_P2P = 2,
       HAS_PAIRS = 4,
       HAS_FM = 8,
       HAS_MASK = 16,
       HAS_SUMMARY = 32,
       HAS_ACTION = 64,
       HAS_WATCH = 128,
       HAS_LINKS = 256,
       HAS_MIG = 512,
       HAS_FAILURES = 1024, /* a counter of links that did not recover */
       HAS_STATES = HAS_P2P | HAS_PAIRS | HAS_FM | HAS_MASK | HAS_SUMMARY | HAS_ACTION | HAS_WATCH |
		    HAS_LINKS,
       HAS_ANY = HAS_STATES | HAS_PRESENT,
};

enum { /* DCGM's fabric manager status (dcgm_fields.h, 170) */
       FM_NOT_SUPPORTED,
       FM_NOT_STARTED,
       FM_IN_PROGRESS,
       FM_SUCCESS,
       FM_FAILURE,
       FM_UNRECOGNIZED,
       FM_NVML_TOO_OLD,
       FM_STATUSES
};
enum { SUMMARY_UNHEALTHY = 2, SUMMARY_LIMITED = 3 }; /* fabric health summary (175) */
enum { WATCH_FAIL = 20 };			     /* DCGM_EXP_GPU_HEALTH_STATUS */
enum { ACTION_NONE, ACTION_GPU_RESET }; /* NVML's recovery action; the catalogue has them all */

struct gpu_report {
	uint16_t has; /* HAS_PRESENT .. HAS_MIG */
	bool mig, has_mig_mode;
	bool probe_failed; /* the health watch names the fabric probe */
	uint8_t fm_status, summary, action, watch;
	uint16_t mask;
	uint32_t peers, pairs_lost;    /* GPUs by bit */
	uint64_t links_up, links_down; /* the GPU's own, by bit */
};
struct reported { /* a number, a byte of gpu_report; the catalogue says what it means */
	uint16_t has, at;
	uint8_t kind;	  /* enum catalogue_kind */
	const char *text; /* before the row's words */
	uint8_t metric, least, most;
};
enum { REPORTED = 4 };
extern const struct reported evidence_reported[REPORTED];
struct switch_report {
	bool present; /* by what each NVSwitch has at all times */
	bool has_reset, reset_required;
	uint64_t links_seen[MEMORY_LINKS / 64], links_down[MEMORY_LINKS / 64];
};

struct xid_count {	     /* DCGM_EXP_XID_ERRORS_COUNT: in a window of some minutes */
	uint8_t gpu, source; /* source: which of the host's exporters reported it */
	uint16_t xid;
	uint32_t count;
};

/* ---- What is known of one host's NVLinks beyond the latest answer of an exporter ------------- */

/*
 *   states   what each GPU and NVSwitch was last reported to be (P2P bitmap, fabric manager's
 *            status, health mask and summary, recovery action, links). A state that is not reported
 *            any more stays what it was: silence mends nothing.
 *   events   what happened once: an Xid or SXid, in a log or by a gauge that changed, a counter
 *            that rose. An event belongs to an incarnation of its subject: it stands until a log
 *            shows a reset or boot, until the states of a later incarnation are whole, until its
 *            subject proves that it works (evidence.c), or until an operator clears it.
 *            Time ends none, and a gauge that shows another number neither.
 *   seen     the GPUs, NVSwitches and links that this host ever showed, so that what is gone is
 *            missed. GPUs' PCI addresses and UUIDs tell which of them a kernel log speaks of.
 *
 * Everything but the times is kept in state_dir (memory_write(), memory_read()).
 */

#define MEMORY_COUNTS  16
#define MEMORY_REPORTS 4 /* sources of `health-report` of a host */

struct memory_gpu {
	bool seen;
	struct gpu_report last;
	char pci[16];	      /* "0000:1b:00" */
	char uuid[48];	      /* "GPU-.." */
	uint32_t xid;	      /* the gauge, 0 = none */
	uint8_t gauge_source; /* which of the host's exporters showed it */
	uint64_t failed_recoveries;
	uint64_t energy; /* mJ since its driver was loaded, 0 = not reported */
	bool dipped;	 /* it was not whole since its events began */
};
struct memory_switch {
	bool seen;
	struct switch_report last;
	uint32_t sxid, link_sxid; /* the gauges */
	uint8_t gauge_source;	  /* which of the host's exporters showed them */
};

struct memory_report {	 /* the latest of a program beside fmd, by `health-report` */
	char source[33]; /* a word */
	uint8_t state;	 /* enum nvswitch_state; UNKNOWN = the source can't tell */
	uint32_t ttl_s;	 /* it counts as silent when it says nothing for so long */
	char text[92];	 /* why */
};
/* A host's HCAs, all of them: a leaf sees their links down; its own are not seen; one is up. */
enum memory_ports { PORTS_UP, PORTS_OFF, PORTS_CUT_OFF };
struct memory {
	enum nvswitch_system system; /* as the exporter last showed it */
	uint8_t sources_state;	     /* enum nvswitch_state: what sources last came to */
	uint8_t links;		     /* of one GPU by its model, 0 = not known */
	uint8_t ports;		     /* enum memory_ports */
	bool heard;		     /* an exporter reported something */
	bool ended;		     /* a new incarnation has ended what was known */
	bool changed;		     /* something that is kept: the caller clears it */
	uint8_t declared;	     /* GPUs that it has by an operator's word, 0 = as its model */
	struct memory_gpu gpus[MEMORY_GPUS];
	struct memory_switch switches[MEMORY_SWITCHES];
	struct nvswitch_verdict events; /* findings of kind event; its state does not count */
	char cluster[48];		/* UUID of its NVLink domain, "" = not reported */
	uint64_t clique;		/* its number + 1, 0 = not reported */
	unsigned ncounts;
	struct xid_count counts[MEMORY_COUNTS]; /* as last reported */
};

/*
 * Adds an event. An event that is known already takes the new time and the worse of both states.
 * `from`: EVENT_FROM_LOG or 1 << source. When the list is full the least bad event is dropped.
 */
void memory_note(struct memory *m, const struct nvswitch_finding *finding, uint8_t from,
		 uint64_t now_us);
/* "PCI:0000:34:00", "00000000:1B:00.0" at the beginning of a text, as "0000:1b:00"; "" = none. */
void memory_pci(const char *text, char pci[16]);
/* The number of the GPU with that PCI address as a kernel log writes it; -1 = not known. */
int memory_gpu_by_pci(const struct memory *m, const char *pci);
/*
 * A GPU was reset (gpu -1: the one of that PCI address; pci NULL: all GPUs, as the host booted or
 * its NVLink driver started): drops its events and states. Which GPUs and switches were seen stays
 * known.
 */
void memory_reset(struct memory *m, int gpu, const char *pci);
/*
 * The GPU of that UUID was reset. If no GPU's UUID is known, it is the GPU that all events are
 * about, if that is one.
 */
void memory_reset_uuid(struct memory *m, const char *uuid);
/*
 * A new incarnation has begun, of the host with all its GPUs (gpu -1) or of one GPU: its states are
 * those that are reported from now on, its events are old. `gauges`: the exporter's host engine
 * restarted as well, so that a number in a gauge is a new event.
 */
void memory_reborn(struct memory *m, int gpu, bool gauges);
/* Drops old events. */
void memory_end_old(struct memory *m);
/* Takes what the fabric sees of the host's HCAs: all off and on again is a new incarnation. */
void memory_note_ports(struct memory *m, enum memory_ports ports);
/* An operator clears the host: as after a boot, and what is absent is no longer expected. */
void memory_clear(struct memory *m);
/* An operator says how many GPUs it has: those that are absent are known no more. */
void memory_declare(struct memory *m, uint8_t gpus);

/* What would end the finding: a static text for people. */
const char *memory_end_of(const struct nvswitch_finding *finding);

/* Writes the lines `KIND HOST ..` of one host; the caller checks the stream. */
void memory_write(const struct memory *m, const char *host, FILE *out);
void memory_write_report(const struct memory_report *report, const char *host, FILE *out);
/*
 * Reads one such line, a report's into *report, whose source is "" otherwise; an unknown kind is
 * skipped. False: the line is damaged.
 */
bool memory_read(struct memory *m, const char *kind, const char *rest,
		 struct memory_report *report);
/* ---- What errors of NVSwitches (SXid) and GPUs (Xid) mean ------------------------------------ */

enum sxid_news {
	SXID_FAULT,	/* `finding`; state HEALTHY: none by itself */
	SXID_NONFATALS, /* the same; counted: many in a short time are a fault */
	SXID_NAMES,	/* the next line is about finding.pci */
	SXID_START,	/* kernel or NVLink driver started: earlier events are over */
	SXID_RESET,	/* the GPU of that UUID was reset */
	SXID_RECOVERED, /* the driver asks for no recovery of finding.pci any more */
};
struct sxid_event { /* one line of a kernel log */
	enum sxid_news news;
	char uuid[48]; /* of the GPU, "" = not in the line */
	struct nvswitch_finding finding;
};
/*
 * Reads the text behind the syslog header: len bytes of any kind. True = *event is
 * what it says about NVLinks; false = it is about something else.
 */
bool sxid_read(const char *text, size_t len, struct sxid_event *event);

/* The state of a host with that error number; fatal: by the metric's name. */
enum nvswitch_state sxid_state(unsigned number, bool fatal);

enum catalogue_kind {
#define KIND(id, name) CATALOGUE_##id,
#include "fm/nvswitch/kinds.def"
#undef KIND
	CATALOGUE_KINDS
};
#define CATALOGUE_METRICS 22  /* numbers of metrics are below that */
struct xid {		      /* a row of the catalogue: a range of numbers */
	uint8_t kind;	      /* enum catalogue_kind */
	uint16_t first, last; /* without a row 0 to 0 */
	uint8_t state,
		remedy;	   /* enums; of an SXid that is not called fatal, DEGRADED_LINK: of many */
	uint8_t condition; /* 0 = none; see etc/nvlink/catalogue.tsv */
	uint32_t value;	   /* of the condition */
	char unit[64];	/* that its words begin with, "" = any; of a line: that are in it; a name */
	char words[92]; /* that describe it, "" = none */
};
/*
 * The row of a number: of an Xid by the words behind it (NULL = a gauge, which has none), of the
 * mask's field at a shift by its value. Without a row one that says nothing, never NULL; valid
 * until catalogue_read(), like those of the functions below.
 */
const struct xid *catalogue_find(enum catalogue_kind kind, unsigned number, const char *words,
				 unsigned value);
/* The row of a kind behind `row`, the first behind NULL; NULL = there are no more. */
const struct xid *catalogue_next(enum catalogue_kind kind, const struct xid *row);
/*
 * The system of GPUs of a product name, blanks or dashes between its words, and how many links one
 * has, 0 = not known.
 */
enum nvswitch_system model_of(const char *name, uint8_t *links);
/*
 * Reads a file in place of the catalogue that is within the program ("" = that one; kinds that a
 * file has no row of are its), and has it count if `use`. 0, or -1 with `FILE:LINE: reason` in err
 * and nothing changed.
 */
int catalogue_read(const char *path, bool use, char *err);

/* ---- One scrape of dcgm-exporter ------------------------------------------------------------- */

/*
 * What it reports on a host, in all generations of names and labels. Filled by exposition's
 * callbacks; of equal series the worst counts. Blank values are no values. Judged when the body is
 * complete, together with the host's memory.
 */

struct evidence { /* zeroed but for `configured` at first; there is nothing to free */
	enum nvswitch_system configured, learnt;
	uint8_t links;	  /* of one GPU by its model, 0 = not known */
	unsigned samples; /* of any wanted metric */
	unsigned states;  /* samples of the state of an NVLink, a GPU's fabric or an NVSwitch */
	uint32_t metrics; /* which it has, by bit; see evidence_missing() */
	bool rack;	  /* it has NMX-T's rows */
	bool repeated;	  /* series came twice: which switch each is about is not certain */
	bool no_domain;	  /* a cluster UUID is zero */
	bool cliques_differ;
	struct memory_gpu gpus[MEMORY_GPUS]; /* of equal gauges the gravest */
	struct memory_switch switches[MEMORY_SWITCHES];
	uint32_t nonfatal[MEMORY_SWITCHES];  /* SXid, 0 = none */
	int16_t fatal_link[MEMORY_SWITCHES]; /* the link of its link_sxid */
	unsigned ncounts;
	struct xid_count counts[MEMORY_COUNTS];
	char host[64];	  /* the exporter's name for it, "" = none */
	char cluster[48]; /* UUID of the NVLink domain, "" = not reported */
	uint64_t clique;  /* its number + 1, 0 = not reported */
};

extern const struct exposition_ops evidence_ops; /* arg: the evidence */
/*
 * Exporters report what is in their list of counters, and the default list has nothing of NVLinks;
 * etc/dcgm has lists for each generation of DCGM. A new list, which the caller owns, with a row for
 * each field that a machine of that system should report and is not in evidence.metrics: the field,
 * the first DCGM release that has it, and what is not known without it. Empty if no DCGM metric was
 * seen at all.
 */
json_t *evidence_missing(uint32_t metrics, enum nvswitch_system system);

/* What a fabric manager that is "in progress" means (nvswitch_fm_in_progress). */
enum fm_progress {
	FM_PROGRESS_NORMAL,   /* GPUs wait for a partition on purpose: shared NVSwitches */
	FM_PROGRESS_DEGRADED, /* DCGM's own warning */
	FM_PROGRESS_FAILED,   /* as if it had not started */
};
struct evidence_context {
	uint64_t now_us;
	uint64_t settle_us; /* a state reported so soon after an event may be older than it */
	uint64_t silent_us; /* since the source's report before this one */
	uint8_t source;	    /* number among the host's sources */
	enum nvswitch_trust trust;
	enum fm_progress progress;
};

/*
 * Updates the host's memory: latest states, what was seen, events; drops events that are disproved.
 * Sets *verdict by the states; UNKNOWN if none was reported.
 */
void evidence_judge(const struct evidence *evidence, struct memory *m,
		    const struct evidence_context *c, struct nvswitch_verdict *verdict);

/* ---- NMX-T of a rack ------------------------------------------------------------------------- */

/*
 * What NMX-T on a switch tray of an NVL72 reports about a whole rack's NVLinks: a row for each
 * port and metric, some megabytes in all, of which only the ports of GPUs are kept. A rack is
 * requested once for all of its hosts; tray and slot say which rows belong to a host.
 *
 * A port's state is the label logical_state of any of its rows, the cause down_blame. Link_Down is
 * a counter that only grows: it counts if it rose within a window. Ports that were reported once
 * and are in no row any more count as missing.
 */

#define NMX_PORTS_MAX 16384 /* of a rack; an NVL72 has 1,296 at its GPUs */

struct nmx;

struct nmx_place {	  /* of a host */
	int tray, slot;	  /* tray_index, chassis_slot_index; -1 = any */
	char chassis[32]; /* chassis_id; "" = any */
	bool set;	  /* it has a tray or a slot */
};
#define NMX_NOWHERE ((struct nmx_place){ .tray = -1, .slot = -1 })
/* Reads "tray=17", "slot=27" or "chassis=1820325172739"; false = the word is none of these. */
bool nmx_place_parse(struct nmx_place *place, const char *word);

/*
 * What is known of the rack that is asked for at a URL: of a list, NULL at first, to which it is
 * added with nothing known. nmx_free() frees the list.
 */
struct nmx *nmx_at(struct nmx **racks, const char *where);
void nmx_free(struct nmx *racks);

extern const struct exposition_ops nmx_ops; /* arg: the nmx */
/* Starts a response, one at a time; and ends one that was complete: it counts from then on. */
void nmx_begin(struct nmx *nmx, uint64_t now_us);
void nmx_end(struct nmx *nmx);
/*
 * Sets *verdict for a host and returns NULL; or UNKNOWN, and why: no row ever was the host's, or
 * rows of two chassis may be. window_us: how long the rise of a counter counts.
 */
const char *nmx_judge(const struct nmx *nmx, const struct nmx_place *place, uint64_t window_us,
		      struct nvswitch_verdict *verdict);
