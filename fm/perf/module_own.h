/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* module_own: what the files of the room have in common; nobody else includes it. */
#ifndef FMD_PERF_MODULE_OWN_H
#define FMD_PERF_MODULE_OWN_H

#include "fm/perf/module.h"
#include "fm/perf/perf.h"

struct slow_link {   /* a link that runs below what both ends can */
	guid_t node; /* the end with the lower GUID */
	uint8_t port;
	uint8_t lanes, best_lanes;
	enum topo_speed speed, best_speed;
};

struct link_health {
	struct fabric *fabric;
	struct fabric_services services;
	struct waiters waiters; /* for the end of a pass */
	struct perf *perf;
	unsigned warned, sick;	/* ports */
	unsigned over;		/* ports whose error rate is over a limit */
	struct slow_link *slow; /* by GUID and port */
	unsigned nslow;
};

/* module_limits.c */
struct judge_limits link_health_limits(const struct conf *conf);
/* Why a port is not well, in words; the caller's. */
json_t *link_health_why(const struct link_health *health, const struct judge_port *judged);

/* module_ber.c: error rates over time. */
struct ber_conf link_health_ber_conf(const struct conf *conf);
void link_health_ber(void *health, const struct perf_port *port, bool changed); /* perf_ops.ber */
uint64_t link_health_clean_us(const void *room, guid_t node, uint8_t port);	/* a hook */
/* "symbol BER 3.2e-13 in 12 min (limit 1e-14)" */
struct ber_text {
	char text[96];
};
struct ber_text link_health_ber_why(const struct link_health *health, const struct perf_port *port);
json_t *link_health_ber_json(const struct link_health *health, const struct perf_port *port);
json_t *link_health_ber_summary(const struct link_health *health);

/* module_hosts.c: the hook host(). */
void link_health_host(void *room, uint32_t host, struct host_verdict *verdict);

#endif
