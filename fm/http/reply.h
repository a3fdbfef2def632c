/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * reply: responses that are complete, with the headers that all have in common. Functions return
 * libmicrohttpd's verdict: MHD_YES, or MHD_NO = the connection is to be closed.
 */
#ifndef FMD_HTTP_REPLY_H
#define FMD_HTTP_REPLY_H

#include <jansson.h>
#include <microhttpd.h>
#include "fm/http/encode.h"

#define REPLY_JSON "application/json"

/* The encoding that the client asks for by its headers; borrowed from the connection. */
struct encode_wish reply_wish(struct MHD_Connection *connection);

/* Queues and releases `response`. `tag`: its entity tag, NULL = none. */
enum MHD_Result reply_queue(struct MHD_Connection *connection, unsigned code, const char *type,
			    const char *tag, bool gzip, struct MHD_Response *response);
/*
 * Answers 200, or 304 if the client has the body. Takes the body; `policy`: its
 * Content-Security-Policy, NULL = none.
 */
enum MHD_Result reply_encoded(struct MHD_Connection *connection, const char *type,
			      const struct encoded *out, const char *policy);
/* Encodes a text as the client wants and answers with it. Takes `text`, which is from malloc. */
enum MHD_Result reply_text(struct MHD_Connection *connection, const char *type, char *text,
			   size_t len);
/* Answers with a document, whose reference it takes. */
enum MHD_Result reply_json(struct MHD_Connection *connection, json_t *document);
/* Answers with a code and {"error": why}. */
enum MHD_Result reply_refuse(struct MHD_Connection *connection, unsigned code, const char *why);

#endif
