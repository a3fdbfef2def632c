/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * To preload: a disk with troubles, each of which an environment variable turns on.
 *
 *   SLOW_DISK=FILE     fsync() and fdatasync() wait as long as that file is there. They tell that
 *                      they wait by a byte at the end of FILE.asked. The process's first thread
 *                      does not wait: it reads what is there.
 *   FULL_DISK=FILE     nothing can be written at a place of a file as long as that file is there.
 *   SYNCED_DISK=FOLDER what a power cut would leave: each file of which fsync() or fdatasync() has
 *                      returned, as it was then.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static void wait_for_the_disk(void)
{
	const char *held = getenv("SLOW_DISK");
	char asked[4096];
	int fd;

	if (!held || gettid() == getpid() || access(held, F_OK))
		return;
	snprintf(asked, sizeof(asked), "%s.asked", held);
	fd = open(asked, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (fd >= 0 && write(fd, "x", 1) == 1)
		close(fd);
	while (!access(held, F_OK))
		usleep(1000);
}

/* The copy takes its name when it is whole. */
static void keep(int fd)
{
	const char *folder = getenv("SYNCED_DISK");
	char link[64], path[4096] = "", to[4096], new[4104];
	static __thread char bytes[65536];
	struct stat st;
	ssize_t count;
	off_t at = 0;
	int out;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (!folder || fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    readlink(link, path, sizeof(path) - 1) < 0)
		return;
	snprintf(to, sizeof(to), "%s/%s", folder, strrchr(path, '/') + 1);
	snprintf(new, sizeof(new), "%s.new", to);
	out = open(new, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	while ((count = pread(fd, bytes, sizeof(bytes), at)) > 0 &&
	       write(out, bytes, count) == count)
		at += count;
	close(out);
	rename(new, to);
}

int fsync(int fd)
{
	int status;

	wait_for_the_disk();
	status = (int)syscall(SYS_fsync, fd);
	keep(fd);
	return status;
}

int fdatasync(int fd)
{
	int status;

	wait_for_the_disk();
	status = (int)syscall(SYS_fdatasync, fd);
	keep(fd);
	return status;
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at)
{
	const char *full = getenv("FULL_DISK");

	if (full && !access(full, F_OK)) {
		errno = ENOSPC;
		return -1;
	}
	return syscall(SYS_pwrite64, fd, bytes, count, at);
}
