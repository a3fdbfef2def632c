/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sa_path: what the records about paths share: ends by name, paths between two ports (sa_path.c),
 * paths to multicast groups (sa_path.c). The request lies decoded in q->path. Private to
 * fm/sa.
 */
#ifndef FMD_SA_SA_PATH_H
#define FMD_SA_SA_PATH_H

#include "fm/sa/sa_impl.h"

/* REQ_INVALID, INSUF_COMPS: rate, MTU or service ID are not as a request may have them. */
enum wire_sa_status sa_path_values(const struct sa_query *q);
/*
 * Finds the end that has this GID (NULL = any), this LID (0 = any), or both. NO_RECORDS: nothing in
 * the fabric has.
 */
enum wire_sa_status sa_end_find(const struct sa *sa, const struct wire_gid *gid, uint16_t lid,
				struct sa_end *end);
enum wire_sa_status sa_path_source(struct sa_query *q); /* into q->path.src */

/* Adds the paths between two ports, by all their LIDs, as many as the request wants. */
void sa_paths_between(struct sa_query *q, uint32_t src, uint32_t dst);
/* Adds the path by one pair of LIDs, the round-th of either port. */
void sa_path_between(struct sa_query *q, uint32_t src, uint32_t dst, unsigned round);

/* True: the destination of the request is a group, by MGID or MLID. */
bool sa_path_to_group(const struct sa_query *q);
/* For such a request: prepare() and emit() of struct sa_record. */
enum wire_sa_status sa_path_group_prepare(struct sa_query *q);
void sa_path_group_emit(struct sa_query *q, uint32_t item);

#endif
