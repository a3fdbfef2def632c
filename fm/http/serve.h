/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * serve: HTTP/1.1 by libmicrohttpd on fmd's loop: a listening socket, connections capped in all and
 * by address, TLS 1.2 and later where a certificate is given.
 *
 * Requests come to the handler as libmicrohttpd has them: once before the body, then again until a
 * response is queued; a connection that is suspended is left alone until it is resumed, which
 * serve_poke() has to follow.
 */
#ifndef FMD_HTTP_SERVE_H
#define FMD_HTTP_SERVE_H

#include <microhttpd.h>
#include <stddef.h>
#include "fm/core/loop.h"

struct serve;

struct serve_conf {			  /* "" = not set */
	const char *listen;		  /* ADDRESS:PORT, an IPv6 address in brackets */
	const char *cert_file, *key_file; /* PEM; both or neither */
};
struct serve_ops {
	MHD_AccessHandlerCallback request;
	MHD_RequestCompletedCallback
		completed; /* for each request, once; nothing of it is used after */
	void *arg;
};

/* NULL with the reason in err. `ops` is copied. */
struct serve *serve_new(struct loop *loop, const struct serve_conf *conf,
			const struct serve_ops *ops, char *err, size_t err_size);
/*
 * The certificate and key anew; the address stays. Connections are closed; all must be resumed. -1
 * with the reason: all is as it was.
 */
int serve_configure(struct serve *serve, const struct serve_conf *conf, char *err, size_t err_size);
/* All connections must be resumed. Ends them; NULL is fine. */
void serve_free(struct serve *serve);

/* Something was resumed: the server works on from the loop, not within the call. */
void serve_poke(struct serve *serve);

/* The address of ours that a connection came in by, as text; "" = not known. */
void serve_local_address(struct MHD_Connection *connection, char *text, size_t size);

#endif
