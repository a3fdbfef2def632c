/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/sa/sa_mcast.h"
#include "fm/mad/wire_path.h"
#include "fm/mad/wire_sa_comp.h"

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

static bool sa_mcast_asks_mtu(const struct sa_query *q)
{
	return sa_asked(q, WIRE_MC_MTU_SEL) && sa_asked(q, WIRE_MC_MTU);
}

static bool sa_mcast_asks_rate(const struct sa_query *q)
{
	return sa_asked(q, WIRE_MC_RATE_SEL) && sa_asked(q, WIRE_MC_RATE);
}

bool sa_mcast_asks_life(const struct sa_query *q)
{
	return sa_asked(q, WIRE_MC_LIFE_SEL) && sa_asked(q, WIRE_MC_LIFE);
}

bool sa_mcast_quality_fits(const struct sa_query *q, const struct sa_group_attr *attr)
{
	const struct wire_mcmember *want = &q->mc.want;

	if (sa_mcast_asks_mtu(q) && !sa_mcast_selects(want->mtu_sel, attr->mtu - want->mtu))
		return false;
	return !sa_mcast_asks_rate(q) ||
	       (sa_rate_known(want->rate) &&
		sa_mcast_selects(want->rate_sel, sa_rate_compare(attr->rate, want->rate)));
}

bool sa_mcast_pkey_fits(uint16_t a, uint16_t b)
{
	return PKEY_BASE(a) == PKEY_BASE(b) && (a | b) & PKEY_FULL;
}

bool sa_mcast_fits(const struct sa_query *q, const struct sa_group_attr *attr)
{
	const struct wire_mcmember *want = &q->mc.want;

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

uint16_t sa_mcast_pkey_held(const struct sa_query *q, uint32_t port, uint16_t pkey)
{
	return pkey_map_member(q->sa->view.pkeys, port, pkey);
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

static bool mgid_is_zero(const struct wire_gid *mgid)
{
	return !mgid->prefix && !mgid->guid;
}

static uint16_t mgid_signature(const struct wire_gid *mgid)
{
	return (uint16_t)(mgid->prefix >> 32);
}

static bool mgid_is_ipoib(const struct wire_gid *mgid)
{
	return mgid_signature(mgid) == SIGNATURE_IPV4 || mgid_signature(mgid) == SIGNATURE_IPV6;
}

/* o15-0.1.5: SA's own MGIDs of link-local scope are nobody's to name. */
static bool mgid_valid(const struct wire_gid *mgid)
{
	uint8_t flags_scope = (uint8_t)(mgid->prefix >> 48);

	if (mgid->prefix >> 56 != MGID_FIRST)
		return false;
	if (mgid_is_ipoib(mgid))
		return true;
	return !(flags_scope & MGID_FLAGS_NONE) &&
	       !(mgid_signature(mgid) == SIGNATURE_SA && (flags_scope & 0xf) == WIRE_SCOPE_LOCAL);
}

/* The IPv4 broadcast group of the same scope and P_Key. */
static struct wire_gid mgid_broadcast(const struct wire_gid *mgid)
{
	const uint64_t scope = mgid->prefix & 0xfull << 48, pkey = mgid->prefix >> 16 & 0xffff;

	return (struct wire_gid){
		.prefix = 0xff10ull << 48 | scope | (uint64_t)SIGNATURE_IPV4 << 32 | pkey << 16,
		.guid = 0xffffffffull,
	};
}

/* ---- A new group ----------------------------------------------------------------------------- */

/* The MTU of a new group, 0 = none is possible. `most`: what the port's link carries. */
static uint8_t choose_mtu(const struct sa_query *q, uint8_t most)
{
	const struct wire_mcmember *want = &q->mc.want;

	if (!sa_mcast_asks_mtu(q) || want->mtu_sel == WIRE_BEST)
		return most;
	if (want->mtu < MTU_LOWEST || want->mtu > MTU_HIGHEST)
		return 0;
	if (want->mtu_sel == WIRE_GREATER)
		return most > want->mtu ? most : 0;
	if (want->mtu_sel == WIRE_EXACT)
		return want->mtu;
	return want->mtu > most ? most : want->mtu - 1;
}

static uint8_t choose_rate(const struct sa_query *q, uint8_t most)
{
	const struct wire_mcmember *want = &q->mc.want;

	if (!sa_mcast_asks_rate(q) || want->rate_sel == WIRE_BEST)
		return most;
	if (!sa_rate_known(want->rate))
		return 0;
	if (want->rate_sel == WIRE_GREATER)
		return sa_rate_compare(most, want->rate) > 0 ? most : 0;
	if (want->rate_sel == WIRE_EXACT)
		return want->rate;
	return sa_rate_compare(want->rate, most) > 0 ? most : sa_rate_below(want->rate);
}

/* False: no life time is as asked for. */
static bool choose_life(const struct sa_query *q, uint8_t *life)
{
	const struct wire_mcmember *want = &q->mc.want;

	*life = q->sa->conf.subnet_timeout;
	if (!sa_mcast_asks_life(q) || sa_mcast_selects(want->life_sel, *life - want->life))
		return true;
	*life = want->life_sel == WIRE_GREATER ? want->life + 1
		: want->life_sel == WIRE_LESS  ? want->life - 1
					       : want->life;
	return *life <= LIFE_HIGHEST;
}

static bool ipoib_fits(const struct sa_query *q, const struct wire_gid *mgid)
{
	const struct wire_gid broadcast = mgid_broadcast(mgid);
	const struct sa_group *group;

	if (!mgid_is_ipoib(mgid) ||
	    (mgid->prefix == broadcast.prefix && mgid->guid == broadcast.guid))
		return true;
	group = sa_groups_find(q->sa->groups, &broadcast);
	return group && sa_mcast_fits(q, &group->attr);
}

static struct wire_gid mgid_for(const struct sa_query *q)
{
	const struct wire_mcmember *want = &q->mc.want;
	uint8_t scope = sa_asked(q, WIRE_MC_SCOPE) ? want->scope : WIRE_SCOPE_LOCAL;

	if (!mgid_is_zero(&want->mgid))
		return want->mgid;
	return sa_groups_new_mgid(q->sa->groups, q->sa->conf.gid_prefix, scope);
}

/* What the group would be that the request asks to be made. */
enum wire_sa_status sa_mcast_choose(const struct sa_query *q, uint32_t port,
				    struct sa_group_attr *attr)
{
	const struct wire_mcmember *want = &q->mc.want;
	const struct sa_link *link = sa_link(q->sa, port);

	if (!(want->join_state & SA_JOIN_KEEPS))
		return WIRE_SA_REQ_INVALID;
	if (~q->comp_mask & COMPS_TO_CREATE)
		return WIRE_SA_INSUF_COMPS;
	if (!mgid_is_zero(&want->mgid) && (!mgid_valid(&want->mgid) || !ipoib_fits(q, &want->mgid)))
		return WIRE_SA_REQ_INVALID;
	*attr = (struct sa_group_attr){
		.qkey = want->qkey,
		.pkey = want->pkey,
		.flow_label = want->flow_label,
		.tclass = want->tclass,
		.sl = want->sl,
		.hop_limit = sa_asked(q, WIRE_MC_HOP) ? want->hop_limit : 0,
		.mtu = choose_mtu(q, link->mtu),
		.rate = choose_rate(q, link->rate),
	};
	if (!attr->mtu || !attr->rate || !choose_life(q, &attr->life))
		return WIRE_SA_REQ_INVALID;
	attr->mgid = mgid_for(q);
	return WIRE_SA_OK;
}

struct sa_group *sa_mcast_make(struct sa_query *q, const struct sa_group_attr *attr)
{
	struct sa *sa = q->sa;
	uint64_t now_us = loop_now_us(sa->loop);
	struct sa_group *group = NULL;

	if (sa_asked(q, WIRE_MC_MLID) && !sa_groups_by_mlid(sa->groups, q->mc.want.mlid))
		group = sa_groups_create(sa->groups, attr, q->mc.want.mlid, now_us);
	if (!group)
		group = sa_groups_create(sa->groups, attr, 0, now_us);
	if (!group && log_allow(&sa->refused, now_us, 1))
		log_line(LOG_SA, LOG_WARNING,
			 "lid %u: no multicast LID left for a new group: %u are in use, and the "
			 "smallest multicast table of a switch is full",
			 q->from.lid, sa_groups_mlids(sa->groups));
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

/* Members see these. The life time is the subnet's, and never stands against a join. */
static bool is_like(const struct sa_group_attr *a, const struct sa_group_attr *b)
{
	return a->qkey == b->qkey && a->flow_label == b->flow_label && a->mtu == b->mtu &&
	       a->rate == b->rate && a->tclass == b->tclass && a->sl == b->sl &&
	       a->hop_limit == b->hop_limit;
}

static void log_unlike(struct sa *sa, const struct sa_group *group,
		       const struct sa_group_attr *attr)
{
	if (!is_like(&group->attr, attr))
		sa_log(sa,
		       "multicast LID 0x%x of partition 0x%04x keeps its parameters while it has "
		       "%u members (mtu %u, rate %u, sl %u); configured are mtu %u, rate %u, sl %u",
		       group->mlid, attr->pkey, group->nmembers, group->attr.mtu, group->attr.rate,
		       group->attr.sl, attr->mtu, attr->rate, attr->sl);
}

/* One that has members stays what it is for them until they are gone. */
static void preset_one(struct sa *sa, const struct partition_group *from)
{
	const struct sa_group_attr attr = attr_of_preset(sa, from);
	struct sa_group *group = sa_groups_find(sa->groups, &attr.mgid);
	uint64_t now_us = loop_now_us(sa->loop);

	if (!group)
		group = sa_groups_create(sa->groups, &attr, 0, now_us);
	else if (!group->nmembers)
		group->attr = attr;
	else
		log_unlike(sa, group, &attr);
	if (group)
		sa_groups_preset(sa->groups, group, true, now_us);
	else
		log_line(LOG_SA, LOG_ERR,
			 "partition 0x%04x: no multicast LID is left for its group", from->pkey);
}

static bool is_listed(const struct sa_group *group, const struct partition_group *list,
		      unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct wire_gid mgid = wire_gid_decode(list[i].mgid);

		if (mgid.prefix == group->attr.mgid.prefix && mgid.guid == group->attr.mgid.guid)
			return true;
	}
	return false;
}

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
	for (unsigned i = 0; i < count; i++)
		preset_one(sa, &list[i]);
}

/* Its last member may have left since the configuration changed. */
void sa_mcast_renew(struct sa *sa, struct sa_group *group)
{
	const struct partition_set *set = sa->view.partitions;

	if (!group->preset || group->nmembers || !set)
		return;
	for (uint32_t i = 0; i < set->ngroups; i++) {
		const struct sa_group_attr attr = attr_of_preset(sa, &set->groups[i]);

		if (attr.mgid.prefix == group->attr.mgid.prefix &&
		    attr.mgid.guid == group->attr.mgid.guid)
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
		guid_t own;

		guid = sa_group_port_guid(in);
		own = sa_alias_port(sa, guid);
		share = sa_mcast_share(sa, own ? own : guid);
		if (share.groups <= *groups)
			continue;
		*groups = share.groups;
		largest = own ? own : guid;
	}
	return largest;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void group_kept(void *arg, const struct sa_group *group, bool kept)
{
	sa_group_changed(arg, &group->attr.mgid, group->attr.pkey, kept);
}

static void groups_changed(void *arg, uint16_t mlid)
{
	const struct sa *sa = arg;

	if (sa->groups_ops)
		sa->groups_ops->changed(sa->groups_arg, mlid);
}

static void group_recorded(void *arg, const struct sa_group *group, const struct sa_member *member,
			   bool gone)
{
	const struct sa *sa = arg;

	if (sa->groups_ops)
		sa->groups_ops->record(sa->groups_arg, group, member, gone);
}

void sa_mcast_init(struct sa *sa)
{
	static const struct sa_groups_ops ops = { .changed = groups_changed,
						  .kept = group_kept,
						  .record = group_recorded };

	sa->groups = sa_groups_new(&ops, sa);
}

void sa_mcast_fini(struct sa *sa)
{
	sa_groups_free(sa->groups);
}

struct sa_groups *sa_mcast_groups(struct sa *sa)
{
	return sa->groups;
}

void sa_mcast_follow(struct sa *sa, const struct sa_groups_ops *ops, void *arg)
{
	sa->groups_ops = ops;
	sa->groups_arg = arg;
}

void sa_mcast_set_trees(struct sa *sa, const struct mcast_plan *trees)
{
	sa->trees = trees;
}
