/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Requests that wait for a job of the SA to be free (sa_limit.c). Private to fm/sa.
 */
#ifndef FMD_SA_SA_QUEUE_H
#define FMD_SA_SA_QUEUE_H

#include <complib/cl_qlist.h>
#include <complib/cl_qmap.h>
#include "fm/mad/io.h"
#include "fm/mad/wire.h"

#define SA_QUEUE_MAX  32768 /* requests, some 10 MB: two for each port of a large fabric */
#define SA_QUEUE_EACH 32    /* waiting requests from one LID */

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
};

/* The queue is the caller's memory. Clearing frees all requests, unanswered. */
void sa_queue_init(struct sa_queue *queue);
void sa_queue_clear(struct sa_queue *queue);

/*
 * Whether b is a again, from the same sender and under the same transaction ID: a client without an
 * answer repeats its request, which may wait, or be at work, already.
 */
bool sa_same_request(const struct io_addr *a, const uint8_t *mad_a, const struct io_addr *b,
		     const uint8_t *mad_b);

/* False: there is no room for it, or it waits already. */
bool sa_queue_add(struct sa_queue *queue, const struct io_addr *from, const uint8_t *mad);

/*
 * The next one, LID by LID in turn, of a LID for which may() holds; NULL: there is none. free()
 * gives it back.
 */
struct sa_waiting *sa_queue_take(struct sa_queue *queue, bool (*may)(void *arg, uint16_t lid),
				 void *arg);

/*
 * Takes all that ask just what that MAD asks, of LIDs for which may() holds, to the end of a list.
 */
void sa_queue_take_same(struct sa_queue *queue, const uint8_t *mad, cl_qlist_t *list,
			bool (*may)(void *arg, uint16_t lid), void *arg);

#endif
