/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fake_umad: replaces the functions of libibumad: devices appear and disappear, ports have links or
 * not, the kernel returns requests. Include cmocka first.
 */
#pragma once

#include <infiniband/umad.h>
#include "fm/loop/log.h"
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
	bool absent;	/* no device */
	bool dead;	/* the open device was removed: its descriptor is useless */
	bool give_back; /* the next MAD read is a request without an answer */
	int refuse;	/* errno of registering an agent */
	int forbid;	/* errno of opening */
	bool simulator; /* its descriptor is unknown to the kernel */
	int fds[HANDLES];
	unsigned opened, closed, sent;
	int sent_by;
	int retries, wait_ms;	   /* of the MAD sent last */
	unsigned waiting[HANDLES]; /* SMPs; SA requests, those for tables */
	char taken[TAKEN_MAX];	   /* the order in which they were read: s, r */
	unsigned ntaken;
	int longer; /* the next MAD is longer than a MAD by so many bytes */
	int room;   /* bytes offered for the MAD read last */
	umad_port_t ports[PORTS];
	unsigned nports;
};
extern struct machine machine; /* of the running test */

struct umad_bench { /* one port with a loop, mad and io */
	struct loop *loop;
	struct mad *mad;
	struct io *io;
	struct loop_timer *stop;
	unsigned losses;
	uint64_t failed;
	char why[128];
};

/* Runs the loop until a callback stops it; fails after a time in which all must have come. */
void umad_bench_run(struct umad_bench *b);
/* Adds a port to the device; phys_state LINK_UP or POLLING. */
void umad_bench_add_port(unsigned phys_state, uint32_t capmask);
/* guid 0 = any port. Nothing is open yet. */
struct umad_bench umad_bench_begin(guid_t guid);
/* Every descriptor that was opened is closed. */
void umad_bench_end(struct umad_bench *b);
/* A cmocka setup: an empty machine. */
int umad_bench_setup(void **state);
/* Calls mad_open(), checks what it promises, and returns its result. */
int umad_bench_open(struct umad_bench *b);
/* Makes all descriptors readable. */
void umad_bench_wake(void);
