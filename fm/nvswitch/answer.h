/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * answer: parses an HTTP/1.1 response (RFC 9112) that arrives in pieces of any size; it keeps only
 * the line that is under way.
 *
 * An exporter may send everything as one chunk of many megabytes, so the body is passed on in the
 * pieces in which it arrives. Pure: bytes in, bytes of the body out.
 */
#ifndef FMD_NVSWITCH_ANSWER_H
#define FMD_NVSWITCH_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
