/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * delta: what of a file is another than before, as one piece: files of state_dir are sorted lines,
 * and most changes touch one of them. Pure.
 */
#ifndef FMD_MIRROR_DELTA_H
#define FMD_MIRROR_DELTA_H

#include <stdbool.h>
#include <stddef.h>

struct text {
	char *bytes; /* never NULL */
	size_t length;
};

struct delta {
	size_t keep_head, keep_tail; /* bytes of the old text that stay, and */
	const char *bytes;	     /* of the new one, what stands between */
	size_t length;
};

/* Returns how to make one of the other; its bytes are borrowed from `after`. */
struct delta delta_of(const struct text *before, const struct text *after);
/* The new text, the caller's. False: these are no parts of the old one. */
bool delta_apply(const struct text *before, const struct delta *delta, struct text *after);

#endif
