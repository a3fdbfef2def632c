/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * forget: removes links that are down from the design; only an operator can know that a link will
 * not return. A node without any link left is removed too, and its LIDs are free. A link or node
 * that returns later is new. This is an operation (fm/fabric/operation.h): it is answered when the
 * tables that use the freed slots are programmed.
 */
#ifndef FMD_MAINTENANCE_FORGET_H
#define FMD_MAINTENANCE_FORGET_H

#include "fm/fabric/module.h"
#include "fm/fabric/waiters.h"

/*
 * Forgets the links of `what`, a host, a node or a port; NULL = all links that are down, and the
 * LIDs of ports that left the fabric earlier. fn is called once, with the answer or an error.
 */
void forget(struct fabric *fabric, const struct fabric_services *services, const char *what,
	    waiter_fn *fn, void *arg);

#endif
