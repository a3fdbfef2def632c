/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Inside fm/sa: what belongs to one SA, and who does what. Calls go down this list.
 *
 *   sa.c               server: life, requests in
 *   sa_query.c         engine: walks a record's items, keeps the rows the mask asks for, yields
 *                      when it takes long, and sends answers; sa_limit.c has the requests that wait
 *                      for it, so that no host takes it from the others
 *   record_*.c         a family of records each (sa_record.h), called by the engine alone
 *   sa_path.c          paths between ports, and to multicast groups
 *   sa_mcast*.c        multicast groups; sa_report.c notices to subscribers; sa_state.c what
 *                      outlives the process
 *   sa_service.c, sa_report.c, sa_alias.c, mcast_group.c
 *                      stores of services, subscriptions, alias GUIDs, groups
 *   sa_link.c          MTU and rate of every link; sa_listener.c who is notified of what happens
 *   here
 */
#ifndef FMD_SA_SA_IMPL_H
#define FMD_SA_SA_IMPL_H

#include <complib/cl_qmap.h>
#include "fm/loop/log.h"
#include "fm/mad/wire_sa.h"
#include "fm/sa/mcast_group.h"
#include "fm/sa/sa.h"
#include "fm/sa/sa_alias.h"
#include "fm/sa/sa_limit.h"
#include "fm/sa/sa_link.h"
#include "fm/sa/sa_query.h"
#include "fm/sa/sa_report.h"
#include "fm/sa/sa_service.h"

#define SA_DEFAULT_PKEY 0xffff

struct sa_places {		 /* of the view: what indices of its ports and LIDs refer to */
	const struct topo *topo; /* referenced */
	uint16_t top;
	uint8_t lmc;
};

struct sa {
	struct loop *loop;
	struct mad *mad;
	const struct inventory *inv;
	struct sa_conf conf;
	struct sa_view view;
	struct sa_places places;
	struct sa_record records[SA_RECORD_COUNT]; /* SA_RECORDS, each with the size of its rows */
	/* [view.topo->nports]; NULL: nobody asked since the publish, see sa_link() */
	struct sa_link *links;
	uint8_t *scratch; /* answer buffer of queries that end at once */
	size_t scratch_size;
	struct sa_query *jobs[SA_JOBS];
	unsigned turn; /* of the jobs: who had the last slice */
	struct loop_timer *step;
	struct sa_queue queue;
	cl_qmap_t subscribers; /* struct subscriber by port GUID */
	struct services services;
	struct aliases aliases;
	struct sa_manager *managers; /* but this one */
	unsigned nmanagers;
	struct limit limit;
	struct reports reports;
	struct sa_listener listener;
	struct sa_groups *groups;
	const struct sa_groups_ops *groups_ops; /* of sa_mcast_follow(); NULL = nobody follows */
	void *groups_arg;
	const struct mcast_plan *trees; /* as the switches are to hold them; NULL = none */
	struct sa_stats stats;
	bool away;   /* does not serve */
	bool frozen; /* changes nothing */
	struct log_limit refused;
};

/* TOPO_NONE when no port has the LID. */
static inline uint32_t sa_port_by_lid(const struct sa *sa, uint16_t lid)
{
	const struct lid_map *lids = sa->view.lids;

	return lid && lid <= lids->top ? lids->port_of_lid[lid] : TOPO_NONE;
}

/* Base LID; of a switch port its switch's. */
static inline uint16_t sa_port_lid(const struct sa *sa, uint32_t port)
{
	const struct topo *t = sa->view.topo;
	const struct topo_node *node = &t->nodes[t->ports[port].node];

	return sa->view.lids->lid_of_port[node->type == TOPO_SWITCH ? node->port0 : port];
}

/* sa_listener.c */
/* Reports a record of what files keep that has changed, as a line without its end. */
void sa_record(struct sa *sa, enum sa_kept kept, const char *line);
void sa_log(struct sa *sa, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Whether two ports have a partition in common, and so know of each other. Without partitions all
 * do; with them nobody knows of a port that is not in the view (TOPO_NONE).
 */
static inline bool sa_may_know(const struct sa *sa, uint32_t port, uint32_t other)
{
	return !sa->view.pkeys || (port != TOPO_NONE && other != TOPO_NONE &&
				   pkey_map_shared(sa->view.pkeys, port, other));
}

/* A port is shown to those who share a partition with it; of a switch that is its port 0. */
static inline bool sa_shown(const struct sa_query *q, uint32_t port)
{
	const struct topo *t = q->sa->view.topo;
	const struct topo_node *node = &t->nodes[t->ports[port].node];

	return !q->sa->view.pkeys ||
	       (q->asker != TOPO_NONE &&
		sa_may_know(q->sa, q->asker, node->type == TOPO_SWITCH ? node->port0 : port));
}

#endif
