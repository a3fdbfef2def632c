/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * request: what a room may ask the pipe to do.
 *
 * No request sweeps, computes or programs in the caller's stack: requests are merged, and the loop
 * serves them after the caller has returned. So a request may be made from any callback, any number
 * of times, and cannot fail. A heavy sweep includes partial ones. Each sweep is followed by an
 * update; a reroute starts an update without a sweep. Requests made during an update are served by
 * the next one. `reason` is a string literal, which the log shows at level debug.
 */
#ifndef FMD_FABRIC_REQUEST_H
#define FMD_FABRIC_REQUEST_H

#include <stdbool.h>
#include <stdint.h>
#include "fm/fabric/progress.h"
#include "topology/snapshot/topo.h"

struct fabric;

/* A heavy sweep: reads all nodes. */
void fabric_request_sweep(struct fabric *fabric, const char *reason);
/* A partial sweep: reads this node and what is found behind its ports. */
void fabric_request_refresh(struct fabric *fabric, guid_t node, const char *reason);
/*
 * An update that computes, proves and programs tables, even if the sweep before it found no
 * change.
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

/* The same for one port of a host. */
void fabric_request_reregister_port(struct fabric *fabric, guid_t node, uint8_t port);

/*
 * For a room that has a better result ready: the pipe calls the hook improves() once nothing else
 * is requested or under way.
 */
void fabric_request_improvement(struct fabric *fabric, const char *reason);

/*
 * Frees the LIDs of a port that was removed from the fabric; if it comes back it gets new ones.
 * Takes effect at once in services.lids.
 */
void fabric_request_lids_free(struct fabric *fabric, guid_t port_guid);

/*
 * Within published(): the tables are not programmed before fabric_request_program(), which this
 * room calls. fabric_request_program() starts it at once.
 */
void fabric_hold_program(struct fabric *fabric);
void fabric_request_program(struct fabric *fabric, const char *reason);

/*
 * Reads a second time, at once, what devices answered or acknowledged only once: `ports` ports (0
 * = none), and with `refused` the nodes behind ports whose answers were impossible. A node whose
 * answer differs is swept again; fn has their number, once from the loop unless this room ends.
 * Call it only while fabric_is_quiet(). False: nothing is left to be read a second time.
 */
typedef void fabric_verified_fn(void *arg, unsigned changed);
bool fabric_request_verification(struct fabric *fabric, unsigned ports, bool refused,
				 fabric_verified_fn *fn, void *arg);

/*
 * Whether a request has not been started yet. A retry that waits for its light sweep does not
 * count.
 */
bool fabric_requests_wait(const struct fabric *fabric);

#endif
