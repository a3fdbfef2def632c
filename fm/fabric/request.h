/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * request: what a concern of the fabric manager may ask the pipe to do.
 *
 * No request sweeps, computes or programs in the caller's stack: requests are merged, and the loop
 * serves them after the caller has returned. So each may be made from any callback, as often as one
 * likes. A sweep of all covers refreshes of single nodes; a sweep is followed by an update in any
 * case, which a reroute alone begins at once. While an update is under way the request is served by
 * the next one. `reason` is a string literal; the log shows it at level debug.
 */
#ifndef FMD_FABRIC_REQUEST_H
#define FMD_FABRIC_REQUEST_H

#include <stdbool.h>
#include <stdint.h>
#include "fm/fabric/progress.h"
#include "topology/topo.h"

struct fabric;

/* A heavy sweep: all nodes are asked again. */
void fabric_request_sweep(struct fabric *fabric, const char *reason);
/* A partial sweep: this node is asked again, and what is found behind its ports. */
void fabric_request_refresh(struct fabric *fabric, guid_t node, const char *reason);
/*
 * An update that computes, proves and programs tables even if the sweep before it found nothing
 * new.
 */
void fabric_request_reroute(struct fabric *fabric, const char *reason);
/*
 * The next light sweep is followed by an update: something was not acknowledged. Light sweeps come
 * sooner until it is.
 */
void fabric_request_retry(struct fabric *fabric, const char *reason);

/*
 * At the next bring-up all hosts are asked to register with the SA anew
 * (PortInfo:ClientReregister).
 */
void fabric_request_reregister(struct fabric *fabric, const char *reason);

/* At the next bring-up this host's port is asked to. */
void fabric_request_reregister_port(struct fabric *fabric, guid_t node, uint8_t port);

/*
 * The hook improves() is called once nothing else is requested nor under way: a room has an answer
 * ready.
 */
void fabric_request_improvement(struct fabric *fabric, const char *reason);

/*
 * The LIDs of that port are free for others: it is no part of the fabric any more, and shall be new
 * when it comes back. At once; services.lids is without it then.
 */
void fabric_request_lids_free(struct fabric *fabric, guid_t port_guid);

/*
 * The tables that a room held back (may_program() of module.h) are programmed now, as they are
 * published. Begins at once.
 */
void fabric_request_program(struct fabric *fabric, const char *reason);

/*
 * What devices answered or acknowledged once is asked a second time, at once: that many ports (0 =
 * none), and with `refused` who is behind ports where somebody answers who cannot be there. Nodes
 * that answer otherwise are swept again by themselves; the hook verified() tells how many. False:
 * nothing is left that was answered or acknowledged once. Only while fabric_is_quiet().
 */
bool fabric_request_verification(struct fabric *fabric, unsigned ports, bool refused);

/*
 * Something was requested and has not begun yet; a retry that waits for its light sweep does not
 * count.
 */
bool fabric_requests_wait(const struct fabric *fabric);

#endif
