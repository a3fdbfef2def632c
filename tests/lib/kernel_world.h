/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* kernel_world: a minimal fabric with a spine, links Active, and umad files at its two hosts. */
#pragma once

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include "tests/fabric/double_world.h"
#include "tests/sim/kernel_own.h"
#include "topology/base/mem.h"

struct kernel_world {
	struct double_world base;
	struct kernel *k;
};

struct kernel_end { /* an open umad file, and the MAD last read from it */
	struct kfile *f;
	unsigned got, finished;
	bool gone, answers; /* answers: sends each request back as its response */
	struct ib_user_mad head;
	uint8_t *mad;
	size_t len;
};

void kernel_world_init(struct kernel_world *w);
void kernel_world_fini(struct kernel_world *w);
void end_deliver(void *arg, const struct ib_user_mad *head, const uint8_t *mad, size_t len);
void end_gone(void *arg);

extern const struct kfile_ops kernel_end_ops;

void kernel_end_open(struct kernel_world *w, struct kernel_end *end, guid_t host);
void kernel_end_close(struct kernel_end *end);
int kernel_end_register(struct kernel_end *end, uint8_t mgmt_class, uint64_t methods, uint8_t rmpp);

/* NodeInfo by a directed route of 0 or 1 hops. */
int kernel_ask_node(struct kernel_end *end, int agent, uint8_t hops, uint32_t tid,
		    unsigned timeout_ms, unsigned retries);
int kernel_ask_sa(struct kernel_end *end, int agent, uint16_t lid, uint8_t method, uint32_t tid,
		  unsigned timeout_ms);
int kernel_ask_sm(struct kernel_end *end, int agent, uint16_t lid, uint32_t tid,
		  unsigned timeout_ms);
