/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* page: the page that shows the fabric and follows it. It holds nothing of the fabric itself. */
#ifndef FMD_HTTP_PAGE_H
#define FMD_HTTP_PAGE_H

#include <microhttpd.h>
#include <stdbool.h>

/* Whether a path ("/", "/page/main.js") is a file of the page. */
bool page_has(const char *path);
/* Answers with the file of a path that page_has(). Returns libmicrohttpd's verdict. */
enum MHD_Result page_reply(struct MHD_Connection *connection, const char *path);

#endif
