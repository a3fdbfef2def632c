/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* reply: responses that are at hand, with the headers that all have in common. */
#ifndef FMD_HTTP_REPLY_H
#define FMD_HTTP_REPLY_H

#include <jansson.h>
#include <microhttpd.h>
#include "fm/http/encode.h"

#define REPLY_JSON "application/json"

/* What the client asks for by its headers; borrowed from the connection. */
struct encode_wish reply_wish(struct MHD_Connection *connection);

/* Queues and releases `response`. `tag` NULL = it has none. */
enum MHD_Result reply_queue(struct MHD_Connection *connection, unsigned code, const char *type,
			    const char *tag, bool gzip, struct MHD_Response *response);
/*
 * 200, or 304 where the client has it. Takes the body; `policy` is a Content-Security-Policy, NULL
 * = none.
 */
enum MHD_Result reply_encoded(struct MHD_Connection *connection, const char *type,
			      const struct encoded *out, const char *policy);
/* The same of a text that is encoded as the client wants it. Takes `text`, which is from malloc. */
enum MHD_Result reply_text(struct MHD_Connection *connection, const char *type, char *text,
			   size_t len);
/* The same of a document; takes the reference. */
enum MHD_Result reply_json(struct MHD_Connection *connection, json_t *document);
/* {"error": why} */
enum MHD_Result reply_refuse(struct MHD_Connection *connection, unsigned code, const char *why);

#endif
