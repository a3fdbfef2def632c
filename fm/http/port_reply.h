/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* port_reply: /metrics/ports, made piece by piece while the client reads it. */
#ifndef FMD_HTTP_PORT_REPLY_H
#define FMD_HTTP_PORT_REPLY_H

#include <microhttpd.h>
#include <stdbool.h>

struct fabric;

/*
 * A response with the text of the published snapshot, and the readings at the time of each piece.
 * The caller owns it. It holds a reference of the snapshot and counts itself in *running until
 * libmicrohttpd releases it; fabric and *running must live as long. hcas: ports of HCAs too.
 */
struct MHD_Response *port_reply_new(const struct fabric *fabric, bool hcas, unsigned *running);

#endif
