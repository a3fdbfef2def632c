/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Multicast groups over a restart: the file `groups` (fm/sa/mcast_group_text.h).
 *
 * It is written once changes have gathered for some seconds, by a child, for a fabric's file has a
 * hundred thousand lines; and at the end. Members whose ports are out of service: absent.c.
 */
#include <stdio.h>
#include <string.h>
#include "fm/multicast/room.h"
#include "fm/sa/mcast_group_text.h"

#define GATHER_US 3000000
#define LINE	  256

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
	char line[LINE];

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

static const struct state_file groups_file = {
	.name = "groups",
	.form = "a group or a member of one",
	.read = read_groups,
	.forget = forget_groups,
	.write = write_groups,
	.gather_us = GATHER_US,
	.gather_max_us = GATHER_US,
};

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
