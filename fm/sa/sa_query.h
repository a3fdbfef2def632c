/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A query of the SA on its way from request to answer, and the engine that walks it (sa_query.c).
 * Private to fm/sa.
 */
#ifndef FMD_SA_SA_QUERY_H
#define FMD_SA_SA_QUERY_H

#include "fm/mad/io.h"
#include "fm/mad/wire_mcast.h"
#include "fm/mad/wire_path.h"
#include "fm/mad/wire_sa_comp.h"
#include "fm/sa/sa_queue.h"
#include "fm/sa/sa_record.h"

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
	struct {
		struct wire_mcmember want; /* after a change: the answer */
		uint32_t asker;		   /* port index */
	} mc;
	struct sa_multi multi;
	uint32_t asker; /* port index, TOPO_NONE = of nobody we know */

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
		   const struct wire_mad *mad, const uint8_t *raw);
void sa_query_start(struct sa_query *q); /* answers now, becomes a job, or waits for one */
void sa_query_step(void *sa);		 /* a slice of one job */
/* Another view is in force; same_places: all nodes, ports and LIDs are where they were. */
void sa_query_view_changed(struct sa *sa, bool same_places);
void sa_query_forget(struct sa *sa); /* jobs, and what waits: all unanswered */
void sa_send(struct sa_query *q);    /* sa_query.c: the answer, or the error in q->status */

static inline bool sa_asked(const struct sa_query *q, unsigned comp)
{
	return q->comp_mask & WIRE_BIT(comp);
}

#endif
