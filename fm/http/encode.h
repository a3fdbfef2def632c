/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * encode: a body in the encoding that the client accepts, compressed or not, or no body if the
 * client has it already (RFC 9110 8.8.3, 12.5.3, 13.1.2). Pure.
 */
#ifndef FMD_HTTP_ENCODE_H
#define FMD_HTTP_ENCODE_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
