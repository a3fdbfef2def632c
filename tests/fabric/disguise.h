/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * disguise: the same cabling under other GUIDs, port numbers, switch names, and found in another
 * order; or as if a switch had never been.
 */
#pragma once

#include "topology/snapshot/topo.h"

enum disguise {
	DISGUISE_GUIDS = 1, /* switches have one another's, and CAs */
	DISGUISE_PORTS = 2, /* of switches */
	DISGUISE_NAMES = 4, /* switches have one another's */
	DISGUISE_ORDER = 8, /* in which nodes are met */
	DISGUISE_ALL = 15,
};

/* A new snapshot; t stays the caller's. The same seed gives the same one. */
struct topo *disguise(const struct topo *t, unsigned what, uint64_t seed);

/* As if a switch had never been there, nor what hangs on nothing else; t stays the caller's. */
struct topo *disguise_without(const struct topo *t, uint32_t sw);
