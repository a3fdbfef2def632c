/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * kernel: what Linux does between a umad file and the port of an adapter (drivers/infiniband/core:
 * user_mad.c, mad.c, mad_rmpp.c, agent.c), for the ports of a fabric double. It knows no sockets:
 * whoever holds a file writes and is handed what a read would give.
 *
 *  - A file has up to 32 agents. One registers for methods of a class and version; a port has one
 *  agent for each of these, a second is refused.
 *  - A request gets the agent's number as the upper half of its TID; an answer goes to the agent so
 *  named, if that waits for it, and nowhere else.
 *  - A request that asked for an answer is repeated as often as it says, then handed back: its
 *  common header, under status ETIMEDOUT.
 *  - An agent registered with RMPP sends and gets whole messages (kernel_rmpp.c).
 *  - A Get or Set that no agent wants is answered with status 0x0c.
 *  - IsSM is one opener's at a time.
 *  - A device may go: its files are dead from then on, and its ports open again when it is back.
 */
#pragma once

#include <infiniband/umad.h>
#include "tests/fabric/double.h"

#define KERNEL_AGENTS	  32
#define KERNEL_MAD_HEADER 24 /* what is given back of a request without an answer */

struct kernel;
struct kfile;
struct kissm;

struct kernel_reg {
	uint8_t mgmt_class, class_version, qpn;
	uint8_t rmpp_version; /* 0 or 1 */
	bool user_rmpp;	      /* its holder does RMPP by itself */
	uint32_t oui;	      /* of vendors' second range of classes */
	uint64_t methods[2];  /* none: it gets answers alone */
};

struct kfile_ops {
	/* What a read gives: status, address and agent in `head`, then the MAD. */
	void (*deliver)(void *arg, const struct ib_user_mad *head, const uint8_t *mad, size_t len);
	void (*gone)(void *arg); /* the device is: EIO from now on */
	/*
	 * That a request with this TID and class is not on its way any more: one with it is no
	 * duplicate. May be NULL.
	 */
	void (*done)(void *arg, const uint8_t *mad);
};

/* The double outlives it. */
struct kernel *kernel_new(struct loop *loop, struct double_fabric *d);
void kernel_free(struct kernel *k); /* after its files */

/* NULL: no such port, or its device is gone (errno). */
struct kfile *kernel_open(struct kernel *k, guid_t node, unsigned port, const struct kfile_ops *ops,
			  void *arg);
void kfile_close(struct kfile *f);
/*
 * The agent's number in this file; -EINVAL (no such class, or methods that another has), -ENOMEM,
 * -EPIPE (gone).
 */
int kfile_register(struct kfile *f, const struct kernel_reg *reg);
unsigned kfile_agents(const struct kfile *f, bool rmpp); /* a bit each; those with RMPP alone */
int kfile_unregister(struct kfile *f, unsigned agent);	 /* what it waits for is dropped */
/* 0; -EINVAL: no such agent, or a request with its TID is on its way; -EIO: gone. */
int kfile_write(struct kfile *f, const struct ib_user_mad *head, const uint8_t *mad, size_t len);
/* Whether a write of that would be refused for its TID: the common header is enough. */
bool kfile_is_busy(struct kfile *f, const struct ib_user_mad *head, const uint8_t *mad);

/* IsSM of a port, until it is closed. NULL: EAGAIN, another has it; ENXIO. */
struct kissm *kernel_issm_open(struct kernel *k, guid_t node, unsigned port);
void kissm_close(struct kissm *s);

/* The whole device, with all of its ports. */
void kernel_device(struct kernel *k, guid_t node, bool there);
bool kernel_device_there(const struct kernel *k, guid_t node);

/*
 * Of every MAD that leaves or comes to a port with an open file; for tests of loss between kernels.
 */
void kernel_set_loss(struct kernel *k, unsigned per_mille);
/*
 * An agent has 128 requests that wait for an answer in flight, a quarter of the receive queue, one
 * of the SA's class 16; others are sent when these end, and their time-outs begin then
 * ("IB/mad: Add flow control for solicited MADs").
 */
void kernel_set_limits(struct kernel *k, bool on);

struct kernel_counts {
	uint64_t sent, received, unmatched, unwanted, resent, timed_out, rmpp_resent, rmpp_aborted;
};
const struct kernel_counts *kernel_counts(const struct kernel *k);
