/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* double_life: a double is made, and managers are attached to its ports. */
#pragma once

#include "fm/loop/loop.h"
#include "fm/mad/io.h"
#include "topology/snapshot/topo.h"

struct double_fabric;

struct double_conf {
	uint64_t seed;	     /* of losses; 0 = 1 */
	unsigned latency_us; /* of a MAD and its answer; 0 = 10 */
	unsigned hop_us;     /* more for each hop; 0 = 2 */
	bool keep_lids;	     /* ports hold the LIDs of the snapshot, else none */
	bool state_table;    /* switches have SwitchPortStateTable (see double_set_state_table) */
	uint8_t arb_cap;     /* entries of VL arbitration tables; and SL mapping. 0 = neither */
	bool wildcards;	     /* switches take SL2VL for all ports at once */
	unsigned device_us;  /* that an agent works at one SMP; others wait their turn. 0 = none */
	unsigned device_queue; /* how many may wait; what comes then is dropped. 0 = any number */
	bool all_counters;     /* agents have 64 bits, waiting and error correction */
	unsigned trap_repeats; /* of a trap that nobody represses */
	uint16_t pkey_cap;     /* entries of P_Key tables that the snapshot does not tell; 0 = 32 */
	bool at_once; /* a latency or hop of 0 is one, and what takes no time needs no timer */
};

/*
 * Attached at port `port` of node `attach`. Links that are up in the snapshot come up in Init. conf
 * NULL = all 0.
 */
struct double_fabric *double_new(struct loop *loop, const struct topo *topo, guid_t attach,
				 unsigned port, const struct double_conf *conf);
void double_free(struct double_fabric *d);     /* after its io's mad_free() */
struct io *double_io(struct double_fabric *d); /* its free() leaves the double alive */
/* A second client, at another port. */
struct io *double_io_at(struct double_fabric *d, guid_t attach, unsigned port);
/* Its machine has that port as well, and may open it in place of the first. */
void double_add_port(struct io *io, guid_t node, unsigned port);
/* Its device goes away, with IsSM, or may be opened again. */
void double_unplug(struct io *io, bool on);
/* Another process of its machine has the port: it can't be opened. */
void double_occupy(struct io *io, bool on);
/* Its IsSM bit is gone, and nobody told. */
void double_forget_sm(struct io *io);
/*
 * As if its process was killed: nothing is received or sent any more, and IsSM goes; or it is back.
 */
void double_freeze(struct io *io, bool on);
