/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * nvswitch: the monitor of all hosts' NVLinks: it scrapes exporters, reads kernel logs, decides
 * (health, below), and runs the operators' hook.
 */
#pragma once

#include "fm/conf/conf.h"
#include "fm/events/alert.h"
#include "fm/nvswitch/evidence.h"

/*
 * A new document, which the caller owns, of the lines `HOST NAME...` of a file: "hosts" by other
 * names in lower case, "gpus" by hosts (gpus=N is no name); # begins a remark. NULL with
 * `FILE:LINE: reason` in err: it cannot be read, has an invalid host name, or one name for two
 * hosts.
 */
json_t *aliases_read(const char *path, char *err);

/* ---- What is kept of one host: its sources, its kernel log, and its states ------------------- */

struct health_source { /* one source that reports on a host repeatedly */
	char *where;
	enum nvswitch_trust trust;
	bool heard, up; /* heard: it has reported once; up: the latest request succeeded */
	uint64_t heard_us;
	struct memory_report report; /* the latest, up until its TTL is over; source "" = none */
	struct nvswitch_verdict verdict;
	uint32_t metrics; /* of an exporter: which it has; see evidence_missing() */
	char error[80];	  /* why it is not up */
};

struct health_host {
	char *name;
	struct health_source *sources;
	unsigned nsources, nlisted; /* nlisted: while they are listed again; else as nsources */
	struct {		    /* of the host's kernel; faults are in the memory */
		bool heard;
		uint64_t window_us; /* when the counting of non-fatal errors began */
		unsigned nonfatal;
		char pci[16]; /* of the GPU that the next line is about, "" = not known */
	} log;
	struct memory *memory; /* NULL = nothing is remembered */
	/* sources_state: the worst of its sources' reports. All but `state` are never UNKNOWN. */
	enum nvswitch_state sources_state : 8, observed : 8, believed : 8, state : 8;
	enum nvswitch_state override : 8; /* UNKNOWN = none */
	/* The worst event of a proven log: it can not flap, so it need not last. HEALTHY = none. */
	enum nvswitch_state at_once : 8;
	bool unconfirmed; /* an untrusted source reports what is worse than observed */
	int8_t side;	  /* 1 = worse, -1 = better, 0 = the same */
	bool reported;	  /* a recent report, or its log, shows its state */
	bool vouched;	  /* its log shows a boot or reset, or it has a log and was cleared */
	uint8_t present;  /* in the fabric; while they are listed again: 2 = it was */
	bool announced;	  /* its state was reported once */
	/* Before steps that changed it: the caller sets NVSWITCH_STATES, which is no change. */
	enum nvswitch_state before : 8;
	uint64_t since_us;   /* of `state` */
	uint64_t differs_us; /* since when observed is on one side of believed */
};

/* ---- Health ---------------------------------------------------------------------------------- */

/*
 * Turns the reports of sources into states of hosts. Decisions only: no I/O, and the time is the
 * caller's.
 *
 *   observed   the worst of the present reports of the host's sources and of the events in its
 *              memory. Worse than DEGRADED_LINK needs a trusted source, or two sources
 *   state      observed, once it has lasted (hold-down); a fatal event in a proven log counts at
 *              once; UNKNOWN while no source reports
 *   believed   the last state but UNKNOWN, over a restart too
 *   guarded    so many hosts are bad at once that the sources are suspect
 * A source is an exporter, or a program that sends health reports; these stay until an operator's
 * `clear` finds them silent. A manual override counts at once and until it is taken back.
 */

struct health {
	struct conf_nvswitch conf; /* in force, of all of this folder */
	struct health_host *hosts;
	unsigned nhosts;
	bool guarded;
	unsigned bad;	       /* hosts that look bad, when the guard began or ended */
	bool changed;	       /* some host's state, or who is watched; the caller clears it */
	json_t *names;	       /* numbers of hosts by their names in lower case */
	json_t *firsts;	       /* by their names up to the first dot; UINT_MAX = several */
	const json_t *aliases; /* borrowed; NULL = none */
};

/* Without hosts. health_fini() frees all hosts. */
void health_init(struct health *h);
void health_fini(struct health *h);
/*
 * The number of a host, found by its full name, by an alias, or by its name up to the first dot if
 * one host only has that; UINT_MAX = none. health_add() makes a host of that full name if there is
 * none.
 */
unsigned health_find(const struct health *h, const char *name);
unsigned health_add(struct health *h, const char *name);

/* Sets the state and override of a host from before a restart; called before its memory is read. */
void health_remember(struct health *h, unsigned host, enum nvswitch_state believed,
		     enum nvswitch_state override);

/*
 * Lists all sources again: begin, add each, end. A source with the same `where` keeps its latest
 * report. health_source_add() returns the source's number.
 */
void health_sources_begin(struct health *h);
unsigned health_source_add(struct health *h, unsigned host, const char *where,
			   enum nvswitch_trust trust);
void health_sources_end(struct health *h);
/* Takes a source's report; verdict NULL = it failed, for the reason in `error`. */
void health_hear(struct health *h, unsigned host, unsigned source,
		 const struct nvswitch_verdict *verdict, const char *error, uint64_t now_us);
#define HEALTH_REPORT_PREFIX "health-report:" /* health_source.where, before the source's name */

/* Takes a line of a host's kernel log. */
void health_hear_log(struct health *h, unsigned host, const struct sxid_event *event,
		     uint64_t now_us);
/* Sets a manual override; UNKNOWN takes it back and clears the host's events. */
void health_override(struct health *h, unsigned host, enum nvswitch_state state);

/* Takes numbers of GPUs from the aliases. */
void health_declare(struct health *h);

/* The memory of a host, made on demand; owned by h. */
struct memory *health_memory(struct health *h, unsigned host);

/* The cause of a host's state, for people, "" = nothing; valid until h changes. */
const char *health_reason(const struct health_host *host);
/* The n-th finding, from 0, events first, and where it is from; NULL = there are no more. */
const struct nvswitch_finding *health_finding(const struct health_host *host, unsigned n,
					      const char **source);
/*
 * That finding, valid as long; NULL = none, or a manual override. Of the worst findings and grave
 * events it is the one that explains the others: a switch before a GPU before the whole host before
 * a pair of GPUs, an event before a state.
 */
const struct nvswitch_finding *health_cause(const struct health_host *host);
/* The gravest remedy that any finding asks for. */
enum nvswitch_remedy health_remedy(const struct health_host *host);

/*
 * Evaluates all hosts. Returns when to call it again at the latest, in us from now; UINT64_MAX =
 * only when something is heard.
 */
uint64_t health_step(struct health *h, uint64_t now_us);

/* ---- The monitor ----------------------------------------------------------------------------- */

struct nvswitch_ops {
	/* A host's state has changed, in a step; each host once. */
	void (*changed)(void *arg, const char *host, enum nvswitch_state state);
	/* What a restart needs of states, or of memories, has changed. */
	void (*keep)(void *arg, bool memories);
	/* A state of a host, whether it is watched, the guard, or how a hook ended has changed. */
	void (*states_changed)(void *arg);
};

struct source_home { /* what the monitor lends its sources, and outlives them */
	struct loop *loop;
	struct alerts *alerts;
	struct event_log *events;
	struct health *health;
	struct log_intake *intake;	  /* assigns kernel logs to hosts */
	const struct conf_nvswitch *conf; /* in force; NULL before the first */
	uint64_t retry_us; /* until a source that could not be opened is retried; 0 = never */
	/*
	 * Called after something was passed to health: the monitor evaluates all hosts soon, once.
	 */
	void (*heard)(struct source_home *home);
};

struct nvswitch {		 /* others read; sources see its `home` alone */
	struct source_home home; /* the first member: a source_home * is a struct nvswitch * */
	struct health health;
	const struct nvswitch_ops *ops;
	void *arg;
	struct sources *sources;
	struct hook *hook;
	struct loop_timer *step_timer;
	bool soon; /* a step is about to run */
};

/* A monitor without sources; the caller owns it (NULL is fine). All arguments are borrowed. */
struct nvswitch *nvswitch_new(struct loop *loop, struct alerts *alerts, struct event_log *events,
			      const struct nvswitch_ops *ops, void *arg);
void nvswitch_free(struct nvswitch *nv);
/*
 * Applies a configuration and source_home.retry_us: 0, or -1 with the reason in err and nothing
 * changed. In the first call a source that cannot be opened is no reason: it raises an alert and is
 * retried.
 */
int nvswitch_configure(struct nvswitch *nv, const struct conf_nvswitch *conf, uint64_t retry_us,
		       char *err);
/*
 * Whether the files that a configuration names can be used, without using them: 0, or -1 with the
 * reason in err.
 */
int nvswitch_check(const struct conf_nvswitch *conf, char *err);

/* Sets the hosts of the fabric, by name; the names are copied. */
void nvswitch_present(struct nvswitch *nv, const char *const *names, unsigned count);
/* Takes what the fabric sees of all of a host's HCAs; of no effect where nothing is known of it. */
void nvswitch_note_ports(struct nvswitch *nv, const char *host, enum memory_ports ports);
/* NULL = nothing is known of it. */
const struct health_host *nvswitch_host(const struct nvswitch *nv, const char *name);
/* The state of a host as it was last known (NULL: HEALTHY); never UNKNOWN. */
enum nvswitch_state nvswitch_believed(const struct health_host *host);
/*
 * Sets how many GPUs a host has, 0 = as its model; or, with gpus -1, a manual override by a state's
 * name, NULL takes it back. 0, or -1 with the reason in err.
 */
int nvswitch_set(struct nvswitch *nv, const char *host, const char *state, int gpus, char *err);

/*
 * What a restart knows of hosts, in two files: what is believed and manual overrides, `HOST
 * BELIEVED OVERRIDE`, so that a restart moves nothing; what each host showed and what happened to
 * it, so that a restart heals nothing. The owner is the monitor.
 */
extern const struct state_kind nvswitch_states_kind, nvswitch_memory_kind;

/* New documents, which the caller owns: everything, a row a host; counts of states and sources. */
json_t *nvswitch_json(const struct nvswitch *nv);
json_t *nvswitch_summary(const struct nvswitch *nv);
