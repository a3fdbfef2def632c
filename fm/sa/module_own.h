/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module_own: what the files of the room share: module.c (settings, files, what is published),
 * module_key.c (sa_key), module_guids.c (GUID tables).
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
/* The key of the configuration, else the made one, which it reads or makes the first time. */
uint64_t sa_key_get(struct sa_key *key, const struct fabric_services *services);

/* module_guids.c: GUID tables on their way to the ports. */
struct guid_tables;
/* The caller's, never NULL; free drops what was not written. */
struct guid_tables *guid_tables_new(struct fabric *fabric);
void guid_tables_free(struct guid_tables *tables);
/* The port has another table: it is written soon. */
void guid_tables_changed(struct guid_tables *tables, guid_t port);
/* Ports may be back in service: writes the tables of those that are. */
void guid_tables_settled(struct guid_tables *tables);

#endif
