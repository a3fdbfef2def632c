/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fake_umad: a libibumad that the test plays: devices come and go, ports have links or not, the
 * kernel gives requests back. Its functions stand in for the library's. Include cmocka first.
 */
#ifndef FMD_TESTS_FAKE_UMAD_H
#define FMD_TESTS_FAKE_UMAD_H

#include <infiniband/umad.h>
#include "fm/core/log.h"
#include "fm/mad/mad.h"

#define PATIENCE  60000 /* runs of a millisecond at least */
#define PORTS	  3
#define LINK_UP	  5
#define POLLING	  2
#define DISABLED  (1u << 10) /* IsSMdisabled */
#define TID_GIVEN 42
#define HANDLES	  3 /* opened for one port at most */
#define TAKEN_MAX 4096
#define NO_FD	  100000

struct machine {
	bool absent; /* no device */
	bool dead;   /* the device that was open has gone: the descriptor is of no use any more */
	bool give_back; /* the next that is read is a request without an answer */
	int refuse;	/* errno of registering */
	int forbid;	/* errno of opening */
	bool simulator; /* its descriptor is none that the kernel knows */
	int fds[HANDLES];
	unsigned opened, closed, sent;
	int sent_by;
	int retries, wait_ms;	   /* of what was sent last */
	unsigned waiting[HANDLES]; /* SMPs; SA requests, those for tables. They end up in.. */
	char taken[TAKEN_MAX];	   /* ..this order: s, r */
	unsigned ntaken;
	int longer; /* than a MAD: the next one */
	int room;   /* offered for what was read last */
	umad_port_t ports[PORTS];
	unsigned nports;
};
extern struct machine machine; /* of the running test */

struct umad_bench { /* one port, and who uses it */
	struct loop *loop;
	struct mad *mad;
	struct io *io;
	struct loop_timer *stop;
	unsigned losses;
	uint64_t failed;
	char why[128];
};

/* Whatever is to come has come long before; the end is the callback's. */
void umad_bench_run(struct umad_bench *b);
/* To the device; phys_state LINK_UP or POLLING. */
void umad_bench_add_port(unsigned phys_state, uint32_t capmask);
/* guid 0 = any port. Nothing is open yet. */
struct umad_bench umad_bench_begin(guid_t guid);
/* Every descriptor that was opened is closed. */
void umad_bench_end(struct umad_bench *b);
/* Each test begins with an empty machine. */
int umad_bench_setup(void **state);
/* As mad_open(), with its promises checked. */
int umad_bench_open(struct umad_bench *b);
/* Makes all descriptors readable. */
void umad_bench_wake(void);

#endif
