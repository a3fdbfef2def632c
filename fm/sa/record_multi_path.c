/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * MultiPathRecord (IBA 15.2.5.20): paths between any of some sources and any of some destinations.
 *
 * The request is turned into that of PathRecords, without ends; the answer is the PathRecords of
 * pair after pair, NumbPath of them in all. When independent paths are asked for, pairs come along
 * diagonals (each source and each destination is used once before one comes again), and of several
 * LIDs of a port another is used each round: those take different spines.
 */
#include "fm/mad/wire_path.h"
#include "fm/sa/sa_path.h"

#define PATHS_DEFAULT 127 /* what NumbPath can ask for at most */
#define ROUNDS	      128 /* LIDs of a port at most */

static enum wire_sa_status ends_find(struct sa_query *q)
{
	struct sa_multi *m = &q->multi;

	for (unsigned i = 0; i < (unsigned)m->nsrc + m->ndst; i++) {
		enum wire_sa_status status = sa_end_find(q->sa, &m->want.gids[i], 0, &m->ends[i]);

		if (status) /* one that nobody has is a wrong GID here */
			return WIRE_SA_INVALID_GID;
	}
	return WIRE_SA_OK;
}

static bool counts_named(const struct sa_query *q)
{
	return sa_asked(q, WIRE_MULTI_SGID_COUNT) && sa_asked(q, WIRE_MULTI_DGID_COUNT);
}

static enum wire_sa_status multi_path_prepare(struct sa_query *q)
{
	struct sa_multi *m = &q->multi;
	enum wire_sa_status status;

	wire_multi_path_decode(q->data, &m->want);
	m->nsrc = m->want.nsrc;
	m->ndst = m->want.ndst;
	if (!counts_named(q) || !m->nsrc || !m->ndst)
		return WIRE_SA_INSUF_COMPS;
	if (m->nsrc + m->ndst > WIRE_MULTI_GIDS)
		return WIRE_SA_NO_RESOURCES;
	q->path.want = m->want.path;
	q->comp_mask = wire_multi_path_mask(q->comp_mask);
	status = sa_path_values(q);
	if (!status)
		status = ends_find(q);
	if (status)
		return status;
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
