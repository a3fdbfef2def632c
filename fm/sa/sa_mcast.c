/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The SA's multicast groups: their life, who follows them, and how many a port is in. The groups
 * themselves are mcast_group.c's.
 */
#include "fm/sa/sa_mcast.h"

struct sa_mcast_share sa_mcast_share(const struct sa *sa, guid_t port)
{
	struct sa_mcast_share share = { 0 };
	unsigned at = 0;
	guid_t guid;

	while ((guid = sa_alias_each(sa, port, &at))) {
		struct sa_group_port *in = sa_groups_port(sa->groups, guid);

		share.groups += in ? in->groups : 0;
		share.any = share.any ? share.any : in;
	}
	return share;
}

guid_t sa_mcast_largest(const struct sa *sa, unsigned *groups)
{
	const struct sa_group_port *in = NULL;
	guid_t guid = 0, largest = 0;

	*groups = 0;
	while ((in = sa_groups_next_port(sa->groups, guid))) {
		struct sa_mcast_share share;
		guid_t own;

		guid = sa_group_port_guid(in);
		own = sa_alias_port(sa, guid);
		share = sa_mcast_share(sa, own ? own : guid);
		if (share.groups <= *groups)
			continue;
		*groups = share.groups;
		largest = own ? own : guid;
	}
	return largest;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void group_kept(void *arg, const struct sa_group *group, bool kept)
{
	sa_group_changed(arg, &group->attr.mgid, group->attr.pkey, kept);
}

static void groups_changed(void *arg, uint16_t mlid)
{
	const struct sa *sa = arg;

	if (sa->groups_ops)
		sa->groups_ops->changed(sa->groups_arg, mlid);
}

static void group_recorded(void *arg, const struct sa_group *group, const struct sa_member *member,
			   bool gone)
{
	const struct sa *sa = arg;

	if (sa->groups_ops)
		sa->groups_ops->record(sa->groups_arg, group, member, gone);
}

void sa_mcast_init(struct sa *sa)
{
	static const struct sa_groups_ops ops = { .changed = groups_changed,
						  .kept = group_kept,
						  .record = group_recorded };

	sa->groups = sa_groups_new(&ops, sa);
}

void sa_mcast_fini(struct sa *sa)
{
	sa_groups_free(sa->groups);
}

struct sa_groups *sa_mcast_groups(struct sa *sa)
{
	return sa->groups;
}

void sa_mcast_follow(struct sa *sa, const struct sa_groups_ops *ops, void *arg)
{
	sa->groups_ops = ops;
	sa->groups_arg = arg;
}

void sa_mcast_set_trees(struct sa *sa, const struct mcast_plan *trees)
{
	sa->trees = trees;
}
