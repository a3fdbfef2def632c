/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/sa/sa_path.h"
#include <string.h>
#include "fm/mad/wire_path.h"
#include "fm/sa/sa_mcast.h"
#include "routing/path.h"

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

/*
 * Paths between ports, for PathRecord and MultiPathRecord: what a packet from one LID to another
 * will meet, by walking the tables in force.
 *
 * Between ports with several LIDs each the pairs (first, first), (second, second) .. come first,
 * with preference 0, the others after, with 2.
 *
 * A path is reversible when the return path works too; then it promises no more than either
 * direction holds: the smaller MTU and the lower rate. When only the forward direction meets what
 * is asked for, the path is given as not reversible.
 *
 * A selector next to a value asks for greater, less, exactly, or the best there is; "less" turns
 * the value down to the next lower, for a path can always carry less.
 *
 * There are paths between ports that share a partition with each other and with who asks; the SL is
 * the partition's unless another is asked for.
 */

#define LINK_LOCAL_PREFIX 0xfe80000000000000ull
#define MTU_LOWEST	  1 /* 256 bytes: what any port carries */
#define MTU_HIGHEST	  5
#define RATE_HIGHEST	  26

struct quality {
	uint8_t mtu, rate, life; /* codes */
};

/* ---- Ends ------------------------------------------------------------------------------------ */

enum wire_sa_status sa_end_find(const struct sa *sa, const struct wire_gid *gid, uint16_t lid,
				struct sa_end *end)
{
	uint32_t by_lid;

	*end = (struct sa_end){ .port = TOPO_NONE, .lid = lid, .named = gid || lid };
	if (gid) {
		if (gid->prefix != sa->conf.gid_prefix && gid->prefix != LINK_LOCAL_PREFIX)
			return WIRE_SA_INVALID_GID;
		end->port = sa_port_by_guid(sa, gid->guid);
		if (end->port == TOPO_NONE)
			return WIRE_SA_NO_RECORDS;
	}
	if (!lid)
		return WIRE_SA_OK;
	by_lid = sa_port_by_lid(sa, lid);
	if (by_lid == TOPO_NONE)
		return WIRE_SA_NO_RECORDS;
	if (gid && by_lid != end->port)
		return WIRE_SA_REQ_INVALID;
	end->port = by_lid;
	return WIRE_SA_OK;
}

enum wire_sa_status sa_path_source(struct sa_query *q)
{
	const struct wire_path_record *want = &q->path.want;

	if (sa_asked(q, WIRE_PATH_SLID) && !want->slid)
		return WIRE_SA_NO_RECORDS;
	return sa_end_find(q->sa, sa_asked(q, WIRE_PATH_SGID) ? &want->sgid : NULL,
			   sa_asked(q, WIRE_PATH_SLID) ? want->slid : 0, &q->path.src);
}

/* ---- The path -------------------------------------------------------------------------------- */

static void quality_narrow(struct quality *quality, uint8_t mtu, uint8_t rate)
{
	if (mtu < quality->mtu)
		quality->mtu = mtu;
	if (sa_rate_compare(rate, quality->rate) < 0)
		quality->rate = rate;
}

static bool path_walk(struct sa *sa, uint32_t from, uint16_t to_lid, struct quality *quality)
{
	const struct topo *t = sa->view.topo;
	struct path path;

	if (path_trace(t, sa->view.lids, sa->view.tables, from, to_lid, &path))
		return false;
	for (unsigned i = 0; i + 1 < path.count; i++) {
		const struct path_hop *hop = &path.hops[i];
		const struct sa_link *link = sa_link(sa, t->nodes[hop->node].port0 + hop->out_port);

		quality_narrow(quality, link->mtu, link->rate);
	}
	return true;
}

static struct quality quality_of_ends(struct sa *sa, uint32_t src, uint32_t dst)
{
	struct quality quality = { .mtu = MTU_HIGHEST, .rate = RATE_HIGHEST };

	quality_narrow(&quality, sa_link(sa, src)->mtu, sa_link(sa, src)->rate);
	quality_narrow(&quality, sa_link(sa, dst)->mtu, sa_link(sa, dst)->rate);
	quality.life = src == dst ? 0 : sa->conf.subnet_timeout;
	return quality;
}

/* ---- What is asked for ----------------------------------------------------------------------- */

static bool select_life(const struct sa_query *q, struct quality *quality)
{
	uint8_t want = q->path.want.life;

	if (!sa_asked(q, WIRE_PATH_LIFE_SEL) || !sa_asked(q, WIRE_PATH_LIFE))
		return true;
	switch (q->path.want.life_sel) {
	case WIRE_GREATER:
		return quality->life > want;
	case WIRE_LESS:
		if (quality->life < want)
			return true;
		quality->life = want - 1; /* unused when that is nothing */
		return want > 1;
	case WIRE_EXACT:
		if (quality->life < want)
			return false;
		quality->life = want;
		return true;
	default:
		return true;
	}
}

static bool select_mtu(const struct sa_query *q, struct quality *quality)
{
	uint8_t want = q->path.want.mtu;

	if (!sa_asked(q, WIRE_PATH_MTU_SEL) || !sa_asked(q, WIRE_PATH_MTU))
		return true;
	switch (q->path.want.mtu_sel) {
	case WIRE_GREATER:
		return quality->mtu > want;
	case WIRE_LESS:
		if (quality->mtu >= want)
			quality->mtu = want - 1;
		return quality->mtu >= MTU_LOWEST;
	case WIRE_EXACT:
		if (quality->mtu < want)
			return false;
		quality->mtu = want;
		return true;
	default:
		return true;
	}
}

static bool select_rate(const struct sa_query *q, struct quality *quality)
{
	uint8_t want = q->path.want.rate;

	if (!sa_asked(q, WIRE_PATH_RATE_SEL) || !sa_asked(q, WIRE_PATH_RATE))
		return true;
	switch (q->path.want.rate_sel) {
	case WIRE_GREATER:
		return sa_rate_compare(quality->rate, want) > 0;
	case WIRE_LESS:
		if (sa_rate_compare(quality->rate, want) >= 0)
			quality->rate = sa_rate_below(want);
		return quality->rate != 0;
	case WIRE_EXACT:
		return sa_rate_compare(quality->rate, want) == 0;
	default:
		return true;
	}
}

static bool select_all(const struct sa_query *q, struct quality *quality)
{
	return select_mtu(q, quality) && select_rate(q, quality) && select_life(q, quality);
}

static bool is_raw(const struct sa_query *q)
{
	return sa_asked(q, WIRE_PATH_RAW) && q->path.want.raw;
}

/* ---- Partitions ------------------------------------------------------------------------------ */

/*
 * Both ends may talk in the partition that is asked for, or in any; and who asks may know of both.
 */
static bool pair_allowed(const struct sa_query *q, uint32_t src, uint32_t dst)
{
	const struct pkey_map *pkeys = q->sa->view.pkeys;
	bool any = is_raw(q) || !sa_asked(q, WIRE_PATH_PKEY);

	if (!pkeys)
		return any || PKEY_BASE(q->path.want.pkey) == PKEY_BASE(SA_DEFAULT_PKEY);
	if (!sa_shown(q, src) || !sa_shown(q, dst))
		return false;
	return any ? pkey_map_shared(pkeys, src, dst) != 0
		   : pkey_map_talk(pkeys, src, dst, q->path.want.pkey);
}

static uint16_t pkey_of(const struct sa_query *q, uint32_t src, uint32_t dst)
{
	if (is_raw(q))
		return 0;
	return sa_asked(q, WIRE_PATH_PKEY) ? q->path.want.pkey
					   : pkey_map_shared(q->sa->view.pkeys, src, dst);
}

/* Any SL is granted that leads somewhere; who does not ask gets the partition's. */
static bool select_sl(const struct sa_query *q, uint16_t pkey, uint8_t *sl)
{
	const struct partition_set *set = q->sa->view.partitions;
	const struct partition *part = set && pkey ? partition_find(set, pkey) : NULL;

	*sl = sa_asked(q, WIRE_PATH_SL) ? q->path.want.sl : part ? part->sl : 0;
	return !(q->sa->view.sls_dropped >> *sl & 1);
}

/* ---- One pair of LIDs ------------------------------------------------------------------------ */

/* Finds the quality between two LIDs; false = no such path, or none that meets the request. */
static bool path_find(const struct sa_query *q, const struct sa_end *src, const struct sa_end *dst,
		      struct quality *quality, bool *reversible)
{
	struct quality there = quality_of_ends(q->sa, src->port, dst->port), both;

	*reversible = true;
	if (src->port == dst->port) {
		*quality = there;
		return select_all(q, quality);
	}
	if (!path_walk(q->sa, src->port, dst->lid, &there))
		return false;
	both = there;
	if (path_walk(q->sa, dst->port, src->lid, &both) && select_all(q, &both)) {
		*quality = both;
		return true;
	}
	*reversible = false;
	if (sa_asked(q, WIRE_PATH_REVERSIBLE) && q->path.want.reversible)
		return false;
	*quality = there;
	return select_all(q, quality);
}

static struct wire_gid gid_of(const struct sa *sa, uint32_t port)
{
	return (struct wire_gid){ sa->conf.gid_prefix, sa->view.topo->ports[port].guid };
}

static void path_add(struct sa_query *q, const struct sa_end *src, const struct sa_end *dst,
		     uint8_t preference)
{
	const struct wire_path_record *want = &q->path.want;
	struct quality quality;
	struct wire_path_record rec;
	uint16_t pkey = pkey_of(q, src->port, dst->port);
	bool reversible;
	uint8_t *row, sl;

	q->work += SA_PATH_WORK;
	if (!select_sl(q, pkey, &sl) || !path_find(q, src, dst, &quality, &reversible))
		return;
	rec = (struct wire_path_record){
		.sgid = sa_asked(q, WIRE_PATH_SGID) ? want->sgid : gid_of(q->sa, src->port),
		.dgid = sa_asked(q, WIRE_PATH_DGID) ? want->dgid : gid_of(q->sa, dst->port),
		.slid = src->lid,
		.dlid = dst->lid,
		.raw = is_raw(q),
		.reversible = reversible,
		.pkey = pkey,
		.sl = sl,
		.mtu_sel = WIRE_EXACT,
		.mtu = quality.mtu,
		.rate_sel = WIRE_EXACT,
		.rate = sa_rate_clip(quality.rate, sa_link(q->sa, src->port)->knows),
		.life_sel = WIRE_EXACT,
		.life = quality.life,
		.preference = preference,
	};
	if (reversible)
		rec.rate = sa_rate_clip(rec.rate, sa_link(q->sa, dst->port)->knows);
	row = sa_row(q);
	if (!row)
		return;
	wire_path_record_encode(&rec, row);
	sa_row_add(q);
}

/* ---- One pair of ports, with all their LIDs -------------------------------------------------- */

struct lids {
	struct sa_end end;
	unsigned count;
};

static struct lids lids_of(const struct sa *sa, uint32_t port, const struct sa_end *asked)
{
	struct lids lids = { .end = { .port = port, .lid = asked->lid }, .count = 1 };

	if (asked->lid)
		return lids;
	lids.end.lid = sa_port_lid(sa, port);
	while (sa_port_by_lid(sa, (uint16_t)(lids.end.lid + lids.count)) == port)
		lids.count++;
	return lids;
}

static uint32_t paths_wanted(const struct sa_query *q)
{
	if (q->method == WIRE_GET)
		return 1;
	if (q->method == WIRE_GET_MULTI) /* of all pairs together */
		return q->limit - q->nrows;
	return sa_asked(q, WIRE_PATH_NUM_PATH) ? q->path.want.num_path : UINT32_MAX;
}

static void pair_of_lids(struct sa_query *q, const struct lids *src, unsigned s,
			 const struct lids *dst, unsigned d)
{
	struct sa_end from = src->end, to = dst->end;

	from.lid = (uint16_t)(from.lid + s);
	to.lid = (uint16_t)(to.lid + d);
	path_add(q, &from, &to, s == d ? 0 : 2);
}

void sa_paths_between(struct sa_query *q, uint32_t from, uint32_t to)
{
	struct lids src = lids_of(q->sa, from, &q->path.src);
	struct lids dst = lids_of(q->sa, to, &q->path.dst);
	uint32_t wanted = paths_wanted(q), had = q->nrows;

	if (!src.end.lid || !dst.end.lid || !pair_allowed(q, from, to))
		return;
	for (unsigned i = 0; i < src.count && i < dst.count && q->nrows - had < wanted; i++)
		pair_of_lids(q, &src, i, &dst, i);
	for (unsigned s = 0; s < src.count; s++)
		for (unsigned d = 0; d < dst.count && q->nrows - had < wanted; d++)
			if (s != d)
				pair_of_lids(q, &src, s, &dst, d);
}

void sa_path_between(struct sa_query *q, uint32_t src, uint32_t dst, unsigned round)
{
	struct lids from = lids_of(q->sa, src, &q->path.src),
		    to = lids_of(q->sa, dst, &q->path.dst);

	q->work++;
	if (from.end.lid && to.end.lid && round < from.count && round < to.count &&
	    pair_allowed(q, src, dst))
		pair_of_lids(q, &from, round, &to, round);
}

/* ---- What is valid --------------------------------------------------------------------------- */

static bool value_valid(const struct sa_query *q)
{
	const struct wire_path_record *want = &q->path.want;

	if (sa_asked(q, WIRE_PATH_RATE_SEL) && sa_asked(q, WIRE_PATH_RATE) &&
	    !sa_rate_known(want->rate))
		return false;
	return !sa_asked(q, WIRE_PATH_MTU_SEL) || !sa_asked(q, WIRE_PATH_MTU) ||
	       (want->mtu >= MTU_LOWEST && want->mtu <= MTU_HIGHEST);
}

enum wire_sa_status sa_path_values(const struct sa_query *q)
{
	if (!value_valid(q))
		return WIRE_SA_REQ_INVALID;
	if (sa_asked(q, WIRE_PATH_SERVICE_ID_MSB) != sa_asked(q, WIRE_PATH_SERVICE_ID_LSB))
		return WIRE_SA_INSUF_COMPS;
	return WIRE_SA_OK;
}
