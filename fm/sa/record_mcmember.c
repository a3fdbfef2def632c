/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <inttypes.h>
#include "fm/mad/wire_sa.h"
#include "fm/sa/sa_impl.h"

/* ---- Groups that are made, joined and left --------------------------------------------------- */

/*
 * What a request asks of a multicast group, and the group as a record.
 */

bool sa_mcast_selects(const struct sa_query *q, unsigned comp, uint8_t selector, int have_to_want)
{
	if (!sa_asked_both(q, comp, comp + 1))
		return true;
	return selector == WIRE_GREATER ? have_to_want > 0
	       : selector == WIRE_LESS	? have_to_want < 0
					: selector != WIRE_EXACT || !have_to_want;
}

/* Whether the group has the MTU and the rate that are asked for; and all other components. */
static bool sa_mcast_quality_fits(const struct sa_query *q, const struct wire_mcmember *attr)
{
	const struct wire_mcmember *want = &q->mc;

	return sa_mcast_selects(q, WIRE_MC(mtu_sel), want->mtu_sel, attr->mtu - want->mtu) &&
	       (!sa_asked_both(q, WIRE_MC(rate_sel), WIRE_MC(rate)) || sa_rate_known(want->rate)) &&
	       sa_mcast_selects(q, WIRE_MC(rate_sel), want->rate_sel,
				sa_rate_compare(attr->rate, want->rate));
}

bool sa_mcast_pkey_fits(uint16_t a, uint16_t b)
{
	return PKEY_BASE(a) == PKEY_BASE(b) && (a | b) & PKEY_FULL;
}

static bool sa_mcast_fits(const struct sa_query *q, const struct wire_mcmember *attr)
{
	const struct wire_mcmember *want = &q->mc;

	return (!sa_asked(q, WIRE_MC(qkey)) || want->qkey == attr->qkey) &&
	       (!sa_asked(q, WIRE_MC(pkey)) || sa_mcast_pkey_fits(want->pkey, attr->pkey)) &&
	       (!sa_asked(q, WIRE_MC(tclass)) || want->tclass == attr->tclass) &&
	       (!sa_asked(q, WIRE_MC(sl)) || want->sl == attr->sl) &&
	       (!sa_asked(q, WIRE_MC(flow_label)) || want->flow_label == attr->flow_label) &&
	       (!sa_asked(q, WIRE_MC(hop_limit)) || want->hop_limit == attr->hop_limit);
}

/* The record of a group, with no member in it. */
static struct wire_mcmember sa_mcast_record(const struct sa_group *group)
{
	struct wire_mcmember record = group->attr;

	record.mlid = group->mlid;
	record.mtu_sel = record.rate_sel = record.life_sel = WIRE_EXACT;
	record.scope = sa_group_scope(&group->attr);
	return record;
}

/*
 * New multicast groups: those that a join makes, and those made in advance.
 *
 * A join makes a group if its JoinState is full member (or send-only full member) and it names
 * Q_Key, P_Key, SL, FlowLabel and TClass (o15-0.2.3). The SA chooses MTU, rate and life time within
 * what the join names and what the port's link carries. If the join names no MGID, the SA makes one
 * (o15-0.1.4). An IPoIB group gets the values of the broadcast group of its partition, which must
 * exist.
 */

#define MGID_FIRST	0xff
#define MGID_FLAGS_NONE 0xe0 /* reserved flags, of the second byte */
#define SIGNATURE_SA	0xa01b
#define SIGNATURE_IPV4	0x401b
#define SIGNATURE_IPV6	0x601b
#define MTU_LOWEST	1 /* 256 bytes */
#define MTU_HIGHEST	5
#define LIFE_HIGHEST	0x3f
#define COMPS_TO_CREATE                                                                            \
	(SA_COMPS_TO_JOIN | WIRE_BIT(WIRE_MC(qkey)) | WIRE_BIT(WIRE_MC(tclass)) |                  \
	 WIRE_BIT(WIRE_MC(pkey)) | WIRE_BIT(WIRE_MC(flow_label)) | WIRE_BIT(WIRE_MC(sl)))

/* ---- MGIDs ----------------------------------------------------------------------------------- */

static bool mgid_is_ipoib(const struct wire_gid *mgid)
{
	uint16_t signature = mgid->prefix >> 32;

	return signature == SIGNATURE_IPV4 || signature == SIGNATURE_IPV6;
}

/* o15-0.1.5: SA's own MGIDs of link-local scope are nobody's to name. */
static bool mgid_valid(const struct wire_gid *mgid)
{
	uint8_t flags_scope = mgid->prefix >> 48;
	uint16_t signature = mgid->prefix >> 32;

	if (mgid->prefix >> 56 != MGID_FIRST)
		return false;
	if (mgid_is_ipoib(mgid))
		return true;
	return !(flags_scope & MGID_FLAGS_NONE) &&
	       !(signature == SIGNATURE_SA && (flags_scope & 0xf) == WIRE_SCOPE_LOCAL);
}

/* ---- A new group ----------------------------------------------------------------------------- */

/*
 * The MTU or the rate of a new group, 0 = none is possible. `most`: what the port's link carries;
 * `below`: the next lower value than the wanted one.
 */
static uint8_t choose(uint8_t selector, uint8_t want, uint8_t most, int most_to_want, uint8_t below)
{
	if (selector == WIRE_BEST)
		return most;
	if (selector == WIRE_GREATER)
		return most_to_want > 0 ? most : 0;
	if (selector == WIRE_EXACT)
		return want;
	return most_to_want < 0 ? most : below;
}

/* False: no life time is as asked for. */
static bool choose_life(const struct sa_query *q, uint8_t *life)
{
	const struct wire_mcmember *want = &q->mc;

	*life = q->sa->conf.subnet_timeout;
	if (sa_mcast_selects(q, WIRE_MC(life_sel), want->life_sel, *life - want->life))
		return true;
	*life = want->life_sel == WIRE_GREATER ? want->life + 1
		: want->life_sel == WIRE_LESS  ? want->life - 1
					       : want->life;
	return *life <= LIFE_HIGHEST;
}

/*
 * The P_Key of an IPoIB group is that of its MGID, with the full bit there (RFC 4391 4). What else
 * it asks is as the IPv4 broadcast group of the same scope and P_Key, which must exist.
 */
static bool ipoib_fits(const struct sa_query *q, const struct wire_gid *mgid)
{
	const uint64_t scope = mgid->prefix & 0xfull << 48, pkey = mgid->prefix >> 16 & 0xffff;
	const struct wire_gid broadcast = {
		.prefix = 0xff10ull << 48 | scope | (uint64_t)SIGNATURE_IPV4 << 32 | pkey << 16,
		.guid = 0xffffffffull,
	};

	if (!mgid_is_ipoib(mgid))
		return true;
	if (pkey != (q->mc.pkey | PKEY_FULL))
		return false;
	if (wire_gid_equal(mgid, &broadcast))
		return true;

	const struct sa_group *group = sa_groups_find(q->sa->groups, &broadcast);

	return group && sa_mcast_fits(q, &group->attr);
}

/* The attributes that a group made for this request would have, or why there can't be one. */
static enum wire_sa_status sa_mcast_choose(const struct sa_query *q, uint32_t port,
					   struct wire_mcmember *attr)
{
	const struct wire_mcmember *want = &q->mc;
	const struct sa_link *link = sa_link(q->sa, port);
	uint8_t scope = sa_asked(q, WIRE_MC(scope)) ? want->scope : WIRE_SCOPE_LOCAL;
	bool named = want->mgid.prefix || want->mgid.guid;

	if (!(want->join_state & SA_JOIN_KEEPS))
		return WIRE_SA_REQ_INVALID;
	if (~q->comp_mask & COMPS_TO_CREATE)
		return WIRE_SA_INSUF_COMPS;
	if (named && (!mgid_valid(&want->mgid) || !ipoib_fits(q, &want->mgid)))
		return WIRE_SA_REQ_INVALID;
	*attr = (struct wire_mcmember){
		.qkey = want->qkey,
		.pkey = want->pkey,
		.flow_label = want->flow_label,
		.tclass = want->tclass,
		.sl = want->sl,
		.hop_limit = sa_asked(q, WIRE_MC(hop_limit)) ? want->hop_limit : 0,
		.mtu = link->mtu,
		.rate = link->rate,
	};
	if (sa_asked_both(q, WIRE_MC(mtu_sel), WIRE_MC(mtu))) {
		if (want->mtu_sel != WIRE_BEST &&
		    (want->mtu < MTU_LOWEST || want->mtu > MTU_HIGHEST))
			return WIRE_SA_REQ_INVALID;
		attr->mtu = choose(want->mtu_sel, want->mtu, link->mtu, link->mtu - want->mtu,
				   want->mtu - 1);
	}
	if (sa_asked_both(q, WIRE_MC(rate_sel), WIRE_MC(rate))) {
		if (want->rate_sel != WIRE_BEST && !sa_rate_known(want->rate))
			return WIRE_SA_REQ_INVALID;
		attr->rate =
			choose(want->rate_sel, want->rate, link->rate,
			       sa_rate_compare(link->rate, want->rate), sa_rate_below(want->rate));
	}
	if (!attr->mtu || !attr->rate || !choose_life(q, &attr->life))
		return WIRE_SA_REQ_INVALID;
	attr->mgid = named ? want->mgid
			   : sa_groups_new_mgid(q->sa->groups, q->sa->conf.gid_prefix, scope);
	return WIRE_SA_OK;
}

/* ---- Groups made in advance ------------------------------------------------------------------ */

static struct wire_mcmember attr_of_preset(const struct sa *sa, const struct partition_group *from)
{
	return (struct wire_mcmember){
		.mgid = wire_gid_decode(from->mgid),
		.qkey = from->qkey,
		.flow_label = from->flow_label,
		.pkey = from->pkey,
		.mtu = from->mtu,
		.rate = from->rate,
		.life = sa->conf.subnet_timeout,
		.tclass = from->tclass,
		.sl = from->sl,
		.hop_limit = from->hop_limit,
	};
}

/* Of such groups the one with the MGID of this; NULL = it is not one of them. */
static const struct partition_group *find_preset(const struct sa_group *group,
						 const struct partition_group *list, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct wire_gid mgid = wire_gid_decode(list[i].mgid);

		if (wire_gid_equal(&mgid, &group->attr.mgid))
			return &list[i];
	}
	return NULL;
}

/*
 * A group that has members stays what it is for them until they are gone. The life time is the
 * subnet's, and never stands against a join.
 */
void sa_mcast_preset(struct sa *sa, const struct partition_group *list, unsigned count)
{
	uint64_t now_us = loop_now_us(sa->loop);

	for (unsigned mlid = MCAST_FIRST_MLID; mlid <= sa_groups_top(sa->groups); mlid++) {
		struct sa_group *next = sa_groups_by_mlid(sa->groups, mlid), *group;

		while ((group = next)) {
			next = group->next;
			if (group->preset && !find_preset(group, list, count))
				sa_groups_preset(sa->groups, group, false, now_us);
		}
	}
	for (unsigned i = 0; i < count; i++) {
		const struct wire_mcmember attr = attr_of_preset(sa, &list[i]), *has;
		struct sa_group *group = sa_groups_find(sa->groups, &attr.mgid);

		has = group ? &group->attr : NULL;
		if (!group)
			group = sa_groups_create(sa->groups, &attr, 0, now_us);
		else if (!group->nmembers)
			group->attr = attr;
		else if (has->qkey != attr.qkey || has->flow_label != attr.flow_label ||
			 has->mtu != attr.mtu || has->rate != attr.rate ||
			 has->tclass != attr.tclass || has->sl != attr.sl ||
			 has->hop_limit != attr.hop_limit)
			sa_log(sa,
			       (struct event_subject){ .mlid = group->mlid,
						       .pkey = PKEY_BASE(attr.pkey) },
			       "multicast LID 0x%x of partition 0x%04x keeps its parameters while "
			       "it has %u members (mtu %u, rate %u, sl %u); configured are mtu %u, "
			       "rate %u, sl %u",
			       group->mlid, attr.pkey, group->nmembers, has->mtu, has->rate,
			       has->sl, attr.mtu, attr.rate, attr.sl);
		if (group)
			sa_groups_preset(sa->groups, group, true, now_us);
		else
			log_line(LOG_SA, LOG_ERR,
				 "partition 0x%04x: no multicast LID is left for its group",
				 attr.pkey);
	}
}

/*
 * The SA's multicast groups: their life, who follows them, and how many a port is in. The groups
 * themselves are mcast_group.c's.
 */

struct sa_mcast_share sa_mcast_share(const struct sa *sa, guid_t port)
{
	struct sa_mcast_share share = { 0 };
	unsigned at = 0;
	guid_t guid;

	while ((guid = sa_alias_each(sa, port, &at))) {
		struct sa_group_port *in = sa_groups_port(sa->groups, guid);

		share.groups += in ? in->groups : 0;
		share.held += in ? in->held : 0;
		share.any = share.any ? share.any : in;
	}
	return share;
}

guid_t sa_mcast_largest(const struct sa *sa, unsigned *groups)
{
	const struct sa_group_port *in = NULL;
	guid_t guid = 0, largest = 0;

	*groups = 0;
	while ((in = sa_groups_next_port(sa->groups, guid))) {
		guid = cl_qmap_key(&in->item);

		struct sa_mcast_share share = sa_mcast_share(sa, sa_own_port(sa, guid));

		if (share.groups <= *groups)
			continue;
		*groups = share.groups;
		largest = sa_own_port(sa, guid);
	}
	return largest;
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct sa_groups *sa_mcast_groups(struct sa *sa)
{
	return sa->groups;
}

void sa_mcast_set_trees(struct sa *sa, const struct mcast_plan *trees)
{
	sa->trees = trees;
}

/* ---- Record mcmember ------------------------------------------------------------------------- */

/*
 * Get and GetTable of MCMemberRecord.
 *
 * Only trusted requests see who is a member (o15-0.2.5, 0.2.6). Any other request sees each group
 * of its partitions once, with PortGID, JoinState and ProxyJoin zero.
 */

/* member NULL: the group itself, as a full member sees it. */
static void row_add(struct sa_query *q, const struct sa_group *group,
		    const struct sa_member *member)
{
	const struct wire_mcmember *want = &q->mc;
	uint8_t state = member ? member->state : WIRE_JOIN_FULL;
	struct wire_mcmember record = sa_mcast_record(group);
	uint8_t *row = sa_row(q);

	q->work++;
	if (!row || (sa_asked(q, WIRE_MC(join_state)) && want->join_state != state) ||
	    (sa_asked(q, WIRE_MC(proxy)) && want->proxy != (member && member->proxy)))
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
 * exist, the join makes it.
 *
 * Where the standard leaves a choice, the SA does what clients know from OpenSM: it never refuses a
 * join for its PacketLifeTime, and limited members of the partition may join. Another port may join
 * or remove a port only with the SM_Key (or where sa_proxy_join allows it, as OpenSM does), and
 * only if both share a partition.
 */

#define LINK_LOCAL_PREFIX 0xfe80000000000000ull

/* ---- Joining --------------------------------------------------------------------------------- */

/* o15-0.2.1: who may change what is stored of a port. */
static bool may_change(const struct sa_query *q, uint32_t port, const struct sa_group *group)
{
	const struct sa_member *member = sa_group_member(group, q->mc.port_gid.guid);

	if (!member)
		return true;
	return member->proxy ? pkey_map_member(q->sa->view.pkeys, q->requester, group->attr.pkey)
			     : port == q->requester;
}

static bool port_carries(const struct sa_query *q, uint32_t port, const struct wire_mcmember *attr)
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
	       "%s p%u 0x%016" PRIx64 " is in %u multicast groups: further joins are refused (%s)",
	       t->nodes[t->ports[port].node].name, t->ports[port].num, t->ports[port].guid,
	       share->groups, why);
}

/* One host does not take all MLIDs; groups made in advance cost none. group NULL: a new one. */
static bool port_may_add(const struct sa_query *q, uint32_t port, const struct sa_group *group)
{
	struct sa *sa = q->sa;
	guid_t guid = q->mc.port_gid.guid; /* which may be an alias */

	if (!sa->conf.groups_limit || (group && (group->preset || sa_group_member(group, guid))))
		return true;

	struct sa_mcast_share share = sa_mcast_share(sa, sa->view.topo->ports[port].guid);

	if (share.groups < sa->conf.groups_limit)
		return true;
	log_full(sa, port, &share, "sa_etm_max_num_mcgs");
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

/*
 * A port holds a sixteenth of the MLIDs at most, and no more than an eighth of what is free, but
 * one: it can't take what others need. The trusted may.
 */
static enum wire_sa_status join_new(struct sa_query *q, uint32_t port, struct sa_group **group)
{
	struct sa *sa = q->sa;
	const struct sa_groups_use *use = sa_groups_use(sa->groups);
	uint64_t now_us = loop_now_us(sa->loop);
	struct wire_mcmember attr;
	enum wire_sa_status status = sa_mcast_choose(q, port, &attr);

	if (status)
		return status;
	if (!port_carries(q, port, &attr))
		return WIRE_SA_REQ_INVALID;
	if (!port_may_add(q, port, NULL))
		return WIRE_SA_NO_RESOURCES;

	struct sa_mcast_share share = sa_mcast_share(sa, sa->view.topo->ports[port].guid);

	if (!q->trusted && !sa_groups_sharing(sa->groups, &attr.mgid) &&
	    share.held >= sa_share(use->capacity, use->mlids)) {
		if (share.any)
			log_full(sa, port, &share, "its share of multicast LIDs");
		return WIRE_SA_NO_RESOURCES;
	}
	if (sa_asked(q, WIRE_MC(mlid)) && !sa_groups_by_mlid(sa->groups, q->mc.mlid))
		*group = sa_groups_create(sa->groups, &attr, q->mc.mlid, now_us);
	if (!*group)
		*group = sa_groups_create(sa->groups, &attr, 0, now_us);
	if (!*group && log_allow(&sa->refused, now_us, 1))
		log_line(LOG_SA, LOG_WARNING,
			 "lid %u: no multicast LID left for a new group: %u are in use, and the "
			 "smallest multicast table of a switch is full",
			 q->from.lid, use->mlids);
	return *group ? WIRE_SA_OK : WIRE_SA_NO_RESOURCES;
}

static enum wire_sa_status join(struct sa_query *q, uint32_t port)
{
	struct sa_groups *groups = q->sa->groups;
	struct sa_group *group = sa_groups_find(groups, &q->mc.mgid);
	guid_t guid = q->mc.port_gid.guid; /* which may be an alias */
	bool for_other = port != q->requester;
	enum wire_sa_status status = WIRE_SA_OK;

	if (for_other && ((!q->trusted && !q->sa->conf.proxy_join) ||
			  !pkey_map_shared(q->sa->view.pkeys, port, q->requester)))
		return WIRE_SA_REQ_INVALID;
	if (sa_asked(q, WIRE_MC(pkey)) && !PKEY_BASE(q->mc.pkey))
		return WIRE_SA_REQ_INVALID;
	if (group) {
		/*
		 * A group made in advance becomes what is configured now, if nobody is in it. Its
		 * last member may have left since the configuration changed.
		 */
		const struct partition_set *set = q->sa->view.partitions;
		bool anew = group->preset && !group->nmembers && set;
		const struct partition_group *preset =
			anew ? find_preset(group, set->groups, set->ngroups) : NULL;

		if (preset)
			group->attr = attr_of_preset(q->sa, preset);
		if (!q->mc.join_state || !sa_mcast_fits(q, &group->attr) ||
		    !sa_mcast_quality_fits(q, &group->attr) ||
		    !port_carries(q, port, &group->attr) || !may_change(q, port, group))
			return WIRE_SA_REQ_INVALID;
		if (!port_may_add(q, port, group))
			return WIRE_SA_NO_RESOURCES;
	} else {
		status = join_new(q, port, &group);
	}
	if (status)
		return status;

	uint8_t state = sa_groups_join(groups, group, guid, q->mc.join_state, for_other);

	answer_fill(q, sa_mcast_record(group), state, sa_group_member(group, guid)->proxy);
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

	if (!member || !bits || bits & ~member->state || !may_change(q, port, group))
		return WIRE_SA_REQ_INVALID;

	struct wire_mcmember record = sa_mcast_record(group);
	bool proxy = member->proxy;
	uint8_t left = sa_groups_leave(groups, group, guid, bits, loop_now_us(q->sa->loop));

	answer_fill(q, record, left, proxy);
	return WIRE_SA_OK;
}

/* ---- The record ------------------------------------------------------------------------------ */

/* Items of a walk are MLIDs: groups come and go while a long one is under way. */
static enum wire_sa_status mcmember_prepare(struct sa_query *q)
{
	const struct wire_gid *gid = &q->mc.port_gid; /* of the port that is to join or leave */
	const struct sa_groups *groups = q->sa->groups;
	uint16_t mlid = 0;

	wire_mcmember_decode(q->data, &q->mc);
	if (q->requester == TOPO_NONE)
		return WIRE_SA_REQ_INVALID;
	if (sa_is_change(q)) {
		if (~q->comp_mask & SA_COMPS_TO_JOIN)
			return WIRE_SA_INSUF_COMPS;
		if (gid->prefix != q->sa->conf.gid_prefix && gid->prefix != LINK_LOCAL_PREFIX)
			return WIRE_SA_INVALID_GID;

		uint32_t port = sa_port_by_guid(q->sa, gid->guid);

		if (port == TOPO_NONE)
			return WIRE_SA_REQ_INVALID;

		enum wire_sa_status status = q->method == WIRE_SET ? join(q, port) : leave(q, port);

		return status ? status : sa_walk_once(q);
	}
	q->item = MCAST_FIRST_MLID;
	q->end = sa_groups_top(groups) + 1u;
	if (sa_asked(q, WIRE_MC(mgid))) {
		const struct sa_group *group = sa_groups_find(groups, &q->mc.mgid);

		mlid = group ? group->mlid : 0;
	} else if (sa_asked(q, WIRE_MC(mlid))) {
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
	if (sa_is_change(q)) {
		wire_mcmember_encode(&q->mc, sa_row(q));
		sa_row_add(q);
		return;
	}
	q->work++;
	for (const struct sa_group *group = sa_groups_by_mlid(q->sa->groups, item); group;
	     group = group->next) {
		const struct wire_mcmember *want = &q->mc;
		const struct wire_mcmember *attr = &group->attr;

		if (!((!sa_asked(q, WIRE_MC(mgid)) || wire_gid_equal(&want->mgid, &attr->mgid)) &&
		      (!sa_asked(q, WIRE_MC(mlid)) || want->mlid == group->mlid) &&
		      (!sa_asked(q, WIRE_MC(scope)) || want->scope == sa_group_scope(attr)) &&
		      sa_mcast_selects(q, WIRE_MC(life_sel), want->life_sel,
				       attr->life - want->life) &&
		      sa_mcast_fits(q, attr) && sa_mcast_quality_fits(q, attr) &&
		      pkey_map_member(q->sa->view.pkeys, q->requester, attr->pkey)))
			continue;

		if (sa_asked(q, WIRE_MC(port_gid))) {
			const struct sa_member *member =
				sa_group_member(group, want->port_gid.guid);

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
