/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * double_spread: flows that switches divide among the ports that they may choose, by what those
 * carry: what a switch does that takes the least loaded member for each packet. By the groups,
 * tables and links as they are at that moment; SLs and P_Keys are not looked at.
 */
#pragma once

#include "tests/fabric/double_own.h"

struct spread;
/* `offered`: Mb/s by port, in the topo's order; the caller's, who clears it. */
struct spread *spread_new(struct double_fabric *d, double *offered);
void spread_free(struct spread *s);
/* Adds a flow to a LID to what is offered to the ports on its ways. */
void spread_lay(struct spread *s, const struct dport *from, uint16_t lid, double mbps);
/* Once all are laid: the part of a flow that arrives; each link gives all flows the like share. */
double spread_share(struct spread *s, const struct dport *from, uint16_t lid);
/*
 * Once all are laid: what a flow sends by each port: Mb/s that arrive, and Mb/s that end there for
 * lack of a way on. Returns the part that arrives.
 */
typedef void spread_fn(void *arg, struct dport *out, double mbps, double lost);
double spread_run(struct spread *s, struct dport *from, uint16_t lid, double mbps, spread_fn *fn,
		  void *arg);
double port_mbps(const struct dport *port); /* what its link carries */
