/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * nvswitch: how the NVLinks of all hosts are: it asks exporters, listens to kernel logs, decides
 * (health.h), runs the operators' hook and says when routing shall take hosts otherwise. What that
 * means for routing is the caller's.
 */
#ifndef FMD_NVSWITCH_NVSWITCH_H
#define FMD_NVSWITCH_NVSWITCH_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include "fm/core/conf_keys.h"
#include "fm/core/log.h"
#include "fm/core/loop.h"
#include "fm/nvswitch/health.h"

struct nvswitch;

struct nvswitch_conf {
	struct conf_nvswitch keys; /* what the file says; sources read theirs here */
	uint64_t interval_us;	   /* between two questions to one exporter */
	unsigned timeout_ms, hook_timeout_ms;
	size_t body_max;
	uint64_t link_window_us; /* how long a counter of NMX-T that rose counts */
	uint64_t retry_us;	 /* of opening what could not be opened; 0 = never */
	struct health_conf health;
};

struct nvswitch_ops {
	/* For people; the reference of details is the callee's. */
	void (*event)(void *arg, enum log_level level, const char *kind, json_t *details,
		      const char *text);
	void (*reroute)(void *arg);  /* nvswitch_routed() has changed for some hosts */
	void (*keep)(void *arg);     /* what nvswitch_each() gives has changed */
	void (*remember)(void *arg); /* what nvswitch_memory_write() gives has changed */
	/*
	 * A source can't be opened, for that reason: an alert, raised each time; NULL = it is over.
	 */
	void (*trouble)(void *arg, const char *what, const char *error);
	/* What nvswitch_known() gives has changed, for some hosts; NULL = nobody asks that. */
	void (*states_changed)(void *arg);
};

struct nvswitch *nvswitch_new(struct loop *loop, const struct nvswitch_ops *ops, void *arg);
void nvswitch_free(struct nvswitch *nv); /* NULL is fine */
/*
 * No source is open before the first time. Then, a source that can't be opened is an alert and is
 * tried again; the others work. Later: 0; or -1 with the reason in err and everything as it was.
 */
int nvswitch_configure(struct nvswitch *nv, const struct nvswitch_conf *conf, char *err,
		       size_t err_size);
/*
 * Whether the files that a configuration names can be used, without using them: 0, or -1 with the
 * reason in err.
 */
int nvswitch_check(const struct nvswitch_conf *conf, char *err, size_t err_size);

/* The hosts of the fabric, by name. */
void nvswitch_present(struct nvswitch *nv, const char *const *names, unsigned count);
/* What routing is to take a host for; never UNKNOWN. */
enum nvswitch_state nvswitch_routed(const struct nvswitch *nv, const char *host);
bool nvswitch_has_degraded(
	const struct nvswitch *nv); /* some host is routed as anything but HEALTHY */

struct nvswitch_known {
	enum nvswitch_state state;
	bool watched;	    /* somebody is to speak of it, or has spoken, or an operator has */
	const char *reason; /* until the next call of anything here */
};
/* How a host's NVLinks are. */
struct nvswitch_known nvswitch_known(const struct nvswitch *nv, const char *host);

/* A manual override; UNKNOWN takes it back. 0, or -1 with the reason in err. */
int nvswitch_set(struct nvswitch *nv, const char *host, enum nvswitch_state state, char *err,
		 size_t err_size);

/*
 * `health-report`: what a program beside fmd says of a host; the texts are whatever was typed, and
 * ttl_s is how long that counts. 0, or -1 with the reason in err and nothing changed.
 */
struct nvswitch_said {
	const char *source, *host, *state, *reason;
	double ttl_s;
};
int nvswitch_hear_report(struct nvswitch *nv, const struct nvswitch_said *report, char *err,
			 size_t err_size);

/*
 * For the state file: hosts that are believed to be anything but HEALTHY, or have a manual
 * override (else UNKNOWN).
 */
typedef void nvswitch_each_fn(void *arg, const char *host, enum nvswitch_state believed,
			      enum nvswitch_state override);
void nvswitch_each(const struct nvswitch *nv, nvswitch_each_fn *fn, void *arg);
void nvswitch_remember(struct nvswitch *nv, const char *host, enum nvswitch_state believed,
		       enum nvswitch_state override);

/* What is remembered of hosts: lines of text, and one of these back; false = that is none. */
void nvswitch_memory_write(const struct nvswitch *nv, FILE *out);
bool nvswitch_memory_read(struct nvswitch *nv, const char *line);
void nvswitch_memory_forget(struct nvswitch *nv);

json_t *nvswitch_json(const struct nvswitch *nv);    /* everything, a row a host */
json_t *nvswitch_summary(const struct nvswitch *nv); /* hosts by state, sources up, guard */

#endif
