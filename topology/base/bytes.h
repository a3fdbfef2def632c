/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* bytes: a buffer of received bytes that were not used yet, first in, first out. */
#ifndef FMD_TOPOLOGY_BASE_BYTES_H
#define FMD_TOPOLOGY_BASE_BYTES_H

#include <stddef.h>

/* All 0 is empty. data[start] to data[end - 1] is held; a reader that has used some moves start. */
struct bytes {
	char *data; /* its own, from malloc: for the owner to free */
	size_t start, end, size;
};

/* Copies len bytes to the end; data may move. */
void bytes_add(struct bytes *bytes, const char *data, size_t len);
/* The number of bytes that are held. */
size_t bytes_held(const struct bytes *bytes);

#endif
