/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* double_watch: what was sent, dropped, worked at; and MADs that a test sends by itself. */
#pragma once

#include "fm/mad/io.h"
#include "topology/snapshot/topo.h"

struct double_fabric;

/* SMPs handed to io's send(); attr_id or method 0 = any. */
uint64_t double_sent(const struct double_fabric *d, uint8_t method, uint16_t attr_id);
uint64_t double_sent_by(const struct io *io, uint8_t method, uint16_t attr_id);
void double_sent_reset(struct double_fabric *d);
uint64_t double_tables_asked(const struct double_fabric *d); /* requests GetTable, to any SA */

struct double_drops {
	uint64_t lost, dead_link, no_entry, loop, inactive, bad_route, mkey, sets, silent, nobody;
	uint64_t pkey, lane, queue;
};
const struct double_drops *double_drops(const struct double_fabric *d);

/* How long agents have worked at SMPs: no manager is through before the busiest one is. */
struct double_work {
	uint64_t all_us, busiest_us;
	guid_t busiest; /* 0 = none took any time */
};
struct double_work double_work(const struct double_fabric *d);

/* After every Set that a node took over, before its answer leaves. */
typedef void double_set_fn(void *arg, guid_t node, uint16_t attr_id, uint32_t attr_mod);
void double_on_set(struct double_fabric *d, double_set_fn *fn, void *arg);

/*
 * Sends a MAD from another port, by LID or by the directed route in it; what then arrives at that
 * port goes to fn.
 */
void double_inject(struct double_fabric *d, guid_t node, unsigned port, const struct io_addr *to,
		   const uint8_t *mad, size_t len, io_recv_fn *fn, void *arg);
