/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What operators see of multicast: groups with their members and trees, and figures for the status.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "fm/multicast/room.h"

static const char *joined(const struct sa_member *member)
{
	if (member->state & WIRE_JOIN_FULL)
		return "full";
	if (member->state & WIRE_JOIN_NON)
		return "non-member";
	return member->state & WIRE_JOIN_SEND_ONLY_FULL ? "send-only full" : "send-only";
}

static json_t *json_member(const struct multicast *m, const struct topo *t,
			   const struct sa_member *member)
{
	guid_t own = sa_own_port(m->services.sa, member->port);
	uint32_t port = t ? topo_find_port(t, own) : TOPO_NONE;

	return json_pack("{so ss ss si sb sb}", "guid", json_sprintf("0x%016" PRIx64, member->port),
			 "name", port == TOPO_NONE ? "" : t->nodes[t->ports[port].node].name,
			 "joined", joined(member), "state", (int)member->state, "proxy",
			 member->proxy, "waits", absent_is_awaited(m, own));
}

static int count_full(const struct sa_group *group)
{
	int n = 0;

	for (uint32_t i = 0; i < group->nmembers; i++)
		n += group->members[i].state & WIRE_JOIN_FULL;
	return n;
}

static int count_waiting(const struct multicast *m, const struct sa_group *group)
{
	int n = 0;

	for (uint32_t i = 0; m->absent.nawaited && i < group->nmembers; i++)
		n += absent_is_awaited(m, sa_own_port(m->services.sa, group->members[i].port));
	return n;
}

static json_t *json_members(const struct multicast *m, const struct topo *t,
			    const struct sa_group *group)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < group->nmembers; i++)
		json_array_append_new(list, json_member(m, t, &group->members[i]));
	return list;
}

/* Of a tree in whatever snapshot's numbers. */
static const char *root_name(const struct topo *t, const struct mcast_tree *tree)
{
	for (uint32_t h = 0; h < tree->nhops; h++) {
		uint32_t sw = t ? topo_find(t, tree->hops[h].guid) : TOPO_NONE;

		if (tree->hops[h].sw == tree->root && sw != TOPO_NONE)
			return t->nodes[sw].name;
	}
	return NULL;
}

static json_t *json_tree(const struct multicast *m, const struct topo *t, uint16_t mlid)
{
	const struct mcast_tree *tree = mcast_plan_tree(&m->trees.plan, mlid);

	if (!tree || tree->root == TOPO_NONE)
		return json_null();
	return json_pack("{ss? si si si}", "root", root_name(t, tree), "switches", (int)tree->nhops,
			 "turns", (int)tree->turns, "left_out", (int)tree->left_out);
}

static json_t *json_group(const struct multicast *m, const struct topo *t,
			  const struct sa_group *group)
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
			 count_waiting(m, group), "tree", json_tree(m, t, group->mlid), "members",
			 json_members(m, t, group));
}

static bool has_mgid(const struct sa_group *group, const uint8_t mgid[16])
{
	uint8_t raw[16];

	wire_gid_encode(&group->attr.mgid, raw);
	return !memcmp(raw, mgid, sizeof(raw));
}

json_t *multicast_groups_json(const struct multicast *m, unsigned only, const uint8_t mgid[16])
{
	const struct topo *t = fabric_view(m->fabric).topo;
	const struct sa_groups *groups = m->groups;
	json_t *list = json_array();

	for (unsigned mlid = only ? only : MCAST_FIRST_MLID;
	     mlid <= (only ? only : sa_groups_top(groups)); mlid++)
		for (const struct sa_group *g = sa_groups_by_mlid(groups, (uint16_t)mlid); g;
		     g = g->next)
			if (!mgid || has_mgid(g, mgid))
				json_array_append_new(list, json_group(m, t, g));
	return list;
}

json_t *multicast_figures_json(const struct multicast *m)
{
	const struct topo *t = fabric_view(m->fabric).topo;
	uint32_t sw = t ? topo_find(t, m->mlids.smallest) : TOPO_NONE;

	return json_pack(
		"{si si si si si ss? si si si sI sI si}", "groups", (int)sa_groups_count(m->groups),
		"members", (int)sa_groups_members(m->groups), "waiting", (int)m->absent.waiting,
		"mlids", (int)sa_groups_mlids(m->groups), "mlids_room",
		(int)sa_groups_capacity(m->groups), "smallest_switch",
		sw == TOPO_NONE ? NULL : t->nodes[sw].name, "with_turns", (int)m->trees.with_turns,
		"mlids_kept", (int)m->assumed.mlids, "mlids_kept_s", (int)assumed_left_s(m),
		"mft_blocks_written", (json_int_t)mft_blocks_written(m->services.mft), "rounds",
		(json_int_t)m->trees.rounds, "failed", (int)m->trees.result.failed);
}
