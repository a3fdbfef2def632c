/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * serve: HTTP/1.1 by libmicrohttpd on fmd's loop: a listening socket, connections capped in all and
 * by address, TLS 1.2 and later where a certificate is given.
 *
 * The handler is called as libmicrohttpd does it: once before the body, then again until a response
 * is queued. A connection that is suspended is not served until it is resumed, after which
 * serve_poke() has to be called.
 */
#ifndef FMD_HTTP_SERVE_H
#define FMD_HTTP_SERVE_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include "fm/loop/loop.h"

struct serve;

struct serve_conf {			  /* "" = not set */
	const char *listen;		  /* ADDRESS:PORT, an IPv6 address in brackets */
	const char *cert_file, *key_file; /* PEM; both or neither */
};
struct serve_ops {
	MHD_AccessHandlerCallback request;
	MHD_RequestCompletedCallback completed; /* once for each request, last */
	void *arg;
};

/* The caller owns the server; NULL with the reason in err. `ops` is copied. */
struct serve *serve_new(struct loop *loop, const struct serve_conf *conf,
			const struct serve_ops *ops, char *err, size_t err_size);
/*
 * Loads certificate and key again and closes all connections, which must be resumed before; the
 * address stays. 0, or -1 with the reason in err and nothing changed.
 */
int serve_configure(struct serve *serve, const struct serve_conf *conf, char *err, size_t err_size);
/* Closes all connections, which must be resumed before, and frees the server; NULL is fine. */
void serve_free(struct serve *serve);

/* A connection was resumed: the server goes on from the loop, not within the call. */
void serve_poke(struct serve *serve);

/* Writes the address that a connection came from; its family is 0 if it is not known. */
void serve_client(struct MHD_Connection *connection, struct sockaddr_storage *client);
/* Whether both are the same address, of whatever ports. */
bool serve_same_client(const struct sockaddr_storage *a, const struct sockaddr_storage *b);
/* Writes the local address of a connection as text; "" = not known. */
void serve_local_address(struct MHD_Connection *connection, char *text, size_t size);

#endif
