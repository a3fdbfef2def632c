/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* port_reply: /metrics/ports, made piece by piece while the client takes it. */
#ifndef FMD_HTTP_PORT_REPLY_H
#define FMD_HTTP_PORT_REPLY_H

#include <microhttpd.h>
#include <stdbool.h>

struct fabric;

/*
 * The text of what is published now, with the readings of the moment when each piece is made. It
 * holds that snapshot and counts itself in *running until the library is done with it; both outlive
 * it. hcas: ports of HCAs too.
 */
struct MHD_Response *port_reply_new(const struct fabric *fabric, bool hcas, unsigned *running);

#endif
