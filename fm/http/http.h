/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * http: the fabric for browsers and Prometheus, to look at only: nothing that comes by HTTP changes anything.
 *   /metrics          Prometheus text (exposition format 0.0.4)
 *   /api/v1/NAME      the document of `fmctl --json NAME`; ?down=1 and ?n=50 as its options
 *   /                 a page that shows the fabric and follows it
 */
#ifndef FMD_HTTP_HTTP_H
#define FMD_HTTP_HTTP_H

#include <stddef.h>
#include "fm/core/loop.h"
#include "fm/fabric.h"

struct http;

/* listen: "ADDRESS:PORT", an IPv6 address in brackets. NULL with a reason in err. */
struct http *http_new(struct loop *loop, struct fabric *fabric, const char *listen, char *err,
		      size_t err_size);
void http_free(struct http *http); /* NULL is fine */

#endif
