/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/mad/wire_sa.h"
#include "fm/sa/sa_impl.h"
#include "routing/path.h"

/* ---- Paths between ports, and to groups ------------------------------------------------------ */

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

/* True: the destination of the request is a group, by MGID or MLID. */
static bool sa_path_to_group(const struct sa_query *q)
{
	const struct wire_path_record *want = &q->path.want;

	return sa_asked(q, WIRE_PATH(dgid))
		       ? want->dgid.prefix >> 56 == MULTICAST_PREFIX
		       : sa_asked(q, WIRE_PATH(dlid)) && want->dlid >= MCAST_FIRST_MLID &&
				 want->dlid <= SA_LAST_MLID;
}

/* ---- What is asked of the group -------------------------------------------------------------- */

static uint8_t hop_limit_of(const struct wire_mcmember *attr)
{
	return sa_group_scope(attr) == WIRE_SCOPE_LOCAL ? attr->hop_limit : HOP_LIMIT_ANYWHERE;
}

static bool is_asked_for(const struct sa_query *q, const struct sa_group *group)
{
	const struct wire_path_record *want = &q->path.want;
	const struct wire_mcmember *attr = &group->attr;
	uint32_t src = q->path.src.port;

	if (q->requester == TOPO_NONE ||
	    !pkey_map_member(q->sa->view.pkeys, q->requester, attr->pkey) ||
	    (sa_asked(q, WIRE_PATH(dlid)) && want->dlid != group->mlid) ||
	    (sa_asked(q, WIRE_PATH(dgid)) && !wire_gid_equal(&want->dgid, &attr->mgid)) ||
	    (src != TOPO_NONE &&
	     (!sa_shown(q, src) ||
	      !sa_group_member(group, sa_asked(q, WIRE_PATH(sgid))
					      ? want->sgid.guid
					      : q->sa->view.topo->ports[src].guid))))
		return false;
	return sa_mcast_selects(q, WIRE_PATH(mtu_sel), want->mtu_sel, attr->mtu - want->mtu) &&
	       sa_mcast_selects(q, WIRE_PATH(rate_sel), want->rate_sel,
				sa_rate_compare(attr->rate, want->rate)) &&
	       sa_mcast_selects(q, WIRE_PATH(life_sel), want->life_sel, attr->life - want->life) &&
	       (!sa_asked(q, WIRE_PATH(pkey)) || sa_mcast_pkey_fits(want->pkey, attr->pkey)) &&
	       (!sa_asked(q, WIRE_PATH(sl)) || want->sl == attr->sl) &&
	       (!sa_asked(q, WIRE_PATH(flow_label)) || want->flow_label == attr->flow_label) &&
	       (!sa_asked(q, WIRE_PATH(hop_limit)) || want->hop_limit == attr->hop_limit ||
		want->hop_limit == hop_limit_of(attr)) &&
	       (!sa_asked(q, WIRE_PATH(tclass)) || want->tclass == attr->tclass);
}

/* ---- The answer ------------------------------------------------------------------------------ */

static struct wire_gid gid_of(const struct sa *sa, uint32_t port)
{
	return (struct wire_gid){ sa->conf.gid_prefix, sa->view.topo->ports[port].guid };
}

/* Rows show the source as far as it was named. */
static void sa_path_group_emit(struct sa_query *q, uint32_t item)
{
	const struct sa_group *group = sa_groups_by_mlid(q->sa->groups, item);
	const struct wire_path_record *want = &q->path.want;
	uint32_t src = q->path.src.port;

	for (; group && q->nrows < q->limit; group = group->next) {
		const struct wire_mcmember *attr = &group->attr;

		q->work++;

		uint8_t *row = is_asked_for(q, group) ? sa_row(q) : NULL;

		if (!row)
			continue;

		struct wire_path_record rec = {
			.dgid = attr->mgid,
			.sgid = sa_asked(q, WIRE_PATH(sgid)) ? want->sgid
				: src == TOPO_NONE	     ? (struct wire_gid){ 0 }
							     : gid_of(q->sa, src),
			.dlid = group->mlid,
			.slid = sa_asked(q, WIRE_PATH(slid)) ? want->slid
				: src == TOPO_NONE	     ? 0
							     : sa_port_lid(q->sa, src),
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

		wire_path_record_encode(&rec, row);
		sa_row_add(q);
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

/*
 * Finds the end that has this GID (NULL = any), this LID (0 = any), or both. NO_RECORDS: nothing in
 * the fabric has.
 */
static enum wire_sa_status sa_end_find(const struct sa *sa, const struct wire_gid *gid,
				       uint16_t lid, struct sa_end *end)
{
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

	uint32_t by_lid = sa_port_by_lid(sa, lid);

	if (by_lid == TOPO_NONE)
		return WIRE_SA_NO_RECORDS;
	if (gid && by_lid != end->port)
		return WIRE_SA_REQ_INVALID;
	end->port = by_lid;
	return WIRE_SA_OK;
}

/* into q->path.src */
static enum wire_sa_status sa_path_source(struct sa_query *q)
{
	const struct wire_path_record *want = &q->path.want;

	if (sa_asked(q, WIRE_PATH(slid)) && !want->slid)
		return WIRE_SA_NO_RECORDS;
	return sa_end_find(q->sa, sa_asked(q, WIRE_PATH(sgid)) ? &want->sgid : NULL,
			   sa_asked(q, WIRE_PATH(slid)) ? want->slid : 0, &q->path.src);
}

/* ---- The path -------------------------------------------------------------------------------- */

static void quality_narrow(struct quality *quality, uint8_t mtu, uint8_t rate)
{
	if (mtu < quality->mtu)
		quality->mtu = mtu;
	if (rate != quality->rate && sa_rate_compare(rate, quality->rate) < 0)
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

/* ---- What is asked for ----------------------------------------------------------------------- */

/*
 * An MTU or a rate, compared with the wanted one. False: it is not as asked for. A path may promise
 * less: `below` is the next lower value than the wanted one, 0 = there is none.
 */
static bool select_value(uint8_t selector, int compared, uint8_t below, uint8_t *value)
{
	switch (selector) {
	case WIRE_GREATER:
		return compared > 0;
	case WIRE_LESS:
		if (compared >= 0)
			*value = below;
		return *value != 0;
	case WIRE_EXACT:
		return compared == 0;
	default:
		return true;
	}
}

static bool select_all(const struct sa_query *q, struct quality *quality)
{
	const struct wire_path_record *want = &q->path.want;

	if (sa_asked_both(q, WIRE_PATH(mtu_sel), WIRE_PATH(mtu))) {
		if (want->mtu_sel == WIRE_EXACT && quality->mtu > want->mtu)
			quality->mtu = want->mtu;
		if (!select_value(want->mtu_sel, quality->mtu - want->mtu, want->mtu - 1,
				  &quality->mtu))
			return false;
	}
	if (sa_asked_both(q, WIRE_PATH(rate_sel), WIRE_PATH(rate)) &&
	    !select_value(want->rate_sel, sa_rate_compare(quality->rate, want->rate),
			  sa_rate_below(want->rate), &quality->rate))
		return false;
	/* Less may be promised of MTU and rate, but packets live as long as they do. */
	return sa_mcast_selects(q, WIRE_PATH(life_sel), want->life_sel, quality->life - want->life);
}

/* ---- Partitions ------------------------------------------------------------------------------ */

static bool is_raw(const struct sa_query *q)
{
	return sa_asked(q, WIRE_PATH(raw)) && q->path.want.raw;
}

/*
 * Both ends may talk in the partition that is asked for, or in any; and who asks may know of both.
 */
static bool pair_allowed(const struct sa_query *q, uint32_t src, uint32_t dst)
{
	const struct pkey_map *pkeys = q->sa->view.pkeys;
	bool any = is_raw(q) || !sa_asked(q, WIRE_PATH(pkey));

	if (!pkeys)
		return any || PKEY_BASE(q->path.want.pkey) == PKEY_BASE(SA_DEFAULT_PKEY);
	if (!sa_shown(q, src) || !sa_shown(q, dst))
		return false;
	return any ? pkey_map_shared(pkeys, src, dst) != 0
		   : pkey_map_talk(pkeys, src, dst, q->path.want.pkey);
}

/* ---- One pair of LIDs ------------------------------------------------------------------------ */

/* False: there is no such path now; the request may be left unanswered. */
static bool is_in_force(struct sa_query *q, uint32_t from, uint16_t lid)
{
	enum sa_gate gate = q->sa->gate ? q->sa->gate(q->sa->gate_arg, from, lid) : SA_GATE_OPEN;

	if (gate == SA_GATE_SOON)
		q->status = SA_UNANSWERED;
	return gate == SA_GATE_OPEN;
}

/* Finds the quality between two LIDs; false = no such path, or none that meets the request. */
static bool path_find(struct sa_query *q, const struct sa_end *src, const struct sa_end *dst,
		      struct quality *quality, bool *reversible)
{
	const struct sa_link *from = sa_link(q->sa, src->port), *to = sa_link(q->sa, dst->port);
	struct quality there = { .mtu = MTU_HIGHEST, .rate = RATE_HIGHEST }, both;

	quality_narrow(&there, from->mtu, from->rate);
	quality_narrow(&there, to->mtu, to->rate);
	there.life = src->port == dst->port ? 0 : q->sa->conf.subnet_timeout;
	*reversible = true;
	if (src->port == dst->port) {
		*quality = there;
		return select_all(q, quality);
	}
	if (!path_walk(q->sa, src->port, dst->lid, &there) || !is_in_force(q, src->port, dst->lid))
		return false;
	both = there;
	if (path_walk(q->sa, dst->port, src->lid, &both) && is_in_force(q, dst->port, src->lid) &&
	    select_all(q, &both)) {
		*quality = both;
		return true;
	}
	*reversible = false;
	if (sa_asked(q, WIRE_PATH(reversible)) && q->path.want.reversible)
		return false;
	*quality = there;
	return select_all(q, quality);
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
	while (sa_port_by_lid(sa, lids.end.lid + lids.count) == port)
		lids.count++;
	return lids;
}

/* The s-th LID of the one, the d-th of the other. */
static void path_add(struct sa_query *q, const struct lids *from, unsigned s, const struct lids *to,
		     unsigned d)
{
	const struct wire_path_record *want = &q->path.want;
	const struct sa_view *view = &q->sa->view;
	const struct sa_end src = { from->end.port, from->end.lid + s, false };
	const struct sa_end dst = { to->end.port, to->end.lid + d, false };
	const struct partition *part = NULL;
	struct quality quality;
	uint16_t pkey = 0;
	bool reversible;

	q->work += SA_PATH_WORK;
	if (!is_raw(q))
		pkey = sa_asked(q, WIRE_PATH(pkey))
			       ? want->pkey
			       : pkey_map_shared(view->pkeys, src.port, dst.port);
	if (view->partitions && pkey)
		part = partition_find(view->partitions, pkey);

	/* Any SL is granted that leads somewhere; who does not ask gets the partition's. */
	uint8_t sl = sa_asked(q, WIRE_PATH(sl)) ? want->sl : part ? part->sl : 0;

	if (view->sls_dropped >> sl & 1 || !path_find(q, &src, &dst, &quality, &reversible))
		return;

	struct wire_path_record rec = {
		.sgid = sa_asked(q, WIRE_PATH(sgid)) ? want->sgid : gid_of(q->sa, src.port),
		.dgid = sa_asked(q, WIRE_PATH(dgid)) ? want->dgid : gid_of(q->sa, dst.port),
		.slid = src.lid,
		.dlid = dst.lid,
		.raw = is_raw(q),
		.reversible = reversible,
		.pkey = pkey,
		.sl = sl,
		.mtu_sel = WIRE_EXACT,
		.mtu = quality.mtu,
		.rate_sel = WIRE_EXACT,
		.rate = sa_rate_clip(quality.rate, sa_link(q->sa, src.port)->knows),
		.life_sel = WIRE_EXACT,
		.life = quality.life,
		.preference = s == d ? 0 : 2,
	};

	if (reversible)
		rec.rate = sa_rate_clip(rec.rate, sa_link(q->sa, dst.port)->knows);

	uint8_t *row = sa_row(q);

	if (!row)
		return;
	wire_path_record_encode(&rec, row);
	sa_row_add(q);
}

/* Adds the paths between two ports, by all their LIDs, as many as the request wants. */
static void sa_paths_between(struct sa_query *q, uint32_t from, uint32_t to)
{
	struct lids src = lids_of(q->sa, from, &q->path.src);
	struct lids dst = lids_of(q->sa, to, &q->path.dst);
	uint32_t wanted = UINT32_MAX, had = q->nrows;

	if (q->method == WIRE_GET)
		wanted = 1;
	else if (q->method == WIRE_GET_MULTI) /* of all pairs together */
		wanted = q->limit - q->nrows;
	else if (sa_asked(q, WIRE_PATH(num_path)))
		wanted = q->path.want.num_path;
	if (!src.end.lid || !dst.end.lid || !pair_allowed(q, from, to))
		return;
	for (unsigned i = 0; i < src.count && i < dst.count && q->nrows - had < wanted; i++)
		path_add(q, &src, i, &dst, i);
	for (unsigned s = 0; s < src.count; s++)
		for (unsigned d = 0; d < dst.count && q->nrows - had < wanted; d++)
			if (s != d)
				path_add(q, &src, s, &dst, d);
}

/* ---- What is valid --------------------------------------------------------------------------- */

/* REQ_INVALID, INSUF_COMPS: rate, MTU or service ID are not as a request may have them. */
static enum wire_sa_status sa_path_values(const struct sa_query *q)
{
	const struct wire_path_record *want = &q->path.want;

	if (sa_asked_both(q, WIRE_PATH(rate_sel), WIRE_PATH(rate)) && !sa_rate_known(want->rate))
		return WIRE_SA_REQ_INVALID;
	if (sa_asked_both(q, WIRE_PATH(mtu_sel), WIRE_PATH(mtu)) &&
	    (want->mtu < MTU_LOWEST || want->mtu > MTU_HIGHEST))
		return WIRE_SA_REQ_INVALID;
	if (sa_asked(q, WIRE_PATH(service_id_msb)) != sa_asked(q, WIRE_PATH(service_id_lsb)))
		return WIRE_SA_INSUF_COMPS;
	return WIRE_SA_OK;
}

/* ---- Record path ----------------------------------------------------------------------------- */

/*
 * MultiPathRecord (IBA 15.2.5.20): paths between any of some sources and any of some destinations.
 *
 * The request is turned into that of PathRecords, without ends; the answer is the PathRecords of
 * pair after pair, NumbPath of them in all. When independent paths are asked for, pairs come along
 * diagonals (each source and each destination is used once before one comes again), and of several
 * LIDs of a port another is used each round: those take different spines.
 */

#define PATHS_DEFAULT 127 /* what NumbPath can ask for at most */
#define ROUNDS	      128 /* LIDs of a port at most */

static enum wire_sa_status multi_path_prepare(struct sa_query *q)
{
	struct sa_multi *m = &q->multi;

	wire_multi_path_decode(q->data, &m->want);
	m->nsrc = m->want.nsrc;
	m->ndst = m->want.ndst;
	if (!sa_asked(q, WIRE_MULTI_SGID_COUNT) || !sa_asked(q, WIRE_MULTI_DGID_COUNT) ||
	    !m->nsrc || !m->ndst)
		return WIRE_SA_INSUF_COMPS;
	if (m->nsrc + m->ndst > WIRE_MULTI_GIDS)
		return WIRE_SA_NO_RESOURCES;
	q->path.want = m->want.path;
	q->comp_mask = wire_multi_path_mask(q->comp_mask);

	enum wire_sa_status status = sa_path_values(q);

	if (status)
		return status;
	for (unsigned i = 0; i < (unsigned)m->nsrc + m->ndst; i++)
		if (sa_end_find(q->sa, &m->want.gids[i], 0, &m->ends[i]))
			return WIRE_SA_INVALID_GID; /* one that nobody has too */
	q->limit = sa_asked(q, WIRE_PATH(num_path)) ? q->path.want.num_path : PATHS_DEFAULT;
	q->item = 0;
	q->end = (uint32_t)m->nsrc * m->ndst * (m->want.independent ? ROUNDS : 1);
	return WIRE_SA_OK;
}

static void multi_path_emit(struct sa_query *q, uint32_t item)
{
	const struct sa_multi *m = &q->multi;
	uint32_t pairs = (uint32_t)m->nsrc * m->ndst, pair = item % pairs, round = item / pairs;
	uint32_t src = m->want.independent ? pair % m->nsrc : pair / m->ndst;
	uint32_t dst = (m->want.independent ? src + pair / m->nsrc : pair) % m->ndst;
	uint32_t src_port = m->ends[src].port, dst_port = m->ends[m->nsrc + dst].port;

	if (!m->want.independent) {
		sa_paths_between(q, src_port, dst_port);
		return;
	}

	/* Adds the path by one pair of LIDs, the round-th of either port. */
	struct lids from = lids_of(q->sa, src_port, &q->path.src),
		    to = lids_of(q->sa, dst_port, &q->path.dst);

	q->work++;
	if (from.end.lid && to.end.lid && round < from.count && round < to.count &&
	    pair_allowed(q, src_port, dst_port))
		path_add(q, &from, round, &to, round);
}

const struct sa_record sa_record_multi_path = {
	.attr_id = WIRE_SA_MULTI_PATH,
	.methods = SA_MULTI,
	.layout = { .size = 64 },
	.prepare = multi_path_prepare,
	.emit = multi_path_emit,
};

/*
 * PathRecord (IBA 15.2.5.16).
 *
 * Either end is named by LID, by GID, by both (which must agree), or left open. A query walks LIDs
 * for an open end; two open ends walk all pairs and run as a job.
 */

static enum wire_sa_status path_prepare(struct sa_query *q)
{
	const struct wire_path_record *want = &q->path.want;

	wire_path_record_decode(q->data, &q->path.want);

	enum wire_sa_status status = sa_path_values(q);

	if (status)
		return status;
	if (sa_path_to_group(q)) {
		/*
		 * For such a request: prepare() and emit() of struct sa_record. The item is the
		 * MLID; none when there is no such group.
		 */
		enum wire_sa_status source = sa_path_source(q);

		if (source)
			return source == WIRE_SA_NO_RECORDS ? WIRE_SA_OK : source;
		q->item = q->end = want->dlid;
		if (sa_asked(q, WIRE_PATH(dgid))) {
			const struct sa_group *group = sa_groups_find(q->sa->groups, &want->dgid);

			if (!group)
				return WIRE_SA_OK;
			q->item = q->end = group->mlid;
		}
		if (q->method == WIRE_GET)
			q->limit = 1;
		else if (sa_asked(q, WIRE_PATH(num_path)))
			q->limit = want->num_path;
		q->end++;
		return WIRE_SA_OK;
	}

	enum wire_sa_status src = sa_path_source(q);

	if (sa_asked(q, WIRE_PATH(dlid)) && !want->dlid)
		return WIRE_SA_OK;

	enum wire_sa_status dst =
		sa_end_find(q->sa, sa_asked(q, WIRE_PATH(dgid)) ? &want->dgid : NULL,
			    sa_asked(q, WIRE_PATH(dlid)) ? want->dlid : 0, &q->path.dst);

	status = src && (src != WIRE_SA_NO_RECORDS || !dst) ? src : dst;
	if (status == WIRE_SA_NO_RECORDS)
		return WIRE_SA_OK;
	if (q->method == WIRE_GET)
		q->limit = 1;
	q->item = 1;
	q->end = q->path.src.named && q->path.dst.named ? 2 : q->sa->view.lids->top + 1u;
	if (!q->path.src.named && !q->path.dst.named)
		q->end <<= 16;
	return status;
}

/* The port whose base LID this is. */
static uint32_t port_of_item(const struct sa *sa, uint32_t lid)
{
	uint32_t port = sa_port_by_lid(sa, lid);

	return port != TOPO_NONE && sa_port_lid(sa, port) == lid ? port : TOPO_NONE;
}

static void path_emit(struct sa_query *q, uint32_t item)
{
	const struct sa_end *src = &q->path.src, *dst = &q->path.dst;
	uint32_t port, to;

	q->work++;
	if (sa_path_to_group(q)) {
		sa_path_group_emit(q, item);
		return;
	}
	if (src->named && dst->named) {
		sa_paths_between(q, src->port, dst->port);
		return;
	}
	if (!src->named && !dst->named) { /* an item is the source's LID and the destination's */
		port = port_of_item(q->sa, item >> 16);
		if (port == TOPO_NONE || (item & 0xffff) > q->sa->view.lids->top) {
			q->item = ((item >> 16) + 1) << 16;
			return;
		}
		to = port_of_item(q->sa, item & 0xffff);
		if (to != TOPO_NONE)
			sa_paths_between(q, port, to);
		return;
	}
	port = port_of_item(q->sa, item);
	if (port != TOPO_NONE)
		sa_paths_between(q, src->named ? src->port : port, src->named ? port : dst->port);
}

const struct sa_record sa_record_path = {
	.attr_id = WIRE_SA_PATH,
	.methods = SA_GET | SA_TABLE,
	.layout = { .size = 64 },
	.prepare = path_prepare,
	.emit = path_emit,
};
