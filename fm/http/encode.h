/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * encode: a body as the client wants it: compressed if it takes that, and not at all if it has it
 * already (RFC 9110 8.8.3, 12.5.3, 13.1.2). Pure.
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
	char *body; /* from malloc, or NULL: the client has it already */
	size_t len;
	bool gzip;
	char tag[ENCODE_TAG]; /* an entity tag in its quotes; one for each encoding */
};

/* Accept-Encoding, NULL = none: whether it admits gzip. */
bool encode_accepts_gzip(const char *header);
/* Takes `body`, which is from malloc; the caller frees what comes back. */
struct encoded encode_body(const struct encode_wish *wish, char *body, size_t len);

#endif
