/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sa: subnet administration (IBA 15). Answers at all times from the last published view: a
 * snapshot, its LIDs and its tables.
 */
#pragma once

#include "fm/events/event_log.h"
#include "fm/conf/partition.h"
#include "fm/mad/wire.h"
#include "fm/sa/mcast_group.h"
#include "fm/inventory/inventory.h"
#include "routing/lid_plan.h"
#include "routing/multicast/mcast_plan.h"
#include "routing/tables.h"
#include "topology/snapshot/topo.h"

struct sa_conf {
	uint64_t gid_prefix;
	/* of a request: 0 = anybody, this = trusted, another = dropped (C15-0.1.5) */
	uint64_t sa_key;
	uint64_t old_sa_key;	/* as good; 0 = none */
	uint8_t subnet_timeout; /* the life time of every path */
	/* multicast groups, services, subscriptions of one port; 0 = its share alone counts */
	unsigned groups_limit, services_limit, subscriptions_limit;
	unsigned rate_limit;  /* requests answered a second, of one LID; 0 = all */
	bool proxy_join;      /* ports may join others to groups without the SM_Key */
	bool pkey_host_order; /* block numbers of P_KeyTableRecords as OpenSM sends them */
};

struct sa;
/*
 * The caller's, never NULL; handles all MADs of the class until sa_free(). conf is copied, the
 * others are borrowed. sa_configure() holds for requests from now on.
 */
struct sa *sa_new(struct loop *loop, struct mad *mad, const struct inventory *inv,
		  const struct sa_conf *conf);
void sa_free(struct sa *sa);
void sa_configure(struct sa *sa, const struct sa_conf *conf);

/* What answers are made of, the caller's. NULL topo = no view: nothing is answered. */
struct sa_view {
	const struct topo *topo;
	const struct lid_map *lids;
	const struct tables *tables;
	uint16_t sm_lid;
	const struct pkey_map *pkeys; /* of topo's ports; NULL: the default partition alone */
	const struct partition_set *partitions; /* NULL: every path's SL is 0 */
	const struct qos_set *qos;		/* NULL: as off */
	uint16_t sls_dropped;			/* a bit each: what has this SL goes nowhere */
};
/* Whether packets from that port to a LID arrive now: not all that a view wants is in force. */
enum sa_gate {
	SA_GATE_OPEN,
	SA_GATE_SOON, /* requests for it are left unanswered */
	SA_GATE_SHUT, /* there is no path */
};
typedef enum sa_gate sa_gate_fn(void *arg, uint32_t from_port, uint16_t to_lid);
/* NULL: open. */
void sa_use_gate(struct sa *sa, sa_gate_fn *fn, void *arg);

/* Answers from that view from now on; its pointers stay valid until the next sa_publish(). */
void sa_publish(struct sa *sa, const struct sa_view *view);

/*
 * Notices go to who subscribed to them, one Report at a time to each, each repeated until it is
 * acknowledged; who never answers loses the subscription. Notices of its own (a port in or out of
 * service, a group made or gone) the SA sends by itself.
 */
void sa_answer(struct sa *sa, const struct io_addr *from, const uint8_t *mad, size_t len);
void sa_notice(struct sa *sa, const struct wire_notice *notice, uint16_t issuer_lid); /* a trap */

enum sa_kept { SA_SUBSCRIPTIONS, SA_SERVICES, SA_ALIASES, SA_KEPT };

/* Each may be NULL. They are called from within the SA, and may not call it. */
struct sa_listener {
	/* A row is so now, or `gone`. */
	void (*record)(void *arg, enum sa_kept kept, bool gone, const char *line);
	/* True: it copied the answer to a change, and sends it by sa_answer() once that is kept. */
	bool (*promised)(void *arg, const struct io_addr *from,
			 const uint8_t mad[WIRE_MAD_SIZE]); /* of sa_state.h */
	/* worth an event */
	void (*reported)(void *arg, const struct event_subject *subject, const char *text);
	void (*guids)(void *arg, guid_t port); /* its table of GUIDs is another */
	void *arg;
};
/* Copied. There is one listener, the last that was set. */
void sa_listen(struct sa *sa, const struct sa_listener *listener);

/*
 * Ports by more than one GUID. The next port, by GUID, that has a table of them, 0 = none; whether
 * it has that block, as it goes to the port; the port of an alias, 0 = it is none; the port's own
 * GUID, if that is an alias, else the same.
 */
guid_t sa_alias_next(const struct sa *sa, guid_t after);
bool sa_alias_block(const struct sa *sa, guid_t port, unsigned block, uint8_t data[64]);
guid_t sa_alias_port(const struct sa *sa, guid_t guid);
guid_t sa_own_port(const struct sa *sa, guid_t guid);

/*
 * Without a view all, while it is frozen what would change something, is asked of the manager at
 * that LID from now on, by packets of that SL. 0: there is none, as at first.
 */
void sa_forward(struct sa *sa, uint16_t master_lid, uint8_t sl);
/* On: what would change something waits for sa_forward(), and no Report leaves. At first off. */
void sa_freeze(struct sa *sa, bool on);

/* The multicast groups; they belong to the SA and may be changed from outside (mcast_group.h). */
struct sa_groups *sa_mcast_groups(struct sa *sa);
/* The port that is in most groups by all of its GUIDs, and in how many; 0: none is in any. */
guid_t sa_mcast_largest(const struct sa *sa, unsigned *groups);
/* The groups made in advance, from now on these: they are there without members too. */
void sa_mcast_preset(struct sa *sa, const struct partition_group *groups, unsigned count);
/* For MulticastForwardingTableRecords. Borrowed until the next call; NULL = no trees. */
void sa_mcast_set_trees(struct sa *sa, const struct mcast_plan *trees);

void sa_show_priority(struct sa *sa, uint8_t priority); /* this manager's, in SMInfoRecord */
struct sa_manager {
	uint16_t lid;
	guid_t guid; /* of its port */
	struct wire_sm_info info;
};
/* The other subnet managers, for SMInfoRecords: replaces the list by a copy of this one. */
void sa_set_managers(struct sa *sa, const struct sa_manager *list, unsigned count);

struct sa_stats {
	uint64_t requests, answered, bad, unsupported;
	uint64_t busy;	  /* unanswered: no view yet, above the rate, or the queue is full */
	uint64_t ignored; /* the master was to be asked, and was not, or did not answer */
	uint64_t reports, reports_unanswered, reports_skipped; /* skipped: fell behind too far */
	unsigned subscriptions, services;
	unsigned waiting; /* requests for which no job is free at present, or the master is asked */
};
/* The sums since sa_new(); subscriptions, services and waiting as they are now. */
struct sa_stats sa_stats(const struct sa *sa);
