/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric: the pipe
 *   sweep -> snapshot -> LID plan -> route -> check -> program + bringup -> SA publishes
 * as it is run for a cold start, a trap, what a light sweep finds and an operator's command alike.
 * control and http see of it this, what is published (view.h), and functions of rooms.
 */
#ifndef FMD_FABRIC_H
#define FMD_FABRIC_H

#include <jansson.h>
#include "fm/core/conf.h"
#include "fm/core/event_query.h"
#include "fm/core/loop.h"
#include "fm/fabric/policy.h"
#include "fm/fabric/waiters.h"
#include "fm/mad/mad.h"
#include "routing/proof/check.h"
#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "topology/topo.h"

struct fabric;
struct fabric_module;

/*
 * mad is the caller's; its port may be closed: fabric_start() opens it, or waits for it. State is
 * read from and kept in conf->state_dir. rooms: fm/rooms.h's, as a rule.
 */
struct fabric *fabric_new(struct loop *loop, struct mad *mad, const struct conf *conf,
			  const struct fabric_module *const rooms[]);
void fabric_free(struct fabric *fabric);
void fabric_start(struct fabric *fabric);
void fabric_configure(struct fabric *fabric, const struct conf *conf);

/*
 * Whether the files that a configuration names can be used by those rooms: 0, or -1 with the reason
 * in err.
 */
int fabric_check_conf(const struct fabric_module *const rooms[], const struct conf *conf, char *err,
		      size_t err_size);

/* The document of `fmctl --json status`; the caller owns the reference. */
json_t *fabric_status(const struct fabric *fabric);
/*
 * Something does not work as configured, for that reason, NULL = (any more). Told again and again,
 * it is an event when it begins and ends.
 */
void fabric_trouble(struct fabric *fabric, const char *what, const char *error);

/* What alerts_json() says of all that last; the caller owns it. */
json_t *fabric_alerts(const struct fabric *fabric);

/* Links that are unhealthy, a row each: {"a","b",..,"sick","why"}; the caller owns it. */
json_t *fabric_unhealthy(const struct fabric *fabric);

/*
 * Why this manager changes nothing: who is master instead. NULL = it is master, or about to know.
 * Valid until control returns to the loop.
 */
const char *fabric_refusal(const struct fabric *fabric);

/*
 * Acts that take a while: done is called once, with a document (borrowed) and an error text or
 * NULL.
 */
typedef waiter_fn fabric_done_fn;
void fabric_sweep(struct fabric *fabric, fabric_done_fn *fn,
		  void *arg); /* looks at everything again */
void fabric_reroute(struct fabric *fabric, fabric_done_fn *fn,
		    void *arg); /* computes, proves, programs again */
void fabric_readback(struct fabric *fabric, fabric_done_fn *fn,
		     void *arg); /* compares with the hardware */
/* That client has disconnected: what it asked for continues, its callbacks are dropped. */
void fabric_client_gone(struct fabric *fabric, void *arg);

/* Events, newest last; at most `count` of them as a JSON array the caller owns. */
json_t *fabric_events(const struct fabric *fabric, unsigned count);
/* The same of those that are asked for (fm/core/event_query.h). */
json_t *fabric_find_events(const struct fabric *fabric, const struct event_query *query,
			   unsigned count);
/*
 * Each event from now on, as it happens. The callback comes from anywhere: it follows and unfollows
 * nobody.
 */
typedef void fabric_event_fn(void *arg, const json_t *event);
void fabric_follow(struct fabric *fabric, fabric_event_fn *fn, void *arg);
void fabric_unfollow(struct fabric *fabric, void *arg);

/*
 * For questions; nothing changes by them. A variant has the nodes of the published snapshot; its
 * LIDs are those in force. policy: fabric_policy() of the variant, or another; the caller's. Takes
 * as long as routing takes.
 */
struct fabric_tried {
	const char *engine; /* that made the tables */
	bool damaged;	    /* .. because pairs of hosts had no path else */
	bool uneven; /* the design is, as far as it is a tree (routing/balance/rebalance.h) */
	bool cordons_overridden; /* they carry transit, for nothing else connects some hosts */
	char why[400];		 /* it is another than configured: why; "" = it is not */
};
void fabric_try(const struct fabric *fabric, const struct topo *variant,
		const struct fabric_policy *policy, struct tables *out, struct fabric_tried *tried);
/*
 * enum route_class by port of the published snapshot and by name, the caller's; NULL = all compute.
 */
uint8_t *fabric_port_classes(const struct fabric *fabric);

/* Proves the published tables again. */
bool fabric_check(const struct fabric *fabric, struct check_report *report);

#endif
