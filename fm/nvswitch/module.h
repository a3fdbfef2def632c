/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* module: the state of hosts' NVLinks and what it means for routing (fm/fabric/module.h). */
#ifndef FMD_NVSWITCH_MODULE_H
#define FMD_NVSWITCH_MODULE_H

#include "fm/fabric/module.h"
#include "fm/fabric/waiters.h"
#include "routing/tables.h"

extern const struct fabric_module nvlink_module;

/* The document of `fmctl --json nvswitch`; the caller owns it. */
json_t *nvlink_hosts(const struct fabric *fabric);
/*
 * A manual override of a host's state, by its name; NULL = taken back. fn is called once, with what
 * came of it or an error.
 */
void nvlink_set(struct fabric *fabric, const char *host, const char *state, waiter_fn *fn,
		void *arg);
/*
 * What a program beside fmd reports of a host (nvswitch_hear_report()): a document, the caller's,
 * or NULL with the reason in err.
 */
json_t *nvlink_hear_report(struct fabric *fabric, const char *source, const char *host,
			   const char *state, const char *reason, double ttl_s, char *err,
			   size_t err_size);

/* ---- What if: variants have the hosts of the published snapshot; states go by host ----------- */
/*
 * "HOST=STATE" into *states (enum nvswitch_state), the caller's to free; NULL at first: they begin
 * with what routing takes hosts for. 0, or -1 with the reason in err.
 */
int nvlink_assume(const struct fabric *fabric, const char *text, uint8_t **states, char *err,
		  size_t err_size);
/*
 * What routing would go by if hosts had these states; NULL = those in force. The caller ends it by
 * fabric_policy_fini().
 */
struct fabric_policy nvlink_policy(const struct fabric *fabric, const struct topo *variant,
				   const uint8_t *states);
/*
 * A row for each host whose state is assumed otherwise: its treatment, and the load of its
 * cross-rail traffic now and then. The caller's.
 */
json_t *nvlink_trial(const struct fabric *fabric, const struct topo *variant, const uint8_t *states,
		     const struct tables *tables);
/*
 * By node, enum congestion_aside: hosts that would be treated otherwise by these states than they
 * are. The caller frees it.
 */
uint8_t *nvlink_aside(const struct fabric *fabric, const uint8_t *states);

#endif
