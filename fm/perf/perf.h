/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * perf: reads the counters of all ports with a link over the fabric (GMPs, IBA 16.1), steadily: a
 * pass over all of them is spread over the interval, so that the rate of packets is even and low,
 * and no device is asked twice in a row. A pass that lasts longer, as answers come slower than
 * that, is finished, and the next begins at once: rates go by the time between the two readings of
 * a port, however long that was. What the counters say is judged port by port (judge.h).
 * Nothing is ever cleared.
 *
 * One packet a port and pass, and a second where its agent counts what forward error correction
 * does; one more a node, once, for what its agent can do. An agent that has counters of 64 bits for
 * traffic and not for errors is asked for both, which is one more a port. A node that does not
 * answer is left alone for the rest of the pass. Ports with errors are asked once more, what kind
 * they are. PortInfo is read of ports whose counters of errors or recoveries moved, and of all in
 * turn within ten passes: a link that trains to fewer lanes without going down sets no
 * PortStateChange. A reading that would count against a link is made twice before anything follows
 * from it (judge_weigh()).
 */
#pragma once

#include "fm/perf/counters.h"
#include "fm/perf/judge.h"
#include "fm/inventory/inventory.h"

struct perf_conf {
	unsigned interval_ms; /* of a pass; 0 = only on demand */
	struct judge_limits limits;
	struct ber_conf ber;
};

struct perf_pass {		/* the latest that ended */
	unsigned ports, silent; /* read; not answered */
	uint64_t mads, took_us, ended_us;
	bool hurried;	     /* on demand: as fast as answers come */
	uint64_t running_us; /* how long the present pass has lasted; 0 = none runs */
	uint64_t thrown;     /* readings that were false, since the reader was made */
};

struct perf_port { /* what is known of a port */
	guid_t node;
	uint8_t num;
	const struct judge_port *judged;
	const struct port_counters *counters; /* the latest reading */
	const struct judge_fec *fec;	      /* NULL = not counted */
	const struct ber_port *ber;
	double bits_s; /* of its link, by speed and width */
	uint16_t rcv_details[WIRE_PERF_DETAILS], xmit_details[WIRE_PERF_DETAILS];
};

struct perf_ops {
	void (*changed)(void *arg, const struct perf_port *port, enum judge_state before);
	/* Each reading at which its error rate is over a limit, and when it is no more. */
	void (*ber)(void *arg, const struct perf_port *port, bool changed);
	/* Each reading of a port by a pass; of one that is watched also those in between. */
	void (*read)(void *arg, guid_t node, uint8_t num, const struct port_counters *counters,
		     bool watched);
	/* Its link runs by other lanes or at another speed than the inventory has. */
	void (*trained)(void *arg, struct inv_node *node, uint8_t num);
	void (*passed)(void *arg, const struct perf_pass *pass);
	/* As link_effective_errors() (fm/registers/module.h). */
	uint64_t (*measured)(void *arg, guid_t node, uint8_t num, bool again, uint64_t *errors);
};

struct perf;
/*
 * A reader that begins its first pass an interval later; the caller owns it. Loop, mad, inventory
 * and ops are borrowed; what ops does is called with arg, from the loop.
 */
struct perf *perf_new(struct loop *loop, struct mad *mad, struct inventory *inv,
		      const struct perf_conf *conf, const struct perf_ops *ops, void *arg);
/* Requests on their way are dropped, nothing is called any more; NULL is fine. */
void perf_free(struct perf *p);
/* Takes over a copy. Another interval counts for the pass that runs, too. */
void perf_configure(struct perf *p, const struct perf_conf *conf);
/* Begins a pass at full speed, when none like it runs; perf_ops.passed tells its end. */
void perf_read_now(struct perf *p);
/*
 * For a minute the port's traffic is read every ten seconds too, where passes are further apart and
 * its agent has counters of 64 bits. Of more than 64 ports those that came first.
 */
void perf_watch(struct perf *p, guid_t node, uint8_t num);
/* All of the latest is zero: none has ended. */
struct perf_pass perf_last_pass(const struct perf *p);
/* Calls fn for each node that gave at least so many of them within about an hour, by GUID. */
void perf_each_untrue(const struct perf *p, double least,
		      void (*fn)(void *arg, const struct inv_node *node), void *arg);

/* Ports that are not well by counters or by their error rate, by node GUID and number. */
typedef void perf_port_fn(void *arg, const struct perf_port *port);
void perf_each_unwell(const struct perf *p, perf_port_fn *fn, void *arg);
bool perf_find(const struct perf *p, guid_t node, uint8_t num,
	       struct perf_port *out); /* false: never read */
/*
 * The latest readings of a node's ports: port N at N - 1, those never read have counters_read_us()
 * 0. NULL: none; *nports is how many.
 */
const struct port_counters *perf_counters(const struct perf *p, guid_t node, uint8_t *nports);
