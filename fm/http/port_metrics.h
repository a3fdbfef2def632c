/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * port_metrics: series for each port as Prometheus text, in pieces: state, speed and width of the
 * links of a snapshot, and the latest reading of their counters. Memory does not grow with the
 * fabric.
 *
 * Counters have the names and labels that treydock's infiniband_exporter gives them
 * (infiniband_switch_port_.. by guid, port and switch, infiniband_hca_port_.. by guid, port and
 * hca); what it does not have begins with fmd_port_, by guid and port. What else there is to know
 * of a port are labels of fmd_port_info, so a cable that is moved makes one new series. Ports
 * without a known link have no series; a counter has none until it is read, or when it was not read
 * for long.
 */
#pragma once

#include <microhttpd.h>
#include "fm/perf/counters.h"
#include "topology/snapshot/topo.h"

/* Groups of metrics, as ?collect[]= names them. */
enum port_metrics_group {
	PORTS_INFO = 1,
	PORTS_STATE = 2,
	PORTS_TRAFFIC = 4,
	PORTS_ERRORS = 8,
	PORTS_FEC = 16,
};
/* Of that name; 0 = there is none. */
enum port_metrics_group port_metrics_group(const char *name);

struct port_metrics_wish {
	bool hcas;	 /* ports of HCAs too */
	bool all;	 /* metrics that are not essential, too */
	unsigned groups; /* of enum port_metrics_group: these alone, each whole; 0 = all groups */
	uint32_t leaf; /* this switch alone, and the HCAs that are cabled to it; TOPO_NONE = all */
};

struct fabric;
struct port_metrics;
/*
 * Starts a text, which the caller frees. It takes a reference of `topo`; topo NULL = nothing is
 * published, the text is empty. `wish` is copied. Of the fabric it has the latest readings.
 */
struct port_metrics *port_metrics_new(const struct topo *topo, const struct port_metrics_wish *wish,
				      const struct fabric *fabric);
/*
 * Writes the next bytes of the text, at most `room`, and returns their number; 0 = the end. A call
 * takes a millisecond or two in the largest fabric.
 */
size_t port_metrics_read(struct port_metrics *m, char *to, size_t room);
/* NULL is fine. */
void port_metrics_free(struct port_metrics *m);

/* ---- /metrics/ports, made piece by piece while the client reads it --------------------------- */

struct port_reply;

struct port_replies { /* on their way to clients */
	struct port_reply *first;
};

/*
 * A response with the text of the published snapshot, and the readings at the time of each piece.
 * The caller owns it. It holds a reference of the snapshot and is one of `all` until libmicrohttpd
 * releases it; fabric and `all` must live as long. The query of the connection narrows the wish,
 * and `gzip` compresses piece by piece. NULL with the status and the reason: the query is wrong, or
 * too many are on their way, in all or to this client.
 */
struct MHD_Response *port_reply_new(struct port_replies *all, struct MHD_Connection *connection,
				    const struct fabric *fabric,
				    const struct port_metrics_wish *wish, bool gzip,
				    unsigned *status, const char **why);
