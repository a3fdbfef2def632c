/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * host: what all rooms together know of a machine: each adds its part to one verdict by its hook
 * host() (fm/fabric/module.h).
 */
#ifndef FMD_FABRIC_HOST_H
#define FMD_FABRIC_HOST_H

#include <stdint.h>
#include "fm/fabric/host_verdict.h"

struct fabric;

/* Of a host of the published snapshot, by index, as it is now. Cheap but for a formatted reason. */
void fabric_judge_host(struct fabric *fabric, uint32_t host, struct host_verdict *out);

#endif
