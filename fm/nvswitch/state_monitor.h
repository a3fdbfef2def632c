/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * nvswitch: the monitor of all hosts' NVLinks: it scrapes exporters, reads kernel logs, decides
 * (state_health.h), and runs the operators' hook.
 */
#ifndef FMD_NVSWITCH_STATE_MONITOR_H
#define FMD_NVSWITCH_STATE_MONITOR_H

#include "fm/conf/conf.h"
#include "fm/loop/log.h"
#include "fm/loop/loop.h"
#include "fm/nvswitch/state_health.h"

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
	/* A host's state has changed, in a step; each host once. */
	void (*changed)(void *arg, const char *host, enum nvswitch_state state);
	/* What a restart needs of states, or of memories, has changed. */
	void (*keep)(void *arg, bool memories);
	/* A source cannot be opened, for that reason; called at each try. NULL = it is open. */
	void (*trouble)(void *arg, const char *what, const char *error);
	/*
	 * Some host's state, or whether it is watched, or the guard has changed; NULL = not needed.
	 */
	void (*states_changed)(void *arg);
};

struct source_home { /* what the monitor lends its sources, and outlives them */
	struct loop *loop;
	const struct nvswitch_ops *ops; /* of the monitor's owner */
	void *arg;			/* the argument of ops */
	struct health *health;
	struct log_intake *intake;	  /* assigns kernel logs to hosts */
	const struct nvswitch_conf *conf; /* in force; NULL before the first */
	/*
	 * Called after something was passed to health: the monitor evaluates all hosts soon, once.
	 */
	void (*heard)(struct source_home *home);
};

struct nvswitch {		 /* others read; sources see its `home` alone */
	struct source_home home; /* the first member: a source_home * is a struct nvswitch * */
	struct health health;
	struct nvswitch_conf conf; /* in force */
	struct sources *sources;
	struct hook *hook;
	struct loop_timer *step_timer;
	bool soon; /* a step is about to run */
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
/* NULL = nothing is known of it. */
const struct health_host *nvswitch_host(const struct nvswitch *nv, const char *name);
/* The state of a host as it was last known (NULL: HEALTHY); never UNKNOWN. */
enum nvswitch_state nvswitch_believed(const struct health_host *host);
/*
 * Sets how many GPUs a host has, 0 = as its model; or, with gpus -1, a manual override by a state's
 * name, NULL takes it back. 0, or -1 with the reason in err.
 */
int nvswitch_set(struct nvswitch *nv, const char *host, const char *state, int gpus, char *err,
		 size_t err_size);

struct nvswitch_said { /* a `health-report`: unchecked texts, and how long it counts */
	const char *source, *host, *state, *reason;
	double ttl_s;
};

/*
 * What a restart knows of hosts, in two files: what is believed and manual overrides, `HOST
 * BELIEVED OVERRIDE`, so that a restart moves nothing; what each host showed and what happened to
 * it, so that a restart heals nothing. As struct state_file has them; the owner is the monitor.
 * False: the line can't be one.
 */
bool nvswitch_take_state(void *monitor, const char *line);
void nvswitch_forget_states(void *monitor);
void nvswitch_write_states(const void *monitor, FILE *out);
bool nvswitch_take_memory(void *monitor, const char *line);
void nvswitch_forget_memory(void *monitor);
void nvswitch_write_memory(const void *monitor, FILE *out);

/* New documents, which the caller owns: everything, a row a host; counts of states and sources. */
json_t *nvswitch_json(const struct nvswitch *nv);
json_t *nvswitch_summary(const struct nvswitch *nv);

#endif
