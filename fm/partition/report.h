/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * report: the members of each partition by the configuration, and what the ports' own P_Key tables
 * hold.
 */
#ifndef FMD_PARTITION_REPORT_H
#define FMD_PARTITION_REPORT_H

#include <jansson.h>
#include "fm/conf/partition.h"
#include "fm/inventory/inventory.h"
#include "routing/lid_plan.h"

struct partition_report { /* what it is made from; borrowed for the call */
	const struct partition_set *set;
	const struct topo *topo; /* NULL: nothing is published, and there are no members yet */
	const struct lid_map *lids;
	const struct pkey_map *pkeys; /* of set and topo */
	const struct inventory *inventory;
};

/*
 * A new list with a row for each partition, or the row of `which`, a name or a P_Key, with its
 * members. The caller owns it; NULL = there is no such partition.
 */
json_t *partition_report(const struct partition_report *report, const char *which);

#endif
