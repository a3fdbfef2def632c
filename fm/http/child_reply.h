/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * child_reply: a response that a child process writes (fm/loop/child.h), so that what grows with
 * the fabric does not hold the loop. It is passed on no faster than the client reads.
 */
#pragma once

#include "fm/loop/child.h"
#include "fm/http/serve.h"

#define CHILD_REPLY_UNKNOWN UINT64_MAX

struct child_head { /* what the child writes first */
	unsigned code;
	uint64_t len;	      /* of the body */
	uint64_t rows;	      /* X-Total-Count; CHILD_REPLY_UNKNOWN = none */
	bool gzip;	      /* the body is */
	char tag[ENCODE_TAG]; /* "" = none */
	char type[64];	      /* Content-Type */
};

struct child_reply_ops {
	/* In the child: writes a struct child_head, then the body; 0 = it is whole. */
	child_write_fn *write;
	void (*free)(void *arg); /* once, when the request is over */
};

/*
 * The callback of requests.starter, with the requests as argument: starts the child that waits
 * longest. One a turn of the loop, as at 16,384 HCAs each takes some milliseconds of it.
 */
void child_reply_start(void *requests);
/*
 * Has the child started; the reply owns `arg` from here on and frees it by ops->free(), also on
 * failure. Answers 503 when too many are being written, in all or for this client, or no process
 * can be started. Returns libmicrohttpd's verdict: MHD_NO = the connection is to be closed.
 * *request: its pointer.
 */
enum MHD_Result child_reply(struct requests *all, struct MHD_Connection *connection,
			    const struct child_reply_ops *ops, void *arg, void **request);
