/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * request: the state of a request whose response is not sent at once: a document that a child
 * writes, a stream of events. It lives as long as libmicrohttpd's request; its connection is
 * suspended while there is nothing to send.
 */
#ifndef FMD_HTTP_REQUEST_H
#define FMD_HTTP_REQUEST_H

#include <microhttpd.h>
#include <stdbool.h>
#include "fm/loop/loop.h"

struct children;
struct serve;
struct request;

struct requests { /* of a server */
	struct loop *loop;
	struct serve *serve;
	struct children *children;  /* that write documents */
	struct loop_timer *starter; /* of them: child_reply_start() */
	struct request *first;
};
struct request_ops {
	/* Called after it was resumed without a response: queues one, or suspends it again. */
	enum MHD_Result (*go_on)(struct request *request);
	/* The request is over: frees the struct that contains it. */
	void (*end)(struct request *request);
};
struct request { /* the first member of the struct of its kind */
	const struct request_ops *ops;
	struct requests *all;
	struct request *next;
	struct MHD_Connection *connection;
	bool suspended;
};

/* Adds a request to the list, and takes it out; all arguments are borrowed until then. */
void request_init(struct request *request, const struct request_ops *ops, struct requests *all,
		  struct MHD_Connection *connection);
void request_fini(struct request *request);
/* Suspend and resume the request's connection. A request that is not suspended stays as it is. */
void request_suspend(struct request *request);
void request_resume(struct request *request);
void requests_resume_all(struct requests *all);
/* The request that libmicrohttpd's pointer is, owned by its kind; NULL = it is none of the list. */
struct request *request_find(const struct requests *all, const void *pointer);

#endif
