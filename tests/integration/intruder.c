/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * To preload: somebody who has taken over fmd. When the file that INTRUDER names is there, calls
 * are tried from within the loop: `NAME ERRNO` each in INTRUDER.result, 0 = it worked. Where the
 * file has process IDs, their memory is opened to be written instead, `PID ERRNO` each.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void note(FILE *out, const char *name, long result)
{
	fprintf(out, "%s %d\n", name, result < 0 ? errno : 0);
}

static void try_all(FILE *out)
{
	char *arguments[] = { "sh", "-c", "exit 0", NULL };

	note(out, "execve", execv("/bin/sh", arguments));
	note(out, "mount", mount("none", "/mnt", "tmpfs", 0, NULL));
	note(out, "packet", socket(AF_PACKET, SOCK_RAW, 0));
	note(out, "raw", socket(AF_INET, SOCK_RAW, 1));
	note(out, "setuid", syscall(SYS_setuid, 0));
	note(out, "unshare", unshare(CLONE_NEWUSER));
	note(out, "kill", kill(getppid(), SIGURG));
	note(out, "module", syscall(SYS_init_module, NULL, 0, ""));
}

/* False: there are none. */
static bool try_memory(const char *order, FILE *out)
{
	FILE *in = fopen(order, "re");
	bool any = false;
	char path[64];
	int pid;

	while (in && fscanf(in, "%d", &pid) == 1) {
		snprintf(path, sizeof(path), "/proc/%d/mem", pid);
		fprintf(out, "%d %d\n", pid, open(path, O_RDWR | O_CLOEXEC) < 0 ? errno : 0);
		any = true;
	}
	if (in)
		fclose(in);
	return any;
}

int epoll_wait(int fd, struct epoll_event *events, int most, int timeout)
{
	static int (*real)(int, struct epoll_event *, int, int);
	const char *order = getenv("INTRUDER");
	char path[4096], result[4096];
	FILE *out;

	if (!real)
		real = (int (*)(int, struct epoll_event *, int, int))dlsym(RTLD_NEXT, "epoll_wait");
	if (order && !access(order, R_OK)) {
		snprintf(path, sizeof(path), "%s.new", order);
		snprintf(result, sizeof(result), "%s.result", order);
		out = fopen(path, "we");
		if (!try_memory(order, out))
			try_all(out);
		unlink(order);
		fclose(out);
		rename(path, result);
	}
	return real(fd, events, most, timeout);
}
