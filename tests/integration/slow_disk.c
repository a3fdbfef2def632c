/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * To preload: a disk that stops. fsync() and fdatasync() wait as long as the file that SLOW_DISK
 * names is there. They tell that they wait by a byte at the end of the file SLOW_DISK.asked.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>

static void wait_for_the_disk(void)
{
	const char *held = getenv("SLOW_DISK");
	char asked[4096];
	int fd;

	if (!held || access(held, F_OK))
		return;
	snprintf(asked, sizeof(asked), "%s.asked", held);
	fd = open(asked, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (fd >= 0 && write(fd, "x", 1) == 1)
		close(fd);
	while (!access(held, F_OK))
		usleep(1000);
}

int fsync(int fd)
{
	wait_for_the_disk();
	return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	wait_for_the_disk();
	return (int)syscall(SYS_fdatasync, fd);
}
