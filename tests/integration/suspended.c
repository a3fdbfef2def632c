/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * To preload: a machine that was suspended for ten seconds as soon as the file that SUSPENDED names
 * is there. As Linux has it, CLOCK_BOOTTIME counts them, CLOCK_MONOTONIC does not.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	const char *suspended = getenv("SUSPENDED");
	int status = (int)syscall(SYS_clock_gettime, clock, ts);

	if (!status && clock == CLOCK_BOOTTIME && suspended && !access(suspended, F_OK))
		ts->tv_sec += 10;
	return status;
}
