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
#pragma once

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
 * At the next bring-up all hosts are asked to register with the SA again
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

/* ---- Announce -------------------------------------------------------------------------------- */

/*
 * A room reports a finding, and the pipe calls the hooks of the other rooms
 * (fm/fabric/module.h) before the function returns. Each may be called from any callback; none
 * fails or keeps a pointer, unless its comment says so.
 */
struct inv_node;
struct mft_result;
struct partition_set;
struct pkey_map;
struct wire_notice;

/*
 * Starts timing a fault that may change paths, from when it was seen. While a fault is open the SA
 * gets only a share of the loop's time. If a fault is open already, that one continues. The update
 * renames the fault after what it finds.
 */
void fabric_fault_found(struct fabric *fabric, const char *what, uint64_t when_us);

/*
 * The manager is at another port of the fabric that it knows, from now on: paths begin there, what
 * its former switch leads to is swept, and ports get the SM's new LID.
 */
void fabric_move(struct fabric *fabric, struct inv_node *node, uint8_t port);

/*
 * For the room that writes multicast tables (services.mft): a round of writes has ended. The pipe
 * calls programmed().
 */
void fabric_report_mft_written(struct fabric *fabric, const struct mft_result *result);

/*
 * Sets the partitions of the view and of bring-up; called in published() only. The
 * caller keeps both objects, and keeps the former ones readable until published() has returned.
 */
void fabric_publish_partitions(struct fabric *fabric, const struct partition_set *set,
			       const struct pkey_map *pkeys);

/*
 * What this room adds to a verdict on a host (fm/hosts/module.h) is another without a publication:
 * published() is called at once with FABRIC_HOSTS_CHANGED, and rooms merge frequent calls.
 */
void fabric_report_hosts_changed(struct fabric *fabric);

/*
 * Hands a received trap (`times` equal ones, the first of which came at came_us) to the rooms, with
 * the pipe's verdict whether the port that the trap names has sent it.
 */
void fabric_trap_received(struct fabric *fabric, const struct wire_notice *notice,
			  uint16_t from_lid, unsigned times, uint64_t came_us);

/* ---- Progress -------------------------------------------------------------------------------- */

/*
 * What this manager may do, and what the pipe is doing, for concerns that do their own
 * work while the pipe does none.
 */
struct program_result;

/* It is the master subnet manager, so it may change the fabric (IBA 14.4.1). */
bool fabric_is_master(const struct fabric *fabric);
/*
 * It only looks: it sweeps, and publishes the LIDs and tables that devices hold. With observe =
 * true it becomes no master, and mad refuses what would change a device. A standby without peers
 * looks until it begins again as something else.
 */
bool fabric_observes(const struct fabric *fabric);
/* It may ask the fabric: its port has a link, and it is master, looks, or asks who is. */
bool fabric_may_sweep(const struct fabric *fabric);

/* True: a sweep is under way, a light one too. */
bool fabric_sweep_running(const struct fabric *fabric);
/* True: the snapshot of an update is collected, and nothing of it published yet. */
bool fabric_updating(const struct fabric *fabric);
/*
 * True: forwarding tables that were published are being written, or blocks that were not
 * acknowledged are tried again.
 */
bool fabric_programming(const struct fabric *fabric);
/* All that was published is programmed and brought up, and no update is being computed. */
bool fabric_is_settled(const struct fabric *fabric);
/*
 * All that was published is programmed and brought up, and read where it was only assumed after a
 * restart.
 */
bool fabric_is_up(const struct fabric *fabric);
/*
 * It is master, behind its first publication, and nothing is requested or under way that this
 * header names.
 */
bool fabric_is_quiet(const struct fabric *fabric);
/*
 * fabric_is_quiet() and fabric_is_up(): since when, by the loop's clock; 0 = it is not so.
 */
uint64_t fabric_quiet_since_us(const struct fabric *fabric);

/* The result of the latest programming that ended; all zero before. Belongs to the pipe. */
const struct program_result *fabric_last_programmed(const struct fabric *fabric);
