/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Multicast groups over a restart: the file `groups` (fm/sa/mcast_group_text.h).
 *
 * Of what changes, a record says how it is then: a `group` line as above; `end MGID`;
 * `joined MGID PORT_GUID JoinState proxy`, JoinState 0 for who has left.
 *
 * It is written once changes have gathered for some seconds, by a child, for a fabric's file has a
 * hundred thousand lines; and at the end. Members whose ports are out of service: absent.c.
 */
#include <stdio.h>
#include <string.h>
#include "fm/multicast/room.h"
#include "fm/sa/mcast_group_text.h"

#define GATHER_US 3000000

static void write_groups(const void *arg, FILE *out)
{
	const struct multicast *m = arg;
	const struct sa_groups *groups = m->groups;

	for (unsigned mlid = MCAST_FIRST_MLID; mlid <= sa_groups_top(groups); mlid++)
		mcast_group_write(groups, mlid, out);
}

static unsigned read_groups(void *arg, FILE *in)
{
	struct multicast *m = arg;
	struct sa_group *group = NULL;
	char line[MCAST_LINE];

	m->known = true;
	sa_groups_share_snm(m->groups, true); /* as they were then */
	for (unsigned number = 1; fgets(line, sizeof(line), in); number++) {
		if (line[strspn(line, " \t\n")] == '\0' || line[0] == '#')
			continue;
		if (!mcast_group_read(m->groups, &group, line, loop_now_us(m->services.loop)))
			return number;
	}
	return 0;
}

static void forget_groups(void *arg)
{
	struct multicast *m = arg;

	m->known = false;
	sa_groups_clear(m->groups);
}

/* ---- Records --------------------------------------------------------------------------------- */

/* Takes all members away, or one, or what of its JoinState is not in `keep`. */
static void leave(struct multicast *m, struct sa_group *group, guid_t port, uint8_t keep)
{
	uint64_t now = loop_now_us(m->services.loop);
	uint8_t bits = WIRE_JOIN_BITS & (uint8_t)~keep;

	sa_groups_preset(m->groups, group, true, now); /* whether it ends is another record */
	sa_groups_leave(m->groups, group, port, bits, now);
	if (group->nkeepers)
		sa_groups_preset(m->groups, group, false, now);
}

static bool take_member(struct multicast *m, const char *line)
{
	unsigned state, proxy;
	struct sa_group *group;
	struct wire_gid mgid;
	guid_t port;
	char rest;

	if (sscanf(line, "joined 0x%" SCNx64 " 0x%" SCNx64 " 0x%" SCNx64 " %u %u %c", &mgid.prefix,
		   &mgid.guid, &port, &state, &proxy, &rest) != 5 ||
	    state > WIRE_JOIN_BITS || proxy > 1)
		return false;
	group = sa_groups_find(m->groups, &mgid);
	if (!group)
		return !state;
	if (state)
		sa_groups_join(m->groups, group, port, (uint8_t)state, proxy);
	leave(m, group, port, (uint8_t)state);
	return true;
}

static bool take_end(struct multicast *m, const char *line)
{
	uint64_t now = loop_now_us(m->services.loop);
	struct sa_group *group;
	struct wire_gid mgid;
	char rest;

	if (sscanf(line, "end 0x%" SCNx64 " 0x%" SCNx64 " %c", &mgid.prefix, &mgid.guid, &rest) !=
	    2)
		return false;
	group = sa_groups_find(m->groups, &mgid);
	while (group && group->nmembers)
		leave(m, group, group->members[0].port, 0);
	if (group)
		sa_groups_preset(m->groups, group, false, now);
	return true;
}

static bool take_group(struct multicast *m, const char *line)
{
	struct sa_group *group = NULL;
	struct wire_gid mgid;

	if (sscanf(line, "group 0x%" SCNx64 " 0x%" SCNx64, &mgid.prefix, &mgid.guid) != 2)
		return false;
	return sa_groups_find(m->groups, &mgid) ||
	       mcast_group_read(m->groups, &group, line, loop_now_us(m->services.loop));
}

static bool take_record(void *arg, const char *line)
{
	struct multicast *m = arg;

	m->known = true;
	if (line[0] == 'j')
		return take_member(m, line);
	return line[0] == 'e' ? take_end(m, line) : take_group(m, line);
}

static const struct state_file groups_file = {
	.name = "groups",
	.form = "a group or a member of one",
	.read = read_groups,
	.forget = forget_groups,
	.write = write_groups,
	.record = take_record,
	.gather_us = GATHER_US,
	.gather_max_us = GATHER_US,
};

void group_file_record(void *arg, const struct sa_group *group, const struct sa_member *member,
		       bool gone)
{
	const struct wire_gid *mgid = &group->attr.mgid;
	struct multicast *m = arg;
	char line[MCAST_LINE];

	if (member)
		snprintf(line, sizeof(line),
			 "joined 0x%016" PRIx64 " 0x%016" PRIx64 " 0x%016" PRIx64 " %u %u",
			 mgid->prefix, mgid->guid, member->port, member->state, member->proxy);
	else if (gone)
		snprintf(line, sizeof(line), "end 0x%016" PRIx64 " 0x%016" PRIx64, mgid->prefix,
			 mgid->guid);
	else
		mcast_group_line(group, line);
	state_store_record(m->services.state, &groups_file, m, line);
}

void group_file_changed(struct multicast *m)
{
	state_store_changed(m->services.state, &groups_file, m);
}

/* It was made in advance. Partitions, which say so anew behind this, end it if it no longer is. */
static void mark_preset(struct multicast *m, struct sa_group *group, void *arg)
{
	if (!group->nkeepers)
		sa_groups_preset(m->groups, group, true, loop_now_us(m->services.loop));
}

void group_file_read(struct multicast *m)
{
	state_store_read(m->services.state, &groups_file, m);
	multicast_each_group(m, mark_preset, NULL);
	state_store_unchanged(m->services.state,
			      &groups_file); /* what was just read is no change */
	if (!m->known)
		group_file_changed(m);
}
