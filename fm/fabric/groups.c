/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_groups: multicast groups over a restart, and for people to look at.
 *
 * The file `groups` has a line for each group and, behind it, one for each of its members:
 *
 *   group MGID MLID P_Key Q_Key MTU rate life SL FlowLabel HopLimit TClass      (codes; MGID as two numbers)
 *   member PORT_GUID JoinState proxy
 *
 * It is written once changes have gathered for some seconds, by a child: a fabric's file has a hundred
 * thousand lines; and at the end. Members whose ports are out of service: absent.c.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "fm/fabric/mcast.h"

#define GATHER_US 3000000
#define LINE	  256

static struct sa_groups *groups_of(const struct fabric *f)
{
	return sa_mcast_groups(f->sa);
}

void fabric_groups_each(struct fabric *f, fabric_group_fn *fn, void *arg)
{
	for (unsigned mlid = MCAST_FIRST_MLID; mlid <= sa_groups_top(groups_of(f)); mlid++) {
		struct sa_group *next = sa_groups_by_mlid(groups_of(f), (uint16_t)mlid), *group;

		while ((group = next)) {
			next = group->next;
			fn(f, group, arg);
		}
	}
}

/* ---- The file ------------------------------------------------------------------------------------ */

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
	const struct fabric *f = arg;
	const struct sa_groups *groups = groups_of(f);

	for (unsigned mlid = MCAST_FIRST_MLID; mlid <= sa_groups_top(groups); mlid++)
		for (const struct sa_group *g = sa_groups_by_mlid(groups, (uint16_t)mlid); g;
		     g = g->next)
			write_group(out, g);
}

/* NULL: it can't be. */
static struct sa_group *read_group(struct fabric *f, const char *line)
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
	return sa_groups_create(groups_of(f), &a, (uint16_t)mlid, loop_now_us(f->loop));
}

static bool read_member(struct fabric *f, struct sa_group *group, const char *line)
{
	unsigned state, proxy;
	guid_t port;
	char rest;

	if (!group ||
	    sscanf(line, "member 0x%" SCNx64 " %u %u %c", &port, &state, &proxy, &rest) != 3 ||
	    !state || state > WIRE_JOIN_BITS || proxy > 1 || sa_group_member(group, port))
		return false;
	sa_groups_join(groups_of(f), group, port, (uint8_t)state, proxy);
	return true;
}

static unsigned read_groups(void *arg, FILE *in)
{
	struct fabric *f = arg;
	struct sa_group *group = NULL;
	char line[LINE];

	f->mcast->known = true;
	sa_groups_share_snm(groups_of(f), true); /* as they were then */
	for (unsigned number = 1; fgets(line, sizeof(line), in); number++) {
		if (line[strspn(line, " \t\n")] == '\0' || line[0] == '#')
			continue;
		if (line[0] == 'm' ? !read_member(f, group, line) : !(group = read_group(f, line)))
			return number;
	}
	return 0;
}

static void forget_groups(void *arg)
{
	struct fabric *f = arg;

	f->mcast->known = false;
	sa_groups_clear(groups_of(f));
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

void fabric_groups_changed(struct fabric *f)
{
	fabric_state_changed(f, &groups_file);
}

/* ---- Documents ----------------------------------------------------------------------------------- */

static const char *joined(const struct sa_member *member)
{
	if (member->state & WIRE_JOIN_FULL)
		return "full";
	if (member->state & WIRE_JOIN_NON)
		return "non-member";
	return member->state & WIRE_JOIN_SEND_ONLY_FULL ? "send-only full" : "send-only";
}

static json_t *json_member(const struct fabric *f, const struct sa_member *member)
{
	const struct topo *t = f->topo;
	guid_t own = sa_own_port(f->sa, member->port);
	uint32_t port = t ? topo_find_port(t, own) : TOPO_NONE;

	return json_pack("{so ss ss si sb sb}", "guid", json_sprintf("0x%016" PRIx64, member->port),
			 "name", port == TOPO_NONE ? "" : t->nodes[t->ports[port].node].desc,
			 "joined", joined(member), "state", (int)member->state, "proxy",
			 member->proxy, "waits", fabric_is_awaited(f, own));
}

static int count_full(const struct sa_group *group)
{
	int n = 0;

	for (uint32_t i = 0; i < group->nmembers; i++)
		n += group->members[i].state & WIRE_JOIN_FULL;
	return n;
}

static int count_waiting(const struct fabric *f, const struct sa_group *group)
{
	int n = 0;

	for (uint32_t i = 0; f->mcast->nawaited && i < group->nmembers; i++)
		n += fabric_is_awaited(f, sa_own_port(f->sa, group->members[i].port));
	return n;
}

static json_t *json_members(const struct fabric *f, const struct sa_group *group)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < group->nmembers; i++)
		json_array_append_new(list, json_member(f, &group->members[i]));
	return list;
}

/* Of a tree in whatever snapshot's numbers. */
static const char *root_name(const struct topo *t, const struct mcast_tree *tree)
{
	for (uint32_t h = 0; h < tree->nhops; h++) {
		uint32_t sw = t ? topo_find(t, tree->hops[h].guid) : TOPO_NONE;

		if (tree->hops[h].sw == tree->root && sw != TOPO_NONE)
			return t->nodes[sw].desc;
	}
	return NULL;
}

static json_t *json_tree(const struct fabric *f, uint16_t mlid)
{
	const struct mcast_tree *tree = mcast_plan_tree(&f->mcast->plan, mlid);

	if (!tree || tree->root == TOPO_NONE)
		return json_null();
	return json_pack("{ss? si si si}", "root", root_name(f->topo, tree), "switches",
			 (int)tree->nhops, "turns", (int)tree->turns, "left_out",
			 (int)tree->left_out);
}

static json_t *json_group(const struct fabric *f, const struct sa_group *group)
{
	const struct sa_group_attr *a = &group->attr;
	char mgid[INET6_ADDRSTRLEN];
	uint8_t raw[16];

	wire_gid_encode(&a->mgid, raw);
	inet_ntop(AF_INET6, raw, mgid, sizeof(mgid));
	return json_pack("{ss so so sI si si si sb si si si so so}", "mgid", mgid, "mlid",
			 json_sprintf("0x%x", group->mlid), "pkey", json_sprintf("0x%x", a->pkey),
			 "qkey", (json_int_t)a->qkey, "mtu", 128 << a->mtu, "rate", (int)a->rate,
			 "sl", (int)a->sl, "preset", group->preset, "full", count_full(group),
			 "senders", (int)group->nmembers - count_full(group), "waiting",
			 count_waiting(f, group), "tree", json_tree(f, group->mlid), "members",
			 json_members(f, group));
}

json_t *fabric_groups(const struct fabric *f)
{
	const struct sa_groups *groups = groups_of(f);
	json_t *list = json_array();

	for (unsigned mlid = MCAST_FIRST_MLID; mlid <= sa_groups_top(groups); mlid++)
		for (const struct sa_group *g = sa_groups_by_mlid(groups, (uint16_t)mlid); g;
		     g = g->next)
			json_array_append_new(list, json_group(f, g));
	return list;
}

json_t *fabric_mcast_figures(const struct fabric *f)
{
	const struct fabric_mcast *m = f->mcast;
	uint32_t sw = f->topo ? topo_find(f->topo, m->mlids.smallest) : TOPO_NONE;

	return json_pack(
		"{si si si si si ss? si sI sI si}", "groups", (int)sa_groups_count(groups_of(f)),
		"members", (int)sa_groups_members(groups_of(f)), "waiting", (int)m->waiting,
		"mlids", (int)sa_groups_mlids(groups_of(f)), "mlids_room",
		(int)sa_groups_capacity(groups_of(f)), "smallest_switch",
		sw == TOPO_NONE ? NULL : f->topo->nodes[sw].desc, "with_turns", (int)m->with_turns,
		"mft_blocks_written", (json_int_t)mft_blocks_written(m->mft), "rounds",
		(json_int_t)m->rounds, "failed", (int)m->result.failed);
}

/* ---- Life ---------------------------------------------------------------------------------------- */

void fabric_mcast_configure(struct fabric *f)
{
	sa_groups_share_snm(groups_of(f), f->conf.sa.consolidate_ipv6_snm);
}

/* It was made in advance: partitions, which are read behind this, end it if it no longer is. */
static void mark_preset(struct fabric *f, struct sa_group *group, void *arg)
{
	if (!group->nkeepers)
		sa_groups_preset(groups_of(f), group, true, loop_now_us(f->loop));
}

void fabric_mcast_start(struct fabric *f)
{
	fabric_state_read(f, &groups_file);
	fabric_mcast_configure(f);
	fabric_groups_each(f, mark_preset, NULL);
	fabric_state_unchanged(f, &groups_file); /* what was just read is no change */
	if (!f->mcast->known)
		fabric_groups_changed(f);
}

bool fabric_mcast_known(const struct fabric *f)
{
	return f->mcast->known;
}

void fabric_groups_init(struct fabric *f)
{
	fabric_absent_init(f);
}

void fabric_groups_fini(struct fabric *f)
{
	fabric_absent_fini(f);
}
