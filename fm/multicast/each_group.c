/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/multicast/room.h"

void multicast_each_group(struct multicast *m, group_fn *fn, void *arg)
{
	for (unsigned mlid = MCAST_FIRST_MLID; mlid <= sa_groups_top(m->groups); mlid++) {
		struct sa_group *next = sa_groups_by_mlid(m->groups, (uint16_t)mlid), *group;

		while ((group = next)) {
			next = group->next;
			fn(m, group, arg);
		}
	}
}
