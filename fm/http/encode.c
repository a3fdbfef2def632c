/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* encode: gzip by zlib, entity tags by SHA-256 of what is not compressed. */
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>
#include "fm/http/encode.h"
#include "topology/base/mem.h"

#define LEAST	     1024 /* shorter bodies are not worth it */
#define LEVEL	     4	  /* of zlib: JSON of a large fabric to 5%, in half the time of level 6 */
#define GZIP_WINDOW  (15 + 16)
#define MEMORY_LEVEL 9

/* "q=0", "q=0.0": the client does not want it. */
static bool is_refused(const char *params, size_t len)
{
	const char *q = memmem(params, len, "q=", 2);

	return q && strtod(q + 2, NULL) <= 0;
}

bool encode_accepts_gzip(const char *header)
{
	while (header && *header) {
		size_t blank = strspn(header, " \t,");
		size_t len = strcspn(header + blank, ","), name;

		header += blank;
		name = strcspn(header, ";, \t");
		if (name == 4 && !strncasecmp(header, "gzip", 4))
			return !is_refused(header + name, len - name);
		header += len;
	}
	return false;
}

/* NULL where it comes out no shorter. */
static char *compress_body(const char *body, size_t len, size_t *out_len)
{
	z_stream z = { .next_in = (Bytef *)body, .avail_in = (uInt)len };
	size_t most = len - len / 8;
	char *out = NULL;
	bool whole;

	if (len < LEAST || len > UINT32_MAX ||
	    deflateInit2(&z, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, Z_DEFAULT_STRATEGY))
		return NULL;
	out = mem_alloc(most, 1);
	z.next_out = (Bytef *)out;
	z.avail_out = (uInt)most;
	whole = deflate(&z, Z_FINISH) == Z_STREAM_END;
	if (whole)
		*out_len = z.total_out;
	deflateEnd(&z);
	if (whole)
		return out;
	free(out);
	return NULL;
}

static void make_tag(const char *body, size_t len, bool gzip, char tag[ENCODE_TAG])
{
	unsigned char digest[SHA256_DIGEST_LENGTH];
	char *at = tag;

	SHA256((const unsigned char *)body, len, digest);
	*at++ = '"';
	for (unsigned i = 0; i < 10; i++)
		at += sprintf(at, "%02x", digest[i]);
	strcpy(at, gzip ? "-gz\"" : "\"");
}

/*
 * The tag without its mark of the encoding: a client that has the document in either has the
 * document.
 */
bool encode_has(const char *if_none_match, const char *tag)
{
	char stem[ENCODE_TAG];

	if (!if_none_match)
		return false;
	snprintf(stem, sizeof(stem), "%.21s", tag);
	return !strcmp(if_none_match, "*") || strstr(if_none_match, stem);
}

struct encoded encode_body(const struct encode_wish *wish, char *body, size_t len)
{
	struct encoded out = { .body = body, .len = len };
	char *packed;

	make_tag(body, len, false, out.tag);
	if (encode_has(wish->if_none_match, out.tag)) {
		free(body);
		out.body = NULL;
		out.len = 0;
		return out;
	}
	packed = wish->gzip ? compress_body(body, len, &out.len) : NULL;
	if (!packed)
		return out;
	make_tag(body, len, true, out.tag);
	free(body);
	out.body = packed;
	out.gzip = true;
	return out;
}
