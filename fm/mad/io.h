/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * io: how raw MADs leave and arrive. Implementations: io_umad.c (libibumad: hardware and ibsim),
 * and the in-process fabric of tests/fabric.
 */
#pragma once

#include "fm/loop/loop.h"
#include "topology/snapshot/topo.h"

/*
 * Where a MAD goes or came from. Directed-route SMPs carry their path themselves: LID 0xffff, QP 0.
 */
struct io_addr {
	uint16_t lid;
	uint32_t qp;
	uint32_t qkey;
	uint16_t pkey_index;
	uint8_t sl, path_bits;
	bool grh; /* gid and hop_limit count */
	uint8_t gid[16], hop_limit;
};

typedef void io_recv_fn(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len);
/* The driver gave a request back, unanswered. */
typedef void io_failed_fn(void *arg, uint64_t tid);
/*
 * The device has gone: nothing is received any more, and every send fails, until it is opened
 * again. May come from within send().
 */
typedef void io_lost_fn(void *arg, int error);

struct io_port_info {
	char device[32];
	unsigned port;
	guid_t port_guid, node_guid;
	uint64_t gid_prefix;
	uint16_t lid, sm_lid;
	bool link;    /* was up when it was opened */
	bool real_fd; /* watched by the loop; false: polled (ibsim) */
};

/*
 * The bytes of a long answer, which may go to several; made by malloc(). References are counted in
 * the loop alone; as long as one other than the maker's is out, what lies behind the head
 * (send_long) is not written to.
 */
struct io_body {
	uint8_t *data;
	unsigned refs;
};
/* Takes data over. The caller has the one reference; the last unref frees both. Never NULL. */
struct io_body *io_body_new(uint8_t *data);
void io_body_unref(struct io_body *body);

#define IO_PORTS 32 /* of this machine that are taken note of */

struct io; /* implementations embed it as first member */
struct io_ops {
	/*
	 * 0 or -errno (-EAGAIN: queues are full, try again later; -ENODEV: not open). len 256,
	 * longer for RMPP answers of the SA. timeout_ms: an answer is awaited so long; 0 = none is.
	 * The driver drops an answer nobody awaits.
	 */
	int (*send)(struct io *io, const struct io_addr *to, const uint8_t *mad, size_t len,
		    unsigned timeout_ms);
	/*
	 * An answer of len bytes whose writing may take long: head, then what body has behind as
	 * many bytes. As send(), but 0 may come before it is written; what becomes of it is
	 * reported in the log, or by lost(). NULL: send() does.
	 */
	int (*send_long)(struct io *io, const struct io_addr *to, const uint8_t *head,
			 size_t head_len, struct io_body *body, size_t len);
	/*
	 * The IsSM capability bit of the local port. -EBUSY: another process of this machine holds
	 * it.
	 */
	int (*set_is_sm)(struct io *io, bool on);
	void (*free)(struct io *io);
	/*
	 * How many answers are awaited: a polled implementation spins while there are any. May be
	 * NULL.
	 */
	void (*expect)(struct io *io, unsigned outstanding);
	/*
	 * Chooses the port and opens it; info is of it then. 0, or with the reason in err: -ENODEV
	 * (there is none, or not yet), -EBUSY (the kernel refuses what another manager on the port
	 * has), -EACCES or -EPERM (this process may not), other -errno. NULL, like the two after
	 * it: the port is always open.
	 */
	int (*open)(struct io *io, char *err, size_t err_size);
	void (*close)(struct io *io); /* a closed one is fine */
	/*
	 * A port that had a link stays the choice from then on, whatever becomes of it. Until then
	 * another may have one by now: true, and closing and opening leads to it.
	 */
	bool (*choose)(struct io *io, bool had_link);
	/*
	 * The ports that a manager may run on here and that have a link, the best first: their
	 * GUIDs, and how many. NULL: there is but the one.
	 */
	unsigned (*ports)(struct io *io, guid_t guids[IO_PORTS]);
};
struct io {
	const struct io_ops *ops;
	struct io_port_info info;
	guid_t wanted; /* the port that open() opens; 0 = it chooses */
	io_recv_fn *recv;
	io_failed_fn *failed;
	io_lost_fn *lost;
	void *arg; /* of these functions; set by mad_new() */
};

/*
 * A umad port, closed, of the caller until mad_new() takes it over; never NULL. guids, devices
 * (lists by blanks, copied; "" = any) and port (0 = any) are what umad_port_choose() chooses by at
 * open().
 */
struct io *io_umad_new(struct loop *loop, const char *guids, const char *devices, unsigned port);
