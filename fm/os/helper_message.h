/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * helper_message: what the daemon and its helper say to each other, a packet of a SOCK_SEQPACKET
 * pair each. Nobody else includes it.
 *
 * Pair 0 is for programs: struct helper_ask with HELPER_RUN, followed by the variables, or
 * HELPER_KILL; answered by struct helper_report when a program has ended. Pair 1 is for what the
 * daemon waits for: HELPER_CONFIGURE, or HELPER_BIND followed by the address and with the socket as
 * SCM_RIGHTS; answered by an int, 0 or errno.
 */
#ifndef FMD_OS_HELPER_MESSAGE_H
#define FMD_OS_HELPER_MESSAGE_H

#include <stdint.h>
#include "fm/os/helper.h"

enum { HELPER_RUN = 1, HELPER_KILL, HELPER_CONFIGURE, HELPER_BIND };
enum { HELPER_RUNS, HELPER_CALLS, HELPER_PAIRS };

struct helper_ask {
	uint32_t kind;
	uint32_t id;	  /* of a program that runs; the daemon's choice */
	uint32_t program; /* enum helper_program */
	uint32_t length;  /* of what follows */
};

struct helper_report {
	uint32_t id;
	int32_t error, status;
};

struct helper_start { /* what the child begins with */
	int fds[HELPER_PAIRS];
	const struct conf *conf;
	const char *conf_path;
	void (*confine)(void);
};

#endif
