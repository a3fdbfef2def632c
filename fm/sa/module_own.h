/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * module_own: what the files of the room share: module.c (settings, files, what is published),
 * module.c (sa_key), module.c (GUID tables).
 */
#ifndef FMD_SA_MODULE_OWN_H
#define FMD_SA_MODULE_OWN_H

#include "fm/fabric/module.h"
#include "fm/fabric/view.h"
#include "fm/sa/sa.h"

/*
 * module.c: what makes a request to the SA trusted; made and kept in state_dir where none is
 * configured and 1 would not do.
 */
struct sa_key {
	uint64_t made; /* 0 = none yet */
};

/* module.c: GUID tables on their way to the ports. */
struct guid_tables;

#endif
