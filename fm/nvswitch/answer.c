/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * answer: status line, headers, body.
 *
 *   HTTP/1.1 200 OK                      RFC 9112, 4; 1xx answers stand before the real one and are
 *                                        passed over
 *   Content-Length: 3000 |               6.2
 *   Transfer-Encoding: chunked |         7.1: SIZE in hex [;extension] CRLF bytes CRLF .. 0 CRLF
 *                                        trailers CRLF
 *   neither: up to the end of the connection
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "fm/nvswitch/answer.h"

enum at { STATUS, HEADERS, LENGTH, TO_THE_END, CHUNK_SIZE, CHUNK, CHUNK_END, TRAILERS };

void answer_init(struct answer *a)
{
	*a = (struct answer){ .at = STATUS };
}

static void fail(struct answer *a, const char *words)
{
	if (!a->fault)
		a->fault = words;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static void take_status(struct answer *a)
{
	const char *code = a->line + 9;

	if (strncmp(a->line, "HTTP/1.", 7) || a->used < 12 || a->line[8] != ' ' ||
	    strspn(code, "0123456789") != 3) {
		fail(a, "the answer is not HTTP");
		return;
	}
	a->code = atoi(code);
	a->has_length = a->chunked = false;
	a->at = HEADERS;
}

/* The value of a header of that name, else NULL. */
static char *header(struct answer *a, const char *name)
{
	size_t len = strlen(name);
	char *value = a->line + len;

	if (strncasecmp(a->line, name, len) || *value++ != ':')
		return NULL;
	value += strspn(value, " \t");
	value[strcspn(value, " \t")] = '\0';
	return value;
}

static bool read_length(const char *text, int base, uint64_t *length)
{
	char *end;

	*length = strtoull(text, &end, base);
	return end != text && *text != '-' && *text != '+' && *length < INT64_MAX &&
	       !*(end + strspn(end, " \t"));
}

static void take_header(struct answer *a)
{
	char *value;

	if (a->used == sizeof(a->line))
		return; /* none of those that count is so long */
	if ((value = header(a, "Content-Length"))) {
		a->has_length = true;
		if (!read_length(value, 10, &a->left))
			fail(a, "the answer's length is not a number");
	} else if ((value = header(a, "Transfer-Encoding"))) {
		a->chunked = !strcasecmp(value, "chunked");
		if (!a->chunked)
			fail(a, "the answer has an encoding that was not requested");
	} else if ((value = header(a, "Content-Encoding")) && strcasecmp(value, "identity")) {
		fail(a, "the answer has an encoding that was not requested");
	}
}

static void begin_body(struct answer *a)
{
	if (a->code / 100 == 1) {
		a->at = STATUS;
	} else if (a->code == 204 || a->code == 304) {
		a->done = true;
	} else if (a->chunked) {
		a->at = CHUNK_SIZE;
	} else {
		a->at = a->has_length ? LENGTH : TO_THE_END;
		a->done = a->has_length && !a->left;
	}
}

static void take_chunk_size(struct answer *a)
{
	a->line[strcspn(a->line, ";")] = '\0';
	if (!read_length(a->line, 16, &a->left)) {
		fail(a, "a chunk's size is not a number");
		return;
	}
	a->at = a->left ? CHUNK : TRAILERS;
	a->header_bytes = 0;
}

static void take_line(struct answer *a)
{
	if (a->used && a->line[a->used - 1] == '\r')
		a->used--;
	a->line[a->used < sizeof(a->line) ? a->used : sizeof(a->line) - 1] = '\0';
	if (a->at == STATUS)
		take_status(a);
	else if (a->at == HEADERS && a->used)
		take_header(a);
	else if (a->at == HEADERS)
		begin_body(a);
	else if (a->at == CHUNK_SIZE)
		take_chunk_size(a);
	else if (a->at == CHUNK_END && a->used)
		fail(a, "a chunk is longer than its size");
	else if (a->at == CHUNK_END)
		a->at = CHUNK_SIZE;
	else if (!a->used)
		a->done = true; /* behind the trailers */
	a->used = 0;
}

static size_t feed_line(struct answer *a, const char *data, size_t len)
{
	const char *newline = memchr(data, '\n', len);
	size_t part = newline ? (size_t)(newline - data) : len, room = sizeof(a->line) - a->used;

	a->header_bytes += (uint32_t)(part < ANSWER_HEADERS ? part : ANSWER_HEADERS) + 1;
	if (a->header_bytes > ANSWER_HEADERS && a->at != CHUNK_END) {
		fail(a, "the headers are too long");
		return len;
	}
	memcpy(a->line + a->used, data, part < room ? part : room);
	a->used += (uint32_t)(part < room ? part : room);
	if (!newline)
		return len;
	take_line(a);
	return part + 1;
}

/* ---- The body -------------------------------------------------------------------------------- */

static size_t feed_body(struct answer *a, const char *data, size_t len, const char **body,
			size_t *body_len)
{
	*body = data;
	*body_len = len;
	if (a->at == TO_THE_END)
		return len;
	if (a->left < len)
		*body_len = (size_t)a->left;
	a->left -= *body_len;
	if (a->left)
		return *body_len;
	a->done = a->at == LENGTH;
	if (a->at == CHUNK) {
		a->at = CHUNK_END;
		a->header_bytes = 0;
	}
	return *body_len;
}

size_t answer_feed(struct answer *a, const char *data, size_t len, const char **body,
		   size_t *body_len)
{
	*body = NULL;
	*body_len = 0;
	if (a->done || a->fault || !len)
		return 0;
	if (a->at == LENGTH || a->at == TO_THE_END || a->at == CHUNK)
		return feed_body(a, data, len, body, body_len);
	return feed_line(a, data, len);
}

void answer_end(struct answer *a)
{
	if (a->at == TO_THE_END)
		a->done = true;
	else if (!a->done)
		fail(a, "the answer is truncated");
}
