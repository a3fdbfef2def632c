/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * stream: /api/v1/stream, events and status as server-sent events (WHATWG HTML 9.2):
 *
 *   id: SEQ, event: event   an event, as `fmctl --json events` has it
 *   event: status           the status document, at once and every two seconds: its absence shows
 *                           that the connection is broken
 *   event: gap              events were lost: the log no longer has the event of Last-Event-ID, or
 *                           that is of an earlier run of the daemon
 *
 * A stream begins behind the event named by Last-Event-ID or ?since=, else with the next event. A
 * client that reads slowly is sent what it missed as far as the log of events has it; nothing is
 * queued for it.
 */
#pragma once

#include "fm/fabric/fabric.h"
#include "fm/http/serve.h"

#define STREAMS_MAX 32

struct streams;

/* No streams so far; the caller owns it, the arguments are borrowed. */
struct streams *streams_new(struct requests *all, struct fabric *fabric);
/* Called when all requests are over; NULL is fine. */
void streams_free(struct streams *streams);

/*
 * Starts a stream; answers 503 when STREAMS_MAX are open. *request: libmicrohttpd's pointer.
 * Returns its verdict: MHD_NO = the connection is to be closed.
 */
enum MHD_Result stream_reply(struct streams *streams, struct MHD_Connection *connection,
			     void **request);
