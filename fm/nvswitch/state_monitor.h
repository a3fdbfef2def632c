/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * nvswitch: the monitor of all hosts' NVLinks: it scrapes exporters, reads kernel logs, decides
 * (state_health.h), and runs the operators' hook.
 */
#ifndef FMD_NVSWITCH_STATE_MONITOR_H
#define FMD_NVSWITCH_STATE_MONITOR_H

#include <jansson.h>
#include "fm/conf/conf.h"
#include "fm/loop/log.h"
#include "fm/loop/loop.h"
#include "fm/nvswitch/state_health.h"

struct nvswitch;

struct nvswitch_conf {
	struct conf_nvswitch keys; /* as configured; sources read theirs here */
	uint64_t interval_us;	   /* between two requests to one exporter */
	unsigned timeout_ms, hook_timeout_ms;
	size_t body_max;
	uint64_t link_window_us; /* how long the rise of a counter of NMX-T counts */
	uint64_t retry_us;	 /* until a source that could not be opened is retried; 0 = never */
	struct health_conf health;
};

struct nvswitch_ops {
	/* Reports an event; the callee takes the reference of `details`. */
	void (*event)(void *arg, enum log_level level, const char *kind, json_t *details,
		      const char *text);
	/* The host has become NO_P2P: its traffic goes over InfiniBand. */
	void (*lost)(void *arg, const char *host);
	void (*keep)(void *arg);     /* what nvswitch_next() gives has changed */
	void (*remember)(void *arg); /* what nvswitch_memory_write() gives has changed */
	/* A source cannot be opened, for that reason; called at each try. NULL = it is open. */
	void (*trouble)(void *arg, const char *what, const char *error);
	/* What nvswitch_known() gives has changed for some hosts; NULL = not needed. */
	void (*states_changed)(void *arg);
};

/* A monitor without sources; the caller owns it (NULL is fine). loop and ops are borrowed. */
struct nvswitch *nvswitch_new(struct loop *loop, const struct nvswitch_ops *ops, void *arg);
void nvswitch_free(struct nvswitch *nv);
/*
 * Applies a configuration: 0, or -1 with the reason in err and nothing changed. In the first call a
 * source that cannot be opened is no reason: it raises an alert and is retried.
 */
int nvswitch_configure(struct nvswitch *nv, const struct nvswitch_conf *conf, char *err,
		       size_t err_size);
/*
 * Whether the files that a configuration names can be used, without using them: 0, or -1 with the
 * reason in err.
 */
int nvswitch_check(const struct nvswitch_conf *conf, char *err, size_t err_size);

/* Sets the hosts of the fabric, by name; the names are copied. */
void nvswitch_present(struct nvswitch *nv, const char *const *names, unsigned count);
/* Takes what the fabric sees of all of a host's HCAs; of no effect where nothing is known of it. */
void nvswitch_note_ports(struct nvswitch *nv, const char *host, enum memory_ports ports);
/* The state of a host as it was last known; never UNKNOWN. */
enum nvswitch_state nvswitch_believed(const struct nvswitch *nv, const char *host);
/* Whether so many hosts look unhealthy at once that the sources are suspect. */
bool nvswitch_is_guarded(const struct nvswitch *nv);
/* The n-th host, from 0, whose hook failed and is to be tried again; NULL = there are no more. */
const char *nvswitch_hook_failing(const struct nvswitch *nv, unsigned n);

struct nvswitch_known {
	enum nvswitch_state state;
	bool watched;	    /* it has a source, or its state is known without one */
	const char *reason; /* valid until the next call of a function of this header */
	const char *action; /* the gravest remedy that is asked for: static, "none" */
};
/* The state of a host's NVLinks; UNKNOWN for a host that is not known. */
struct nvswitch_known nvswitch_known(const struct nvswitch *nv, const char *host);

/* Sets a manual override; UNKNOWN takes it back. 0, or -1 with the reason in err. */
int nvswitch_set(struct nvswitch *nv, const char *host, enum nvswitch_state state, char *err,
		 size_t err_size);

/* Sets how many GPUs a host has; 0 = as its model. 0, or -1 with the reason in err. */
int nvswitch_declare(struct nvswitch *nv, const char *host, unsigned gpus, char *err,
		     size_t err_size);

struct nvswitch_said { /* a `health-report`: unchecked texts, and how long it counts */
	const char *source, *host, *state, *reason;
	double ttl_s;
};
/* Checks and takes a health report. 0, or -1 with the reason in err and nothing changed. */
int nvswitch_hear_report(struct nvswitch *nv, const struct nvswitch_said *report, char *err,
			 size_t err_size);

/*
 * What outlives a restart of a host that is not HEALTHY, is overridden, or whose hook was not told
 * of its present state.
 */
struct nvswitch_kept {
	const char *host;
	enum nvswitch_state believed, override; /* UNKNOWN = no override */
};
/*
 * For the state file: nvswitch_next() gives the next of these hosts from *at on, and moves *at
 * behind it; false = there is none. nvswitch_remember() sets what was read back.
 */
bool nvswitch_next(const struct nvswitch *nv, unsigned *at, struct nvswitch_kept *kept);
void nvswitch_remember(struct nvswitch *nv, const char *host, enum nvswitch_state believed,
		       enum nvswitch_state override);

/*
 * The memories of all hosts: writes them; reads one line back, false = it is damaged or there are
 * too many hosts; drops them.
 */
void nvswitch_memory_write(const struct nvswitch *nv, FILE *out);
bool nvswitch_memory_read(struct nvswitch *nv, const char *line);
void nvswitch_memory_forget(struct nvswitch *nv);

/* New documents, which the caller owns: everything, a row a host; counts of states and sources. */
json_t *nvswitch_json(const struct nvswitch *nv);
json_t *nvswitch_summary(const struct nvswitch *nv);

#endif
