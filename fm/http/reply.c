/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * reply: browsers must not cache what is known of the fabric, so all responses are no-store. A
 * client that wants to revalidate keeps the entity tag and sends If-None-Match itself.
 */
#include <stdlib.h>
#include <string.h>
#include "fm/http/reply.h"

struct encode_wish reply_wish(struct MHD_Connection *connection)
{
	return (struct encode_wish){
		encode_accepts_gzip(MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
								MHD_HTTP_HEADER_ACCEPT_ENCODING)),
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
					    MHD_HTTP_HEADER_IF_NONE_MATCH),
	};
}

enum MHD_Result reply_queue(struct MHD_Connection *connection, unsigned code, const char *type,
			    const char *tag, bool gzip, struct MHD_Response *response)
{
	enum MHD_Result status;

	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (tag) {
		MHD_add_response_header(response, MHD_HTTP_HEADER_ETAG, tag);
		MHD_add_response_header(response, MHD_HTTP_HEADER_VARY,
					MHD_HTTP_HEADER_ACCEPT_ENCODING);
	}
	if (gzip)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
	if (code == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	if (code == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
	if (code == MHD_HTTP_SERVICE_UNAVAILABLE)
		MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "1");
	status = MHD_queue_response(connection, code, response);
	MHD_destroy_response(response);
	return status;
}

enum MHD_Result reply_encoded(struct MHD_Connection *connection, const char *type,
			      const struct encoded *out, const char *policy)
{
	struct MHD_Response *response =
		out->body ? MHD_create_response_from_buffer(out->len, out->body,
							    MHD_RESPMEM_MUST_FREE)
			  : MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);

	if (policy)
		MHD_add_response_header(response, "Content-Security-Policy", policy);
	return reply_queue(connection, out->body ? MHD_HTTP_OK : MHD_HTTP_NOT_MODIFIED, type,
			   out->tag, out->gzip, response);
}

enum MHD_Result reply_text(struct MHD_Connection *connection, const char *type, char *text,
			   size_t len)
{
	const struct encode_wish wish = reply_wish(connection);
	const struct encoded out = encode_body(&wish, text, len);

	return reply_encoded(connection, type, &out, NULL);
}

enum MHD_Result reply_json(struct MHD_Connection *connection, json_t *document)
{
	char *text = json_dumps(document, JSON_COMPACT);

	json_decref(document);
	return reply_text(connection, REPLY_JSON, text, strlen(text));
}

enum MHD_Result reply_refuse(struct MHD_Connection *connection, unsigned code, const char *why)
{
	json_t *document = json_pack("{s:s}", "error", why);
	char *text;

	if (!document)
		document = json_pack("{s:s}", "error", "not to be done");
	text = json_dumps(document, JSON_COMPACT);
	json_decref(document);
	return reply_queue(
		connection, code, REPLY_JSON, NULL, false,
		MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE));
}
