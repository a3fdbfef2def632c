/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * peer: what a program at the other end of the control socket may do, by the credentials that the
 * kernel vouches for (unix(7), SO_PEERCRED and SO_PEERGROUPS), not by the socket file's mode.
 *   may operate:  root, the user that fmd runs as, members of group `fmd-admin`
 *   may read: these, and members of group `fmd`
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define PEER_READ_GROUP	   "fmd"
#define PEER_OPERATE_GROUP "fmd-admin"

enum peer_rights { PEER_NONE, PEER_READ, PEER_OPERATE };

struct peer_rules {
	uid_t self;
	gid_t readers, operators; /* (gid_t)-1 = there is no such group */
};
struct peer {
	uid_t uid;
	enum peer_rights rights;
};

/* True: others than root and fmd's own user may have rights. */
bool peer_rules_share(const struct peer_rules *rules);

/* Pure. `groups`: all groups of the process, its primary one among them. */
enum peer_rights peer_judge(const struct peer_rules *rules, uid_t uid, const gid_t *groups,
			    unsigned count);
/* Of a connected socket; who cannot be identified has no rights. */
struct peer peer_of(const struct peer_rules *rules, int fd);
