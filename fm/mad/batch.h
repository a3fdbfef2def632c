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
#ifndef FMD_MAD_BATCH_H
#define FMD_MAD_BATCH_H

#include "fm/core/loop.h"
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
	bool (*more)(void *owner); /* or NULL. The queue is empty: add some jobs; false = there are
				      none */
	void (*idle)(void *owner);
	void (*unwanted)(void *owner,
			 const struct batch_job *job); /* make() has ended it; or NULL */
	/*
	 * Where the job's request goes now: asked before each try, for it may have waited. false:
	 * nobody knows, it goes where it went. NULL = as make() said.
	 */
	bool (*path_of)(void *owner, const struct batch_job *job, struct batch_path *via);
};

struct batch;
struct batch *batch_new(struct loop *loop, struct mad *mad, const struct batch_ops *ops,
			void *owner);
void batch_free(struct batch *b); /* nothing is called any more; NULL is fine */

void batch_add(struct batch *b, const struct batch_job *job);
void batch_wake(struct batch *b);	/* idle() follows even when no job was added */
void batch_drop(struct batch *b);	/* the queued and those on their way; no idle() follows */
void batch_drop_queue(struct batch *b); /* the queued; those on their way are answered */
void batch_reroute(
	struct batch *b); /* those on their way whose make() now gives another path are sent anew */

unsigned batch_in_flight(const struct batch *b);
uint64_t batch_smps(const struct batch *b); /* sent since batch_new(), retries included */

#endif
