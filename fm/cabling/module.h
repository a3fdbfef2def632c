/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: links that are not where they should be (topology/cabling/cabling.h), as a room
 * (fm/fabric/module.h): an event when such a finding is new, and one when it is gone.
 */
#pragma once

#include "fm/fabric/module.h"

struct host_verdict;

extern const struct fabric_module cabling_module;

/*
 * Adds to the verdict on a host, by index of the published snapshot, the HCAs that comparable hosts
 * have and that nobody ever met of this one.
 */
void cabling_judge_host(const struct fabric *fabric, uint32_t host, struct host_verdict *verdict);
/* The node that a finding calls so; 0 = there is none. */
guid_t cabling_node(const struct topo *t, const char *name);
