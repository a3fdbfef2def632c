/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* module: the state of hosts' NVLinks and what they get of the fabric (fm/fabric/module.h). */
#pragma once

#include "fm/fabric/module.h"
#include "fm/fabric/operation.h"

struct host_verdict;

extern const struct fabric_module nvlink_module;

/*
 * Adds what this room knows of a host, by index of the published snapshot, where that is not
 * healthy. Cheap but for a formatted reason.
 */
void nvlink_judge_host(const struct fabric *fabric, uint32_t host, struct host_verdict *verdict);

/* Whether the text is the name of a state, in any case; unknown: UNKNOWN is one, too. state.c. */
bool nvlink_is_state(const char *text, bool unknown);
/* The document of `fmctl --json nvswitch`; the caller owns it. */
json_t *nvlink_hosts(const struct fabric *fabric);
/*
 * Sets how many GPUs a host has, 0 = as its model; or, with gpus -1, a manual override of its
 * state, by the state's name; NULL = takes it back. fn is called once, with the result or an error.
 */
void nvlink_set(struct fabric *fabric, const char *host, const char *state, int gpus, waiter_fn *fn,
		void *arg);
struct health_report { /* a `health-report`: unchecked texts, and how long it counts */
	const char *source, *host, *state, *reason;
	double ttl_s;
};
/*
 * Takes a report of a program beside fmd on a host (intake_sources.c). Returns a document,
 * which the caller owns, or NULL with the reason in err.
 */
json_t *nvlink_hear_report(struct fabric *fabric, const struct health_report *report, char *err);

/* ---- What if: variants have the hosts of the published snapshot; states are by host ---------- */

/*
 * Reads "HOST=STATE" and sets it in *states (enum nvswitch_state), which the caller frees; if it is
 * NULL it is made, with the states that routing uses. 0, or -1 with the reason in err.
 */
int nvlink_assume(const struct fabric *fabric, const char *text, uint8_t **states, char *err);
/*
 * A new list, which the caller owns, with a row for each host whose assumed state differs: the
 * rates of its cross-rail traffic and of the others', now and in the variant.
 */
json_t *nvlink_trial(const struct fabric *fabric, const struct topo *variant, const uint8_t *states,
		     const struct tables *tables);
