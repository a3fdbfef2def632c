/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What the table of records in sa.c is made of: how each record reads a request and gives its rows. Paths are shared by
 * PathRecord and MultiPathRecord. Private to fm/sa.
 */
#ifndef FMD_SA_SA_ROWS_H
#define FMD_SA_SA_ROWS_H

#include "fm/sa/sa_impl.h"

enum wire_sa_status sa_node_prepare(struct sa_query *q);
void sa_node_emit(struct sa_query *q, uint32_t item);
void sa_port_emit(struct sa_query *q, uint32_t item);
void sa_switch_emit(struct sa_query *q, uint32_t item);
void sa_link_emit(struct sa_query *q, uint32_t item);
void sa_lft_emit(struct sa_query *q, uint32_t item);
void sa_mft_emit(struct sa_query *q, uint32_t item);
void sa_sm_emit(struct sa_query *q, uint32_t item);
enum wire_sa_status sa_guid_prepare(struct sa_query *q);
void sa_guid_emit(struct sa_query *q, uint32_t item);
enum wire_sa_status sa_sm_walk(struct sa_query *q);
enum wire_sa_status sa_pkey_prepare(struct sa_query *q);
void sa_pkey_emit(struct sa_query *q, uint32_t item);
void sa_class_port_info_emit(struct sa_query *q, uint32_t item);
enum wire_sa_status sa_path_prepare(struct sa_query *q);
void sa_path_emit(struct sa_query *q, uint32_t item);
enum wire_sa_status sa_path_values(const struct sa_query *q);
/* Names the end by what is said of it: GID (or NULL), LID (or 0), both. NO_RECORDS when nothing in the fabric is so named. */
enum wire_sa_status sa_end_find(const struct sa *sa, const struct wire_gid *gid, uint16_t lid,
				struct sa_end *end);
enum wire_sa_status sa_path_source(struct sa_query *q); /* into q->path.src */
bool sa_path_to_group(const struct sa_query *q);	/* asked for by MGID or MLID */
enum wire_sa_status sa_path_mcast_prepare(struct sa_query *q);
void sa_path_mcast_emit(struct sa_query *q, uint32_t item);
void sa_paths_between(struct sa_query *q, uint32_t src, uint32_t dst); /* by all their LIDs */
/* By one pair of LIDs, the round-th of either. */
void sa_path_between(struct sa_query *q, uint32_t src, uint32_t dst, unsigned round);
enum wire_sa_status sa_multi_path_prepare(struct sa_query *q);
void sa_multi_path_emit(struct sa_query *q, uint32_t item);
void sa_sl2vl_emit(struct sa_query *q, uint32_t item);
void sa_vl_arb_emit(struct sa_query *q, uint32_t item);
enum wire_sa_status sa_service_prepare(struct sa_query *q);
void sa_service_emit(struct sa_query *q, uint32_t item);
enum wire_sa_status sa_inform_set(struct sa_query *q);
void sa_inform_echo(struct sa_query *q, uint32_t item);
enum wire_sa_status sa_inform_walk(struct sa_query *q);
void sa_inform_emit(struct sa_query *q, uint32_t item);
enum wire_sa_status sa_mcmember_prepare(struct sa_query *q);
void sa_mcmember_emit(struct sa_query *q, uint32_t item);

#endif
