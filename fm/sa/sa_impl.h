/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Inside fm/sa: a query on its way from request to answer.
 *
 *   sa.c          life, requests in, answers out, the table of records
 *   sa_query.c    the engine: walks a record's items, keeps the rows the mask asks for, yields when it takes long
 *   sa_records.c  rows of nodes, ports, links, tables      sa_path.c    PathRecord
 *   sa_inform.c   subscriptions                            sa_link.c    MTU and rate of every port
 */
#ifndef FMD_SA_SA_IMPL_H
#define FMD_SA_SA_IMPL_H

#include <complib/cl_qmap.h>
#include "fm/core/log.h"
#include "fm/mad/wire_sa.h"
#include "fm/sa/sa.h"

#define SA_DEFAULT_PKEY 0xffff
#define SA_JOBS		4	    /* table queries running in slices at a time */
#define SA_SLICE	8192	    /* rows looked at before the loop gets its turn */
#define SA_ANSWER_MAX	(64u << 20) /* bytes; more is refused as NO_RESOURCES */

struct sa_query;

enum { SA_GET = 1, SA_TABLE = 2, SA_SET = 4 };

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

	uint32_t item, end;    /* items still to walk */
	uint32_t work;	       /* rows looked at in this slice */
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
	uint32_t subscriptions;
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
enum wire_sa_status sa_inform_set(struct sa_query *q);
void sa_inform_echo(struct sa_query *q, uint32_t item);
void sa_inform_emit(struct sa_query *q, uint32_t item);
void sa_inform_free(struct sa *sa);

#endif
