/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * child: long answers without holding the loop. A forked copy of the process, with the fabric as it
 * was at that moment, writes to a pipe; the parent gets what arrives, piece by piece, from the
 * loop. What is nothing but long goes past the parent, to a socket.
 */
#pragma once

#include <pthread.h>
#include <stdio.h>
#include "fm/loop/loop.h"

struct child;
struct children; /* of one owner */

/*
 * The caller owns them; the loop is borrowed. Of a loop that is simulated: only without children.
 */
struct children *children_new(struct loop *loop);
/* All children have ended or are killed: waits until the system has taken them. NULL is fine. */
void children_free(struct children *children);

typedef int child_write_fn(void *arg, FILE *out); /* in the child; 0 = the answer is whole */
struct child_ops {
	child_write_fn *write;
	void (*data)(void *arg, const char *data, size_t len); /* in the parent */
	/* once, last; the process is gone, and the child freed when it returns */
	void (*end)(void *arg, bool whole);
};

/*
 * NULL when the system gives no process; never calls back from inside. socket: -1, or one that
 * stays the caller's, to which it writes straight, as fast as that is read: `data` is not called.
 * Nothing else may be written there meanwhile.
 */
struct child *child_start(struct children *children, const struct child_ops *ops, void *arg,
			  int socket);
void child_pause(struct child *child,
		 bool paused);	      /* the reader is slow: take nothing more for now */
void child_kill(struct child *child); /* at once, no callback after; NULL is fine */

/* ---- A thread for system calls that may block, beside the loop ------------------------------- */

/*
 * Starts a thread that takes no signals: they are the loop's. SIGSYS alone is not blocked, for the
 * sandbox (sandbox.h) would end the process then. 0, or the error number of pthread_create(); the
 * caller joins the thread.
 */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);
