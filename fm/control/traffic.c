/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* traffic: what the counters of a port say of its link, by their latest rates. */
#include <math.h>
#include "fm/control/traffic.h"

#define GBPS_A_BYTE 8e-9
#define GBPS_A_MBPS 1e-3

double traffic_gbps(const struct port_counters *c, unsigned counter)
{
	return c && counters_rated(c, counter) ? c->rate[counter] * GBPS_A_BYTE : NAN;
}

double traffic_load(const struct topo_port *port, const struct port_counters *c)
{
	double most = topo_lane_mbps(port->speed) * port->width * GBPS_A_MBPS;

	double load = most > 0 ? 100 * traffic_gbps(c, PERF_XMIT_DATA) / most : NAN;

	return load > 100 ? 100 : load;
}

double traffic_errors(const struct port_counters *c)
{
	return c ? counters_error_rate(c) : NAN;
}

json_t *traffic_json(double value)
{
	return isnan(value) ? json_null() : json_real(value);
}
