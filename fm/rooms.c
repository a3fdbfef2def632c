/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/rooms.h"
#include "fm/adaptive/module.h"
#include "fm/audit/module.h"
#include "fm/isolation/module.h"
#include "fm/maintenance/module.h"
#include "fm/multicast/module.h"
#include "fm/nvswitch/module.h"
#include "fm/partition/module.h"
#include "fm/perf/module.h"
#include "fm/rebalance/module.h"
#include "fm/restart/module.h"
#include "fm/sa/module.h"
#include "fm/sm/module.h"
#include "fm/sm/module_lids.h"
#include "fm/traps/change_traps.h"
#include "fm/traps/error_traps.h"
#include "fm/verification/module.h"

/*
 * Each row says why it stands where it stands; a golden trace
 * (tests/unit/daemon/test_fabric_trace.c) holds the order.
 */
fabric_modules fabric_rooms = {
	&sm_module, /* first: what a sweep found is of no use where the own port has left; and SMInfo is there before others look */
	&lids_module, /* behind it: asks ports when a take-over is certain */
	/* Ahead of those that may end swept(): what a sweep has found is noted, and what it was answered once asked again. */
	&isolation_module,
	&verification_module,
	&audit_module, /* anywhere: repairs follow the end of a programming, whoever else hears of that */
	&partition_module, /* ahead of the SA, which serves by it; groups that it makes are no news to subscribers */
	&sa_module, /* ahead of those that follow: clients are to be answered by what is published when others speak of it */
	&nvlink_module, /* its alerts come ahead of those of rooms behind it */
	&maintenance_module, /* ahead of who finds links unhealthy: quarantined ones come first in `links --sick` */
	&adaptive_module,     /* anywhere: nobody else holds programming back */
	&error_traps_module,  /* anywhere: it only counts */
	&change_traps_module, /* behind those: a trap is counted before anything follows from it */
	&link_health_module,  /* behind error traps: their rows come first in `links --sick` */
	&rebalance_module,    /* anywhere: what it adds to routing, overrides, nobody else does */
	&multicast_module,    /* behind the SA: who hears of groups that end goes by the new view */
	&restart_module, /* behind the others: what they changed while it settled is in what it notes */
	NULL,
};
