/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric: the pipe
 *   sweep -> snapshot -> LID plan -> route -> check -> program + bringup -> SA publishes
 * as it is run for a cold start, a trap, what a light sweep finds and an operator's command alike.
 * control and http see of it this, what is published (view.h), and functions of rooms.
 */
#pragma once

#include "fm/conf/conf.h"
#include "fm/events/event_query.h"
#include "fm/loop/loop.h"
#include "fm/fabric/view.h"
#include "fm/fabric/operation.h"
#include "fm/mad/mad.h"
#include "routing/proof/check.h"
#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "topology/snapshot/topo.h"

struct fabric;
struct fabric_module;
struct fabric_row;

/*
 * The caller's, never NULL. loop, mad and rooms are borrowed, conf is copied. mad's port may be
 * closed: fabric_start() opens it, or waits for it. State is read from and kept in conf->state_dir.
 * rooms: fm/rooms.h's, as a rule; a row of NULL at the end.
 */
struct fabric *fabric_new(struct loop *loop, struct mad *mad, const struct conf *conf,
			  const struct fabric_row *rooms);
/* Clients that wait are not called; state files are written before it returns. */
void fabric_free(struct fabric *fabric);
/* Begins to manage; to be called once. */
void fabric_start(struct fabric *fabric);
/* Copies another configuration, one that conf_check_reload() accepts; an update may follow. */
void fabric_configure(struct fabric *fabric, const struct conf *conf);

/*
 * Whether those rooms are in an order that they allow, and can use the files that a configuration
 * names: 0, or -1 with the reason in err.
 */
int fabric_check_conf(const struct fabric_row *rooms, const struct conf *conf, char *err,
		      size_t err_size);

/* The document of `fmctl --json status`; the caller owns the reference. */
json_t *fabric_status(const struct fabric *fabric);
/*
 * A part does not work as configured, for the reason in error; NULL: it does again. Its beginning
 * and its end are events, however often it is called in between.
 */
void fabric_trouble(struct fabric *fabric, const char *what, const char *error);

/* All alerts that last (alerts_json()); the caller owns it. */
json_t *fabric_alerts(const struct fabric *fabric);

/*
 * Operator commands that take a while: a heavy sweep; another computation, proof and programming of
 * the tables. fn is called once, with a document (borrowed), or NULL and an error text.
 */
typedef waiter_fn fabric_done_fn;
void fabric_sweep(struct fabric *fabric, fabric_done_fn *fn, void *arg);
void fabric_reroute(struct fabric *fabric, fabric_done_fn *fn, void *arg);

/* Events, newest last; at most `count` of them as a JSON array the caller owns. */
json_t *fabric_events(const struct fabric *fabric, unsigned count);
/* The same of the events that match the query (fm/events/event_query.h); the caller owns it. */
json_t *fabric_find_events(const struct fabric *fabric, const struct event_query *query,
			   unsigned count);
/*
 * Calls fn with each event from now on, as it is added; also from within calls of the pipe: fn may
 * not follow or unfollow.
 */
typedef void fabric_event_fn(void *arg, const json_t *event);
void fabric_follow(struct fabric *fabric, fabric_event_fn *fn, void *arg);
void fabric_unfollow(struct fabric *fabric, void *arg);

struct fabric_tried {
	const char *engine; /* that made the tables */
	bool damaged;	    /* that engine was used because some pairs of hosts had no path else */
	bool uneven; /* the design is, as far as it is a tree (routing/balance/rebalance.h) */
	bool cordons_overridden; /* they carry transit, for nothing else connects some hosts */
	char why[400];		 /* why it is not the configured one; "" = it is */
};
/*
 * Computes LIDs, which it returns, and tables of a variant, for questions; nothing changes. LIDs of
 * ports that are known are those in force. policy: fabric_policy() of the variant, or another; the
 * caller's, as out and the LIDs are. Takes as long as routing takes.
 */
struct lid_map *fabric_try(const struct fabric *fabric, const struct topo *variant,
			   const struct fabric_policy *policy, struct tables *out,
			   struct fabric_tried *tried);
/*
 * enum route_class by port of the published snapshot and by name, the caller's; NULL = all are
 * compute ports.
 */
uint8_t *fabric_port_classes(const struct fabric *fabric);

/* Proves the published tables again; report is the caller's. False: nothing is published yet. */
bool fabric_check(const struct fabric *fabric, struct check_report *report);
