/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * run: fmd and a command on a fabric that fmsim holds, in a folder of their own that goes when they
 * have ended.
 */
#pragma once

#include <sys/types.h>

struct run {
	char folder[64]; /* of this run */
	char socket[96]; /* of fmsim, unless it was named */
};

/* Makes the folder. 0 or -errno. */
int run_prepare(struct run *run);

/*
 * In a process of its own: fmd (of fmsim's folder, else of PATH) begins, and when the fabric is up,
 * the command does; none (argv[0] NULL) is a shell. `fmctl` there asks that fmd, and every tool
 * lives in the fabric that listens at `socket`. The process ends with the command's status, after
 * fmd. Its id, or -errno. The folder goes with run_clean().
 */
pid_t run_start(const struct run *run, const char *socket, char *const argv[]);
void run_clean(const struct run *run);
