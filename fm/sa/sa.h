/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sa: subnet administration (IBA 15). Answers at all times from the last published view: a snapshot, its LIDs and its tables.
 */
#ifndef FMD_SA_SA_H
#define FMD_SA_SA_H

#include "fm/core/loop.h"
#include "fm/mad/mad.h"
#include "fm/sweep/inventory.h"
#include "routing/lid_plan.h"
#include "routing/tables.h"
#include "topology/topo.h"

struct sa_conf {
	uint64_t gid_prefix, sm_key;
	uint8_t sm_priority; /* shown in SMInfoRecord */
	uint8_t subnet_timeout, packet_life_time;
};

struct sa;
struct sa *sa_new(struct loop *loop, struct mad *mad, const struct inventory *inv,
		  const struct sa_conf *conf);
void sa_free(struct sa *sa);
void sa_configure(struct sa *sa, const struct sa_conf *conf);

/* Swaps the view. The pointers stay the caller's and stay valid until the next publish; NULL topo = no view: BUSY. */
struct sa_view {
	const struct topo *topo;
	const struct lid_map *lids;
	const struct tables *tables;
	uint16_t sm_lid;
};
void sa_publish(struct sa *sa, const struct sa_view *view);

struct sa_stats {
	uint64_t requests, answered, busy, bad, unsupported;
};
struct sa_stats sa_stats(const struct sa *sa);

#endif
