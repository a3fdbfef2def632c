/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: the health of links, by the counters of their ports and by the pace that they run at, as
 * a room (fm/fabric/module.h).
 */
#pragma once

#include "fm/fabric/module.h"
#include "fm/fabric/operation.h"
#include "fm/perf/counters.h"

struct host_verdict;

extern const struct fabric_module link_health_module;

/*
 * Adds what this room knows of a host, by index of the published snapshot, where that is not
 * healthy. Cheap but for a formatted reason.
 */
void link_health_judge_host(const struct fabric *fabric, uint32_t host,
			    struct host_verdict *verdict);

/* Links that are unhealthy, a row each: {"a","b",..,"sick","why"}; the caller owns it. */
json_t *link_health_links(const struct fabric *fabric);
/* Appends those by counters, error rates and speed; something is published. */
void link_health_unhealthy(const struct fabric *fabric, json_t *list);
/* The document of `fmctl --json health`; the caller owns it. */
json_t *link_health(const struct fabric *fabric);
/* Reads all counters now; then that document. */
void link_health_read(struct fabric *fabric, waiter_fn *fn, void *arg);

/*
 * Which error correction a port uses, as its link says since it is Active; NULL = not known, or it
 * does not tell. Borrowed until control returns to the loop.
 */
const struct fec_mode *link_health_fec(const struct fabric *fabric, guid_t node, uint8_t port);
/*
 * Those of all ports of a node (fec_modes_of()): what is known of a port has FEC_KNOWN. NULL: of
 * none. Borrowed until control returns to the loop.
 */
const struct fec_mode *link_health_fec_node(const struct fabric *fabric, guid_t node,
					    uint8_t *nports);

/* The clock that readings go by (counters.h). */
uint64_t link_health_now_us(const struct fabric *fabric);
/*
 * The latest reading of a port; NULL = never read. Borrowed until control returns to the loop. That
 * of a port whose link is down is of before (counters_read_us()).
 */
const struct port_counters *link_health_counters(const struct fabric *fabric, guid_t node,
						 uint8_t port);
/*
 * Those of all ports of a node, port N at N - 1, of those never read counters_read_us() is 0;
 * *nports is how many. NULL: no port of it was ever read.
 */
const struct port_counters *link_health_node(const struct fabric *fabric, guid_t node,
					     uint8_t *nports);
/* Readings of before are of ports that have not answered for three passes. */
uint64_t link_health_oldest_us(const struct fabric *fabric);
/*
 * What a port carried, in rows of step_s seconds (fm/history/history.h); the caller's. May be
 * called in a child.
 */
json_t *link_health_history(const struct fabric *fabric, guid_t guid, uint8_t num, unsigned step_s);
/* As perf_watch(), for who asks for rows of the last hour. */
void link_health_watch(struct fabric *fabric, guid_t node, uint8_t num, unsigned step_s);
/*
 * All ports of the published snapshot that have a link, up or down, in its order: by index in
 * topo.ports, with their latest reading or NULL. Nothing published: none.
 */
typedef void port_counters_fn(void *arg, uint32_t port, const struct port_counters *counters);
void link_health_each_port(const struct fabric *fabric, port_counters_fn *fn, void *arg);
