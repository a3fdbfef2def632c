/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * double_execute: the agents of a node. Each turns a request, header and bytes, into its answer;
 * false = drops it.
 */
#pragma once

#include "tests/fabric/double_state.h"

/*
 * double_smp.c: the node's subnet management agent. Turns the request, header and bytes, into its
 * answer; false = drops it.
 */
bool smp_execute(struct double_fabric *d, struct dport *arrival, struct wire_mad *m, uint8_t *mad);

/* double_mkey.c: false where the M_Key keeps the request from being answered. */
bool mkey_check(struct double_fabric *d, struct dport *arrival, const struct wire_mad *m);

/* double_cc.c: likewise, congestion control. */
struct dcc;
bool cc_execute(struct double_fabric *d, struct dport *arrival, struct wire_mad *m, uint8_t *mad);
void cc_forget(struct dnode *node);

/* double_vendor.c: likewise, NVIDIA's class 0x0a. False: it has no such agent. */
bool vendor_execute(struct double_fabric *d, struct dport *arrival, struct wire_mad *m,
		    uint8_t *mad);

/* double_perf.c: likewise, the performance management agent. It answers always. */
void perf_execute(struct double_fabric *d, struct dport *arrival, struct wire_mad *m, uint8_t *mad);
void perf_add(struct dport *port, enum perf_counter counter, uint64_t amount);
const struct wire_perf *perf_now(struct double_fabric *d, struct dport *port);
