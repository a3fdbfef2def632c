/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The library to preload (count_umad.c), shared by its files. */
#pragma once

#include <stdint.h>

/*
 * count_reroute.c: what the thread that answers a fault did from the trap to the last forwarding
 * table that it wrote. The file that COUNT_UMAD_REROUTE names holds one struct reroute, of the
 * newest fault, in the machine's byte order (tests/bench/storm.py reads it).
 */
struct reroute_moment {
	uint64_t wall_ns;
	uint64_t cpu_ns;   /* processor time of the thread */
	uint64_t wait_ns;  /* ready to run, and without a processor */
	uint64_t requests; /* to the SA, received in this life */
	uint64_t answers;  /* of the SA, sent */
};

struct reroute {
	struct reroute_moment trap,
		last; /* the first Trap 128; the newest Set(LinearForwardingTable) behind it */
	uint64_t sets;
};

void reroute_init(void);
/* A MAD that is about to be sent. */
void reroute_sent(const uint8_t *mad);
