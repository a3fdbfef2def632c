/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * request: what is kept of a request whose answer does not go out at once: a document that a child
 * writes, a stream of events. It lives as long as libmicrohttpd's request; its connection is
 * suspended while there is nothing to send.
 */
#ifndef FMD_HTTP_REQUEST_H
#define FMD_HTTP_REQUEST_H

#include <microhttpd.h>
#include <stdbool.h>
#include "fm/core/loop.h"

struct children;
struct serve;
struct request;

struct requests { /* all of a server's; none holds more than their owners allow */
	struct loop *loop;
	struct serve *serve;
	struct children *children; /* that write documents */
	struct request *first;
};
struct request_ops {
	/* It was resumed before a response was queued: queues one, or suspends it again. */
	enum MHD_Result (*go_on)(struct request *request);
	/* The request is over: frees what holds it. */
	void (*end)(struct request *request);
};
struct request { /* the first member of its kind */
	const struct request_ops *ops;
	struct requests *all;
	struct request *next;
	struct MHD_Connection *connection;
	bool suspended;
};

void request_init(struct request *request, const struct request_ops *ops, struct requests *all,
		  struct MHD_Connection *connection);
void request_fini(struct request *request);
void request_suspend(struct request *request);
void request_resume(struct request *request); /* nothing, where it is not suspended */
void requests_resume_all(struct requests *all);
/* Whether libmicrohttpd's pointer is one of ours. */
struct request *request_find(const struct requests *all, const void *pointer);

#endif
