/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: the health of links, by the counters of their ports and by the pace that they run at, as
 * a room (fm/fabric/module.h).
 */
#ifndef FMD_PERF_MODULE_H
#define FMD_PERF_MODULE_H

#include "fm/fabric/module.h"
#include "fm/fabric/waiters.h"

extern const struct fabric_module link_health_module;

/* The document of `fmctl --json health`; the caller owns it. */
json_t *link_health(const struct fabric *fabric);
/* Reads all counters now; then that document. */
void link_health_read(struct fabric *fabric, waiter_fn *fn, void *arg);

#endif
