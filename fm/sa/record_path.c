/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * PathRecord (IBA 15.2.5.16).
 *
 * Either end is named by LID, by GID, by both (which must agree), or left open. A query walks LIDs
 * for an open end; two open ends walk all pairs and run as a job. Paths themselves are sa_path.c's,
 * those to multicast groups sa_path_group.c's.
 */
#include "fm/mad/wire_path.h"
#include "fm/sa/sa_path.h"

static enum wire_sa_status ends_find(struct sa_query *q)
{
	const struct wire_path_record *want = &q->path.want;
	enum wire_sa_status src = sa_path_source(q), dst;

	if (sa_asked(q, WIRE_PATH_DLID) && !want->dlid)
		return WIRE_SA_NO_RECORDS;
	dst = sa_end_find(q->sa, sa_asked(q, WIRE_PATH_DGID) ? &want->dgid : NULL,
			  sa_asked(q, WIRE_PATH_DLID) ? want->dlid : 0, &q->path.dst);
	if (src == WIRE_SA_NO_RECORDS && dst != WIRE_SA_OK)
		return dst;
	return src ? src : dst;
}

static enum wire_sa_status path_prepare(struct sa_query *q)
{
	enum wire_sa_status status;

	wire_path_record_decode(q->data, &q->path.want);
	status = sa_path_values(q);
	if (status)
		return status;
	if (sa_path_to_group(q))
		return sa_path_group_prepare(q);
	status = ends_find(q);
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

/* Both ends open: an item is the source's LID and the destination's. */
static void pair_of_item(struct sa_query *q, uint32_t item)
{
	uint32_t src = port_of_item(q->sa, item >> 16), dst = item & 0xffff;

	if (src == TOPO_NONE || dst > q->sa->view.lids->top) {
		q->item = ((item >> 16) + 1) << 16;
		return;
	}
	dst = port_of_item(q->sa, dst);
	if (dst != TOPO_NONE)
		sa_paths_between(q, src, dst);
}

static void path_emit(struct sa_query *q, uint32_t item)
{
	const struct sa_end *src = &q->path.src, *dst = &q->path.dst;
	uint32_t port;

	q->work++;
	if (sa_path_to_group(q)) {
		sa_path_group_emit(q, item);
		return;
	}
	if (src->named && dst->named) {
		sa_paths_between(q, src->port, dst->port);
		return;
	}
	if (!src->named && !dst->named) {
		pair_of_item(q, item);
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
