/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/mad/wire_sa.h"
#include "fm/sa/sa_impl.h"

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
	enum wire_sa_status status;

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
	status = sa_path_values(q);
	if (status)
		return status;
	for (unsigned i = 0; i < (unsigned)m->nsrc + m->ndst; i++)
		if (sa_end_find(q->sa, &m->want.gids[i], 0, &m->ends[i]))
			return WIRE_SA_INVALID_GID; /* one that nobody has too */
	q->limit = sa_asked(q, WIRE_PATH_NUM_PATH) ? q->path.want.num_path : PATHS_DEFAULT;
	q->item = 0;
	q->end = (uint32_t)m->nsrc * m->ndst * (m->want.independent ? ROUNDS : 1);
	return WIRE_SA_OK;
}

static void multi_path_emit(struct sa_query *q, uint32_t item)
{
	const struct sa_multi *m = &q->multi;
	uint32_t pair = item % ((uint32_t)m->nsrc * m->ndst);
	uint32_t src = pair / m->ndst, dst = pair % m->ndst;

	if (!m->want.independent) {
		sa_paths_between(q, m->ends[src].port, m->ends[m->nsrc + dst].port);
		return;
	}
	src = pair % m->nsrc;
	dst = (src + pair / m->nsrc) % m->ndst;
	sa_path_between(q, m->ends[src].port, m->ends[m->nsrc + dst].port,
			item / ((uint32_t)m->nsrc * m->ndst));
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
 * for an open end; two open ends walk all pairs and run as a job. Paths themselves are sa_path.c's,
 * those to multicast groups sa_path.c's.
 */

static enum wire_sa_status path_prepare(struct sa_query *q)
{
	const struct wire_path_record *want = &q->path.want;
	enum wire_sa_status status, src, dst;

	wire_path_record_decode(q->data, &q->path.want);
	status = sa_path_values(q);
	if (status)
		return status;
	if (sa_path_to_group(q))
		return sa_path_group_prepare(q);
	src = sa_path_source(q);
	if (sa_asked(q, WIRE_PATH_DLID) && !want->dlid)
		return WIRE_SA_OK;
	dst = sa_end_find(q->sa, sa_asked(q, WIRE_PATH_DGID) ? &want->dgid : NULL,
			  sa_asked(q, WIRE_PATH_DLID) ? want->dlid : 0, &q->path.dst);
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
	uint32_t port = sa_port_by_lid(sa, (uint16_t)lid);

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
	if (port == TOPO_NONE)
		return;
	if (src->named)
		sa_paths_between(q, src->port, port);
	else
		sa_paths_between(q, port, dst->port);
}

const struct sa_record sa_record_path = {
	.attr_id = WIRE_SA_PATH,
	.methods = SA_GET | SA_TABLE,
	.layout = { .size = 64 },
	.prepare = path_prepare,
	.emit = path_emit,
};
