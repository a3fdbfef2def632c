/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/rooms.h"
#include "fm/adaptive/module.h"
#include "fm/audit/module.h"
#include "fm/cabling/module.h"
#include "fm/hosts/module.h"
#include "fm/isolation/module.h"
#include "fm/keys/module.h"
#include "fm/maintenance/module.h"
#include "fm/mirror/module.h"
#include "fm/multicast/module.h"
#include "fm/naming/module.h"
#include "fm/nvswitch/module.h"
#include "fm/partition/module.h"
#include "fm/perf/module.h"
#include "fm/rebalance/module.h"
#include "fm/registrations/module.h"
#include "fm/restart/module.h"
#include "fm/sa/module.h"
#include "fm/sm/module.h"
#include "fm/sm/module_lids.h"
#include "fm/traps/module.h"
#include "fm/verification/module.h"

/*
 * Each row says why it stands where it stands; a golden trace
 * (tests/unit/daemon/test_fabric_trace.c) holds the order.
 */
fabric_modules fabric_rooms = {
	/* Ahead of all others: nodes have their names in what those say when they begin. */
	&naming_module,
	/*
	 * First of those that hear of sweeps: what a sweep found is of no use where the own port
	 * has left its fabric.
	 */
	&sm_module,
	/* Behind it: ports are asked for their LIDs when a take-over is certain. */
	&lids_module,
	/*
	 * Ahead of those that may end swept(): what a sweep has found is noted, and what it was
	 * answered once asked again.
	 */
	&isolation_module,
	&verification_module,
	/* Anywhere: repairs follow the end of a programming, whoever else hears of that. */
	&audit_module,
	/* Ahead of the SA, which serves by it; groups that it makes are no news to subscribers. */
	&partition_module,
	/* Ahead of the others: clients are answered by what is published when others report it. */
	&sa_module,
	/* Its alerts come ahead of those of rooms behind it. */
	&nvlink_module,
	/*
	 * Ahead of who finds links unhealthy: quarantined ones come first in `links --sick`.
	 */
	&maintenance_module,
	/* Anywhere: nobody else holds programming back. */
	&adaptive_module,
	/* Anywhere: it only counts. */
	&error_traps_module,
	/* Behind error traps: their rows come first in `links --sick`. */
	&link_health_module,
	/* Behind error traps, as link health: keys are nobody else's. */
	&port_keys_module,
	/* Anywhere: nobody else knows other managers' files. */
	&mirror_module,
	/* Behind it: what peers have sent makes queries needless. */
	&registrations_module,
	/* Anywhere: it reads what is published, and nobody goes by what it finds. */
	&cabling_module,
	/* Anywhere: what it adds to routing, overrides, nobody else does. */
	&rebalance_module,
	/* Behind the SA: who hears of groups that end goes by the new view. */
	&multicast_module,
	/* Behind those that say how hosts are: their parts are the present ones. */
	&hosts_module,
	/* Last: what others changed while the fabric settled is in what it notes. */
	&restart_module,
	NULL,
};
