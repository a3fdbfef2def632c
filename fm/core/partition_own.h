/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * partition_own: how partition_read.c builds a set that partition.c holds. Pointers into a set are
 * good until the next add.
 */
#ifndef FMD_CORE_PARTITION_OWN_H
#define FMD_CORE_PARTITION_OWN_H

#include "fm/core/partition.h"

/* The default partition is in it: everybody full, or limited but for the subnet manager. */
struct partition_set *partition_new(bool built_in);
struct partition *partition_add(struct partition_set *set, const char *name, uint16_t base);
void partition_add_rule(struct partition_set *set, struct partition *part,
			const struct partition_rule *rule);
void partition_add_group(struct partition_set *set, const struct partition_group *group);
void partition_finish(struct partition_set *set, const struct partition_options *options);

#endif
