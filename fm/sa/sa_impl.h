/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Inside fm/sa: a query on its way from request to answer.
 *
 *   sa.c          life, requests in, answers out, the table of records
 *   sa_query.c    the engine: walks a record's items, keeps the rows the mask asks for, yields when it takes long
 *   sa_records.c  rows of nodes, ports, links, tables      sa_path.c    PathRecord
 *   sa_inform.c   subscriptions                            sa_report.c  notices to their subscribers
 *   sa_service.c  ServiceRecord                            sa_multipath.c MultiPathRecord
 *   sa_qos.c      SL2VL and VL arbitration                 sa_link.c    MTU and rate of every port
 *   sa_state.c    what outlives the process                sa_limit.c   no host takes it from the others
 *   sa_mcast.c    MCMemberRecord                           mcast_group.c its groups
 */
#ifndef FMD_SA_SA_IMPL_H
#define FMD_SA_SA_IMPL_H

#include <complib/cl_qmap.h>
#include <complib/cl_qlist.h>
#include "fm/core/log.h"
#include "fm/mad/wire_sa.h"
#include "fm/sa/mcast_group.h"
#include "fm/sa/sa.h"

#define SA_DEFAULT_PKEY 0xffff
#define SA_JOBS		16	    /* table queries running in slices at a time */
#define SA_JOBS_EACH	4	    /* of these for one LID */
#define SA_SLICE	8192	    /* rows looked at before the loop gets its turn */
#define SA_ROUND	32768	    /* rows looked at for all who ask in one round of the loop */
#define SA_PATH_WORK	8	    /* a path takes as long as so many rows */
#define SA_ANSWER_MAX	(64u << 20) /* bytes; more is refused as NO_RESOURCES */

struct sa_query;

enum { SA_GET = 1, SA_TABLE = 2, SA_SET = 4, SA_DELETE = 8, SA_MULTI = 16 };

struct sa_record {
	uint16_t attr_id;
	const char *name;
	uint8_t methods;  /* SA_GET .. */
	uint8_t row_size; /* as it lies in the answer, a multiple of 8 */
	bool trusted;	  /* only for requests that carry the SM_Key */
	/* Reads the request; sets the items to walk. Returns a status to refuse. */
	enum wire_sa_status (*prepare)(struct sa_query *q);
	/* Adds the rows of one item, by sa_row() and sa_row_keep(). */
	void (*emit)(struct sa_query *q, uint32_t item);
};

/* One end of a path query. */
struct sa_end {
	uint32_t port; /* port index, TOPO_NONE = any */
	uint16_t lid;  /* 0 = any of the port's */
	bool named;    /* by LID or GID */
};

/* The ends of a multi-path query, sources first. */
struct sa_multi {
	struct wire_multi_path want;
	struct sa_end ends[WIRE_MULTI_GIDS];
	uint8_t nsrc, ndst;
};

struct sa_query {
	struct sa *sa;
	const struct sa_record *record;
	struct io_addr from;
	uint8_t header[WIRE_SA_HEADER], data[WIRE_SA_DATA]; /* the request */
	uint8_t method;
	uint32_t attr_mod;
	uint64_t comp_mask;
	bool trusted;
	struct wire_sa_match match;
	struct {
		struct wire_path_record want;
		struct sa_end src, dst;
	} path;
	struct {
		struct wire_mcmember want; /* after a change: the answer */
		uint32_t asker;		   /* port index */
	} mc;
	struct sa_multi multi;
	uint32_t asker; /* port index, TOPO_NONE = of nobody we know */

	uint32_t item, end;    /* items still to walk */
	uint32_t work;	       /* rows looked at in this slice */
	uint32_t slice;	       /* rows it may look at before others have their turn */
	uint32_t nrows, limit; /* limit: rows after which looking on is of no use */
	enum wire_sa_status status;
	uint8_t *answer; /* header and rows */
	size_t size;	 /* bytes allocated */
};

struct sa_link {	/* by port index, for the cable at the port */
	uint8_t mtu;	/* code; lower of both ends */
	uint8_t rate;	/* PathRecord code of the active speed and width */
	uint16_t knows; /* end ports: WIRE_CAP2_* of the rates it can be told */
};

/* A wish for notices. On one of the lists of struct reports, or a Report to it is on its way. */
struct subscription {
	cl_list_item_t item; /* first */
	struct subscriber *by;
	struct wire_inform_info info; /* qpn: where Reports go */
	uint16_t pkey_index;	      /* as the next two: of the request that made it */
	uint8_t sl;
	bool trusted;
	uint8_t failures; /* Reports in a row that nobody acknowledged */
	uint64_t next;	  /* the first notice not looked at yet */
	mad_token token;  /* 0: none is on its way */
};

struct subscriber {
	cl_map_item_t item; /* key: port GUID */
	struct sa *sa;
	unsigned count;
	struct subscription **subs;
};

struct service {
	struct wire_service record;
	uint64_t ends; /* by the loop's clock; UINT64_MAX = never */
};

struct services {
	struct service *list;
	uint32_t count;
	struct loop_timer *lease; /* the first to end */
};

struct limit {
	uint64_t *even; /* by LID; NULL until one is asked about */
	unsigned round; /* rows looked at in this round of the loop */
	struct loop_timer *next;
	struct log_limit told;
};

struct sa_notice {
	struct wire_notice notice;
	struct wire_gid issuer;
	guid_t about;  /* port that the subscriber must share a partition with; 0 = any */
	uint16_t pkey; /* of a group: the subscriber must be a member; 0 = any */
};

struct reports {
	cl_qlist_t due, idle;	/* subscriptions with notices to look at, and those that saw all */
	struct sa_notice *ring; /* [size], by sequence number */
	uint32_t size;		/* a power of two, or 0 */
	uint64_t first, end;	/* sequence numbers held */
	unsigned in_flight;
	struct loop_timer *step;
	guid_t *serving; /* end ports in service at the last publish, sorted */
	uint32_t nserving;
	bool compare; /* serving is known */
	struct log_limit told;
};

struct sa {
	struct loop *loop;
	struct mad *mad;
	const struct inventory *inv;
	struct sa_conf conf;
	struct sa_view view;
	struct sa_link *links; /* [view.topo->nports] */
	uint8_t *scratch;      /* answer buffer of queries that end at once */
	size_t scratch_size;
	struct sa_query *jobs[SA_JOBS];
	unsigned turn; /* of the jobs: who had the last slice */
	struct loop_timer *step;
	cl_qmap_t subscribers; /* struct subscriber by port GUID */
	struct services services;
	struct limit limit;
	struct reports reports;
	struct sa_listener listener;
	struct sa_groups *groups;
	sa_groups_fn *groups_fn;
	void *groups_arg;
	const struct mcast_plan *trees; /* as the switches are to hold them; NULL = none */
	struct sa_stats stats;
	struct log_limit refused;
};

/* sa.c */
void sa_send(struct sa_query *q); /* the answer, or the error in q->status */

/* sa_query.c */
void sa_query_start(struct sa_query *q); /* answers now, or becomes a job */
void sa_query_step(void *sa);		 /* a slice of one job */
void sa_query_drop_jobs(struct sa *sa);	 /* their view goes: BUSY */
uint8_t *sa_row(
	struct sa_query *q); /* room for a row at the answer's end; NULL when it is too long */
void sa_row_keep(struct sa_query *q); /* keeps it if it matches */
void sa_row_add(struct sa_query *q);  /* keeps it */
enum wire_sa_status sa_walk_nodes(struct sa_query *q);
enum wire_sa_status sa_walk_switches(struct sa_query *q);
enum wire_sa_status sa_walk_once(struct sa_query *q);

static inline bool sa_asked(const struct sa_query *q, unsigned comp)
{
	return q->comp_mask & WIRE_BIT(comp);
}
/* TOPO_NONE when no port has the LID. */
static inline uint32_t sa_port_by_lid(const struct sa *sa, uint16_t lid)
{
	const struct lid_map *lids = sa->view.lids;

	return lid && lid <= lids->top ? lids->port_of_lid[lid] : TOPO_NONE;
}
uint16_t sa_port_lid(const struct sa *sa,
		     uint32_t port); /* base LID; of a switch port its switch's */

/* sa_limit.c */
void sa_limit_init(struct sa *sa);
void sa_limit_fini(struct sa *sa);
bool sa_limit_admits(struct sa *sa, uint16_t lid); /* counts a request */
unsigned sa_round_slice(const struct sa *sa);	   /* of a query that starts now */
void sa_round_add(struct sa *sa, unsigned work);

/* sa_link.c */
void sa_links_build(struct sa *sa);
bool sa_rate_known(uint8_t rate);
int sa_rate_compare(uint8_t a, uint8_t b);
uint8_t sa_rate_below(uint8_t rate); /* the next lower one, 0 = none */
uint8_t sa_rate_clip(uint8_t rate, uint16_t knows);

/* sa_records.c, sa_path.c, sa_inform.c: rows of the table in sa.c */
enum wire_sa_status sa_node_prepare(struct sa_query *q);
void sa_node_emit(struct sa_query *q, uint32_t item);
void sa_port_emit(struct sa_query *q, uint32_t item);
void sa_switch_emit(struct sa_query *q, uint32_t item);
void sa_link_emit(struct sa_query *q, uint32_t item);
void sa_lft_emit(struct sa_query *q, uint32_t item);
void sa_mft_emit(struct sa_query *q, uint32_t item);
void sa_sm_emit(struct sa_query *q, uint32_t item);
void sa_guid_emit(struct sa_query *q, uint32_t item);
void sa_pkey_emit(struct sa_query *q, uint32_t item);
void sa_class_port_info_emit(struct sa_query *q, uint32_t item);
enum wire_sa_status sa_path_prepare(struct sa_query *q);
void sa_path_emit(struct sa_query *q, uint32_t item);
enum wire_sa_status sa_path_values(const struct sa_query *q);
enum wire_sa_status sa_end_by_gid(const struct sa *sa, const struct wire_gid *gid,
				  struct sa_end *end);
void sa_paths_between(struct sa_query *q, uint32_t src, uint32_t dst); /* by all their LIDs */
/* By one pair of LIDs, the round-th of either. */
void sa_path_between(struct sa_query *q, uint32_t src, uint32_t dst, unsigned round);
enum wire_sa_status sa_multi_path_prepare(struct sa_query *q);
void sa_multi_path_emit(struct sa_query *q, uint32_t item);
void sa_sl2vl_emit(struct sa_query *q, uint32_t item);
void sa_vl_arb_emit(struct sa_query *q, uint32_t item);
enum wire_sa_status sa_service_prepare(struct sa_query *q);
void sa_service_emit(struct sa_query *q, uint32_t item);
bool sa_service_put(struct sa *sa, const struct wire_service *record);	 /* false: too many */
uint32_t sa_service_lease(const struct sa *sa, const struct service *s); /* seconds left */
void sa_services_init(struct sa *sa);
void sa_services_fini(struct sa *sa);
enum wire_sa_status sa_inform_set(struct sa_query *q);
void sa_inform_echo(struct sa_query *q, uint32_t item);
void sa_inform_emit(struct sa_query *q, uint32_t item);
struct subscription *sa_subscribe(struct sa *sa, guid_t guid, const struct subscription *wish);
void sa_unsubscribe(struct subscription *s);

/* sa_report.c */
void sa_reports_init(struct sa *sa);
void sa_reports_fini(struct sa *sa);
void sa_report_join(struct subscription *s);  /* new: is told of what comes from now on */
void sa_report_leave(struct subscription *s); /* before its end */
void sa_reports_compare(struct sa *sa); /* a new view: who is in service now, and was not before */
/* A multicast group was made, or the last member has left. Call it after the fact. */
void sa_group_changed(struct sa *sa, const struct wire_gid *mgid, uint16_t pkey, bool created);
void sa_changed(struct sa *sa); /* what is kept in files */
void sa_tell(struct sa *sa, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Of violated keys, 256 bad M_Key .. 259 bad P_Key at a switch: for trusted subscribers (C15-0.2-1.16). */
static inline bool sa_trap_is_secret(bool generic, uint16_t trap)
{
	return generic && trap >= 256 && trap <= 259;
}

/* Whether two ports have a partition in common, and so know of each other. Without partitions all do; with them nobody knows
 * of a port that is not in the view (TOPO_NONE). */
static inline bool sa_may_know(const struct sa *sa, uint32_t port, uint32_t other)
{
	return !sa->view.pkeys || (port != TOPO_NONE && other != TOPO_NONE &&
				   pkey_map_shared(sa->view.pkeys, port, other));
}

/* What others are asked about is told to those who share a partition with it; of a switch that is its port 0. */
static inline bool sa_shown(const struct sa_query *q, uint32_t port)
{
	const struct topo *t = q->sa->view.topo;
	const struct topo_node *node = &t->nodes[t->ports[port].node];

	return !q->sa->view.pkeys ||
	       (q->asker != TOPO_NONE &&
		sa_may_know(q->sa, q->asker, node->type == TOPO_SWITCH ? node->port0 : port));
}

/* sa_mcast.c */
enum wire_sa_status sa_mcmember_prepare(struct sa_query *q);
void sa_mcmember_emit(struct sa_query *q, uint32_t item);
void sa_mcast_init(struct sa *sa);
void sa_mcast_fini(struct sa *sa);

#endif
