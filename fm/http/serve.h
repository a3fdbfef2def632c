/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * serve: HTTP/1.1 by libmicrohttpd on fmd's loop: a listening socket, connections capped in all and
 * by address, TLS 1.2 and later where a certificate is given.
 *
 * The handler is called as libmicrohttpd does it: once before the body, then again until a response
 * is queued. A connection that is suspended is not served until it is resumed.
 */
#pragma once

#include <jansson.h>
#include <microhttpd.h>
#include <stddef.h>
#include <sys/socket.h>
#include "fm/loop/loop.h"

struct serve;
struct conf_http; /* of which it has the address, and certificate and key in PEM, both or neither */

struct serve_ops {
	MHD_AccessHandlerCallback request;
	MHD_RequestCompletedCallback completed; /* once for each request, last */
	void *arg;
};

/* The caller owns the server; NULL with the reason in err. `ops` is copied. */
struct serve *serve_new(struct loop *loop, const struct conf_http *conf,
			const struct serve_ops *ops, char *err, size_t err_size);
/*
 * Loads certificate and key again and closes all connections, which must be resumed before; the
 * address stays. 0, or -1 with the reason in err and nothing changed.
 */
int serve_configure(struct serve *serve, const struct conf_http *conf, char *err, size_t err_size);
/* Closes all connections, which must be resumed before, and frees the server; NULL is fine. */
void serve_free(struct serve *serve);

/* What came over that connection shows that its other end may ask: it is no stranger's. */
void serve_proven(struct serve *serve, struct MHD_Connection *connection);
/* Writes the address that a connection came from, without its port; "" = it is not known. */
#define SERVE_ADDRESS 46
void serve_client(struct MHD_Connection *connection, char text[SERVE_ADDRESS]);
/* Writes the local address of a connection as text; "" = not known. */
void serve_local_address(struct MHD_Connection *connection, char *text, size_t size);

/* ---- Request --------------------------------------------------------------------------------- */

/*
 * The state of a request whose response is not sent at once: a document that a child
 * writes, a stream of events. It lives as long as libmicrohttpd's request; its connection is
 * suspended while there is nothing to send.
 */

struct children;
struct request;

struct requests { /* of a server */
	struct loop *loop;
	struct serve *serve;
	struct children *children;  /* that write documents */
	struct loop_timer *starter; /* of them: document_start() */
	struct request *first;
};
struct request_ops {
	/* Called after it was resumed without a response: queues one, or suspends it again. */
	enum MHD_Result (*go_on)(struct request *request);
	/* The request is over: frees the struct that contains it. */
	void (*end)(struct request *request);
};
struct request { /* the first member of the struct of its kind */
	const struct request_ops *ops;
	struct requests *all;
	struct request *next;
	struct MHD_Connection *connection;
	bool suspended;
};

/* Adds a request to the list, and takes it out; all arguments are borrowed until then. */
void request_init(struct request *request, const struct request_ops *ops, struct requests *all,
		  struct MHD_Connection *connection);
void request_fini(struct request *request);
/* Suspend and resume the request's connection. A request that is not suspended stays as it is. */
void request_suspend(struct request *request);
void request_resume(struct request *request);
void requests_resume_all(struct requests *all);

/* ---- Encode ---------------------------------------------------------------------------------- */

/*
 * A body in the encoding that the client accepts, compressed or not, or no body if the
 * client has it already (RFC 9110 8.8.3, 12.5.3, 13.1.2). Pure.
 */

#define ENCODE_TAG 32

struct encode_wish {
	bool gzip;
	const char *if_none_match; /* the header, NULL = none */
};
struct encoded {
	char *body; /* from malloc; NULL = the client has it already */
	size_t len;
	bool gzip;
	char tag[ENCODE_TAG]; /* an entity tag in its quotes; one for each encoding */
};

/* Whether the header Accept-Encoding (NULL = there is none) admits gzip. */
bool encode_accepts_gzip(const char *header);
/* Whether If-None-Match (NULL = there is none) has the entity tag, in either encoding. */
bool encode_has(const char *if_none_match, const char *tag);
/* Takes `body`, which is from malloc; the caller frees the body of the result. */
struct encoded encode_body(const struct encode_wish *wish, char *body, size_t len);

/* ---- Responses that are complete, with the headers that all have in common ------------------- */

/* Functions return libmicrohttpd's verdict: MHD_YES, or MHD_NO = the connection is to be closed. */

#define REPLY_JSON "application/json"

/* The encoding that the client asks for by its headers; borrowed from the connection. */
struct encode_wish reply_wish(struct MHD_Connection *connection);

/* Queues and releases `response`. `tag`: its entity tag, NULL = none. */
enum MHD_Result reply_queue(struct MHD_Connection *connection, unsigned code, const char *type,
			    const char *tag, bool gzip, struct MHD_Response *response);
/* Encodes a text as the client wants and answers with it. Takes `text`, which is from malloc. */
enum MHD_Result reply_text(struct MHD_Connection *connection, const char *type, char *text,
			   size_t len);
/* Answers with a document, whose reference it takes. */
enum MHD_Result reply_json(struct MHD_Connection *connection, json_t *document);
/* Answers with a code and {"error": why}. */
enum MHD_Result reply_refuse(struct MHD_Connection *connection, unsigned code, const char *why);
