/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * batch: the many requests of one owner, fed to mad a few hundred at a time.
 *
 * A job is 16 bytes until its turn comes; only then make() turns it into a request, so a queue of a
 * hundred thousand is cheap and each request takes the path known by then. done() comes once for
 * each job that was sent and not dropped; idle() comes when nothing is queued nor on its way, last
 * in the round: the owner may free the batch there. Nothing is called back inside batch_add(),
 * batch_wake(), batch_drop() and batch_reroute(), make() apart.
 */
#pragma once

#include "fm/mad/mad.h"

struct batch_job {
	void *object;
	uint32_t arg;
	uint8_t kind;
	uint8_t tries; /* the owner's count of earlier rounds */
	bool urgent;
	uint8_t wave; /* the owner's */
};

struct batch_path { /* how a job's request went */
	struct mad_path path;
	uint32_t stamp; /* the owner's, of when it left */
};

struct batch_request { /* mad.path and mad.data are set by batch */
	struct mad_request mad;
	struct batch_path via;
	uint8_t data[WIRE_GMP_DATA];
};

struct batch_ops {
	/* Fills in a zeroed request; false: the job is no longer wanted and ends here. */
	bool (*make)(void *owner, const struct batch_job *job, struct batch_request *request);
	void (*done)(void *owner, const struct batch_job *job, const struct batch_path *via,
		     const struct mad_answer *answer);
	/* The queue is empty: adds some jobs; false: there are none. NULL = jobs are only added. */
	bool (*more)(void *owner);
	void (*idle)(void *owner); /* may be NULL */
	/* make() has refused the job, which ends here without done(). May be NULL. */
	void (*unwanted)(void *owner, const struct batch_job *job);
	/*
	 * Where the job's request goes now: asked before each try, for it may have waited. false:
	 * nobody knows, it goes where it went. NULL = where make() sent it.
	 */
	bool (*path_of)(void *owner, const struct batch_job *job, struct batch_path *via);
};

struct batch;
/*
 * An empty queue of the caller, who frees it; never NULL. Loop, mad, ops and owner are borrowed
 * and outlive it.
 */
struct batch *batch_new(struct loop *loop, struct mad *mad, const struct batch_ops *ops,
			void *owner);
/* Drops all jobs as batch_drop() does; no function of ops is called any more. NULL is fine. */
void batch_free(struct batch *b);

/* Queues a copy of the job, urgent ones before the others; its object stays the owner's. */
void batch_add(struct batch *b, const struct batch_job *job);
/* Makes idle() follow even when no job was added. */
void batch_wake(struct batch *b);
/* Drops the queued jobs and cancels those that were sent: neither done() nor idle() follows. */
void batch_drop(struct batch *b);
/* Drops the queued jobs; those that were sent end by done() and idle(). */
void batch_drop_queue(struct batch *b);
/* Cancels each sent job whose make() now gives another path or refuses, and queues it again. */
void batch_reroute(struct batch *b);

/*
 * Ends each sent job that path_of() has another path for by now, or none, as timed out; done()
 * follows from the loop, with a path of no hops: no link is to be blamed.
 */
void batch_give_up_astray(struct batch *b);

/* The number of jobs that were sent and have not ended. */
unsigned batch_in_flight(const struct batch *b);
/* SMPs sent since batch_new(), retries included; a cancelled job counts once. */
uint64_t batch_smps(const struct batch *b);
