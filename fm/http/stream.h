/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * stream: /api/v1/stream, what happens as it happens, as server-sent events (WHATWG HTML 9.2):
 *
 *   id: SEQ, event: event   an event, as `fmctl --json events` has it
 *   event: status           the status document, at once and every two seconds: its absence tells
 *                           that the connection is gone
 *   event: gap              events were lost: what Last-Event-ID names is not held any more, or is
 *                           of another life of the daemon
 *
 * It begins behind the event named by Last-Event-ID or ?since=, else with what comes next. A client
 * that reads slowly is sent what it missed as far as the log of events holds it; nothing is queued
 * for it.
 */
#ifndef FMD_HTTP_STREAM_H
#define FMD_HTTP_STREAM_H

#include "fm/fabric/fabric.h"
#include "fm/http/request.h"

#define STREAMS_MAX 32

struct streams;

struct streams *streams_new(struct requests *all, struct fabric *fabric);
void streams_free(struct streams *streams); /* when all requests are over; NULL is fine */

/* 503 when STREAMS_MAX are open. *request is libmicrohttpd's pointer. */
enum MHD_Result stream_reply(struct streams *streams, struct MHD_Connection *connection,
			     void **request);

#endif
