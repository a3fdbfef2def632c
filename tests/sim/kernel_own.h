/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* kernel_own: the kernel's side, shared by its files. */
#pragma once

#include "tests/fabric/double_own.h"
#include "tests/sim/kernel.h"
#include "tests/sim/kernel_mad.h"

#define RMPP_WINDOW 64	  /* an eighth of the receive queue's 512 */
#define SENDS_TABLE 65536 /* places of the hash table of requests */

struct kport;

struct kagent {
	struct kfile *file;
	struct kernel_reg reg;
	uint32_t hi_tid;
	unsigned number; /* in its file */
	struct ksend *sends;
	struct ksend
		*backlog; /* of these, requests that wait, the first first (kernel_set_limits) */
	unsigned in_flight;
	struct krecv *recvs; /* RMPP messages that come in */
};

/* A MAD on its way, until it is sent (without an answer), answered, or given back. */
struct ksend {
	struct ksend *next, **back;	   /* of its agent; or in the pool */
	struct ksend *chain, **chain_back; /* of those with its hash */
	struct kagent *agent;
	struct loop_timer *timer;
	struct ib_user_mad head;
	uint8_t *mad;
	size_t len, size;
	unsigned retries_left;
	struct ksend *later;   /* in the backlog */
	bool waits, in_flight; /* there; counts as that of its agent */
	/* RMPP */
	bool rmpp;
	unsigned segments, sent, acked, window, header;
};

/* A message that comes in. */
struct krecv {
	struct krecv *next;
	struct kagent *agent;
	struct loop_timer *timer;
	struct io_addr from;
	uint8_t first[KMAD]; /* the first segment, for its header */
	uint8_t *data;	     /* of all segments, one after the other, without headers */
	bool *held;	     /* [room] */
	unsigned room, got, window, acked,
		last; /* last: number of the last segment, 0 = not known */
	unsigned header, last_pay;
	bool complete;
};

struct kfile {
	struct kfile *next, **back; /* of its port */
	struct kport *port;
	const struct kfile_ops *ops;
	void *arg;
	struct kagent *agents[KERNEL_AGENTS];
	bool dead;
};

struct kissm {
	struct kport *port;
};

struct kport {
	struct kport *next;
	struct kernel *k;
	struct dport *dport;
	struct kfile *files;
	struct kissm *issm;
};

struct kernel {
	struct loop *loop;
	struct double_fabric *d;
	struct kport *ports;
	struct ksend *pool;
	struct ksend **table;	/* by TID */
	struct kagent **agents; /* by hi_tid - 1, NULL = free */
	unsigned nagents, next_agent;
	bool *absent; /* devices, by topo index */
	unsigned loss;
	bool limits;
	struct kernel_counts counts;
};

/* kernel.c */
void kport_judge_sm(struct kport *p); /* anew, when agents come or go */
void kport_transmit(struct kport *p, const struct io_addr *to, const uint8_t *mad, size_t len);
struct io_addr kaddress(const struct ib_user_mad *head);
void kagent_deliver(struct kagent *a, const struct io_addr *from, const uint8_t *mad, size_t len);
void kagent_arrived(struct kagent *a, const struct io_addr *from, const uint8_t *mad, size_t len);
static inline struct kernel *kernel_of(const struct kagent *a)
{
	return a->file->port->k;
}
static inline bool kagent_rmpp(const struct kagent *a)
{
	return a->reg.rmpp_version && !a->reg.user_rmpp;
}

/* kernel_send.c */
void ksend_free(struct ksend *s);
void ksend_give_back(struct ksend *s); /* under ETIMEDOUT */
struct ksend *ksend_find(struct kagent *a, const struct io_addr *from, const uint8_t *mad);
bool kagent_is_message(const struct kagent *a, const uint8_t *mad); /* or a part: RMPP is ours */

/* kernel_agent.c */
void kagent_free(struct kagent *a); /* its place in the file is the caller's */

/* kernel_rmpp.c */
bool rmpp_is_active(const uint8_t *mad);
void rmpp_send(struct ksend *s);  /* begins */
bool rmpp_again(struct ksend *s); /* its acknowledgement is late; false: no try is left */
void rmpp_receive(struct kagent *a, const struct io_addr *from, const uint8_t *mad);
void rmpp_forget(struct kagent *a);
