/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sa: subnet administration (IBA 15). Answers at all times from the last published view: a
 * snapshot, its LIDs and its tables.
 */
#ifndef FMD_SA_SA_H
#define FMD_SA_SA_H

#include "fm/core/loop.h"
#include "fm/core/partition.h"
#include "fm/mad/mad.h"
#include "fm/mad/wire.h"
#include "fm/sa/mcast_group.h"
#include "fm/sweep/inventory.h"
#include "routing/lid_plan.h"
#include "routing/multicast/mcast_plan.h"
#include "routing/tables.h"
#include "topology/topo.h"

struct sa_conf {
	uint64_t gid_prefix;
	/* of a request: 0 = anybody, this = trusted, another = dropped (C15-0.1.5) */
	uint64_t sa_key;
	uint64_t old_sa_key;	/* as good; 0 = none */
	uint8_t sm_priority;	/* shown in SMInfoRecord */
	uint8_t subnet_timeout; /* the life time of every path */
	/* multicast groups of one port, more is NO_RESOURCES; 0 = any number */
	unsigned groups_limit;
	/* requests a second of one LID, more is not answered; 0 = any number */
	unsigned rate_limit;
	bool proxy_join;      /* ports may join others to groups without the SM_Key */
	bool pkey_host_order; /* block numbers of P_KeyTableRecords as OpenSM sends them */
};

struct sa;
struct sa *sa_new(struct loop *loop, struct mad *mad, const struct inventory *inv,
		  const struct sa_conf *conf);
void sa_free(struct sa *sa);
void sa_configure(struct sa *sa, const struct sa_conf *conf);

/*
 * Swaps the view. The pointers stay the caller's and stay valid until the next publish; NULL topo =
 * no view: nothing is answered.
 */
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
void sa_publish(struct sa *sa, const struct sa_view *view);

/*
 * Notices go to who subscribed to them, one Report at a time to each, each repeated until it is
 * acknowledged; who never answers loses the subscription. What the SA has to say itself (a port in
 * or out of service, a group made or gone) it says by itself.
 */
void sa_notice(struct sa *sa, const struct wire_notice *notice, uint16_t issuer_lid); /* a trap */

enum sa_kept { SA_SUBSCRIPTIONS, SA_SERVICES, SA_ALIASES, SA_KEPT };

/* Each may be NULL. They come from anywhere in the SA: they only take note. */
struct sa_listener {
	void (*record)(void *arg, enum sa_kept kept, const char *line); /* of sa_state.h */
	void (*reported)(void *arg, const char *text);			/* worth an event */
	void (*guids)(void *arg, guid_t port); /* its table of GUIDs is another */
	void *arg;
};
void sa_listen(struct sa *sa, const struct sa_listener *listener);

/*
 * Ports by more than one GUID. The next port, by GUID, that has a table of them, 0 = none; a block
 * of it as it goes to the port.
 */
guid_t sa_alias_next(const struct sa *sa, guid_t after);
bool sa_alias_block(const struct sa *sa, guid_t port, unsigned block, uint8_t data[64]);
guid_t sa_alias_port(const struct sa *sa, guid_t guid); /* whose alias that is; 0 = nobody's */
guid_t sa_own_port(const struct sa *sa,
		   guid_t guid); /* the port's own GUID, of an alias; else the same */

void sa_serve(struct sa *sa, bool on); /* off: answers no request. At first on. */
/* On: what would change something is left unanswered, and no Report leaves. At first off. */
void sa_freeze(struct sa *sa, bool on);

/* The multicast groups, the SA's own; they may be changed from outside too (mcast_group.h). */
struct sa_groups *sa_mcast_groups(struct sa *sa);
/* The port that is in most groups by all of its GUIDs, and in how many; 0: none is in any. */
guid_t sa_mcast_largest(const struct sa *sa, unsigned *groups);
/* The groups made in advance, from now on these: they are there without members too. */
void sa_mcast_preset(struct sa *sa, const struct partition_group *groups, unsigned count);
/* changed() and record() of ops hear of each change, and change nothing. */
struct sa_groups_ops;
void sa_mcast_follow(struct sa *sa, const struct sa_groups_ops *ops, void *arg);
/* For MulticastForwardingTableRecords. Borrowed until the next call; NULL = no trees. */
void sa_mcast_set_trees(struct sa *sa, const struct mcast_plan *trees);

/* The other subnet managers, for SMInfoRecords; copied. */
struct sa_manager {
	uint16_t lid;
	guid_t guid; /* of its port */
	struct wire_sm_info info;
};
void sa_set_managers(struct sa *sa, const struct sa_manager *list, unsigned count);

struct sa_stats {
	uint64_t requests, answered, bad, unsupported;
	/* left unanswered: nothing is published yet, above the rate, or no room to wait */
	uint64_t busy;
	uint64_t ignored; /* not the master's, or not this one's any more */
	uint64_t reports, reports_unanswered, reports_skipped; /* skipped: fell behind too far */
	unsigned subscriptions, services;
	unsigned waiting; /* requests for which no job is free at present */
};
struct sa_stats sa_stats(const struct sa *sa);

#endif
