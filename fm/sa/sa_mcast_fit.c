/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a request asks of a multicast group, and the group as a record.
 */
#include "fm/mad/wire_path.h"
#include "fm/sa/sa_mcast.h"

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

bool sa_mcast_asks_mtu(const struct sa_query *q)
{
	return sa_asked(q, WIRE_MC_MTU_SEL) && sa_asked(q, WIRE_MC_MTU);
}

bool sa_mcast_asks_rate(const struct sa_query *q)
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
