/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/mad/wire_sa.h"
#include "fm/sa/sa_impl.h"

/*
 * What a request asks of a multicast group, and the group as a record.
 */

bool sa_mcast_selects(uint8_t selector, int have_to_want)
{
	switch (selector) {
	case WIRE_GREATER:
		return have_to_want > 0;
	case WIRE_LESS:
		return have_to_want < 0;
	case WIRE_EXACT:
		return have_to_want == 0;
	default:
		return true;
	}
}

bool sa_mcast_quality_fits(const struct sa_query *q, const struct sa_group_attr *attr)
{
	const struct wire_mcmember *want = &q->mc;

	if (sa_asked_both(q, WIRE_MC_MTU_SEL, WIRE_MC_MTU) &&
	    !sa_mcast_selects(want->mtu_sel, attr->mtu - want->mtu))
		return false;
	return !sa_asked_both(q, WIRE_MC_RATE_SEL, WIRE_MC_RATE) ||
	       (sa_rate_known(want->rate) &&
		sa_mcast_selects(want->rate_sel, sa_rate_compare(attr->rate, want->rate)));
}

bool sa_mcast_pkey_fits(uint16_t a, uint16_t b)
{
	return PKEY_BASE(a) == PKEY_BASE(b) && (a | b) & PKEY_FULL;
}

bool sa_mcast_fits(const struct sa_query *q, const struct sa_group_attr *attr)
{
	const struct wire_mcmember *want = &q->mc;

	return (!sa_asked(q, WIRE_MC_QKEY) || want->qkey == attr->qkey) &&
	       (!sa_asked(q, WIRE_MC_PKEY) || sa_mcast_pkey_fits(want->pkey, attr->pkey)) &&
	       (!sa_asked(q, WIRE_MC_TCLASS) || want->tclass == attr->tclass) &&
	       (!sa_asked(q, WIRE_MC_SL) || want->sl == attr->sl) &&
	       (!sa_asked(q, WIRE_MC_FLOW) || want->flow_label == attr->flow_label) &&
	       (!sa_asked(q, WIRE_MC_HOP) || want->hop_limit == attr->hop_limit);
}

/* The record of a group, with no member in it. */
struct wire_mcmember sa_mcast_record(const struct sa_group_attr *attr, uint16_t mlid)
{
	return (struct wire_mcmember){
		.mgid = attr->mgid,
		.qkey = attr->qkey,
		.flow_label = attr->flow_label,
		.mlid = mlid,
		.pkey = attr->pkey,
		.mtu_sel = WIRE_EXACT,
		.mtu = attr->mtu,
		.rate_sel = WIRE_EXACT,
		.rate = attr->rate,
		.life_sel = WIRE_EXACT,
		.life = attr->life,
		.tclass = attr->tclass,
		.sl = attr->sl,
		.hop_limit = attr->hop_limit,
		.scope = sa_group_scope(attr),
	};
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
	(SA_COMPS_TO_JOIN | WIRE_BIT(WIRE_MC_QKEY) | WIRE_BIT(WIRE_MC_TCLASS) |                    \
	 WIRE_BIT(WIRE_MC_PKEY) | WIRE_BIT(WIRE_MC_FLOW) | WIRE_BIT(WIRE_MC_SL))

/* ---- MGIDs ----------------------------------------------------------------------------------- */

static bool mgid_is_ipoib(const struct wire_gid *mgid)
{
	uint16_t signature = (uint16_t)(mgid->prefix >> 32);

	return signature == SIGNATURE_IPV4 || signature == SIGNATURE_IPV6;
}

/* o15-0.1.5: SA's own MGIDs of link-local scope are nobody's to name. */
static bool mgid_valid(const struct wire_gid *mgid)
{
	uint8_t flags_scope = (uint8_t)(mgid->prefix >> 48);
	uint16_t signature = (uint16_t)(mgid->prefix >> 32);

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
	if (!sa_asked_both(q, WIRE_MC_LIFE_SEL, WIRE_MC_LIFE) ||
	    sa_mcast_selects(want->life_sel, *life - want->life))
		return true;
	*life = want->life_sel == WIRE_GREATER ? want->life + 1
		: want->life_sel == WIRE_LESS  ? want->life - 1
					       : want->life;
	return *life <= LIFE_HIGHEST;
}

/* What it asks is as the IPv4 broadcast group of the same scope and P_Key, which must exist. */
static bool ipoib_fits(const struct sa_query *q, const struct wire_gid *mgid)
{
	const uint64_t scope = mgid->prefix & 0xfull << 48, pkey = mgid->prefix >> 16 & 0xffff;
	const struct wire_gid broadcast = {
		.prefix = 0xff10ull << 48 | scope | (uint64_t)SIGNATURE_IPV4 << 32 | pkey << 16,
		.guid = 0xffffffffull,
	};
	const struct sa_group *group;

	if (!mgid_is_ipoib(mgid) || wire_gid_equal(mgid, &broadcast))
		return true;
	group = sa_groups_find(q->sa->groups, &broadcast);
	return group && sa_mcast_fits(q, &group->attr);
}

/* What the group would be that the request asks to be made. */
enum wire_sa_status sa_mcast_choose(const struct sa_query *q, uint32_t port,
				    struct sa_group_attr *attr)
{
	const struct wire_mcmember *want = &q->mc;
	const struct sa_link *link = sa_link(q->sa, port);
	uint8_t scope = sa_asked(q, WIRE_MC_SCOPE) ? want->scope : WIRE_SCOPE_LOCAL;
	bool named = want->mgid.prefix || want->mgid.guid;

	if (!(want->join_state & SA_JOIN_KEEPS))
		return WIRE_SA_REQ_INVALID;
	if (~q->comp_mask & COMPS_TO_CREATE)
		return WIRE_SA_INSUF_COMPS;
	if (named && (!mgid_valid(&want->mgid) || !ipoib_fits(q, &want->mgid)))
		return WIRE_SA_REQ_INVALID;
	*attr = (struct sa_group_attr){
		.qkey = want->qkey,
		.pkey = want->pkey,
		.flow_label = want->flow_label,
		.tclass = want->tclass,
		.sl = want->sl,
		.hop_limit = sa_asked(q, WIRE_MC_HOP) ? want->hop_limit : 0,
		.mtu = link->mtu,
		.rate = link->rate,
	};
	if (sa_asked_both(q, WIRE_MC_MTU_SEL, WIRE_MC_MTU)) {
		if (want->mtu_sel != WIRE_BEST &&
		    (want->mtu < MTU_LOWEST || want->mtu > MTU_HIGHEST))
			return WIRE_SA_REQ_INVALID;
		attr->mtu = choose(want->mtu_sel, want->mtu, link->mtu, link->mtu - want->mtu,
				   want->mtu - 1);
	}
	if (sa_asked_both(q, WIRE_MC_RATE_SEL, WIRE_MC_RATE)) {
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

struct sa_group *sa_mcast_make(struct sa_query *q, const struct sa_group_attr *attr)
{
	struct sa *sa = q->sa;
	uint64_t now_us = loop_now_us(sa->loop);
	struct sa_group *group = NULL;

	if (sa_asked(q, WIRE_MC_MLID) && !sa_groups_by_mlid(sa->groups, q->mc.mlid))
		group = sa_groups_create(sa->groups, attr, q->mc.mlid, now_us);
	if (!group)
		group = sa_groups_create(sa->groups, attr, 0, now_us);
	if (!group && log_allow(&sa->refused, now_us, 1))
		log_line(LOG_SA, LOG_WARNING,
			 "lid %u: no multicast LID left for a new group: %u are in use, and the "
			 "smallest multicast table of a switch is full",
			 q->from.lid, sa_groups_use(sa->groups)->mlids);
	return group;
}

/* ---- Groups made in advance ------------------------------------------------------------------ */

static struct sa_group_attr attr_of_preset(const struct sa *sa, const struct partition_group *from)
{
	return (struct sa_group_attr){
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

static bool is_listed(const struct sa_group *group, const struct partition_group *list,
		      unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct wire_gid mgid = wire_gid_decode(list[i].mgid);

		if (wire_gid_equal(&mgid, &group->attr.mgid))
			return true;
	}
	return false;
}

/*
 * A group that has members stays what it is for them until they are gone. The life time is the
 * subnet's, and never stands against a join.
 */
void sa_mcast_preset(struct sa *sa, const struct partition_group *list, unsigned count)
{
	uint64_t now_us = loop_now_us(sa->loop);

	for (unsigned mlid = MCAST_FIRST_MLID; mlid <= sa_groups_top(sa->groups); mlid++) {
		struct sa_group *next = sa_groups_by_mlid(sa->groups, (uint16_t)mlid), *group;

		while ((group = next)) {
			next = group->next;
			if (group->preset && !is_listed(group, list, count))
				sa_groups_preset(sa->groups, group, false, now_us);
		}
	}
	for (unsigned i = 0; i < count; i++) {
		const struct sa_group_attr attr = attr_of_preset(sa, &list[i]), *has;
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

/* Its last member may have left since the configuration changed. */
void sa_mcast_renew(struct sa *sa, struct sa_group *group)
{
	const struct partition_set *set = sa->view.partitions;

	if (!group->preset || group->nmembers || !set)
		return;
	for (uint32_t i = 0; i < set->ngroups; i++) {
		const struct sa_group_attr attr = attr_of_preset(sa, &set->groups[i]);

		if (wire_gid_equal(&attr.mgid, &group->attr.mgid))
			group->attr = attr;
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
		struct sa_mcast_share share;

		guid = cl_qmap_key(&in->item);
		share = sa_mcast_share(sa, sa_own_port(sa, guid));
		if (share.groups <= *groups)
			continue;
		*groups = share.groups;
		largest = sa_own_port(sa, guid);
	}
	return largest;
}

/* ---- Life ------------------------------------------------------------------------------------ */

void sa_mcast_init(struct sa *sa)
{
	static const struct sa_groups_ops ops = { .kept = sa_group_kept };

	sa->groups = sa_groups_new(&ops, sa);
}

struct sa_groups *sa_mcast_groups(struct sa *sa)
{
	return sa->groups;
}

void sa_mcast_set_trees(struct sa *sa, const struct mcast_plan *trees)
{
	sa->trees = trees;
}
