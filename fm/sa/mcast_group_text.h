/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mcast_group_text: multicast groups as lines of state_dir/groups: a group, then its members.
 * Numbers with 0x are hexadecimal, and the MGID is two of them:
 *
 *   group MGID MLID P_Key Q_Key MTU rate life SL FlowLabel HopLimit TClass
 *   member PORT_GUID JoinState proxy
 */
#ifndef FMD_SA_MCAST_GROUP_TEXT_H
#define FMD_SA_MCAST_GROUP_TEXT_H

#include <stdio.h>
#include "fm/sa/mcast_group.h"

/* The line of a group, without its end. */
#define MCAST_LINE 256
void mcast_group_line(const struct sa_group *group, char line[MCAST_LINE]);
/* All groups of that MLID, with their members. */
void mcast_group_write(const struct sa_groups *groups, unsigned mlid, FILE *out);
/*
 * Adds what the line says. *last, NULL at first: the group whose members follow. False: it is none,
 * or does not fit to what is there.
 */
bool mcast_group_read(struct sa_groups *groups, struct sa_group **last, const char *line,
		      uint64_t now_us);
/* Whether a group can be that; the MLID is its own. */
bool mcast_group_is_plain(const struct sa_group_attr *attr, unsigned mlid);

#endif
