/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * forget: links that are down are a part of the design until an operator says that they are gone
 * for good, for nobody else can know. Their ends are then without a link, and a node that no link
 * leads to any more is no node of the fabric: its LIDs are free. What comes back later is new. It
 * is an operation (fm/fabric/operation.h): what was left free for them is in use when it is
 * answered.
 */
#ifndef FMD_MAINTENANCE_FORGET_H
#define FMD_MAINTENANCE_FORGET_H

#include "fm/fabric/module.h"
#include "fm/fabric/waiters.h"

/*
 * what: a host, a node or a port; NULL = all links that are down, and LIDs of ports that left the
 * fabric earlier, too. fn is called once.
 */
void forget(struct fabric *fabric, const struct fabric_services *services, const char *what,
	    waiter_fn *fn, void *arg);

#endif
