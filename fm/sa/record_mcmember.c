/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/sa/sa_impl.h"

/*
 * Get and GetTable of MCMemberRecord.
 *
 * Only trusted requests see who is a member (o15-0.2.5, 0.2.6). Any other request sees each group
 * of its partitions once, with PortGID, JoinState and ProxyJoin zero.
 */

static bool group_asked(const struct sa_query *q, const struct sa_group *group)
{
	const struct wire_mcmember *want = &q->mc;
	const struct sa_group_attr *attr = &group->attr;

	return (!sa_asked(q, WIRE_MC_MGID) || wire_gid_equal(&want->mgid, &attr->mgid)) &&
	       (!sa_asked(q, WIRE_MC_MLID) || want->mlid == group->mlid) &&
	       (!sa_asked(q, WIRE_MC_SCOPE) || want->scope == sa_group_scope(attr)) &&
	       (!sa_asked_both(q, WIRE_MC_LIFE_SEL, WIRE_MC_LIFE) ||
		sa_mcast_selects(want->life_sel, attr->life - want->life)) &&
	       sa_mcast_fits(q, attr) && sa_mcast_quality_fits(q, attr) &&
	       pkey_map_member(q->sa->view.pkeys, q->asker, attr->pkey);
}

/* member NULL: the group itself, as a full member sees it. */
static void row_add(struct sa_query *q, const struct sa_group *group,
		    const struct sa_member *member)
{
	const struct wire_mcmember *want = &q->mc;
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

/*
 * MCMemberRecord (IBA 15.2.5.17): a port joins a group by Set and leaves it by Delete; Get and
 * GetTable list members. The SA answers a join before its multicast tree is programmed
 * (fm/multicast/trees.c), as hosts are used to.
 *
 * A join names MGID, PortGID and JoinState. If the group exists, the other components that the join
 * names must agree with it, and the port's link must carry the group's MTU and rate. If it does not
 * exist, the join makes it (sa_mcast.c).
 *
 * Where the standard leaves a choice, the SA does what clients know from OpenSM: it never refuses a
 * join for its PacketLifeTime, and limited members of the partition may join. Another port may join
 * or remove a port only with the SM_Key (or where sa_proxy_join allows it, as OpenSM does), and
 * only if both share a partition.
 */

#define LINK_LOCAL_PREFIX 0xfe80000000000000ull
/* One MLID in KEPT_PART is kept for trusted requests, and for ports in fewer than FEW groups. */
#define KEPT_PART 8
#define FEW	  16

/* ---- Joining --------------------------------------------------------------------------------- */

/* o15-0.2.1: who may change what is stored of a port. */
static bool may_change(const struct sa_query *q, uint32_t port, const struct sa_group *group)
{
	const struct sa_member *member = sa_group_member(group, q->mc.port_gid.guid);

	if (!member)
		return true;
	return member->proxy ? pkey_map_member(q->sa->view.pkeys, q->asker, group->attr.pkey) != 0
			     : port == q->asker;
}

static bool port_carries(const struct sa_query *q, uint32_t port, const struct sa_group_attr *attr)
{
	const struct sa_link *link = sa_link(q->sa, port);

	return link->mtu >= attr->mtu && sa_rate_compare(link->rate, attr->rate) >= 0 &&
	       pkey_map_member(q->sa->view.pkeys, port, attr->pkey);
}

static void log_full(struct sa *sa, uint32_t port, const struct sa_mcast_share *share,
		     const char *why)
{
	const struct topo *t = sa->view.topo;

	if (share->any->reported)
		return;
	share->any->reported = true;
	sa_log(sa, event_subject_port(t, port),
	       "%s p%u 0x%016llx is in %u multicast groups: further joins are refused (%s)",
	       t->nodes[t->ports[port].node].name, t->ports[port].num,
	       (unsigned long long)t->ports[port].guid, share->groups, why);
}

/* One host does not take all MLIDs; groups made in advance cost none. group NULL: a new one. */
static bool port_has_room(const struct sa_query *q, uint32_t port, const struct sa_group *group)
{
	struct sa *sa = q->sa;
	guid_t guid = q->mc.port_gid.guid; /* which may be an alias */
	struct sa_mcast_share share;

	if (!sa->conf.groups_limit || (group && (group->preset || sa_group_member(group, guid))))
		return true;
	share = sa_mcast_share(sa, sa->view.topo->ports[port].guid);
	if (share.groups < sa->conf.groups_limit)
		return true;
	log_full(sa, port, &share, "mcast_groups_per_port");
	return false;
}

/* The answer to a change; the PortGID is as the client wrote it. */
static void answer_fill(struct sa_query *q, struct wire_mcmember record, uint8_t join_state,
			bool proxy)
{
	record.port_gid = q->mc.port_gid;
	record.join_state = join_state;
	record.proxy = proxy;
	q->mc = record;
}

/* The last MLIDs are for the trusted, and for ports that are in few groups. */
static enum wire_sa_status join_new(struct sa_query *q, uint32_t port, struct sa_group **group)
{
	struct sa *sa = q->sa;
	const struct sa_groups_use *use = sa_groups_use(sa->groups);
	struct sa_mcast_share share;
	struct sa_group_attr attr;
	enum wire_sa_status status = sa_mcast_choose(q, port, &attr);

	if (status)
		return status;
	if (!port_carries(q, port, &attr))
		return WIRE_SA_REQ_INVALID;
	if (!port_has_room(q, port, NULL))
		return WIRE_SA_NO_RESOURCES;
	if (!q->trusted && use->mlids >= use->capacity - use->capacity / KEPT_PART) {
		share = sa_mcast_share(sa, sa->view.topo->ports[port].guid);
		if (share.groups >= FEW) {
			log_full(sa, port, &share, "few multicast LIDs are left");
			return WIRE_SA_NO_RESOURCES;
		}
	}
	*group = sa_mcast_make(q, &attr);
	return *group ? WIRE_SA_OK : WIRE_SA_NO_RESOURCES;
}

static enum wire_sa_status join(struct sa_query *q, uint32_t port)
{
	struct sa_groups *groups = q->sa->groups;
	struct sa_group *group = sa_groups_find(groups, &q->mc.mgid);
	guid_t guid = q->mc.port_gid.guid; /* which may be an alias */
	bool for_other = port != q->asker;
	enum wire_sa_status status = WIRE_SA_OK;
	uint8_t state;

	if (for_other && ((!q->trusted && !q->sa->conf.proxy_join) ||
			  !pkey_map_shared(q->sa->view.pkeys, port, q->asker)))
		return WIRE_SA_REQ_INVALID;
	if (sa_asked(q, WIRE_MC_PKEY) && !PKEY_BASE(q->mc.pkey))
		return WIRE_SA_REQ_INVALID;
	if (group) {
		sa_mcast_renew(q->sa, group);
		if (!q->mc.join_state || !sa_mcast_fits(q, &group->attr) ||
		    !sa_mcast_quality_fits(q, &group->attr) ||
		    !port_carries(q, port, &group->attr) || !may_change(q, port, group))
			return WIRE_SA_REQ_INVALID;
		if (!port_has_room(q, port, group))
			return WIRE_SA_NO_RESOURCES;
	} else {
		status = join_new(q, port, &group);
	}
	if (status)
		return status;
	state = sa_groups_join(groups, group, guid, q->mc.join_state, for_other);
	answer_fill(q, sa_mcast_record(&group->attr, group->mlid), state,
		    sa_group_member(group, guid)->proxy);
	return WIRE_SA_OK;
}

/* ---- Leaving --------------------------------------------------------------------------------- */

/* o15-0.1.14 */
static enum wire_sa_status leave(struct sa_query *q, uint32_t port)
{
	struct sa_groups *groups = q->sa->groups;
	struct sa_group *group = sa_groups_find(groups, &q->mc.mgid);
	guid_t guid = q->mc.port_gid.guid; /* which may be an alias */
	const struct sa_member *member = group ? sa_group_member(group, guid) : NULL;
	const uint8_t bits = q->mc.join_state;
	struct wire_mcmember record;
	uint8_t left;
	bool proxy;

	if (!member || !bits || bits & ~member->state || !may_change(q, port, group))
		return WIRE_SA_REQ_INVALID;
	record = sa_mcast_record(&group->attr, group->mlid);
	proxy = member->proxy;
	left = sa_groups_leave(groups, group, guid, bits, loop_now_us(q->sa->loop));
	answer_fill(q, record, left, proxy);
	return WIRE_SA_OK;
}

/* ---- The record ------------------------------------------------------------------------------ */

/* Items of a walk are MLIDs: groups come and go while a long one is under way. */
static enum wire_sa_status mcmember_prepare(struct sa_query *q)
{
	const struct wire_gid *gid = &q->mc.port_gid; /* of the port that is to join or leave */
	const struct sa_groups *groups = q->sa->groups;
	const struct sa_group *group;
	enum wire_sa_status status;
	uint16_t mlid = 0;
	uint32_t port;

	wire_mcmember_decode(q->data, &q->mc);
	if (q->asker == TOPO_NONE)
		return WIRE_SA_REQ_INVALID;
	if (sa_is_change(q)) {
		if (~q->comp_mask & SA_COMPS_TO_JOIN)
			return WIRE_SA_INSUF_COMPS;
		if (gid->prefix != q->sa->conf.gid_prefix && gid->prefix != LINK_LOCAL_PREFIX)
			return WIRE_SA_INVALID_GID;
		port = sa_port_by_guid(q->sa, gid->guid);
		if (port == TOPO_NONE)
			return WIRE_SA_REQ_INVALID;
		status = q->method == WIRE_SET ? join(q, port) : leave(q, port);
		return status ? status : sa_walk_once(q);
	}
	q->item = MCAST_FIRST_MLID;
	q->end = sa_groups_top(groups) + 1u;
	if (sa_asked(q, WIRE_MC_MGID)) {
		group = sa_groups_find(groups, &q->mc.mgid);
		mlid = group ? group->mlid : 0;
	} else if (sa_asked(q, WIRE_MC_MLID)) {
		mlid = q->mc.mlid;
	} else {
		return WIRE_SA_OK;
	}
	q->end = mlid >= q->item && mlid < q->end ? mlid + 1u : mlid;
	q->item = mlid;
	return WIRE_SA_OK;
}

static void mcmember_emit(struct sa_query *q, uint32_t item)
{
	const struct sa_member *member;

	if (sa_is_change(q)) {
		wire_mcmember_encode(&q->mc, sa_row(q));
		sa_row_add(q);
		return;
	}
	q->work++;
	for (const struct sa_group *group = sa_groups_by_mlid(q->sa->groups, (uint16_t)item); group;
	     group = group->next) {
		if (!group_asked(q, group))
			continue;
		if (sa_asked(q, WIRE_MC_PORT_GID)) {
			member = sa_group_member(group, q->mc.port_gid.guid);
			if (member)
				row_add(q, group, member);
		} else if (!q->trusted) {
			row_add(q, group, NULL);
		} else {
			for (uint32_t i = 0; i < group->nmembers && !q->status; i++)
				row_add(q, group, &group->members[i]);
		}
	}
}

const struct sa_record sa_record_mcmember = {
	.attr_id = WIRE_SA_MCMEMBER,
	.methods = SA_GET | SA_TABLE | SA_SET | SA_DELETE,
	.layout = { .size = WIRE_MCMEMBER_SIZE },
	.prepare = mcmember_prepare,
	.emit = mcmember_emit,
};
