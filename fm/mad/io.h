/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * io: how raw MADs leave and arrive. Implementations: io_umad.c (libibumad: hardware and ibsim), and the
 * in-process fabric of tests/fabric.
 */
#ifndef FMD_MAD_IO_H
#define FMD_MAD_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "fm/core/loop.h"
#include "topology/topo.h"

/* Where a MAD goes or came from. Directed-route SMPs carry their path themselves: LID 0xffff, QP 0. */
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

struct io_port_info {
	char device[32];
	unsigned port;
	guid_t port_guid, node_guid;
	uint64_t gid_prefix;
	uint16_t lid, sm_lid;
	bool real_fd; /* watched by the loop; false: polled (ibsim) */
};

struct io; /* implementations embed it as first member */
struct io_ops {
	/*
	 * 0 or -errno (-EAGAIN: queues are full, try again later). len 256, longer for RMPP answers of the SA.
	 * timeout_ms: an answer is awaited so long; 0 = none is. The driver drops an answer nobody awaits.
	 */
	int (*send)(struct io *io, const struct io_addr *to, const uint8_t *mad, size_t len,
		    unsigned timeout_ms);
	/* The IsSM capability bit of the local port. */
	int (*set_is_sm)(struct io *io, bool on);
	void (*free)(struct io *io);
	/* How many answers are awaited: a polled implementation spins while there are any. May be NULL. */
	void (*expect)(struct io *io, unsigned outstanding);
};
struct io {
	const struct io_ops *ops;
	struct io_port_info info;
	io_recv_fn *recv;
	io_failed_fn *failed;
	void *arg; /* of recv and failed; set by mad_new() */
};

/*
 * Opens the umad port: by port GUID (guid != 0), by device and port (port 0 = first active one of the device), or the first active
 * InfiniBand port. Registers for SMI (LID and DR), SA, PerfMgt. NULL with a reason in err.
 */
struct io *io_umad_open(struct loop *loop, guid_t guid, const char *device, unsigned port,
			char *err, size_t err_size);

#endif
