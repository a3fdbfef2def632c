/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/sa/mcast_group_text.h"
#include <inttypes.h>

void mcast_group_line(const struct sa_group *g, char line[MCAST_LINE])
{
	const struct sa_group_attr *a = &g->attr;

	snprintf(line, MCAST_LINE,
		 "group 0x%016" PRIx64 " 0x%016" PRIx64 " 0x%x 0x%x 0x%x %u %u %u %u 0x%x %u %u",
		 a->mgid.prefix, a->mgid.guid, g->mlid, a->pkey, a->qkey, a->mtu, a->rate, a->life,
		 a->sl, a->flow_label, a->hop_limit, a->tclass);
}

static void write_group(FILE *out, const struct sa_group *g)
{
	char line[MCAST_LINE];

	mcast_group_line(g, line);
	fprintf(out, "%s\n", line);
	for (uint32_t i = 0; i < g->nmembers; i++)
		fprintf(out, "member 0x%016" PRIx64 " %u %u\n", g->members[i].port,
			g->members[i].state, g->members[i].proxy);
}

void mcast_group_write(const struct sa_groups *groups, unsigned mlid, FILE *out)
{
	for (const struct sa_group *g = sa_groups_by_mlid(groups, (uint16_t)mlid); g; g = g->next)
		write_group(out, g);
}

bool mcast_group_is_plain(const struct sa_group_attr *a, unsigned mlid)
{
	return mlid >= MCAST_FIRST_MLID && mlid <= SA_LAST_MLID && a->mtu >= 1 && a->mtu <= 5 &&
	       a->rate <= 63 && a->life <= 63 && a->sl <= 15 && a->flow_label <= 0xfffff &&
	       a->mgid.prefix >> 56 == 0xff;
}

static struct sa_group *read_group(struct sa_groups *groups, const char *line, uint64_t now_us)
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
	if (pkey > 0xffff || (mtu | rate | life | sl | hop | tclass) > 255)
		return NULL;
	a.pkey = (uint16_t)pkey;
	a.mtu = (uint8_t)mtu;
	a.rate = (uint8_t)rate;
	a.life = (uint8_t)life;
	a.sl = (uint8_t)sl;
	a.hop_limit = (uint8_t)hop;
	a.tclass = (uint8_t)tclass;
	if (!mcast_group_is_plain(&a, mlid))
		return NULL;
	return sa_groups_create(groups, &a, (uint16_t)mlid, now_us);
}

static bool read_member(struct sa_groups *groups, struct sa_group *group, const char *line)
{
	unsigned state, proxy;
	guid_t port;
	char rest;

	if (!group ||
	    sscanf(line, "member 0x%" SCNx64 " %u %u %c", &port, &state, &proxy, &rest) != 3 ||
	    !state || state > WIRE_JOIN_BITS || proxy > 1 || sa_group_member(group, port))
		return false;
	sa_groups_join(groups, group, port, (uint8_t)state, proxy);
	return true;
}

bool mcast_group_read(struct sa_groups *groups, struct sa_group **last, const char *line,
		      uint64_t now_us)
{
	if (line[0] == 'm')
		return read_member(groups, *last, line);
	*last = read_group(groups, line, now_us);
	return *last != NULL;
}
