/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sweep_bench: a fabric double with a sweep on it. Include after the headers that cmocka needs. */
#pragma once

#include <string.h>
#include <cmocka.h>
#include "fm/sweep/bringup.h"
#include "fm/sweep/sweep.h"
#include "routing/lid_plan.h"
#include "tests/fabric/double.h"
#include "topology/generate/generate.h"

struct bench {
	struct topo *design, *found;
	struct loop *loop;
	struct double_fabric *d;
	struct mad *mad;
	struct sweep *sweep;
	struct bringup *bringup; /* made by bench_bringup() */
	struct bringup_result up;
	struct lid_map *lids;
	struct lid_memory memory;
	uint16_t sm_lid;
	struct sweep_result result;
	guid_t changed[64];
	unsigned nchanged, sweeps, early; /* early: results while slow answers were outstanding */
};

struct topo *design_pgft2(void);
struct topo *design_pgft3(void);

/* The CA that stands for the management node, and its port. */
const struct topo_node *design_sm(const struct topo *t);
void bench_init(struct bench *b, struct topo *design, const struct double_conf *conf);
void bench_fini(struct bench *b);

/* The sweep's callback: adds a result to b->result, also those before slow answers. */
void bench_swept(void *arg, const struct sweep_result *result);
void bench_discover(struct bench *b);
void bench_refresh(struct bench *b, const guid_t *guids, unsigned count);
void bench_poll(struct bench *b);

extern const struct bringup_conf bringup_conf;

void bringup_done(void *arg, const struct bringup_result *result);

/* Plans LIDs for what was found and starts to bring it up. */
void bench_bringup_start(struct bench *b);
void bench_bringup(struct bench *b);

/* Runs the loop until a port that was given up is to be tried again; then tries it. */
void bench_wait(struct bench *b);
void bench_retry(struct bench *b);

/* Sends a Set that the code under test does not know of. */
void bench_set(struct bench *b, guid_t guid, uint8_t port, uint16_t attr, const uint8_t data[64]);

/* Changes answers between the double and mad. */
typedef void bench_tamper_fn(void *arg, const struct wire_mad *header, uint8_t data[64]);

struct bench_tamper {
	io_recv_fn *recv;
	void *recv_arg;
	bench_tamper_fn *fn;
	void *arg;
};

void bench_tamper(struct bench *b, struct bench_tamper *t, bench_tamper_fn *fn, void *arg);

static inline uint64_t gets(const struct bench *b, uint16_t attr)
{
	return double_sent(b->d, WIRE_GET, attr);
}

static inline struct inv_node *inv(const struct bench *b, guid_t guid)
{
	return inventory_find(sweep_inventory(b->sweep), guid);
}

void assert_same_fabric(const struct topo *a, const struct topo *b);

static inline uint64_t sets(const struct bench *b, uint16_t attr)
{
	return double_sent(b->d, WIRE_SET, attr);
}

/* The first switch-to-switch cable at or after port index `from`; both its ends. */
struct bench_cable {
	guid_t a, b;
	unsigned port_a, port_b;
	uint32_t next; /* where to look for another one */
};

struct bench_cable bench_cable(const struct topo *t, uint32_t from);

/* The switch port that a CA's first cable goes to. */
const struct topo_port *bench_leaf_port(const struct topo *t, uint32_t ca);
