/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* bytes: what came and has not gone on yet, first in, first out. */
#ifndef FMD_CORE_BYTES_H
#define FMD_CORE_BYTES_H

#include <stddef.h>

/* All 0 is empty. data[start] to data[end - 1] is held; whoever takes some of it moves `start`. */
struct bytes {
	char *data; /* its own, from malloc: for the owner to free */
	size_t start, end, size;
};

void bytes_add(struct bytes *bytes, const char *data, size_t len);
size_t bytes_held(const struct bytes *bytes);

#endif
