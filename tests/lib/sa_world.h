/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sa_world: a small routed fabric with its inventory, as after bring-up, and an io that keeps what
 * the SA sends. For unit tests and the fuzzer of the SA.
 *
 * Two leaves, two spines, six hosts: mixed speeds, one 2048-byte MTU, a two-port CA, a port with
 * two LIDs, a link that is down, and different paths in the two directions.
 */
#pragma once

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/mad/wire_sa.h"
#include "fm/sa/sa.h"
#include "routing/ftree/route.h"
#include "topology/base/mem.h"

#define WORLD_PREFIX 0xfe80000000000000ull
#define WORLD_SM_KEY 0x1122334455667788ull
#define WORLD_MKEY   0x0102030405060708ull
#define WORLD_SW(i)  (0x100ull + (i))
#define WORLD_CA(i)  (0x1000ull + (i)*16)

struct world {
	struct io io; /* first */
	struct loop *loop;
	struct mad *mad;
	struct inventory inv;
	struct topo *topo;
	struct lid_map *lids;
	struct tables tables;
	struct sa *sa;
	struct sa_view view;
	/* the last MAD sent */
	unsigned nsent;
	uint8_t *sent;
	size_t sent_len;
	struct io_addr sent_to;
	void (*hook)(struct world *w, const struct io_addr *to, const uint8_t *mad); /* or NULL */
	void *hook_arg;
};

int world_send(struct io *io, const struct io_addr *to, const uint8_t *mad, size_t len,
	       unsigned timeout_ms);
int world_set_is_sm(struct io *io, bool on);
void world_io_free(struct io *io);

extern const struct io_ops world_io_ops;

/* Lanes and codes of a link, as PortInfo has them. */
struct world_link {
	uint8_t width, speed, ext; /* codes: width 1, 2 = 4x, 16 = 2x */
};

uint32_t world_port_of(const struct world *w, guid_t port_guid);
uint16_t world_lid(const struct world *w, guid_t port_guid);
void world_publish(struct world *w);
struct world *world_new(void);
void world_free(struct world *w);

struct world_request {
	uint8_t method;
	uint16_t attr;
	uint32_t mod;
	uint64_t mask, sm_key;
	const void *data;
	size_t len;
	uint16_t from; /* LID; 0 = the first host's */
	uint32_t qp;   /* 0 = 1 */
	size_t cut;    /* 0, or bytes of the MAD that arrive */
};

/* Delivers a request; returns how many MADs were sent in answer. */
unsigned world_ask(struct world *w, const struct world_request *r);
uint16_t world_status(const struct world *w);
const uint8_t *world_row(const struct world *w, unsigned i);
unsigned world_rows(const struct world *w);
