/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Get and GetTable of MCMemberRecord.
 *
 * Only trusted requests see who is a member (o15-0.2.5, 0.2.6). Any other request sees each group
 * of its partitions once, with PortGID, JoinState and ProxyJoin zero.
 */
#include "fm/sa/sa_mcast.h"

/* Items are MLIDs: groups come and go while a long walk is under way. */
enum wire_sa_status sa_mcast_get(struct sa_query *q)
{
	const struct sa_groups *groups = q->sa->groups;
	const struct sa_group *group;
	uint16_t mlid = 0;

	q->item = MCAST_FIRST_MLID;
	q->end = sa_groups_top(groups) + 1u;
	if (sa_asked(q, WIRE_MC_MGID)) {
		group = sa_groups_find(groups, &q->mc.want.mgid);
		mlid = group ? group->mlid : 0;
	} else if (sa_asked(q, WIRE_MC_MLID)) {
		mlid = q->mc.want.mlid;
	} else {
		return WIRE_SA_OK;
	}
	q->end = mlid >= q->item && mlid < q->end ? mlid + 1u : mlid;
	q->item = mlid;
	return WIRE_SA_OK;
}

static bool group_asked(const struct sa_query *q, const struct sa_group *group)
{
	const struct wire_mcmember *want = &q->mc.want;
	const struct sa_group_attr *attr = &group->attr;

	if (sa_asked(q, WIRE_MC_MGID) &&
	    (want->mgid.prefix != attr->mgid.prefix || want->mgid.guid != attr->mgid.guid))
		return false;
	return (!sa_asked(q, WIRE_MC_MLID) || want->mlid == group->mlid) &&
	       (!sa_asked(q, WIRE_MC_SCOPE) || want->scope == sa_group_scope(attr)) &&
	       (!sa_mcast_asks_life(q) ||
		sa_mcast_selects(want->life_sel, attr->life - want->life)) &&
	       sa_mcast_fits(q, attr) && sa_mcast_quality_fits(q, attr) &&
	       sa_mcast_pkey_held(q, q->mc.asker, attr->pkey);
}

/* member NULL: the group itself, as a full member sees it. */
static void row_add(struct sa_query *q, const struct sa_group *group,
		    const struct sa_member *member)
{
	const struct wire_mcmember *want = &q->mc.want;
	uint8_t state = member ? member->state : WIRE_JOIN_FULL;
	struct wire_mcmember record = sa_mcast_record(&group->attr, group->mlid);
	uint8_t *row = sa_row(q);

	q->work++;
	if (!row || (sa_asked(q, WIRE_MC_JOIN_STATE) && want->join_state != state) ||
	    (sa_asked(q, WIRE_MC_PROXY) && want->proxy != (member && member->proxy)))
		return;
	if (q->trusted && member) {
		record.port_gid = (struct wire_gid){ q->sa->conf.gid_prefix, member->port };
		record.join_state = state;
		record.proxy = member->proxy;
	}
	wire_mcmember_encode(&record, row);
	q->nrows++;
}

static void group_rows(struct sa_query *q, const struct sa_group *group)
{
	const struct sa_member *member = NULL;

	if (sa_asked(q, WIRE_MC_PORT_GID)) {
		member = sa_group_member(group, q->mc.want.port_gid.guid);
		if (member)
			row_add(q, group, member);
	} else if (!q->trusted) {
		row_add(q, group, NULL);
	} else {
		for (uint32_t i = 0; i < group->nmembers && !q->status; i++)
			row_add(q, group, &group->members[i]);
	}
}

void sa_mcast_rows(struct sa_query *q, uint32_t item)
{
	q->work++;
	for (const struct sa_group *group = sa_groups_by_mlid(q->sa->groups, (uint16_t)item); group;
	     group = group->next)
		if (group_asked(q, group))
			group_rows(q, group);
}
