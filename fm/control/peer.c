/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <grp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "fm/control/peer.h"
#include "topology/mem.h"

#define NO_GROUP ((gid_t)-1)

static gid_t group_id(const char *name)
{
	const struct group *group = getgrnam(name);

	return group ? group->gr_gid : NO_GROUP;
}

struct peer_rules peer_rules_read(void)
{
	return (struct peer_rules){ geteuid(), group_id(PEER_READ_GROUP),
				    group_id(PEER_OPERATE_GROUP) };
}

bool peer_rules_share(const struct peer_rules *rules)
{
	return rules->readers != NO_GROUP || rules->operators != NO_GROUP;
}

static bool is_member(gid_t group, const gid_t *groups, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (group != NO_GROUP && groups[i] == group)
			return true;
	return false;
}

enum peer_rights peer_judge(const struct peer_rules *rules, uid_t uid, const gid_t *groups,
			    unsigned count)
{
	if (uid == 0 || uid == rules->self || is_member(rules->operators, groups, count))
		return PEER_OPERATE;
	return is_member(rules->readers, groups, count) ? PEER_READ : PEER_NONE;
}

/* The supplementary groups behind the primary one; the caller frees them. */
static gid_t *groups_of(int fd, gid_t primary, unsigned *count)
{
	socklen_t size = 0;
	gid_t *groups;

	getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size); /* ERANGE: how much there is */
	groups = mem_alloc(1 + size / sizeof(gid_t), sizeof(*groups));
	groups[0] = primary;
	if (size && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups + 1, &size))
		size = 0;
	*count = 1 + size / sizeof(gid_t);
	return groups;
}

struct peer peer_of(const struct peer_rules *rules, int fd)
{
	struct ucred who;
	socklen_t size = sizeof(who);
	struct peer peer = { .uid = (uid_t)-1 };
	unsigned count;
	gid_t *groups;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size))
		return peer;
	groups = groups_of(fd, who.gid, &count);
	peer.uid = who.uid;
	peer.rights = peer_judge(rules, who.uid, groups, count);
	free(groups);
	return peer;
}
