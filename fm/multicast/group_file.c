/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Multicast groups over a restart. The file `groups` has a line for each group and, behind it, one
 * for each of its members, in codes and the MGID as two numbers:
 *
 *   group MGID MLID P_Key Q_Key MTU rate life SL FlowLabel HopLimit TClass
 *   member PORT_GUID JoinState proxy
 *
 * It is written once changes have gathered for some seconds, by a child, for a fabric's file has a
 * hundred thousand lines; and at the end. Members whose ports are out of service: absent.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "fm/multicast/room.h"

#define GATHER_US 3000000
#define LINE	  256

static void write_group(FILE *out, const struct sa_group *g)
{
	const struct sa_group_attr *a = &g->attr;

	fprintf(out,
		"group 0x%016" PRIx64 " 0x%016" PRIx64 " 0x%x 0x%x 0x%x %u %u %u %u 0x%x %u %u\n",
		a->mgid.prefix, a->mgid.guid, g->mlid, a->pkey, a->qkey, a->mtu, a->rate, a->life,
		a->sl, a->flow_label, a->hop_limit, a->tclass);
	for (uint32_t i = 0; i < g->nmembers; i++)
		fprintf(out, "member 0x%016" PRIx64 " %u %u\n", g->members[i].port,
			g->members[i].state, g->members[i].proxy);
}

static void write_groups(const void *arg, FILE *out)
{
	const struct multicast *m = arg;
	const struct sa_groups *groups = m->groups;

	for (unsigned mlid = MCAST_FIRST_MLID; mlid <= sa_groups_top(groups); mlid++)
		for (const struct sa_group *g = sa_groups_by_mlid(groups, (uint16_t)mlid); g;
		     g = g->next)
			write_group(out, g);
}

/* NULL: it is none. */
static struct sa_group *read_group(struct multicast *m, const char *line)
{
	unsigned mlid, pkey, mtu, rate, life, sl, hop, tclass;
	struct sa_group_attr a = { .qkey = 0 };
	char rest;

	if (sscanf(line,
		   "group 0x%" SCNx64 " 0x%" SCNx64 " 0x%x 0x%x 0x%" SCNx32
		   " %u %u %u %u 0x%" SCNx32 " %u %u %c",
		   &a.mgid.prefix, &a.mgid.guid, &mlid, &pkey, &a.qkey, &mtu, &rate, &life, &sl,
		   &a.flow_label, &hop, &tclass, &rest) != 12)
		return NULL;
	if (mlid < MCAST_FIRST_MLID || mlid > SA_LAST_MLID || pkey > 0xffff || mtu < 1 || mtu > 5 ||
	    rate > 63 || life > 63 || sl > 15 || a.flow_label > 0xfffff || hop > 255 ||
	    tclass > 255 || a.mgid.prefix >> 56 != 0xff)
		return NULL;
	a.pkey = (uint16_t)pkey;
	a.mtu = (uint8_t)mtu;
	a.rate = (uint8_t)rate;
	a.life = (uint8_t)life;
	a.sl = (uint8_t)sl;
	a.hop_limit = (uint8_t)hop;
	a.tclass = (uint8_t)tclass;
	return sa_groups_create(m->groups, &a, (uint16_t)mlid, loop_now_us(m->services.loop));
}

static bool read_member(struct multicast *m, struct sa_group *group, const char *line)
{
	unsigned state, proxy;
	guid_t port;
	char rest;

	if (!group ||
	    sscanf(line, "member 0x%" SCNx64 " %u %u %c", &port, &state, &proxy, &rest) != 3 ||
	    !state || state > WIRE_JOIN_BITS || proxy > 1 || sa_group_member(group, port))
		return false;
	sa_groups_join(m->groups, group, port, (uint8_t)state, proxy);
	return true;
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
		if (line[0] == 'm' ? !read_member(m, group, line) : !(group = read_group(m, line)))
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
