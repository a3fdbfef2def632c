/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* ib_parts: the state of a machine's HCAs and their links by a snapshot. Pure. */
#ifndef FMD_HOSTS_IB_PARTS_H
#define FMD_HOSTS_IB_PARTS_H

#include "fm/core/host_verdict.h"
#include "topology/topo.h"

/*
 * Counts the host's HCAs and adds to the verdict those that are not reached, and links that are not
 * Active. fates: by node, of that snapshot (cutoff_fates()).
 */
void ib_parts_add(const struct topo *t, const uint8_t *fates, uint32_t host,
		  struct host_verdict *verdict);

#endif
