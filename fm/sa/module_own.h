/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the door's files share: module.c (settings, files, what is published), module_key.c
 * (sa_key), module_guids.c (GUID tables).
 */
#ifndef FMD_SA_MODULE_OWN_H
#define FMD_SA_MODULE_OWN_H

#include "fm/fabric/module.h"
#include "fm/fabric/view.h"
#include "fm/sa/sa.h"

/*
 * module_key.c: what makes a request to the SA trusted; made and kept in state_dir where none is
 * configured and 1 would not do.
 */
struct sa_key {
	uint64_t made; /* 0 = none yet */
};
uint64_t sa_key_get(struct sa_key *key, const struct fabric_services *services);

/* module_guids.c: GUID tables on their way to the ports. */
struct guid_tables;
struct guid_tables *guid_tables_new(struct fabric *fabric);
void guid_tables_free(struct guid_tables *tables);
void guid_tables_changed(struct guid_tables *tables, guid_t port); /* written soon */
void guid_tables_settled(struct guid_tables *tables); /* ports may be back in service */

#endif
