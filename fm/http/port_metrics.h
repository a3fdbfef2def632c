/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * port_metrics: series for each port as Prometheus text, in pieces: state, speed and width of the
 * links of a snapshot, and the latest reading of their counters. Memory does not grow with the
 * fabric.
 *
 * Counters have the names that treydock's infiniband_exporter gives them (infiniband_switch_port_..
 * and infiniband_hca_port_..); what it does not have begins with fmd_port_. Ports without a known
 * link have no series; a counter has none until it is read, or when it was not read for long.
 */
#ifndef FMD_HTTP_PORT_METRICS_H
#define FMD_HTTP_PORT_METRICS_H

#include <microhttpd.h>
#include "fm/perf/counters.h"
#include "topology/snapshot/topo.h"

struct port_metrics_source {
	/*
	 * The readings of a node's *nports ports, port N at N - 1; NULL = none. They must be valid
	 * until port_metrics_read() returns.
	 */
	const struct port_counters *(*counters)(void *arg, guid_t node, uint8_t *nports);
	/* The same of the modes of error correction, port N at N (link_health_fec_node()). */
	const struct fec_mode *(*fec_modes)(void *arg, guid_t node, uint8_t *nports);
	uint64_t (*oldest_us)(void *arg); /* readings before that are left out */
	void *arg;
};

struct port_metrics;
/*
 * Starts a text, which the caller frees. It takes a reference of `topo`; topo NULL = nothing is
 * published, the text is empty. hcas: ports of HCAs too. `source` is copied.
 */
struct port_metrics *port_metrics_new(const struct topo *topo, bool hcas,
				      const struct port_metrics_source *source);
/*
 * Writes the next bytes of the text, at most `room`, and returns their number; 0 = the end. A call
 * takes a millisecond or two in the largest fabric.
 */
size_t port_metrics_read(struct port_metrics *m, char *to, size_t room);
/* NULL is fine. */
void port_metrics_free(struct port_metrics *m);

/* ---- /metrics/ports, made piece by piece while the client reads it --------------------------- */

struct fabric;
struct port_reply;

struct port_replies { /* on their way to clients */
	struct port_reply *first;
};

/*
 * A response with the text of the published snapshot, and the readings at the time of each piece.
 * The caller owns it. It holds a reference of the snapshot and is one of `all` until libmicrohttpd
 * releases it; fabric and `all` must live as long. hcas: ports of HCAs too. NULL = too many are on
 * their way, in all or to this client.
 */
struct MHD_Response *port_reply_new(struct port_replies *all, struct MHD_Connection *connection,
				    const struct fabric *fabric, bool hcas);

#endif
