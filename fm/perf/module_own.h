/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* module_own: what the files of the room have in common; nobody else includes it. */
#ifndef FMD_PERF_MODULE_OWN_H
#define FMD_PERF_MODULE_OWN_H

#include "fm/loop/job.h"
#include "fm/perf/fec_modes.h"
#include "fm/perf/module.h"
#include "fm/perf/perf.h"

struct slow_link {   /* a link that runs below what both ends can */
	guid_t node; /* the end with the lower GUID */
	uint8_t port;
	uint8_t lanes, best_lanes;
	enum topo_speed speed, best_speed;
};

struct slow_search;

struct link_health {
	struct fabric *fabric;
	struct fabric_services services;
	struct waiters waiters; /* for the end of a pass */
	struct waiters due;	/* for what follows from the one that has ended */
	struct job *behind;	/* which is that */
	unsigned interval_ms;
	unsigned late, in_time; /* passes in a row that did not keep to it, that did */
	struct perf *perf;
	unsigned warned, sick;	/* ports */
	unsigned over;		/* ports whose error rate is over a limit */
	struct slow_link *slow; /* by GUID and port */
	unsigned nslow;
	struct slow_search *search; /* for those; NULL = none runs */
	struct fec_modes *fec;
	bool fec_stale; /* something was published since all ports were asked */
};

/* module_ber.c: error rates over time. */
struct ber_conf link_health_ber_conf(const struct conf_ber *conf);
void link_health_ber(void *health, const struct perf_port *port, bool changed); /* perf_ops.ber */
uint64_t link_health_clean_us(const void *room, guid_t node, uint8_t port);	/* a hook */
/* "symbol BER 3.2e-13 in 12 min (limit 1e-14)" */
struct ber_text {
	char text[96];
};
/* Of the window and kind that are the worst. */
struct ber_text link_health_ber_why(const struct link_health *health, const struct perf_port *port);
/* Members of documents, the caller's: error rates of a port; their limits. */
json_t *link_health_ber_json(const struct link_health *health, const struct perf_port *port);
json_t *link_health_ber_summary(const struct link_health *health);

/* module_slow.c: links that run below what they can; a hook, and a search in pieces. */
void link_health_review(void *room);
void link_health_slow_begin(struct link_health *health);
bool link_health_slow_more(struct link_health *health); /* false: all were looked at */
void link_health_slow_end(struct link_health *health);	/* reports what it found */
void link_health_slow_free(struct link_health *health); /* what is known of them, too */

#endif
