/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cordons: tables of a fabric with cordoned links.
 *
 * Cordoned links carry no transit, but what nothing else reaches stays reachable by them: tables
 * are made without them, then with some of them, and the second ones fill in what the first ones
 * leave open. Here is which cordons are exempt first, and which entries are taken over.
 */
#ifndef FMD_ROUTING_FTREE_CORDONS_H
#define FMD_ROUTING_FTREE_CORDONS_H

#include "routing/ftree/engine.h"

#endif
