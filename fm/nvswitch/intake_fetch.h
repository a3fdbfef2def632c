/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * answer: parses an HTTP/1.1 response (RFC 9112) that arrives in pieces of any size; it keeps only
 * the line that is under way.
 *
 * An exporter may send everything as one chunk of many megabytes, so the body is passed on in the
 * pieces in which it arrives. Pure: bytes in, bytes of the body out.
 */
#ifndef FMD_NVSWITCH_INTAKE_FETCH_H
#define FMD_NVSWITCH_INTAKE_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "fm/loop/loop.h"

#define ANSWER_LINE    512   /* bytes of a line that are read */
#define ANSWER_HEADERS 16384 /* bytes of the status line and all headers; likewise of trailers */

struct answer {
	int code;	   /* 0 = the status line has not come yet */
	bool done;	   /* the response is complete */
	const char *fault; /* why it is refused, a static text; NULL = no fault so far */
	/* The state of the parser. */
	uint8_t at;
	bool has_length, chunked;
	uint64_t left; /* of the body, or of the chunk */
	uint32_t used, header_bytes;
	char line[ANSWER_LINE];
};

/* Starts with a new response; there is nothing to free. */
void answer_init(struct answer *a);
/*
 * Takes bytes from data and returns how many: at least one while len > 0, no fault was found and
 * the response is not complete. *body, *body_len: a piece of the body among them, in data; none
 * when *body_len is 0.
 */
size_t answer_feed(struct answer *a, const char *data, size_t len, const char **body,
		   size_t *body_len);
/*
 * The server has closed the connection. A body without a length is complete then; any other
 * response that is not complete has a fault.
 */
void answer_end(struct answer *a);

/* ---- HTTP and HTTPS GETs on the loop, for responses that are read as they arrive ------------- */

/*
 * Nothing blocks: names are resolved on the loop too. One time limit holds for a whole request, so
 * a server that sends slowly does not hold it up. A request uses one connection and follows no
 * redirect. Nothing of a response is kept here, so it may be of any length. https accepts only
 * servers whose certificate the CA file signs.
 */

struct fetch;

struct fetch_conf {
	unsigned timeout_ms; /* for a whole request */
	unsigned connect_ms; /* for the connection */
	size_t body_max;     /* bytes; 0 = any number */
	const char *ca_file; /* "" = no https */
};
/*
 * The caller owns it; the loop is borrowed. NULL in a simulated loop; NULL with the reason in err:
 * the CA file cannot be used. fetch_free() ends its jobs without a callback; NULL is fine.
 */
struct fetch *fetch_new(struct loop *loop, const struct fetch_conf *conf, char *err,
			size_t err_size);
void fetch_free(struct fetch *fetch);

struct fetch_url {
	bool tls;
	uint16_t port;
	char host[256];
	char path[512];
};
/* 0, or -1: it is no http:// or https:// URL, or too long for *url. */
int fetch_url_parse(const char *text, struct fetch_url *url);

struct fetch_job;
struct fetch_ops {
	/* Takes a piece of the body of a 200 response. Returns NULL, or why the request ends. */
	const char *(*data)(void *arg, const char *data, size_t len);
	/*
	 * Called once, last, from the loop; the job is freed then. error NULL = the body is
	 * complete. address: the server's numeric address, "" = there was no connection.
	 */
	void (*done)(void *arg, const char *error, const char *address);
};
/*
 * Starts a request and returns its job, which fetch owns, valid until done() or fetch_cancel().
 * `ops` must live as long; the URL is copied. address: numeric, where to connect; NULL or "" = the
 * URL's host is resolved. Failures are reported by done(), never within the call.
 */
struct fetch_job *fetch_get(struct fetch *fetch, const struct fetch_url *url, const char *address,
			    const struct fetch_ops *ops, void *arg);
/* Ends and frees a job without a callback. */
void fetch_cancel(struct fetch_job *job);

#endif
