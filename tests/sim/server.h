/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * server: fmsim's socket, where clients attach to the fabric (frame.h) and commands are said to it.
 */
#pragma once

#include <stdio.h>
#include "tests/sim/kernel.h"

struct server;

/* Does one line and writes the answer; 0 or -errno. */
typedef int server_line_fn(void *arg, const char *line, FILE *out);

/*
 * Listens at `path`; a socket that nobody serves any more is replaced. NULL with the reason in err.
 */
struct server *server_new(struct loop *loop, struct double_fabric *d, struct kernel *k,
			  const char *path, server_line_fn *line, void *arg, char *err,
			  size_t err_size);
void server_free(struct server *s); /* every client loses its device */
