/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * page: the page that shows the fabric and follows it, one document with its style and its script
 * in it. It holds nothing of the fabric itself.
 */
#pragma once

#include <microhttpd.h>

#define PAGE_PATH "/"

struct page; /* the document in its encodings, with its policy */

/* The caller owns it. */
struct page *page_new(void);
/* Answers with the page, which has to live as long as the connection. Returns the verdict. */
enum MHD_Result page_reply(const struct page *page, struct MHD_Connection *connection);
/* NULL is fine. */
void page_free(struct page *page);
