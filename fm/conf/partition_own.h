/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * partition_own: how partition_read.c builds a set that partition.c holds. Pointers into a set are
 * good until the next add.
 */
#ifndef FMD_CONF_PARTITION_OWN_H
#define FMD_CONF_PARTITION_OWN_H

#include "fm/conf/partition.h"

/*
 * The caller's, freed by partition_free(); never NULL. The default partition is in it: all ports
 * are full members (built_in), or limited ones but for the subnet manager.
 */
struct partition_set *partition_new(bool built_in);
/* An empty partition that belongs to the set. Its base must be new; the name is copied. */
struct partition *partition_add(struct partition_set *set, const char *name, uint16_t base);
/* These copy what is added. */
void partition_add_rule(struct partition_set *set, struct partition *part,
			const struct partition_rule *rule);
void partition_add_group(struct partition_set *set, const struct partition_group *group);
/* Sorts the partitions. To be called last, and once. */
void partition_finish(struct partition_set *set, const struct partition_options *options);

#endif
