/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* port_reply: /metrics/ports, made piece by piece while the client reads it. */
#ifndef FMD_HTTP_PORT_REPLY_H
#define FMD_HTTP_PORT_REPLY_H

#include <microhttpd.h>
#include <stdbool.h>

struct fabric;
struct port_reply;

struct port_replies { /* on their way to clients */
	struct port_reply *first;
};

/*
 * A response with the text of the published snapshot, and the readings at the time of each piece.
 * The caller owns it. It holds a reference of the snapshot and is one of `all` until libmicrohttpd
 * releases it; fabric and `all` must live as long. hcas: ports of HCAs too. NULL = too many are on
 * their way, in all or to this client.
 */
struct MHD_Response *port_reply_new(struct port_replies *all, struct MHD_Connection *connection,
				    const struct fabric *fabric, bool hcas);

#endif
