/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module: what lets a restart move nothing, as a room (fm/fabric/module.h): LIDs, the tables that
 * switches hold, and the links that are known.
 */
#ifndef FMD_RESTART_MODULE_H
#define FMD_RESTART_MODULE_H

#include "fm/fabric/module.h"

extern const struct fabric_module restart_module;

/*
 * Known links that are down, a row each with since when, in the order of the dump; the caller owns
 * it. Something is published.
 */
json_t *links_down(const struct fabric *fabric);

#define LINK_SINCE 32
/*
 * Since when the link at a port of the published snapshot, by its index, is down: UTC as in
 * events; "" = not known, or it is up.
 */
void link_down_since(const struct fabric *fabric, uint32_t port, char since[LINK_SINCE]);

#endif
