/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * answer: an HTTP/1.1 answer (RFC 9112), read as it comes in pieces of any size, with nothing kept
 * but the line under way.
 *
 * An exporter may send all it has as one chunk of many megabytes. So the body is handed on in the
 * pieces in which it arrives, never gathered. Pure: bytes in, bytes of the body out.
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
	bool done;	   /* the answer is whole */
	const char *fault; /* words; NULL = none so far */
	/* How far it has come. */
	uint8_t at;
	bool has_length, chunked;
	uint64_t left; /* of the body, or of the chunk */
	uint32_t used, header_bytes;
	char line[ANSWER_LINE];
};

void answer_init(struct answer *a);
/*
 * Takes bytes from data and returns how many, at least one while len > 0, no fault was found and
 * the answer is not whole. *body, *body_len: a piece of the body among them, none when *body_len is
 * 0; it lies in data.
 */
size_t answer_feed(struct answer *a, const char *data, size_t len, const char **body,
		   size_t *body_len);
/*
 * The server has closed the connection: a body without a length is whole with that; anything else
 * ends early.
 */
void answer_end(struct answer *a);

#endif
