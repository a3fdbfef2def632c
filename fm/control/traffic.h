/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* traffic: what the counters of a port say of its link, by their latest rates. */
#ifndef FMD_CONTROL_TRAFFIC_H
#define FMD_CONTROL_TRAFFIC_H

#include "fm/perf/module.h"

/* counters NULL: never read. NAN: not known. */
double traffic_gbps(const struct port_counters *counters, unsigned counter); /* of bytes */
/* What leaves the port, in per cent of what the link can at its present speed and width. */
double traffic_load(const struct topo_port *port, const struct port_counters *counters);
double traffic_errors(const struct port_counters *counters); /* of the link, a second */
json_t *traffic_json(double value); /* null where it is not known; the caller's */

#endif
