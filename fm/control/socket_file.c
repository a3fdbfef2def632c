/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "fm/control/socket_file.h"

/*
 * A socket file that nobody serves any more is taken away; anything else in the place stays. 0 or
 * -errno.
 */
static int clear_place(const struct sockaddr_un *addr)
{
	struct stat st;
	int fd, status;

	if (lstat(addr->sun_path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	status = connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) ? -errno : -EADDRINUSE;
	close(fd);
	if (status != -ECONNREFUSED)
		return status;
	return unlink(addr->sun_path) ? -errno : 0;
}

/*
 * The mask holds while the file is made. Where the groups exist, anybody may connect, and is told
 * by credentials; else nobody but root and fmd's own user could have rights, and the file's mode
 * says so too.
 */
static int bind_private(int fd, const struct sockaddr_un *addr, bool shared)
{
	mode_t mask = umask(shared ? 0111 : 0117);
	int status = bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) ? -errno : 0;

	umask(mask);
	return status;
}

/* The socket, or -errno. */
static int open_place(const struct sockaddr_un *addr, bool shared, int backlog)
{
	int status = clear_place(addr), fd;

	if (status)
		return status;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	status = bind_private(fd, addr, shared);
	if (!status && listen(fd, backlog))
		status = -errno;
	if (!status)
		return fd;
	close(fd);
	return status;
}

static const char *error_text(int status)
{
	switch (status) {
	case -EADDRINUSE:
		return "another fmd uses it";
	case -EEXIST:
		return "a file with this name exists and is not a socket";
	default:
		return strerror(-status);
	}
}

int socket_file_listen(const char *path, bool shared, int backlog, char *err, size_t err_size)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = -ENAMETOOLONG;

	if (strlen(path) < sizeof(addr.sun_path)) {
		strcpy(addr.sun_path, path);
		fd = open_place(&addr, shared, backlog);
	}
	if (fd < 0)
		snprintf(err, err_size, "socket %s: %s", path, error_text(fd));
	return fd < 0 ? -1 : fd;
}
