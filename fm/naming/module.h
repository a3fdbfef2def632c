/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: names of nodes (node_name_map), labels of ports, and of which host an HCA is, as a room
 * (fm/fabric/module.h).
 */
#pragma once

#include "fm/fabric/module.h"
#include "fm/fabric/operation.h"

extern const struct fabric_module naming_module;

/*
 * HCAs of that host, name or GUID that have the alert "name-conflict" are what they call themselves
 * from now on. fn is called once, perhaps before this returns.
 */
void naming_accept(struct fabric *fabric, const char *what, waiter_fn *fn, void *arg);
