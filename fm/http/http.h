/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * http: the fabric for browsers and Prometheus, to look at only: nothing that comes by HTTP changes
 * anything.
 *
 *   /metrics      Prometheus text (exposition format 0.0.4)
 *   /api/v1/NAME  the document of `fmctl --json NAME`; its words and options are the query, see
 *                 query.h; gzip for those who take it, 304 by If-None-Match
 *   /api/v1/stream  events and the status as they happen, see stream.h
 *   /             a page that shows the fabric and follows it
 *
 * Asked by a name that it is not known by (host_names.h), it answers 421; with a token set and not
 * given, 401. The page itself is given without a token: it holds nothing of the fabric, and asks
 * for the token.
 */
#ifndef FMD_HTTP_HTTP_H
#define FMD_HTTP_HTTP_H

#include <stddef.h>
#include "fm/core/conf.h"
#include "fm/core/loop.h"
#include "fm/fabric/fabric.h"

struct http;

struct http_conf {		/* "" = not set */
	const char *listen;	/* ADDRESS:PORT, an IPv6 address in brackets */
	const char *hosts;	/* names that it answers to; "" = the default, see host_names.h */
	const char *token_file; /* its first line is the bearer token (RFC 6750) */
	const char *cert_file, *key_file; /* PEM: HTTP over TLS */
	enum conf_port_metrics ports;	  /* whose ports have series */
};

/* NULL with a reason in err. */
struct http *http_new(struct loop *loop, struct fabric *fabric, const struct http_conf *conf,
		      char *err, size_t err_size);
/* Names, token and certificate anew; the address stays. -1 with a reason: all is as it was. */
int http_configure(struct http *http, const struct http_conf *conf, char *err, size_t err_size);
void http_free(struct http *http); /* NULL is fine */

#endif
