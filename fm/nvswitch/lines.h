/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* lines: files that people write, a line at a time, up to the first that is wrong. */
#ifndef FMD_NVSWITCH_LINES_H
#define FMD_NVSWITCH_LINES_H

#include <stddef.h>

/*
 * The line has no end of line any more, and no remark: that begins with #. NULL, or what is wrong
 * with it.
 */
typedef const char *lines_fn(void *arg, char *line);

/* 0, or -1 with `FILE: reason` or `FILE:LINE: reason` in err. */
int lines_read(const char *path, lines_fn *fn, void *arg, char *err, size_t err_size);

#endif
