/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The issm file of a port: a subnet manager opens its path by itself, and holds the descriptor as
 * long as the port is to be IsSM. Here that is a connection to fmsim, so that closing it, or the
 * process's end, ends it. All other paths go to the system.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
#include "tests/sim/umad_own.h"

#define PORTS	 UMAD_CA_MAX_PORTS
#define WAIT_US	 20000
#define NOT_ISSM (-2)

int umad_get_issm_path(const char *ca_name, int portnum, char path[], int max)
{
	char name[UMAD_CA_NAME_LEN];
	unsigned device;

	if (view_resolve(ca_name, &portnum, name) < 0)
		return -ENODEV;
	if (sscanf(name, "mlx5_%u", &device) != 1 || portnum < 0 || portnum >= PORTS)
		return -EINVAL;
	snprintf(path, (size_t)max, ISSM_PATH "%u", device * PORTS + (unsigned)portnum);
	return 0;
}

static int issm_ask(unsigned number, int flags)
{
	char ca[UMAD_CA_NAME_LEN];
	struct frame_request request;
	struct frame_reply reply;
	int fd = sim_connect(), status;

	if (fd < 0)
		return fd;
	snprintf(ca, sizeof(ca), "mlx5_%u", number / PORTS);
	sim_request(&request, FRAME_ISSM, ca, (int)(number % PORTS));
	/* Who does not say O_NONBLOCK waits until the other closes it. */
	while ((status = sim_ask(fd, &request, &reply, NULL)) == -EAGAIN && !(flags & O_NONBLOCK))
		usleep(WAIT_US);
	if (status >= 0)
		return fd;
	close(fd);
	return status;
}

int issm_open(const char *path, int flags)
{
	size_t prefix = strlen(ISSM_PATH);
	char *end;
	unsigned long number;
	int fd;

	if (!path || strncmp(path, ISSM_PATH, prefix) || !getenv("FMSIM"))
		return NOT_ISSM;
	number = strtoul(path + prefix, &end, 10);
	if (*end || end == path + prefix)
		return NOT_ISSM;
	fd = issm_ask((unsigned)number, flags);
	if (fd >= 0)
		return fd;
	errno = -fd;
	return -1;
}

static int open_any(int dir, const char *path, int flags, mode_t mode)
{
	int fd = issm_open(path, flags);

	return fd != NOT_ISSM ? fd : (int)syscall(SYS_openat, dir, path, flags, mode);
}

#define TAKE_MODE(mode)                                                                            \
	do {                                                                                       \
		va_list args;                                                                      \
		va_start(args, flags);                                                             \
		mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(args, mode_t) : 0;                 \
		va_end(args);                                                                      \
	} while (0)

int open(const char *path, int flags, ...)
{
	mode_t mode;

	TAKE_MODE(mode);
	return open_any(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	mode_t mode;

	TAKE_MODE(mode);
	return open_any(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
	mode_t mode;

	TAKE_MODE(mode);
	return open_any(dir, path, flags, mode);
}

int openat64(int dir, const char *path, int flags, ...)
{
	mode_t mode;

	TAKE_MODE(mode);
	return open_any(dir, path, flags | O_LARGEFILE, mode);
}

int __open_2(const char *path, int flags)
{
	return open_any(AT_FDCWD, path, flags, 0);
}

int __open64_2(const char *path, int flags)
{
	return open_any(AT_FDCWD, path, flags | O_LARGEFILE, 0);
}
