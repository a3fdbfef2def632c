/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* lines: reads files that people write, line by line, up to the first line that is wrong. */
#ifndef FMD_NVSWITCH_LINES_H
#define FMD_NVSWITCH_LINES_H

#include <stddef.h>

/*
 * Takes a line, of which its end and a remark (from # on) were cut off. Returns NULL, or what is
 * wrong with it: a static text.
 */
typedef const char *lines_fn(void *arg, char *line);

/*
 * Calls fn with each line. Returns 0, or -1 with `FILE: reason` (it cannot be read) or `FILE:LINE:
 * reason` in err; the lines before were taken then, which is for the caller to undo.
 */
int lines_read(const char *path, lines_fn *fn, void *arg, char *err, size_t err_size);

#endif
