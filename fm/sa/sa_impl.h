/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Inside fm/sa: what belongs to one SA, and who does what. Calls go down this list.
 *
 *   sa.c               server: life, requests in
 *   sa_query.c         engine (sa_query.h): walks a record's items, keeps the rows the mask asks
 *                      for, yields when it takes long, and sends answers; sa_limit.c has the
 *                      requests that wait for it, so that no host takes it from the others
 *   record_*.c         a family of records each, called by the engine alone: paths and groups too,
 *                      and alias GUIDs (record_node.c)
 *   sa_state.c         what hosts have asked for, as lines that outlive the process
 *   sa_service.c, sa_report.c, mcast_group.c
 *                      stores of services, subscriptions (and notices to them), groups
 *   sa_link.c          MTU and rate of every link
 *   sa_listener.c      what is reported of what happens here
 */
#pragma once

#include "fm/loop/log.h"
#include "fm/mad/mad.h"
#include "fm/mad/wire_sa.h"
#include "fm/sa/mcast_group.h"
#include "fm/sa/sa.h"
#include "fm/sa/sa_query.h"
#include "topology/base/sort.h"

#define SA_DEFAULT_PKEY 0xffff

/* ---- Links: sa_link.c ------------------------------------------------------------------------ */

struct sa_link {	/* by port index, for the link at the port */
	uint8_t mtu;	/* code; lower of both ends */
	uint8_t rate;	/* PathRecord code of the active speed and width */
	uint16_t knows; /* end ports: WIRE_CAP2_* of the rates that it understands */
};

/* Codes of rates (IBA 15.2.5.16); they are not in the order of what they mean. */
bool sa_rate_known(uint8_t rate); /* true: it is a code of that table */
/* Negative, 0, positive: a is slower than b, as fast, faster; an unknown code is below all. */
int sa_rate_compare(uint8_t a, uint8_t b);
uint8_t sa_rate_below(uint8_t rate); /* the next lower one, 0 = none */
/* The rate, or the highest below it that a port with these capabilities knows. */
uint8_t sa_rate_clip(uint8_t rate, uint16_t knows);

/* ---- Alias GUIDs: record_node.c -------------------------------------------------------------- */

#define SA_GUIDS_A_BLOCK 8

struct aliases {
	cl_qmap_t tables; /* struct alias_table by port GUID */
	cl_qmap_t owners; /* struct alias by its GUID */
	uint32_t made;	  /* GUIDs of our making */
};

/* The port of that GUID, be it an alias; TOPO_NONE = nobody's. */
uint32_t sa_port_by_guid(const struct sa *sa, guid_t guid);
/* The port's GUIDs one by one, its own first: the first with *at = 0. 0: those were all. */
guid_t sa_alias_each(const struct sa *sa, guid_t port, unsigned *at);

/* A change to one block of a port's table. */
struct sa_alias_change {
	guid_t port;
	unsigned first, end; /* entries of the block */
	uint8_t mask;	     /* which of these are changed, bit 0 the first */
	guid_t want[SA_GUIDS_A_BLOCK];
	bool differs; /* out: something is another than before */
};

/* ---- Services: sa_service.c ------------------------------------------------------------------ */

struct service {
	cl_fmap_item_t item;	/* key: the record, by what identifies it */
	cl_map_item_t numbered; /* key: a number of its own, the later the higher */
	struct wire_service record;
	uint64_t ends; /* by the loop's clock; UINT64_MAX = never */
	/* port GUID: of the port the service is on, else of the one that registered it */
	guid_t owner;
};

struct services {
	cl_fmap_t map;
	cl_qmap_t numbered; /* to walk over while others come and go */
	uint64_t next;	    /* number */
	uint32_t count;
	cl_qmap_t owners;	  /* struct service_owner by port GUID */
	struct loop_timer *lease; /* armed for `due`, not later than the first lease ends */
	uint64_t due;		  /* by the loop's clock; UINT64_MAX = not armed */
};

struct service_owner {
	cl_map_item_t item; /* first; key: port GUID */
	unsigned count;	    /* of records, never 0 */
	bool reported;	    /* that it has too many */
};

/*
 * Adds a record, or renews it. owner 0: the port that has the record's GID, if it is known. The
 * caller checks that there are not too many.
 */
void sa_service_put(struct sa *sa, const struct wire_service *record, guid_t owner);
/* The record behind *number (from 0 on), which becomes its own; the SA's. NULL: there is none. */
struct service *sa_service_next(const struct sa *sa, uint64_t *number);
uint32_t sa_service_lease(const struct sa *sa, const struct service *s); /* seconds left */
void sa_services_init(struct sa *sa); /* sa_services_forget() is its end, and the timer's */

/* The record with this ID, GID, P_Key and key; the SA's. NULL: there is none. */
struct service *sa_service_find(const struct sa *sa, const struct wire_service *what);
void sa_service_drop(struct sa *sa, struct service *s); /* and frees it */
/* Of a port that has records; NULL: it has none. */
struct service_owner *sa_service_owner(const struct sa *sa, guid_t port);

/* ---- Subscriptions and Reports: sa_report.c -------------------------------------------------- */

/*
 * A wish for notices. On one of the lists of struct reports, on its subscriber's, or a Report to it
 * is on its way.
 */
struct subscription {
	cl_list_item_t item; /* first */
	struct subscriber *by;
	struct wire_inform_info info; /* qpn: where Reports go */
	/* of the request that made it */
	uint16_t pkey_index;
	uint8_t sl;
	bool trusted;
	bool held;	  /* on the subscriber's list */
	uint8_t failures; /* Reports in a row that nobody acknowledged */
	uint64_t next;	  /* the first notice not looked at yet */
	mad_token token;  /* 0: none is on its way */
};

struct subscriber {
	cl_map_item_t item; /* key: port GUID */
	struct sa *sa;
	unsigned count;
	struct subscription **subs;
	unsigned in_flight; /* Reports */
	cl_qlist_t held;    /* subscriptions that wait for a Report in flight to be over */
};

struct sa_notice {
	struct wire_notice notice;
	struct wire_gid issuer;
	guid_t about;  /* port that the subscriber must share a partition with; 0 = any */
	uint16_t pkey; /* of a group: the subscriber must be a member; 0 = any */
};

struct reports {
	cl_qmap_t subscribers;	/* struct subscriber by port GUID */
	cl_qlist_t due, idle;	/* subscriptions with notices to look at, and those that saw all */
	struct sa_notice *ring; /* [size], by sequence number */
	uint32_t size;		/* a power of two, or 0 */
	uint64_t first, end;	/* sequence numbers held */
	unsigned in_flight;
	struct loop_timer *step;
	guid_t *serving; /* end ports in service at the last publish, sorted */
	uint32_t nserving;
	bool compare; /* serving is known */
	struct log_limit limit;
};

/* sa_report.c. The SA's; NULL: there are too many. It sees what comes from now on. */
struct subscription *sa_subscribe(struct sa *sa, guid_t guid, const struct subscription *wish);
void sa_unsubscribe(struct subscription *s); /* and frees it */
struct subscription *sa_subscription_find(const struct sa *sa, guid_t guid,
					  const struct wire_inform_info *info); /* NULL: none */

void sa_reports_init(struct sa *sa);	/* sa->reports; sa_free() ends it */
void sa_reports_compare(struct sa *sa); /* a new view: who is in service now, and was not before */
/* kept() of struct sa_groups_ops: a multicast group was made, or the last member has left. */
void sa_group_kept(void *sa, const struct sa_group *group, bool kept);

/*
 * Of violated keys, 256 bad M_Key .. 259 bad P_Key at a switch: for trusted subscribers
 * (C15-0.2-1.16).
 */
static inline bool sa_trap_is_secret(bool generic, uint16_t trap)
{
	return generic && trap >= 256 && trap <= 259;
}

/* ---- Limits: sa_limit.c ---------------------------------------------------------------------- */

struct limit {
	/*
	 * by LID: when it is below the rate again (ns of the loop's clock); NULL = none asked yet
	 */
	uint64_t *even;
	/* by LID: the second from which on it is logged again; NULL = none was yet */
	uint32_t *reported;
	struct log_limit burst;
	struct sa_queue late; /* requests above the rate */
	struct loop_timer *step;
};

/* Counts a request. False: it is above the rate, and waits in limit.late, or is dropped. */
bool sa_limit_admits(struct sa *sa, const struct io_addr *from, const uint8_t *mad);

/* ---- The SA ---------------------------------------------------------------------------------- */

struct sa_places {		 /* of the view: what indices of its ports and LIDs refer to */
	const struct topo *topo; /* referenced */
	uint16_t top;
	uint8_t lmc;
};

struct sa_engine {	  /* sa_query.c */
	uint8_t *scratch; /* answer buffer of queries that end at once */
	size_t scratch_size;
	struct sa_query *jobs[SA_JOBS];
	unsigned turn; /* of the jobs: who had the last slice */
	struct loop_timer *step, *next_round;
	unsigned round; /* rows looked at in this round of the loop */
	struct sa_queue queue;
};

struct sa {
	struct loop *loop;
	struct mad *mad;
	const struct inventory *inv;
	struct sa_conf conf;
	struct sa_view view;
	sa_gate_fn *gate; /* NULL = open */
	void *gate_arg;
	struct sa_places places;
	struct sa_record records[SA_RECORD_COUNT]; /* SA_RECORDS, each with the size of its rows */
	/* [view.topo->nports]; NULL: nobody asked since the publish, and sa_link() reads them */
	struct sa_link *links;
	struct sa_engine engine;
	struct services services;
	struct aliases aliases;
	struct sa_manager *managers; /* but this one */
	unsigned nmanagers;
	struct limit limit;
	struct reports reports;
	struct sa_listener listener;
	struct sa_groups *groups;
	const struct mcast_plan *trees; /* as the switches are to hold them; NULL = none */
	struct sa_stats stats;
	bool frozen;		  /* changes nothing */
	struct forward *forwards; /* requests that the master is asked for (sa.c) */
	unsigned nforwards;
	uint16_t master_lid; /* 0 = nobody's */
	uint8_t master_sl;
	uint8_t priority; /* of this manager, as it shows it */
	struct log_limit refused;
};

/* Reads the links of the view for sa_link(). The SA's until the next publish. Never NULL. */
const struct sa_link *sa_links_read(struct sa *sa);

/* The link at a port of the view; the SA's, valid until the next publish. Never NULL. */
static inline const struct sa_link *sa_link(struct sa *sa, uint32_t port)
{
	return (sa->links ? sa->links : sa_links_read(sa)) + port;
}

/* The LID that a request was forwarded for by another manager with this key; 0: it was not. */
static inline uint16_t sa_origin(const struct sa *sa, uint64_t key, const uint8_t *raw)
{
	const uint64_t keys[] = { sa->conf.sa_key, sa->conf.old_sa_key };
	uint16_t lid = key ? wire_sa_origin(raw) : 0;

	for (unsigned i = 0; i < 2; i++)
		if (lid && keys[i] && key == hash_word(keys[i] + lid))
			return lid;
	return 0;
}

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

/*
 * sa_listener.c: reports a record of what files keep that has changed, as a line without its end;
 * gone: it has ended.
 */
void sa_record(struct sa *sa, enum sa_kept kept, bool gone, const char *line);
/* Worth an event about that. */
void sa_log(struct sa *sa, struct event_subject subject, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Whether two ports have a partition in common, and so know of each other. Without partitions all
 * do; with them nobody knows of a port that is not in the view (TOPO_NONE).
 */
static inline bool sa_may_know(const struct sa *sa, uint32_t port, uint32_t other)
{
	return !sa->view.pkeys || (port != TOPO_NONE && other != TOPO_NONE &&
				   (port == other || pkey_map_shared(sa->view.pkeys, port, other)));
}

/* A port is shown to those who share a partition with it; of a switch that is its port 0. */
static inline bool sa_shown(const struct sa_query *q, uint32_t port)
{
	const struct topo *t = q->sa->view.topo;
	const struct topo_node *node = &t->nodes[t->ports[port].node];

	return !q->sa->view.pkeys ||
	       (q->requester != TOPO_NONE &&
		sa_may_know(q->sa, q->requester, node->type == TOPO_SWITCH ? node->port0 : port));
}

/* ---- Lines of what hosts have asked for: sa_listener.c --------------------------------------- */

#define SA_LINE	       512
#define SA_SERVICE_ROW 176
#define SA_SERVICE_ID  52 /* hexadecimal digits of a row that name the service */

/*
 * The line that its file has, without its end. `lease`: seconds left, WIRE_LEASE_FOREVER: for good.
 * `now` is that of the system's clock.
 */
void sa_subscription_line(guid_t port, const struct subscription *s, char line[SA_LINE]);
void sa_service_line(const struct wire_service *record, uint32_t lease, int64_t now,
		     char line[SA_LINE]);

/*
 * What one port may have of a store of so many places: a sixteenth of all, and an eighth of what
 * is free, but at least one.
 */
static inline unsigned sa_share(unsigned capacity, unsigned used)
{
	unsigned left = used < capacity ? (capacity - used) / 8 : 0, most = capacity / 16;

	most = left < most ? left : most;
	return most ? most : 1;
}

/* ---- Multicast groups: record_mcmember.c ----------------------------------------------------- */

#define SA_COMPS_TO_JOIN                                                                           \
	(WIRE_BIT(WIRE_MC(mgid)) | WIRE_BIT(WIRE_MC(port_gid)) | WIRE_BIT(WIRE_MC(join_state)))

struct sa_mcast_share {
	unsigned groups, held;	   /* in how many it is, and of how many the holder */
	struct sa_group_port *any; /* one of these GUIDs that is in a group, or NULL */
};
/* The groups of a port, over all of its GUIDs. */
struct sa_mcast_share sa_mcast_share(const struct sa *sa, guid_t port);

/*
 * What the request asks of a group: whether a selector (enum wire_selector) holds for a value that
 * is below (negative), equal to or above (positive) the wanted one; or the request does not name
 * both. comp: the number of the selector, ahead of the value.
 */
bool sa_mcast_selects(const struct sa_query *q, unsigned comp, uint8_t selector, int have_to_want);
/* Whether they are of one partition, and not both limited: two limited members can't talk. */
bool sa_mcast_pkey_fits(uint16_t a, uint16_t b);

/* ---- Nodes and ports, for record_*.c --------------------------------------------------------- */

static inline const struct topo_node *sa_node(const struct sa_query *q, uint32_t item)
{
	return &q->sa->view.topo->nodes[item];
}

/* NULL: no longer there. */
static inline const struct inv_node *sa_inv_node(const struct sa_query *q, uint32_t item)
{
	const struct inv_node *inv = inventory_find(q->sa->inv, sa_node(q, item)->guid);

	return inv && !inv->gone ? inv : NULL;
}

/* First and last port that are ends of paths: a switch's port 0, or all ports of a CA. */
static inline unsigned sa_first_end(const struct topo_node *node)
{
	return node->type == TOPO_SWITCH ? 0 : 1;
}

static inline unsigned sa_last_end(const struct topo_node *node)
{
	return node->type == TOPO_SWITCH ? 0 : node->nports;
}

/* The port's PortInfo as last read; NULL: never. */
static inline const uint8_t *sa_port_info(const struct inv_node *inv, unsigned num)
{
	return num <= inv->nports && inv->ports[num].known ? inv->ports[num].info : NULL;
}
