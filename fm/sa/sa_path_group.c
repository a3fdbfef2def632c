/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * PathRecords to multicast groups (IBA 15.2.5.16). A request names the MGID, the MLID, or both,
 * which must then agree.
 *
 * The group alone determines MTU, rate and SL of such a path, because a port joins only if its link
 * carries them. A source that the request names must be a member, as clients know it from OpenSM.
 * The requester must be in the group's partition; for any other there is no such group. No path
 * leads back from a group, so the path is not reversible, whatever was requested.
 *
 * There is one row a group. Groups of IPv6 solicited nodes may share an MLID, which then has
 * several rows.
 */
#include "fm/mad/wire_path.h"
#include "fm/sa/sa_mcast.h"
#include "fm/sa/sa_path.h"

#define MULTICAST_PREFIX   0xff
#define HOP_LIMIT_ANYWHERE 255 /* of groups that are not of this subnet alone */

static bool is_mlid(uint16_t lid)
{
	return lid >= MCAST_FIRST_MLID && lid <= SA_LAST_MLID;
}

bool sa_path_to_group(const struct sa_query *q)
{
	const struct wire_path_record *want = &q->path.want;

	return sa_asked(q, WIRE_PATH_DGID) ? want->dgid.prefix >> 56 == MULTICAST_PREFIX
					   : sa_asked(q, WIRE_PATH_DLID) && is_mlid(want->dlid);
}

/* The item is the MLID; none when there is no such group. */
enum wire_sa_status sa_path_group_prepare(struct sa_query *q)
{
	const struct wire_path_record *want = &q->path.want;
	const struct sa_group *group;
	enum wire_sa_status status = sa_path_source(q);

	if (status)
		return status == WIRE_SA_NO_RECORDS ? WIRE_SA_OK : status;
	q->item = q->end = want->dlid;
	if (sa_asked(q, WIRE_PATH_DGID)) {
		group = sa_groups_find(q->sa->groups, &want->dgid);
		if (!group)
			return WIRE_SA_OK;
		q->item = q->end = group->mlid;
	}
	if (q->method == WIRE_GET)
		q->limit = 1;
	else if (sa_asked(q, WIRE_PATH_NUM_PATH))
		q->limit = want->num_path;
	q->end++;
	return WIRE_SA_OK;
}

/* ---- What is asked of the group -------------------------------------------------------------- */

static bool is_source(const struct sa_query *q, const struct sa_group *group)
{
	uint32_t port = q->path.src.port;
	guid_t guid;

	if (port == TOPO_NONE)
		return true;
	guid = sa_asked(q, WIRE_PATH_SGID) ? q->path.want.sgid.guid
					   : q->sa->view.topo->ports[port].guid;
	return sa_shown(q, port) && sa_group_member(group, guid);
}

static bool is_destination(const struct sa_query *q, const struct sa_group *group)
{
	const struct wire_gid *want = &q->path.want.dgid, *mgid = &group->attr.mgid;

	if (sa_asked(q, WIRE_PATH_DLID) && q->path.want.dlid != group->mlid)
		return false;
	return !sa_asked(q, WIRE_PATH_DGID) ||
	       (want->prefix == mgid->prefix && want->guid == mgid->guid);
}

static bool quality_fits(const struct sa_query *q, const struct sa_group_attr *attr)
{
	const struct wire_path_record *want = &q->path.want;

	if (sa_asked(q, WIRE_PATH_MTU_SEL) && sa_asked(q, WIRE_PATH_MTU) &&
	    !sa_mcast_selects(want->mtu_sel, attr->mtu - want->mtu))
		return false;
	if (sa_asked(q, WIRE_PATH_RATE_SEL) && sa_asked(q, WIRE_PATH_RATE) &&
	    !sa_mcast_selects(want->rate_sel, sa_rate_compare(attr->rate, want->rate)))
		return false;
	return !sa_asked(q, WIRE_PATH_LIFE_SEL) || !sa_asked(q, WIRE_PATH_LIFE) ||
	       sa_mcast_selects(want->life_sel, attr->life - want->life);
}

static uint8_t hop_limit_of(const struct sa_group_attr *attr)
{
	return sa_group_scope(attr) == WIRE_SCOPE_LOCAL ? attr->hop_limit : HOP_LIMIT_ANYWHERE;
}

static bool header_fits(const struct sa_query *q, const struct sa_group_attr *attr)
{
	const struct wire_path_record *want = &q->path.want;

	return (!sa_asked(q, WIRE_PATH_PKEY) || sa_mcast_pkey_fits(want->pkey, attr->pkey)) &&
	       (!sa_asked(q, WIRE_PATH_SL) || want->sl == attr->sl) &&
	       (!sa_asked(q, WIRE_PATH_FLOW) || want->flow_label == attr->flow_label) &&
	       (!sa_asked(q, WIRE_PATH_HOP) || want->hop_limit == attr->hop_limit ||
		want->hop_limit == hop_limit_of(attr)) &&
	       (!sa_asked(q, WIRE_PATH_TCLASS) || want->tclass == attr->tclass);
}

static bool is_asked_for(const struct sa_query *q, const struct sa_group *group)
{
	const struct sa_group_attr *attr = &group->attr;

	return q->asker != TOPO_NONE && sa_mcast_pkey_held(q, q->asker, attr->pkey) &&
	       is_destination(q, group) && is_source(q, group) && header_fits(q, attr) &&
	       quality_fits(q, attr);
}

/* ---- The answer ------------------------------------------------------------------------------ */

/* The source, as far as it was named. */
static struct wire_gid source_gid(const struct sa_query *q)
{
	uint32_t port = q->path.src.port;

	if (sa_asked(q, WIRE_PATH_SGID))
		return q->path.want.sgid;
	if (port == TOPO_NONE)
		return (struct wire_gid){ 0 };
	return (struct wire_gid){ q->sa->conf.gid_prefix, q->sa->view.topo->ports[port].guid };
}

static uint16_t source_lid(const struct sa_query *q)
{
	uint32_t port = q->path.src.port;

	if (sa_asked(q, WIRE_PATH_SLID))
		return q->path.want.slid;
	return port == TOPO_NONE ? 0 : sa_port_lid(q->sa, port);
}

static void group_row(struct sa_query *q, const struct sa_group *group)
{
	const struct sa_group_attr *attr = &group->attr;
	const struct wire_path_record rec = {
		.dgid = attr->mgid,
		.sgid = source_gid(q),
		.dlid = group->mlid,
		.slid = source_lid(q),
		.flow_label = attr->flow_label,
		.hop_limit = hop_limit_of(attr),
		.tclass = attr->tclass,
		.num_path = 1,
		.pkey = attr->pkey,
		.sl = attr->sl,
		.mtu_sel = WIRE_EXACT,
		.mtu = attr->mtu,
		.rate_sel = WIRE_EXACT,
		.rate = attr->rate,
		.life_sel = WIRE_EXACT,
		.life = attr->life,
	};
	uint8_t *row = sa_row(q);

	if (!row)
		return;
	wire_path_record_encode(&rec, row);
	sa_row_add(q);
}

void sa_path_group_emit(struct sa_query *q, uint32_t item)
{
	const struct sa_group *group = sa_groups_by_mlid(q->sa->groups, (uint16_t)item);

	for (; group && q->nrows < q->limit; group = group->next) {
		q->work++;
		if (is_asked_for(q, group))
			group_row(q, group);
	}
}
