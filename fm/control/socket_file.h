/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* socket_file: the place of the control socket in the file system. */
#ifndef FMD_CONTROL_SOCKET_FILE_H
#define FMD_CONTROL_SOCKET_FILE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A Unix stream socket that listens at `path`, non-blocking and close-on-exec, the caller's to
 * close and to unlink. `shared`: anybody may connect, else root and fmd's own user. A dead socket
 * in the place is replaced. -1 with the reason in err: another process serves it, something else is
 * there, no permission, the path is too long.
 */
int socket_file_listen(const char *path, bool shared, int backlog, char *err, size_t err_size);

#endif
