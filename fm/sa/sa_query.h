/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sa_query: a query of the SA on its way from request to answer: what a record is (record_*.c), the
 * query, the engine that walks it (sa_query.c), and the requests that wait for one of its jobs
 * (sa_limit.c). Private to fm/sa.
 *
 * To add a record: a `const struct sa_record` in the file of its family, and its row of SA_RECORDS.
 */
#pragma once

#include <complib/cl_qlist.h>
#include <complib/cl_qmap.h>
#include "fm/mad/io.h"
#include "fm/mad/wire_sa.h"

struct sa;
struct sa_query;

/* ---- Records --------------------------------------------------------------------------------- */

/* All that the SA knows, each by the name of its struct behind `sa_record_`; most wanted first. */
#define SA_RECORDS(ROW)                                                                            \
	ROW(path)                                                                                  \
	ROW(mcmember)                                                                              \
	ROW(node)                                                                                  \
	ROW(port_info)                                                                             \
	ROW(class_port_info)                                                                       \
	ROW(inform_info)                                                                           \
	ROW(multi_path)                                                                            \
	ROW(service)                                                                               \
	ROW(guid_info)                                                                             \
	ROW(link)                                                                                  \
	ROW(switch_info)                                                                           \
	ROW(sm_info)                                                                               \
	ROW(pkey)                                                                                  \
	ROW(lft)                                                                                   \
	ROW(mft)                                                                                   \
	ROW(sl2vl)                                                                                 \
	ROW(vl_arb)                                                                                \
	ROW(inform_info_record)

enum { SA_GET = 1, SA_TABLE = 2, SA_SET = 4, SA_DELETE = 8, SA_MULTI = 16 };

struct sa_record {
	uint16_t attr_id; /* enum wire_sa_attr */
	uint8_t methods;  /* bits of SA_GET to SA_MULTI */
	bool trusted;	  /* only for requests that carry the SM_Key */
	/*
	 * How long a row is and where its components lie: SA_COMPONENTS(table). A record whose
	 * emit() decides itself what matches has no table, and says `.layout.size`, a multiple of
	 * 8.
	 */
	struct wire_sa_layout layout;
	/* Reads the request and sets the items to walk. Returns a status to refuse. */
	enum wire_sa_status (*prepare)(struct sa_query *q);
	/* Adds the rows of one item, by sa_row() and sa_row_keep(). */
	void (*emit)(struct sa_query *q, uint32_t item);
};
#define SA_COMPONENTS(table)                                                                       \
	{                                                                                          \
		.comps = table, .ncomps = ARRAY_SIZE(table)                                        \
	}
/* A record that is read alone, by anybody; its functions are prepare and emit. */
#define SA_RECORD_TO_READ(name, attr, table, prepare_fn, emit_fn)                                  \
	const struct sa_record sa_record_##name = { .attr_id = attr,                               \
						    .methods = SA_GET | SA_TABLE,                  \
						    .layout = SA_COMPONENTS(table),                \
						    .prepare = prepare_fn,                         \
						    .emit = emit_fn };

#define SA_RECORD_DECLARE(name) extern const struct sa_record sa_record_##name;
SA_RECORDS(SA_RECORD_DECLARE)
#undef SA_RECORD_DECLARE
#define SA_RECORD_NUMBER(name) SA_RECORD_NUMBER_##name,
enum { SA_RECORDS(SA_RECORD_NUMBER) SA_RECORD_COUNT };
#undef SA_RECORD_NUMBER

/* ---- For emit() ------------------------------------------------------------------------------ */

/*
 * The place of a row at the answer's end, not cleared; NULL: the answer is too long, q->status says
 * so.
 */
uint8_t *sa_row(struct sa_query *q);
void sa_row_keep(struct sa_query *q); /* keeps it if it is as the component mask asks */
void sa_row_add(struct sa_query *q);  /* keeps it */
/* A row as wire_sa_row() makes it, kept if it is as asked; false: the answer is too long. */
bool sa_row_put(struct sa_query *q, const uint64_t *first, unsigned count, const void *rest,
		size_t size);
#define SA_FIRST(...) /* components */                                                             \
	(const uint64_t[]){ __VA_ARGS__ }, sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8

/* ---- For prepare() --------------------------------------------------------------------------- */

/* Items are indices of the view's nodes: all of them, or that of the LID the request names. */
enum wire_sa_status sa_walk_nodes(struct sa_query *q);
enum wire_sa_status sa_walk_switches(struct sa_query *q);
void sa_walk_one(struct sa_query *q, uint32_t item, uint32_t count); /* that; none from count on */
/* One item, 0; WIRE_SA_OK. */
enum wire_sa_status sa_walk_once(struct sa_query *q);
/* For items that come and go while a long walk is under way: until emit() sets q->item = q->end. */
enum wire_sa_status sa_walk_until_end(struct sa_query *q);

/* ---- Requests that wait ---------------------------------------------------------------------- */

#define SA_QUEUE_MAX  32768 /* requests, some 10 MB: two for each port of a large fabric */
#define SA_QUEUE_EACH 32    /* requests from one LID that wait for a job */
#define SA_LATE_EACH  128   /* requests from one LID above sa_rate_limit that wait */
#define SA_QUANTUM    64    /* rows that a LID's turn is worth */

struct sa_waiting {
	cl_list_item_t item; /* first */
	uint64_t question;   /* all but who asks, mixed: equal for equal ones */
	struct io_addr from;
	uint8_t mad[WIRE_MAD_SIZE];
};

struct sa_queue {
	cl_qmap_t lids;	  /* those with requests that wait, by LID */
	cl_qlist_t turns; /* the same, who is next at the head */
	unsigned count;	  /* requests */
	unsigned each;	  /* of one LID at most */
};

/* The queue is the caller's memory. Clearing frees all requests, unanswered. */
void sa_queue_init(struct sa_queue *queue, unsigned each);
void sa_queue_clear(struct sa_queue *queue);

/*
 * Whether b is a again, from the same sender and under the same transaction ID: a client without an
 * answer repeats its request, which may wait, or be at work, already.
 */
bool sa_same_request(const struct io_addr *a, const uint8_t *mad_a, const struct io_addr *b,
		     const uint8_t *mad_b);

/* Whether another request of that LID does not fit. */
bool sa_queue_is_full(const struct sa_queue *queue, uint16_t lid);
/* False: the queue is full for its LID, or it waits already. */
bool sa_queue_add(struct sa_queue *queue, const struct io_addr *from, const uint8_t *mad);

/*
 * The next one, LID by LID in turn, of a LID for which may() holds (NULL: for all); NULL: there is
 * none. A LID that was charged for more rows than its turn is worth waits so many turns. free()
 * gives it back.
 */
struct sa_waiting *sa_queue_take(struct sa_queue *queue, bool (*may)(void *arg, uint16_t lid),
				 void *arg);

/* A request of the LID took so many rows. */
void sa_queue_charge(struct sa_queue *queue, uint16_t lid, unsigned rows);

/*
 * Takes all that ask just what that MAD asks, of LIDs for which may() holds, to the end of a list.
 */
void sa_queue_take_same(struct sa_queue *queue, const uint8_t *mad, cl_qlist_t *list,
			bool (*may)(void *arg, uint16_t lid), void *arg);

/* ---- Queries --------------------------------------------------------------------------------- */

#define SA_JOBS	      16	  /* table queries running in slices at a time */
#define SA_JOBS_EACH  4		  /* table queries in slices for one LID */
#define SA_SLICE      8192	  /* rows looked at before the loop gets its turn */
#define SA_ROUND      32768	  /* rows looked at for all who ask in one round of the loop */
#define SA_PATH_WORK  8		  /* a path takes as long as so many rows */
#define SA_LONG	      (1u << 20)  /* bytes from which writing an answer may take its time */
#define SA_ANSWER_MAX (64u << 20) /* bytes; more is refused as NO_RESOURCES */

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

#define SA_UNANSWERED 0xffff /* a query's status: its client asks again by itself */

struct sa_query {
	struct sa *sa;
	const struct sa_record *record;
	struct io_addr from;
	union { /* the request */
		uint8_t mad[WIRE_MAD_SIZE];
		struct {
			uint8_t header[WIRE_SA_HEADER], data[WIRE_SA_DATA];
		};
	};
	uint8_t method;
	uint32_t attr_mod;
	uint64_t comp_mask;
	bool trusted;
	struct wire_sa_match match;
	struct {
		struct wire_path_record want;
		struct sa_end src, dst;
	} path;
	struct wire_mcmember mc; /* the request; after a change: the answer */
	struct sa_multi multi;
	uint32_t requester; /* port index, TOPO_NONE = of nobody we know */

	uint32_t item, end;    /* items still to walk */
	uint64_t after;	       /* where items are those of a map: walked up to this key */
	uint32_t work;	       /* rows looked at in this slice */
	uint32_t slice;	       /* rows it may look at before others have their turn */
	uint32_t nrows, limit; /* limit: rows after which looking on is of no use */
	enum wire_sa_status status;
	uint8_t *answer; /* header and rows */
	size_t size;	 /* bytes allocated */
	/* a long answer that was sent, perhaps not written yet: owns the bytes; or NULL */
	struct io_body *body;

	bool complete; /* a job that has its answer, and sends it to its requester and `also` */
	/* struct sa_waiting: requests that asked the same when this one began */
	cl_qlist_t also;
};

/* A request as it arrived; q->record NULL: no such record or method. */
void sa_query_read(struct sa *sa, struct sa_query *q, const struct io_addr *from,
		   const struct wire_mad *mad, const uint8_t *raw, uint16_t origin);
/* One that was put aside. */
void sa_query_read_again(struct sa *sa, struct sa_query *q, const struct io_addr *from,
			 const uint8_t *raw);
void sa_query_start(struct sa_query *q); /* answers now, becomes a job, or waits for one */
void sa_query_step(void *sa);		 /* a slice of one job, in turn */
/* Another view is in force; same_places: all nodes, ports and LIDs are where they were. */
void sa_query_view_changed(struct sa *sa, bool same_places);
void sa_query_forget(struct sa *sa); /* jobs, and what waits: all unanswered */
/* sa->engine; its end comes after sa_query_forget(). */
void sa_engine_init(struct sa *sa);
void sa_send(struct sa_query *q); /* sa_query.c: the answer, or the error in q->status */

static inline bool sa_asked(const struct sa_query *q, unsigned comp)
{
	return q->comp_mask & WIRE_BIT(comp);
}

/* A selector and its value. */
static inline bool sa_asked_both(const struct sa_query *q, unsigned selector, unsigned value)
{
	return sa_asked(q, selector) && sa_asked(q, value);
}

/* Of the methods that records have, those that change what the SA holds. */
static inline bool sa_is_change(const struct sa_query *q)
{
	return q->method == WIRE_SET || q->method == WIRE_DELETE;
}
