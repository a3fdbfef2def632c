/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: one verdict a machine over its InfiniBand ports and its NVLinks
 * (fm/fabric/host_verdict.h), as a room (fm/fabric/module.h).
 */
#pragma once

#include "fm/fabric/host_verdict.h"
#include "fm/fabric/module.h"
#include "fm/fabric/operation.h"
#include "topology/base/names.h"

/* ib_parts: the state of a machine's HCAs and their links by a snapshot. Pure. */

extern const struct fabric_module hosts_module;

/* Sets *out to the present verdict on a host of the published snapshot, by index. */
void hosts_judge(struct fabric *fabric, uint32_t host, struct host_verdict *out);
/* Adds "verdict", "reasons", "hcas_up" and "hcas_known" to a row about that host. */
void hosts_add_verdict(const struct host_verdict *verdict, json_t *row);
/* Whether a host is wanted in hosts_document(). */
typedef bool hosts_asked_fn(const void *arg, uint32_t host, const struct host_verdict *verdict);
/*
 * The document of `fmctl --json hosts`: the wanted hosts (asked NULL = all) of the published
 * snapshot with their verdicts; the caller owns it.
 */
json_t *hosts_document(struct fabric *fabric, hosts_asked_fn *asked, const void *arg);

/*
 * {"jobs": [[JOB, HOSTLIST] ..]} as job_command prints them, to be merged into the arguments; no
 * document where these have "jobs". Whoever asks meanwhile gets the same list.
 */
void hosts_jobs(struct fabric *fabric, json_t *args, waiter_fn *fn, void *arg);

/* ---- When a changed verdict on a host is reported -------------------------------------------- */

/*
 * A verdict that differs from the one last reported is reported once it has been worse (or better)
 * than that for as long as configured; if it returns before, nothing is reported. What NVLinks make
 * of a host has lasted by the room of these already, and is not held once more. No I/O; time is the
 * caller's.
 */

struct watch_conf {
	uint64_t worsen_us, recover_us;
	uint64_t unknown_us;	/* at least so long where it has become UNKNOWN */
	unsigned guard_percent; /* of all hosts; 100 = no guard */
};

struct watched {
	char *name;
	enum host_state reported; /* HOST_STATES = none yet */
	enum host_state now;
	int8_t side; /* of `now`: 1 = worse than reported, -1 = better, 0 = the same */
	uint64_t since_us;
	bool held; /* `now` has lasted already */
	bool due;  /* set by watch_end(): to be reported by watch_report() */
};

struct watch {
	struct watched *list;
	unsigned count;
	struct names names;   /* of the list */
	struct watched *next; /* of the pass under way, in the caller's order */
	unsigned nnext;
	unsigned cut_off; /* hosts newly cut off in the latest pass, not reported as that yet */
	bool guarded;	  /* so many are cut off at once that none of them is due */
};

/* Without hosts, as all zero; watch_fini() frees all. */
void watch_fini(struct watch *watch);
/* Called before the first pass: sets what was reported before the restart. */
void watch_recall(struct watch *watch, const char *host, enum host_state reported);

/*
 * A pass over all hosts: begin, take each host once, end. Hosts that are not in it are dropped. A
 * pass that was begun and not ended has no effect.
 */
void watch_begin(struct watch *watch);
void watch_take(struct watch *watch, const char *host, enum host_state now, bool held,
		uint64_t now_us);
/*
 * Marks the hosts in watch.list, in the order of the pass, that are due. Returns after how many us
 * another may be due; UINT64_MAX = not before something changes.
 */
uint64_t watch_end(struct watch *watch, const struct watch_conf *conf, uint64_t now_us);
/* Notes that a host is reported; returns what was reported before, HOST_STATES = nothing. */
enum host_state watch_report(struct watched *host);
