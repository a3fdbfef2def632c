/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * http: the fabric for browsers and Prometheus, read-only: no request changes anything.
 *
 *   /metrics      Prometheus text (exposition format 0.0.4)
 *   /api/v1/NAME  the document of `fmctl --json NAME`; its words and options are the query, see
 *                 query.h; gzip for those who take it, 304 by If-None-Match
 *   /api/v1/stream  events and the status as they happen, see stream.h
 *   /             a page that shows the fabric and follows it
 *
 * A request with a Host header that is none of its names (http.h) gets 421; one without the
 * token that is configured gets 401. The page itself needs no token: it contains nothing of the
 * fabric, and asks the user for the token.
 */
#pragma once

#include "fm/control/answer.h"
#include "fm/conf/conf.h"
#include "fm/fabric/fabric.h"

/*
 * host_names: the names in a Host header (RFC 9110 7.2) that a server answers to.
 *
 * By default: the address listened on, `localhost` and loopback addresses, this machine's name, and
 * that with each search domain of resolv.conf(5). No name server is asked.
 */

/*
 * document: /api/v1/NAME, the document of `fmctl --json NAME`, for those commands whose row has a
 * document. All of them only read.
 */

struct http;

/* The caller owns it; loop and fabric are borrowed. NULL with a reason in err. */
struct http *http_new(struct loop *loop, struct fabric *fabric, const struct conf_http *conf,
		      char *err, size_t err_size);
/* Reads names, token and certificate again. 0, or -1 with a reason in err and nothing changed. */
int http_configure(struct http *http, const struct conf_http *conf, char *err, size_t err_size);
/* Ends all connections; NULL is fine. */
void http_free(struct http *http);
